package actors_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

// A node dies with a job, and another one takes the job over when the lease has expired. Here the node does not notice
// that its lease is gone, and continues.
func TestIndexer_TakeOver(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	stuck, blocked := db.blockFirstStep()
	dead := start(t, st, func(o *actors.Options) { o.Node, o.Lease, o.MaxIndexers = "dead", time.Hour, 1 })
	commits(db, "a", 5000)
	if err := dead.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	if n := find(dead.Tree(), "indexer"); n == nil || n.State != "building" || n.Name != "_design/by" {
		t.Errorf("indexer %+v", n)
	}
	var stale int64
	db.set(func() { stale = db.token })
	took := make(chan actors.Event, 100)
	other := start(t, st, func(o *actors.Options) { o.Node, o.Notify = "other", func(e actors.Event) { took <- e } })
	st.steal()
	if err := other.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	if e := (<-took).Took; e == nil || e.From != "dead" || e.Type != layer.IndexJobs || e.Token <= stale {
		t.Errorf("notified of %+v", e)
	}
	// The other node may run the job twice: because it took it over, and because it was asked again after the job
	// began.
	db.set(func() {
		if len(db.finishers) == 0 {
			t.Error("the index is not built")
		}
	})
	close(blocked)
	eventually(t, func() string {
		if n := find(dead.Tree(), "indexer"); n != nil {
			return fmt.Sprintf("the dead node still has %+v", n)
		}
		return ""
	})
	db.set(func() {
		if slices.Contains(db.finishers, stale) {
			t.Errorf("builds with tokens %v finished, but %d is that of the dead node", db.finishers, stale)
		}
	})
}

// A node that stops regularly gives its jobs back, so no one waits for the end of the lease.
func TestIndexer_GivesBack(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	stuck := make(chan struct{}, 1)
	db.stepFault = func(layer.ShardID) error {
		select {
		case stuck <- struct{}{}:
		default:
		}
		return errInjected // the build makes no progress
	}
	first := start(t, st, func(o *actors.Options) { o.Node, o.Lease = "first", time.Hour })
	commits(db, "a", 5000)
	if err := first.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.set(func() { db.stepFault = nil })
	second := start(t, st, func(o *actors.Options) { o.Node = "second" })
	if err := second.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
}

// A node loses its lease, claims the job again and only then notices that its first run is void.
func TestIndexer_OwnJobAgain(t *testing.T) {
	db := newDatabase("cities")
	st := newStore(t, db)
	stuck, blocked := db.blockFirstStep()
	s := start(t, st, func(o *actors.Options) { o.Lease = 100 * time.Millisecond })
	defer close(blocked)
	commits(db, "a", 5000)
	if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	st.steal()
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
}

// blockFirstStep makes the first step of a build block, with the build still open, until blocked is closed.
func (d *database) blockFirstStep() (stuck <-chan struct{}, blocked chan<- struct{}) {
	begun, wait := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.stepFault = func(layer.ShardID) error {
		first := false
		once.Do(func() { first = true })
		if first {
			close(begun)
			<-wait
		}
		return nil
	}
	return begun, wait
}

// A build that takes long gives its worker to others in turn, and goes on afterwards. Requests wait for it meanwhile.
func TestIndexer_Turns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // as in warmed
		slow, quick := newDatabase("slow"), newDatabase("quick")
		s := start(t, newStore(t, slow, quick), func(o *actors.Options) { o.MaxIndexers, o.WarmFor = 1, -1 })
		slow.set(func() {
			slow.stepFault = func(layer.ShardID) error {
				time.Sleep(5 * time.Second)
				return nil
			}
		})
		commits(slow, "a", 5000)
		commits(quick, "a", 5000)
		built := make(chan error, 1)
		go func() { built <- s.Ensure(t.Context(), slow, slow.design) }()
		time.Sleep(time.Second)
		began := time.Now()
		if err := s.Ensure(t.Context(), quick, quick.design); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 20*time.Second { // a turn, and a batch that is not ended early
			t.Errorf("the quick build has waited for %v", took)
		}
		select {
		case err := <-built:
			t.Errorf("the slow build has ended before: %v", err)
		default:
		}
		if err := <-built; err != nil {
			t.Error(err)
		}
		slow.set(func() {
			if sum(slow.indexed) != sum(slow.version) || slow.finishes != 1 {
				t.Errorf("indexed %v of %v, %d ends", slow.indexed, slow.version, slow.finishes)
			}
		})
	})
}

// A build that takes turns ends with what was written before it began, although more is written in each round of turns
// than it indexes in one.
func TestIndexer_turnsWhileWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // as in warmed
		dbs := []*database{newDatabase("one"), newDatabase("two"), newDatabase("three")}
		s := start(t, newStore(t, dbs...), func(o *actors.Options) { o.MaxIndexers, o.WarmFor = 1, -1 })
		for _, d := range dbs {
			d.set(func() {
				d.stepFault = func(layer.ShardID) error {
					time.Sleep(1900 * time.Millisecond)
					return nil
				}
			})
			commits(d, "a", 20_000)
		}
		built := make(chan error, len(dbs))
		for _, d := range dbs {
			go func() { built <- s.Ensure(t.Context(), d, d.design) }()
		}
		for second := 0; len(built) < len(dbs); second++ {
			if second == 400 {
				t.Fatalf("%d of %d builds have ended", len(built), len(dbs))
			}
			time.Sleep(time.Second)
			for _, d := range dbs {
				commits(d, "a", 400)
			}
		}
		for range dbs {
			if err := <-built; err != nil {
				t.Error(err)
			}
		}
	})
}
