package layer_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// If the engine does not support snapshots, a query itself applies a large number of missing changes, also while a
// build has written half of them: each document once, with the body that its row was made from. If there are too many,
// a query that must be fresh is refused, and never answered incorrectly.
func TestIndex_largeLag(t *testing.T) {
	oneGoroutine(t)
	if faultkv.Enabled() || faultkv.Short() {
		t.Skip("a query that applies thousands of documents meets a fault in every transaction")
	}
	db := openViewsOn(t, mustEngineWith(t, false), layer.CreateOptions{Shards: 2})
	save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc.n, doc.n); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	const docs = 2500
	edits := make([]layer.Edit, docs)
	write := func(n int) []int64 {
		t.Helper()
		for i := range edits {
			edits[i].ID, edits[i].Body = fmt.Sprint(i), fmt.Appendf(nil, `{"n":%d}`, n*docs+i)
		}
		results, err := db.Bulk(t.Context(), edits, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		least := make([]int64, docs)
		for i, r := range results {
			edits[i].Rev, least[i] = r.Rev, int64(n*docs+i)
		}
		return least
	}
	write(0)
	build(t, ix, 1, 1000)
	least := write(1)
	if problem := inconsistency(t, ix, least); problem != "" {
		t.Errorf("not building: %s", problem)
	}
	b, err := ix.StartBuild(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Step(t.Context(), b.Shards[0], 700); err != nil {
		t.Fatal(err)
	}
	least = write(2)
	if problem := inconsistency(t, ix, least); problem != "" {
		t.Errorf("building: %s", problem)
	}
	// Rows of many bytes exceed what a transaction may apply. Without documents nothing has to be applied.
	for i := range edits {
		edits[i].Body = fmt.Appendf(nil, `{"n":"%06d%05000d"}`, i, 0)
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	var behind *layer.Error
	if _, err := ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true,
		Fresh: true}); !errors.As(err, &behind) || behind.Name != layer.IndexBehind {
		t.Errorf("more than can be applied: %v", err)
	}
	if _, err := ix.Reduce(t.Context(),
		layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "v", Fresh: true}}); layer.KindOf(err) != layer.NotFound {
		t.Errorf("a view without reduce: %v", err)
	}
	// Such a query is restarted after the index has been brought up to date, and at most that often.
	ensured := 0
	b.Close()
	begin := func() (*layer.ViewResult, error) {
		return ix.Query(t.Context(), layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true, Fresh: true})
	}
	result, err := layer.BeginEnsured(func() error {
		ensured++
		for token := int64(3); ; token++ { // the first one ends as of where the one before it was to end
			build(t, ix, token, 300)
			if state, err := ix.State(t.Context()); err != nil || state.Current() {
				return err
			}
		}
	}, begin)
	if err != nil || ensured != 1 || result.TotalRows != docs {
		t.Fatalf("%+v, %v, after %d times", result, err, ensured)
	}
	for _, err := range result.Rows {
		if err != nil {
			t.Error(err)
		}
	}
	stuck := errors.New("stuck")
	never := func() (int, error) { return 0, &layer.Error{Kind: layer.Unavailable, Name: layer.IndexBehind} }
	if _, err := layer.BeginEnsured(func() error { return stuck }, never); !errors.Is(err, stuck) {
		t.Errorf("ensure failed: %v", err)
	}
}

// If a query's transaction ends while the documents of its rows are read, the rows are read again: no row is returned
// with a newer document than its own.
func TestIndex_Query_newerBody(t *testing.T) {
	e := &oldReads{Engine: mustEngine(t)}
	db := openViewsOn(t, e, layer.CreateOptions{})
	save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function (doc) { emit(doc.n, doc.x) }"}}}`)
	const docs = 100
	write := func(x int, ids ...int) {
		for _, i := range ids {
			save(t, db, fmt.Sprintf(`{"_id":"%03d","n":%d,"x":%d}`, i, i, x))
		}
	}
	for i := range docs {
		write(0, i)
	}
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 1000)
	x := 0
	for name, q := range map[string]layer.ViewQuery{
		"all": {Limit: -1}, "descending": {Limit: -1, Descending: true}, "limited": {Skip: 3, Limit: 20},
		"keys": {Keys: [][]byte{[]byte("98"), []byte("2"), []byte("50"), []byte("3")}, Limit: -1},
	} {
		t.Run(name, func(t *testing.T) {
			q.View, q.IncludeDocs = "v", true
			want := len(rows(t, ix, q))
			result, err := ix.Query(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			x++
			meanwhile := func() { write(x, 0, 2, 4, docs-1) } // one of them is among the first rows of each query
			e.before.Store(&meanwhile)
			n := 0
			for row, err := range result.Rows {
				if err != nil {
					t.Fatal(err)
				}
				if body := fmt.Sprintf(`{"n":%s,"x":%s}`, row.Key, row.Value); row.Doc == nil ||
					string(row.Doc.Body) != body {
					t.Errorf("row %s of %s, %s, has the document %+v", row.Key, row.ID, row.Value, row.Doc)
				}
				n++
			}
			if e.before.Load() != nil {
				t.Fatal("no document was read")
			}
			if n != want {
				t.Errorf("%d rows, want %d", n, want)
			}
		})
	}
}

// A query that requires a current index leaves it to others to add what the index lacks, also while a build has written
// half of it. It reads an index that lacks nothing without looking for changes.
func TestIndex_Query_current(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{})
			save(t, db,
				`{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id, null); }","reduce":"_count"}}}`)
			ix := db.Index(mustDesign(t, db, "d"))
			written := 0
			write := func(n int) {
				for range n {
					save(t, db, fmt.Sprintf(`{"_id":"%03d"}`, written))
					written++
				}
			}
			check := func(when string, current bool) {
				t.Helper()
				for _, docs := range []bool{false, true} {
					q := layer.ViewQuery{View: "v", Limit: -1, Current: true, Fresh: true, IncludeDocs: docs}
					var behind *layer.Error
					_, err := ix.Reduce(t.Context(), layer.ReduceQuery{ViewQuery: q})
					if refused := errors.As(err, &behind) && behind.Name == layer.IndexBehind; refused == current {
						t.Errorf("%s, reduced: %v", when, err)
					}
					result, err := ix.Query(t.Context(), q)
					if refused := errors.As(err, &behind) && behind.Name == layer.IndexBehind; refused == current {
						t.Errorf("%s: %v", when, err)
					}
					if err != nil {
						continue
					}
					n := 0
					for row, err := range result.Rows {
						if err != nil || docs != (row.Doc != nil) {
							t.Fatalf("%s: %+v, %v", when, row, err)
						}
						n++
					}
					if n != written || result.TotalRows != int64(written) {
						t.Errorf("%s: %d rows of %d, want %d", when, n, result.TotalRows, written)
					}
				}
			}
			check("never built", false)
			write(30)
			check("never built, documents", false)
			build(t, ix, 1, 10)
			check("built", true)
			write(1)
			check("behind", false)
			if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
				t.Fatal(ok, err)
			}
			check("caught up", true)
			write(20)
			b, err := ix.StartBuild(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Step(t.Context(), b.Shards[0], 7); err != nil {
				t.Fatal(err)
			}
			check("half built", false)
			for done := false; !done; {
				r, err := b.Step(t.Context(), b.Shards[0], 10)
				if err != nil {
					t.Fatal(err)
				}
				done = r.Done
			}
			if err := b.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("built again", true)
		})
	}
}

// If an index is further behind than one transaction can catch up, the refusal comes before any document is mapped.
func TestIndex_CatchUp_tooFarBehind(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("it counts what functions run")
	}
	sandbox := script.New(script.Options{})
	t.Cleanup(func() {
		if err := sandbox.Close(); err != nil {
			t.Error(err)
		}
	})
	store := mustStore(t, mustEngine(t), layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox)})
	db := mustCreate(t, store, "db", layer.CreateOptions{Shards: 3})
	save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc._id); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	for i := range 60 {
		save(t, db, fmt.Sprintf(`{"_id":"%d"}`, i))
	}
	before := sandbox.Stats().Seconds
	if done, err := ix.CatchUp(t.Context(), 50); done || err != nil {
		t.Fatal(done, err)
	}
	if after := sandbox.Stats().Seconds; after != before {
		t.Errorf("functions ran for %g s", after-before)
	}
	if done, err := ix.CatchUp(t.Context(), 60); !done || err != nil {
		t.Fatal(done, err)
	}
	if sandbox.Stats().Seconds == before {
		t.Error("no function ran")
	}
}
