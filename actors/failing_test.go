package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// sickStore is the store as seen by a node whose connection to the store, or whose actor, is faulty. Other nodes use
// the store itself.
type sickStore struct {
	*store
	db    *sickDatabase
	probe atomic.Pointer[func(ctx context.Context) error]
}

// sickDatabase is a database as seen by that node.
type sickDatabase struct {
	*database
	watch atomic.Pointer[func(ctx context.Context, w kv.Watch, err error) (kv.Watch, error)]
}

func newSickStore(s *store, db *database) *sickStore {
	return &sickStore{store: s, db: &sickDatabase{database: db}}
}

func (s *sickStore) Database(ctx context.Context, name string) (actors.Database, error) {
	if _, err := s.store.Database(ctx, name); err != nil {
		return nil, err
	}
	return s.db, nil
}

func (s *sickStore) Reach(ctx context.Context) error {
	if f := s.probe.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func (d *sickDatabase) WatchShard(ctx context.Context, shard layer.ShardID, settled func()) (
	kv.Watch, layer.Seq, error,
) {
	w, seq, err := d.database.WatchShard(ctx, shard, settled)
	if f := d.watch.Load(); f != nil {
		w, err = (*f)(ctx, w, err)
	}
	return w, seq, err
}

// panicking is a fault of WatchShard.
func panicking(_ context.Context, w kv.Watch, _ error) (kv.Watch, error) {
	w.Cancel()
	panic("an injected bug")
}

// panickyWatch fires when the watch below it does, and then makes its reader panic.
type panickyWatch struct{ kv.Watch }

func (panickyWatch) Err() error { panic("an injected bug") }

// brokenWatch never fires: its connection is broken without an error.
type brokenWatch struct {
	kv.Watch
	never chan struct{}
	once  *sync.Once
}

func (w brokenWatch) Done() <-chan struct{} { return w.never }
func (w brokenWatch) Err() error            { return context.Canceled }

func (w brokenWatch) Cancel() {
	w.Watch.Cancel()
	w.once.Do(func() { close(w.never) })
}

// Whatever fails on the node that a shard's actor is placed on, listeners there and elsewhere learn of every commit.
func TestPeers_TheOwnerFails(t *testing.T) {
	type fault = func(ctx context.Context, w kv.Watch, err error) (kv.Watch, error)
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	cases := []struct {
		name  string
		watch fault
		probe func(ctx context.Context) error
		fire  bool // an armed watch fires once when the fault begins
		local bool // whether listeners on the node itself can be woken
	}{
		{name: "its actor panics when it arms a watch", fire: true, local: true,
			watch: panicking},
		{name: "its actor arms a watch and panics when it fires", fire: true, local: true,
			watch: func(_ context.Context, w kv.Watch, err error) (kv.Watch, error) { return panickyWatch{w}, err }},
		{name: "it cannot arm a watch", fire: true, local: true,
			watch: func(_ context.Context, w kv.Watch, _ error) (kv.Watch, error) {
				w.Cancel()
				return nil, errInjected
			}},
		{name: "arming a watch never ends", fire: true, local: true,
			watch: func(ctx context.Context, w kv.Watch, _ error) (kv.Watch, error) {
				w.Cancel()
				return nil, hang(ctx)
			}},
		{name: "its connection is broken and it has not noticed",
			watch: func(_ context.Context, w kv.Watch, err error) (kv.Watch, error) {
				return brokenWatch{w, make(chan struct{}), new(sync.Once)}, err
			}, probe: hang, fire: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			db := newDatabase("cities")
			s := newStore(t, db)
			sick := newSickStore(s, db)
			m := newMesh()
			m.place("cities/a", "n1")
			s1, s2, s3 := m.startNode(t, sick, "n1"), m.startNode(t, s, "n2"), m.startNode(t, s, "n3")
			all := append(listen(t, s2, db, 2, "a"), listen(t, s3, db, 2, "a")...)
			if tc.local {
				all = append(all, listen(t, s1, sick.db, 2, "a")...)
			}
			settled(t, db, 1, map[*actors.System]string{s1: "watching", s2: "following", s3: "following"})
			sick.db.watch.Store(&tc.watch)
			if tc.probe != nil {
				sick.probe.Store(&tc.probe)
			}
			if tc.fire {
				db.set(func() { db.watches.fire("a", nil) })
			}
			for i := range 20 {
				time.Sleep(time.Duration(i) * time.Millisecond) // at another moment of the fault
				all.drain()
				db.commit("a")
				all.wake(t, fmt.Sprintf("commit %d", i))
			}
			sick.db.watch.Store(nil)
			sick.probe.Store(nil)
			if tc.local && !strings.Contains(tc.name, "never ends") {
				oneWatches(t, db, s1, s2, s3) // another node, if the actor has failed too often
			}
			all.drain()
			db.commit("a")
			all.wake(t, "a commit after the fault")
		})
	}
}

// A single node whose shard actor keeps failing still wakes listeners, reports it, and recovers later.
func TestSystem_Degraded(t *testing.T) {
	db := newDatabase("cities")
	sick := newSickStore(newStore(t, db), db)
	failures := make(chan actors.Event, 100)
	s := startStore(t, sick, func(o *actors.Options) { o.Notify = func(e actors.Event) { failures <- e } })
	ch, cancel := s.Listen(sick.db, "a")
	defer cancel()
	receives(t, ch, "first")
	var listened []string
	s.Listened(func(kind, id string) { listened = append(listened, kind+" "+id) })
	if len(listened) != 1 || listened[0] != "shard "+db.Name()+"/a" {
		t.Errorf("listened to %q", listened)
	}
	if d := s.Degraded(); d != nil {
		t.Errorf("degraded at the start: %q", d)
	}
	bug := panicking
	sick.db.watch.Store(&bug)
	for range 3 {
		drain(ch)
		db.commit("a")
		receives(t, ch, "a commit")
	}
	if f := (<-failures).Failed; f == nil || !strings.Contains(f.Actor, "shard:a") || f.Reason != "an injected bug" ||
		f.Restarts != 1 || !strings.Contains(f.Stack, "goroutine") {
		t.Errorf("notified of %+v", f)
	}
	eventually(t, func() string {
		if d := s.Degraded(); len(d) != 1 || !strings.HasPrefix(d[0], "actor_failing: ") ||
			!strings.Contains(d[0], "shard:a") ||
			!strings.Contains(d[0], "an injected bug") {
			return fmt.Sprintf("reasons %q", d)
		}
		return ""
	})
}
