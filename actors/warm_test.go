package actors_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/layer"
)

func keepWarm(o *actors.Options) { o.WarmFor, o.WarmGather = time.Minute, 5*time.Millisecond }

func indexedAll(t *testing.T, db *database) {
	t.Helper()
	eventually(t, func() string {
		db.mu.Lock()
		defer db.mu.Unlock()
		if sum(db.indexed) != sum(db.version) {
			return fmt.Sprintf("indexed %v of %v", db.indexed, db.version)
		}
		return ""
	})
}

func TestWarm_FollowsTheFeedWithoutRequests(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), keepWarm)
	commits(db, "a", 5)
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	commits(db, "a", 7) // small: caught up
	indexedAll(t, db)
	commits(db, "a", 5000) // large: a job
	indexedAll(t, db)
	if db.finishes == 0 {
		t.Error("no job was run")
	}
	commits(db, "b", 3) // a new shard, as after a reshard
	db.set(func() { db.watches.fire("a", nil) })
	indexedAll(t, db)
	commits(db, "b", 3)
	indexedAll(t, db)
	if n := find(s.Tree(), "warm"); n == nil || n.Facts.(indexing.WarmFacts).Indexes != 1 {
		t.Errorf("actor %+v", n)
	}
	// Its listening is no feed, but a client's beside it is.
	counted := func(feeds, atShards, upkeep int) {
		t.Helper()
		eventually(t, func() string {
			listeners, own := 0, 0
			for x := range s.Shards() {
				f := x.Look()
				listeners, own = listeners+f.Listeners, own+f.Upkeep
			}
			if n := s.Metrics().Listeners; n != feeds || listeners != atShards || own != upkeep {
				return fmt.Sprintf("%d feeds, %d at shards, and %d of the node itself", n, listeners, own)
			}
			return ""
		})
	}
	counted(0, 0, 2)
	_, cancel := s.Listen(db, "a", "b")
	counted(1, 2, 2)
	cancel()
	cancel() // twice is nothing
	counted(0, 0, 2)
}

// An index that waits for its build is not caught up again and again meanwhile, which would take the CPU from the
// builds.
func TestWarm_TriesOnce(t *testing.T) {
	db := newDatabase("cities")
	begin := make(chan struct{})
	db.beforeBegin = func() { <-begin }
	s := start(t, newStore(t, db), keepWarm)
	commits(db, "a", 5000)
	ensured := make(chan error, 3)
	for range cap(ensured) {
		go func() { ensured <- s.Ensure(t.Context(), db, db.design) }()
	}
	eventually(t, func() string {
		if n := find(s.Tree(), "warm"); n == nil || n.Facts.(indexing.WarmFacts).Updates < 10 {
			return fmt.Sprintf("warm actor %+v", n)
		}
		return ""
	})
	db.set(func() {
		if db.vainCatchUps > 2 { // one for a request, and one for the actor if it began before that ended
			t.Errorf("%d unsuccessful catch-ups", db.vainCatchUps)
		}
	})
	close(begin)
	for range cap(ensured) {
		if err := <-ensured; err != nil {
			t.Error(err)
		}
	}
}

// Aggregates follow the rows, also if requests have caught the index up, both during changes and after them.
func TestWarm_Aggregates(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), keepWarm)
	aggregated := func() string {
		db.mu.Lock()
		defer db.mu.Unlock()
		if db.aggregated < sum(db.version) {
			return fmt.Sprintf("aggregated %d of %v", db.aggregated, db.version)
		}
		return ""
	}
	for range 20 {
		commits(db, "a", 1)
		if err := s.Ensure(t.Context(), db, db.design); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, aggregated)
	commits(db, "a", 1)
	eventually(t, aggregated)
}

// A commit during a build is not part of it, and is not requested by anyone.
func TestWarm_ChangesDuringABuild(t *testing.T) {
	db := newDatabase("cities")
	blocked, stuck := make(chan struct{}), make(chan struct{})
	var once sync.Once
	db.stepFault = func(layer.ShardID) error {
		once.Do(func() {
			close(stuck)
			<-blocked
		})
		return nil
	}
	s := start(t, newStore(t, db), keepWarm)
	commits(db, "a", 5000)
	if err := s.EnsureSoon(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	<-stuck
	commits(db, "a", 5000)
	time.Sleep(20 * time.Millisecond) // so that the commits are noticed before the build continues
	close(blocked)
	indexedAll(t, db)
}

// With little memory left, the actors that keep indexes warm end, and requests still get current indexes. With enough
// memory again, what was asked for lately is kept warm.
func TestWarm_RestsWhileMemoryIsShort(t *testing.T) {
	db := newDatabase("cities")
	s := start(t, newStore(t, db), keepWarm)
	commits(db, "a", 5)
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	running := func(want bool) func() string {
		return func() string {
			if n := find(s.Tree(), "warm"); (n != nil) != want {
				return fmt.Sprintf("warm actor %+v", n)
			}
			return ""
		}
	}
	eventually(t, running(true))
	s.SetMemoryShort(true)
	eventually(t, running(false))
	eventually(t, func() string {
		if n := find(s.Tree(), "database"); n != nil {
			return fmt.Sprintf("database actor %+v", n)
		}
		return ""
	})
	commits(db, "a", 7)
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	db.set(func() {
		if sum(db.indexed) != sum(db.version) {
			t.Errorf("indexed %v of %v", db.indexed, db.version)
		}
	})
	if why := running(false)(); why != "" {
		t.Errorf("after a request: %s", why)
	}
	s.SetMemoryShort(false)
	eventually(t, running(true))
	commits(db, "a", 3)
	indexedAll(t, db)
}

func TestWarm_EndsWhenTheIndexIsNotUsed(t *testing.T) { synctest.Test(t, warmEnds) }

func warmEnds(t *testing.T) {
	t.Cleanup(func() { time.Sleep(time.Second) }) // as warmed does
	db := newDatabase("cities")
	s := start(t, newStore(t, db),
		func(o *actors.Options) { o.WarmFor, o.WarmGather = time.Second, time.Millisecond })
	commits(db, "a", 5)
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if find(s.Tree(), "warm") == nil {
			return "nothing keeps the index warm"
		}
		return ""
	})
	eventually(t, func() string {
		if n := find(s.Tree(), "database"); n != nil {
			return fmt.Sprintf("still there: %+v", n)
		}
		return ""
	})
	// And again.
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	commits(db, "a", 1)
	indexedAll(t, db)
}

func TestLayer_WarmIndexes(t *testing.T) {
	store := openLayer(t)
	s := startStore(t, actors.FromLayer(store), keepWarm)
	db := create(t, store, "cities", 2)
	putMany(t, db, 10)
	put(t, db, byCountry)
	design, err := db.Design(t.Context(), "by")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ensure(t.Context(), actors.Of(db), design); err != nil {
		t.Fatal(err)
	}
	current := func(want int64) {
		t.Helper()
		eventually(t, func() string {
			list, err := s.Indexes(t.Context(), 100)
			if err != nil || len(list) != 1 || !list[0].Current || list[0].Rows != want {
				return fmt.Sprintf("%+v, %v", list, err)
			}
			return ""
		})
	}
	put(t, db, `{"_id":"oslo","country":"no"}`)
	current(11)
	if _, err := db.Reshard(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		put(t, db, fmt.Sprintf(`{"_id":"more-%d","country":"no"}`, i))
	}
	current(21)
	shards := map[string]bool{}
	eventually(t, func() string {
		for x := range s.Shards() {
			shards[x.Shard] = true
			if x.Database != "cities" {
				return fmt.Sprintf("%+v", x)
			}
		}
		for _, id := range shardsOf(t, db) {
			if !shards[string(id)] {
				return fmt.Sprintf("shard %s is not watched: %v", id, shards)
			}
		}
		return ""
	})
}

// An index is no longer kept warm when its design document or its database is deleted: there are no jobs, rows or log
// messages, and a running build ends.
func TestWarm_EndsWithTheDesignDocument(t *testing.T) {
	for _, large := range []bool{false, true} {
		for what, remove := range map[string]func(d *database){
			"design":   func(d *database) { d.design = nil },
			"database": func(d *database) { d.gone = true },
		} {
			t.Run(fmt.Sprintf("%s, large %v", what, large), func(t *testing.T) {
				var log lockedBuilder
				db := newDatabase("cities")
				store := newStore(t, db)
				s := start(t, store, func(o *actors.Options) {
					keepWarm(o)
					o.Lease = 30 * time.Millisecond
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				design := db.design
				commits(db, "a", 5)
				if err := s.Ensure(t.Context(), db, design); err != nil {
					t.Fatal(err)
				}
				if large { // a build that does not end by itself
					db.set(func() { db.stepFault = func(layer.ShardID) error { return errInjected } })
					commits(db, "a", 50_000)
					eventually(t, func() string {
						if len(s.Tasks()) == 0 {
							return "no build"
						}
						return ""
					})
				}
				eventually(t, func() string {
					if find(s.Tree(), "warm") == nil {
						return "not kept warm yet"
					}
					return ""
				})
				db.set(func() { remove(db) })
				commits(db, "a", 1)
				eventually(t, func() string {
					if n := find(s.Tree(), "warm"); n != nil || len(s.Tasks()) > 0 {
						return fmt.Sprintf("still there: %+v, %v", n, s.Tasks())
					}
					return ""
				})
				var indexed uint64 // operations that began before the end may have run until here
				db.set(func() { indexed = sum(db.indexed) })
				commits(db, "a", 1)
				time.Sleep(20 * time.Millisecond) // nothing happens
				db.set(func() {
					if sum(db.indexed) != indexed || find(s.Tree(), "warm") != nil {
						t.Errorf("the index is still updated")
					}
				})
				if text := log.String(); strings.Contains(text, "WARN") || strings.Contains(text, "ERROR") {
					t.Errorf("the log says\n%s", text)
				}
			})
		}
	}
}

// A slow worker that reports after its job was taken over is of no interest to an operator.
func TestIndexer_TakenOverBeforeReport(t *testing.T) {
	var log lockedBuilder
	db := newDatabase("cities")
	store := newStore(t, db)
	var reports atomic.Int64
	store.fault = func(call string) error {
		if call == "finish" && reports.Add(1) == 1 {
			return &layer.Error{Kind: layer.Conflict, Reason: "no longer held"}
		}
		return nil
	}
	s := start(t, store, func(o *actors.Options) {
		o.Lease = 30 * time.Millisecond
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	commits(db, "a", 5_000) // more than a request catches up
	if err := s.Ensure(t.Context(), db, db.design); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if n := reports.Load(); n < 2 {
			return fmt.Sprintf("%d reports", n)
		}
		return ""
	})
	if text := log.String(); strings.Contains(text, "WARN") || strings.Contains(text, "ERROR") {
		t.Errorf("the log says\n%s", text)
	}
}

// lockedBuilder is a strings.Builder that is safe for concurrent use.
type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// placing places all actors on this node, or none.
type placing struct{ away atomic.Bool }

func (p *placing) Owns(string, string) bool { return !p.away.Load() }

// An index that is resumed is kept warm without a request, for as long as its database belongs on this node and it may
// have been in use. One that this node was asked for stays warm.
func TestWarm_Resume(t *testing.T) {
	db, place := newDatabase("cities"), &placing{}
	s := start(t, newStore(t, db), func(o *actors.Options) {
		keepWarm(o)
		o.Placer = place
	})
	running := func(want bool) func() string {
		return func() string {
			if n := find(s.Tree(), "warm"); (n != nil) != want {
				return fmt.Sprintf("warm actor %+v", n)
			}
			return ""
		}
	}
	none := func(what string) {
		t.Helper()
		for began := time.Now(); time.Since(began) < 50*time.Millisecond; time.Sleep(time.Millisecond) {
			if running(false)() != "" {
				t.Fatalf("kept warm %s", what)
			}
		}
	}
	commits(db, "a", 5)
	s.Resume(db, db.design, time.Now().Add(-2*time.Minute))
	none("long after it was in use")
	place.away.Store(true)
	s.Resume(db, db.design, time.Now())
	none("by a node that its database is not on")

	place.away.Store(false)
	s.Resume(db, db.design, time.Now().Add(time.Hour))
	indexedAll(t, db)
	commits(db, "a", 5)
	indexedAll(t, db)
	place.away.Store(true)
	eventually(t, running(false))

	s.Use(db, db.design)
	s.Resume(db, db.design, time.Now().Add(-time.Millisecond))
	commits(db, "a", 5)
	indexedAll(t, db)
}
