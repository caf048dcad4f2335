package actors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is a database of shards with one number each; a commit is a larger number.
type database struct {
	name string

	mu      sync.Mutex
	version map[layer.ShardID]uint64
	watches map[*watch]bool
	armed   int // watches ever armed
	fault   func() error
}

func newDatabase(name string) *database {
	return &database{name: name, version: map[layer.ShardID]uint64{}, watches: map[*watch]bool{}}
}

func (d *database) Name() string { return d.name }

func (d *database) WatchShard(_ context.Context, shard layer.ShardID) (kv.Watch, layer.Seq, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault != nil {
		if err := d.fault(); err != nil {
			return nil, layer.Seq{}, err
		}
	}
	w := &watch{d: d, shard: shard, done: make(chan struct{})}
	d.watches[w] = true
	d.armed++
	return w, sequence(d.version[shard]), nil
}

func (d *database) commit(shard layer.ShardID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version[shard]++
	for w := range d.watches {
		if w.shard == shard {
			w.end(nil)
		}
	}
}

// breakWatches fails all watches that are armed.
func (d *database) breakWatches() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.watches {
		w.end(errors.New("connection lost"))
	}
}

func (d *database) at(shard layer.ShardID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version[shard]
}

func (d *database) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watches)
}

func (d *database) setFault(f func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

func sequence(n uint64) (s layer.Seq) {
	for i := range 8 {
		s.Stamp[11-i] = byte(n >> (8 * i))
	}
	return s
}

type watch struct {
	d     *database
	shard layer.ShardID
	done  chan struct{}
	err   error
}

func (w *watch) end(err error) {
	w.err = err
	delete(w.d.watches, w)
	close(w.done)
}

func (w *watch) Done() <-chan struct{} { return w.done }

func (w *watch) Err() error {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.err
}

func (w *watch) Cancel() {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	if w.d.watches[w] {
		w.end(context.Canceled)
	}
}

// noStore is a store without databases or jobs.
type noStore struct{ actors.Store }

func start(t testing.TB, change func(*actors.Options)) *actors.System {
	t.Helper()
	o := actors.Options{Store: noStore{}, Node: "n1", Linger: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&o)
	}
	s, err := actors.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func receives(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(5 * time.Second):
		t.Fatalf("no wake: %s", what)
	}
}

func silent(t testing.TB, ch <-chan struct{}, d time.Duration, what string) {
	t.Helper()
	select {
	case <-ch:
		t.Fatalf("a wake: %s", what)
	case <-time.After(d):
	}
}

func eventually(t testing.TB, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		w := wrong()
		if w == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(w)
		}
		time.Sleep(time.Millisecond)
	}
}

// find is the first actor of a kind in the tree.
func find(n actors.Node, kind string) *actors.Node {
	if n.Kind == kind {
		return &n
	}
	for _, c := range n.Children {
		if f := find(c, kind); f != nil {
			return f
		}
	}
	return nil
}

func TestListen_OneWatchForManyListeners(t *testing.T) {
	s, db := start(t, nil), newDatabase("cities")
	var channels []<-chan struct{}
	for range 1000 {
		ch, cancel := s.Listen(db, "a", "b")
		defer cancel()
		channels = append(channels, ch)
	}
	// Each shard wakes those who came before its watch was armed.
	eventually(t, func() string {
		if n, w := db.open(), s.Figures().Wakes; n != 2 || w != 2 {
			return fmt.Sprintf("%d watches and %d wakes for two shards", n, w)
		}
		return ""
	})
	receives(t, channels[0], "the watch was armed after the first listener came")
	for _, ch := range channels {
		for len(ch) > 0 {
			<-ch
		}
	}
	db.commit("b")
	for _, ch := range channels {
		receives(t, ch, "a commit")
	}
	silent(t, channels[0], 20*time.Millisecond, "without a commit")
	if f := s.Figures(); f.Listeners != 2000 {
		t.Errorf("figures %+v", f)
	}
}

func TestListen_ActorsEndWhenNobodyListens(t *testing.T) {
	s, db := start(t, nil), newDatabase("cities")
	ch, cancel := s.Listen(db, "a")
	receives(t, ch, "first")
	if n := find(s.Tree(), "shard"); n == nil || n.Name != "a" || !strings.HasSuffix(n.ID, "/database:cities/shard:a") {
		t.Fatalf("shard actor %+v in %+v", n, s.Tree())
	}
	cancel()
	cancel()
	eventually(t, func() string {
		if find(s.Tree(), "database") != nil || db.open() != 0 {
			return fmt.Sprintf("still there: %d watches, %+v", db.open(), s.Tree())
		}
		return ""
	})
	// And they come back.
	ch, cancel = s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "first of the second time")
	db.commit("a")
	receives(t, ch, "a commit")
}

func TestListen_SurvivesTheStoresFailures(t *testing.T) {
	s, db := start(t, nil), newDatabase("cities")
	failing := errors.New("the disk is on fire")
	db.setFault(func() error { return failing })
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "a failure, for the listener to see")
	receives(t, ch, "the next failure")
	eventually(t, func() string {
		n := find(s.Tree(), "shard")
		if f, ok := n.Facts.(actors.ShardFacts); !ok || f.Error != failing.Error() || n.Restarts != 0 {
			return fmt.Sprintf("shard actor %+v", n)
		}
		return ""
	})
	db.setFault(nil)
	eventually(t, func() string {
		if db.open() == 0 {
			return "no new watch"
		}
		return ""
	})
	db.breakWatches()
	receives(t, ch, "a broken watch")
}

func TestSupervision_PanicRestartsTheActor(t *testing.T) {
	var log strings.Builder
	var mu sync.Mutex
	s := start(t, func(o *actors.Options) {
		o.Logger = slog.New(slog.NewTextHandler(writer(func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			log.Write(p)
		}), nil))
	})
	db := newDatabase("cities")
	left := 3
	db.setFault(func() error {
		if left--; left >= 0 {
			panic("an injected bug")
		}
		return nil
	})
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "after the restarts")
	n := find(s.Tree(), "shard")
	if n.Restarts != 3 || !strings.Contains(n.LastFailure, "an injected bug") || n.LastFailureAt == nil || n.State != "watching" {
		t.Errorf("shard actor %+v", n)
	}
	if up := find(s.Tree(), "database"); up.Restarts != 0 {
		t.Errorf("its parent restarted: %+v", up)
	}
	for _, k := range s.Figures().Kinds {
		if k.Kind == "shard" && (k.Restarted != 3 || k.Spawned != 1 || k.Running != 1) {
			t.Errorf("figures %+v", k)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if l := log.String(); strings.Count(l, "actor failed") != 3 || !strings.Contains(l, "WatchShard") {
		t.Errorf("the log does not show each failure with its stack:\n%s", l)
	}
	db.commit("a")
	receives(t, ch, "a commit after the restarts")
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// No commit may be missed, whatever fails: readers read, then wait for a wake, then read again.
func TestListen_NothingIsMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, db := start(t, nil), newDatabase("cities")
	faults := rand.New(rand.NewPCG(seed, 1))
	db.setFault(func() error { // called with db.mu held
		switch n := faults.IntN(100); {
		case n < 5:
			return errors.New("injected")
		case n < 6:
			panic("injected")
		}
		return nil
	})
	const commits = 2000
	var readers sync.WaitGroup
	for i := range 8 {
		shard := layer.ShardID(fmt.Sprint(i % 2))
		readers.Go(func() {
			for {
				// Feeds come and go: longpoll.
				ch, cancel := s.Listen(db, shard)
				if db.at(shard) == commits {
					cancel()
					return
				}
				select {
				case <-ch:
				case <-time.After(20 * time.Second):
					t.Errorf("a reader of shard %s waits in vain at %d", shard, db.at(shard))
					cancel()
					return
				}
				cancel()
			}
		})
	}
	for range commits {
		db.commit("0")
		db.commit("1")
		if random.IntN(20) == 0 {
			time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
		}
		if random.IntN(200) == 0 {
			db.breakWatches()
		}
	}
	readers.Wait()
}

func TestStop_WithWorkUnderWay(t *testing.T) {
	s, db := start(t, nil), newDatabase("cities")
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "first")
	ctx, done := context.WithTimeout(t.Context(), 2*time.Second)
	defer done()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if db.open() != 0 {
		t.Errorf("%d watches are left", db.open())
	}
}
