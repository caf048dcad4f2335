package actors_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// The same tests as with the fakes, on the real layer and engine.

func openLayer(t testing.TB) *layer.Store {
	t.Helper()
	return openLayerWith(t, layer.Options{})
}

func openLayerWith(t testing.TB, o layer.Options) *layer.Store {
	t.Helper()
	engine := openEngine(t)
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { sandbox.Close() })
	o.Scripts = sandbox
	store, err := layer.Open(t.Context(), faultkv.InSuite(t, engine), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func startOn(t testing.TB, store *layer.Store, node string) *actors.System {
	t.Helper()
	return startStore(t, actors.FromLayer(store), func(o *actors.Options) { o.Node = node })
}

func create(t testing.TB, store *layer.Store, name string, shards int) *layer.Database {
	t.Helper()
	db, err := store.Create(t.Context(), name, layer.CreateOptions{Shards: shards})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func put(t testing.TB, db *layer.Database, text string) {
	t.Helper()
	e, err := layer.ParseEdit([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Put(t.Context(), e, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func putMany(t testing.TB, db *layer.Database, n int) {
	t.Helper()
	for i := 0; i < n; i += 1000 {
		var edits []layer.Edit
		for j := i; j < min(n, i+1000); j++ {
			e, err := layer.ParseEdit(fmt.Appendf(nil, `{"_id":"doc-%06d","country":"c%02d","n":%d}`, j, j%50, j),
				false)
			if err != nil {
				t.Fatal(err)
			}
			edits = append(edits, e)
		}
		results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
}

func shardsOf(t testing.TB, db *layer.Database) []layer.ShardID {
	t.Helper()
	seq, err := db.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps, err := db.ShardMaps(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	return maps[len(maps)-1].Shards
}

// An interactive index is built when its design document is written, without a request.
func TestLayer_InteractiveIndexIsBuilt(t *testing.T) {
	store := openLayer(t)
	startOn(t, store, "n1")
	db := create(t, store, "cities", 2)
	putMany(t, db, 3000)
	put(t, db,
		`{"_id":"_design/d","options":{"interactive":true},"views":{"n":{"map":"function (doc) { emit(doc.n) }"}}}`)
	put(t, db, `{"_id":"late","n":-1}`)
	design, err := db.Design(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	job := layer.IndexJob{Database: "cities", Design: "_design/d", Signature: design.Signature}
	awaitJob(t, store, layer.IndexJobs, job.ID())
	if state, err := db.Index(design).State(t.Context()); err != nil || !state.Current() ||
		state.Views[0].Rows != 3001 {
		t.Errorf("state %+v, %v", state, err)
	}
}

// awaitJob waits until a job is finished.
func awaitJob(t *testing.T, store *layer.Store, typ, id string) {
	t.Helper()
	for {
		j, watch, err := store.Job(t.Context(), typ, id)
		if err != nil || j == nil {
			t.Fatalf("job %+v, %v", j, err)
		}
		if j.State == layer.JobFinished {
			watch.Cancel()
			return
		}
		select {
		case <-watch.Done():
		case <-time.After(20 * time.Second):
			t.Fatalf("not done: %+v", j)
		}
	}
}

// If the settings ask for it, an index that no design document defines any more is removed some time after the last one
// was changed (V8).
func TestLayer_UnusedIndexesAreRemoved(t *testing.T) {
	store := openLayerWith(t, layer.Options{CleanupAfter: 100 * time.Millisecond})
	s := startOn(t, store, "n1")
	db := create(t, store, "cities", 1)
	putMany(t, db, 100)
	const source = `"views":{"n":{"map":"function (doc) { emit(%sdoc.n) }"}}}`
	put(t, db, `{"_id":"_design/d",`+fmt.Sprintf(source, ""))
	was, err := db.Design(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ensure(t.Context(), actors.Of(db), was); err != nil {
		t.Fatal(err)
	}
	put(t, db, `{"_id":"_design/d","_rev":"`+was.Rev.String()+`",`+fmt.Sprintf(source, "-"))
	now, err := db.Design(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ensure(t.Context(), actors.Of(db), now); err != nil {
		t.Fatal(err)
	}
	awaitJob(t, store, layer.CleanupJobs, "cities")
	for design, rows := range map[*layer.Design]int64{was: 0, now: 100} {
		if state, err := db.Index(design).State(t.Context()); err != nil || state.Views[0].Rows != rows ||
			state.Seq.IsZero() != (rows == 0) {
			t.Errorf("%s: %+v, %v", design.Rev, state, err)
		}
	}
}

func TestLayer_ListenersAreWoken(t *testing.T) {
	store := openLayer(t)
	// The beats are long, so that the guard does not wake listeners as well while a watch is armed slowly.
	s := startStore(t, actors.FromLayer(store), func(o *actors.Options) { o.Node, o.Beat = "n1", time.Minute })
	db := create(t, store, "cities", 2)
	shards := shardsOf(t, db)
	woken, cancel := s.Listen(actors.Of(db), shards...)
	defer cancel()
	// Another handle of the same database shares the watches.
	again, err := store.Database(t.Context(), "cities")
	if err != nil {
		t.Fatal(err)
	}
	other, cancelOther := s.Listen(actors.Of(again), shards...)
	defer cancelOther()
	wokenTimes(t, s, 2, 0, "first wakes")
	drain(woken)
	drain(other)
	put(t, db, `{"_id":"oslo"}`)
	receives(t, woken, "a commit")
	receives(t, other, "a commit, another handle")

	wokenTimes(t, s, 3, 0, "wakes after one commit")
	if _, err := db.Reshard(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	receives(t, woken, "a reshard")
	// A watch that is armed with the configuration from before the reshard is armed again with the new one, and wakes
	// then too.
	wokenTimes(t, s, 5, 2, "wakes after a reshard of two shards")
	drain(woken)
	if err := store.Delete(t.Context(), "cities"); err != nil {
		t.Fatal(err)
	}
	receives(t, woken, "the deletion of the database")
}

// wokenTimes waits until listeners were woken this often in total, or more often by at most more. Spurious wake-ups,
// which some faults cause, add to the number.
func wokenTimes(t *testing.T, s *actors.System, want, more int64, what string) {
	t.Helper()
	eventually(t, func() string {
		if w := s.Metrics().Wakes; w < want || w > want+more && !faultkv.Enabled() {
			return fmt.Sprintf("%d %s, not %d to %d", w, what, want, want+more)
		}
		return ""
	})
}

func drain(ch <-chan struct{}) {
	for len(ch) > 0 {
		<-ch
	}
}

const byCountry = `{"_id":"_design/by","views":{"country":{"map":"function (doc) { if (doc.country) emit(doc.country, doc.n); }"}}}`

func rows(t testing.TB, db *layer.Database, design *layer.Design) (n int, total int64) {
	t.Helper()
	r, err := db.Index(design).Query(t.Context(), layer.ViewQuery{View: "country", Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Rows {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n, r.TotalRows
}

func TestLayer_EnsureBuildsTheIndex(t *testing.T) {
	store := openLayer(t)
	s := startOn(t, store, "n1")
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			db := create(t, store, fmt.Sprintf("cities-%d", shards), shards)
			putMany(t, db, 5000)
			put(t, db, byCountry)
			design, err := db.Design(t.Context(), "by")
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if err := s.Ensure(t.Context(), actors.Of(db), design); err != nil {
				t.Fatal(err)
			}
			t.Logf("built in %v", time.Since(begin))
			if n, total := rows(t, db, design); n != 5000 || total != 5000 {
				t.Fatalf("%d rows, total %d", n, total)
			}
			// A small lag.
			for i := range 20 {
				put(t, db, fmt.Sprintf(`{"_id":"more-%d","country":"x"}`, i))
				if err := s.Ensure(t.Context(), actors.Of(db), design); err != nil {
					t.Fatal(err)
				}
				if n, _ := rows(t, db, design); n != 5001+i {
					t.Fatalf("%d rows after %d more documents", n, i+1)
				}
			}
			// A large one.
			for i := range 3 {
				for j := range 200 {
					put(t, db, fmt.Sprintf(`{"_id":"lot-%d-%d","country":"y"}`, i, j))
				}
				if err := s.Ensure(t.Context(), actors.Of(db), design); err != nil {
					t.Fatal(err)
				}
				if n, _ := rows(t, db, design); n != 5020+200*(i+1) {
					t.Fatalf("%d rows after %d lots", n, i+1)
				}
			}
		})
	}
}

func TestLayer_DeletedDatabase(t *testing.T) {
	store := openLayer(t)
	s := startOn(t, store, "n1")
	db := create(t, store, "cities", 1)
	putMany(t, db, 2000)
	put(t, db, byCountry)
	design, err := db.Design(t.Context(), "by")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureSoon(t.Context(), actors.Of(db), design); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), "cities"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ensure(t.Context(), actors.Of(db), design); layer.KindOf(err) != layer.NotFound {
		t.Errorf("error %v", err)
	}
	eventually(t, func() string {
		if n := find(s.Tree(), "indexer"); n != nil {
			return fmt.Sprintf("still there: %+v", n)
		}
		return ""
	})
}
