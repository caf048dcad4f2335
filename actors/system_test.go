package actors_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func silent(t testing.TB, ch <-chan struct{}, d time.Duration, what string) {
	t.Helper()
	select {
	case <-ch:
		t.Fatalf("a wake: %s", what)
	case <-time.After(d):
	}
}

func TestListen_OneWatchForManyListeners(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	var channels []<-chan struct{}
	for range 1000 {
		ch, cancel := s.Listen(db, "a", "b")
		defer cancel()
		channels = append(channels, ch)
	}
	// Each shard wakes the listeners that came before its watch was armed.
	eventually(t, func() string {
		if n, w := db.armed(), s.Metrics().Wakes; n != 2 || w != 2 {
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
	if f := s.Metrics(); f.Listeners != 1000 {
		t.Errorf("facts %+v", f)
	}
	for x := range s.Shards() {
		if x.Database != "cities" || x.Look().Listeners != 1000 || x.State != "watching" {
			t.Errorf("shard %+v", x)
		}
	}
}

func TestListen_ActorsEndWhenNobodyListens(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	ch, cancel := s.Listen(db, "a")
	receives(t, ch, "first")
	if n := find(s.Tree(), "shard"); n == nil || n.Name != "a" || !strings.HasSuffix(n.ID, "/database:cities/shard:a") {
		t.Fatalf("shard actor %+v in %+v", n, s.Tree())
	}
	cancel()
	cancel()
	eventually(t, func() string {
		if find(s.Tree(), "database") != nil || db.armed() != 0 {
			return fmt.Sprintf("still there: %d watches, %+v", db.armed(), s.Tree())
		}
		return ""
	})
	// And they can be started again.
	ch, cancel = s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "first of the second time")
	db.commit("a")
	receives(t, ch, "a commit")
}

func TestListen_SurvivesTheStoresFailures(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	failing := errors.New("the disk is on fire")
	db.set(func() { db.fault = func() error { return failing } })
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
	db.set(func() { db.fault = nil })
	eventually(t, func() string {
		if db.armed() == 0 {
			return "no new watch"
		}
		return ""
	})
	db.set(func() { db.watches.fire("", errInjected) })
	receives(t, ch, "a broken watch")
}

func TestSupervision_PanicRestartsTheActor(t *testing.T) {
	var log strings.Builder
	var mu sync.Mutex
	db := newDatabase("cities")
	s := start(t, newStore(t, db), func(o *actors.Options) {
		o.Logger = slog.New(slog.NewTextHandler(writer(func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			log.Write(p)
		}), nil))
	})
	left := 3
	db.fault = func() error {
		if left--; left >= 0 {
			panic("an injected bug")
		}
		return nil
	}
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "after the restarts")
	eventually(t, func() string {
		n := find(s.Tree(), "shard")
		if n.Restarts != 3 || !strings.Contains(n.LastFailure, "an injected bug") || n.LastFailureAt == nil ||
			n.State != "watching" {
			return fmt.Sprintf("shard actor %+v", n)
		}
		return ""
	})
	if up := find(s.Tree(), "database"); up.Restarts != 0 {
		t.Errorf("its parent restarted: %+v", up)
	}
	for _, k := range s.Metrics().Kinds {
		if k.Kind == "shard" && (k.Restarted != 3 || k.Spawned != 1 || k.Running != 1) {
			t.Errorf("facts %+v", k)
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

// No commit may be missed, whatever fails. Readers read, wait for a wake-up, and read again.
func TestListen_NothingIsMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	faults := rand.New(rand.NewPCG(seed, 1))
	db.fault = func() error { // called with db.mu held
		switch n := faults.IntN(100); {
		case n < 5:
			return errInjected
		case n < 6:
			panic("injected")
		}
		return nil
	}
	const commits = 2000
	var readers sync.WaitGroup
	for i := range 8 {
		shard := layer.ShardID(fmt.Sprint(i % 2))
		readers.Go(func() {
			for {
				// Feeds come and go, as with longpoll.
				ch, cancel := s.Listen(db, shard)
				if db.at(shard) == commits {
					cancel()
					return
				}
				select {
				case <-ch:
				case <-time.After(20 * time.Second):
					t.Errorf("a reader of shard %s still waits at %d", shard, db.at(shard))
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
			db.set(func() { db.watches.fire("", errInjected) })
		}
	}
	readers.Wait()
}

func TestStop_WithWorkUnderWay(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "first")
	ctx, done := context.WithTimeout(t.Context(), 2*time.Second)
	defer done()
	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if db.armed() != 0 {
		t.Errorf("%d watches are left", db.armed())
	}
}

// A node that stops drops the watches of very many shards together, with the store. Otherwise each would be cancelled.
func TestStop_LeavesWatchesToTheStore(t *testing.T) {
	const shards = 50
	for _, ending := range []bool{false, true} {
		db := newDatabase("cities")
		s := start(t, newStore(t, db), nil)
		var ids []layer.ShardID
		for i := range shards {
			ids = append(ids, layer.ShardID(fmt.Sprint(i)))
		}
		_, cancel := s.Listen(db, ids...)
		eventually(t, func() string {
			shown := 0
			s.EachActor(nil, func(n actors.Node, _ string, _ int) bool {
				if n.State == "watching" {
					shown++
				}
				return true
			})
			if shown != shards || db.armed() != shards {
				return fmt.Sprintf("%d actors watch", shown)
			}
			return ""
		})
		if ending {
			s.Ending()
		}
		cancel()
		ctx, done := context.WithTimeout(t.Context(), 5*time.Second)
		defer done()
		if err := s.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: shards}[ending]; db.armed() != want {
			t.Errorf("the store's end follows: %v; %d watches are left, want %d", ending, db.armed(), want)
		}
		db.set(func() { db.watches.fire("", context.Canceled) }) // the store is closed
	}
}

// An actor in the middle of the tree fails. Its descendants are restarted and continue.
func TestSupervision_ASubtreeRestarts(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), nil)
	ch, cancel := s.Listen(db, "a")
	defer cancel()
	receives(t, ch, "first")
	// The name of the next database cannot be read, twice, which makes the actor of all databases fail.
	bad := &namelessDatabase{database: newDatabase("bad"), failures: 2}
	other, cancelOther := s.Listen(bad, "a")
	defer cancelOther()
	receives(t, other, "after the restarts")
	n := find(s.Tree(), "databases")
	if n.Restarts != 2 || !strings.Contains(n.LastFailure, "no name") {
		t.Errorf("databases actor %+v", n)
	}
	drain(ch)
	eventually(t, func() string {
		if db.armed() != 1 {
			return fmt.Sprintf("%d watches", db.armed())
		}
		return ""
	})
	db.commit("a")
	receives(t, ch, "a commit after the restarts")
}

// namelessDatabase panics some times when asked for its name.
type namelessDatabase struct {
	*database
	failures int
}

func (d *namelessDatabase) Name() string {
	if d.failures--; d.failures >= 0 {
		panic("no name")
	}
	return "bad"
}
