package layer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
)

func indexNumber(tb testing.TB, ix *layer.Index) int64 {
	tb.Helper()
	n, err := layer.IndexNumber(tb.Context(), ix)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// numberedDesign returns a design whose views depend on n.
func numberedDesign(id string, n int) string {
	return fmt.Sprintf(`{"_id":"_design/%s","views":{"n":{"map":"function(doc) { emit(doc.n, %d); }"}}}`, id, n)
}

// Design documents with the same views share an index and its number. After an index has been removed its number is not
// used again, even for an index with the same signature, and nothing of the removed one is left.
func TestIndexNumber(t *testing.T) {
	engine := mustEngine(t)
	db := openViewsOn(t, engine, layer.CreateOptions{Shards: 2})
	save(t, db, `{"_id":"a","n":1}`)
	index := func(id string) *layer.Index { return db.Index(mustDesign(t, db, id)) }
	save(t, db, numberedDesign("one", 1))
	save(t, db, numberedDesign("same", 1))
	save(t, db, numberedDesign("two", 2))
	if n := indexNumber(t, index("one")); n != 0 {
		t.Fatalf("a missing index has number %d", n)
	}
	build(t, index("one"), 1, 10)
	if ok, err := index("two").CatchUp(t.Context(), 10); !ok || err != nil {
		t.Fatal(ok, err)
	}
	one, same, two := indexNumber(t, index("one")), indexNumber(t, index("same")), indexNumber(t, index("two"))
	if one != 1 || same != 1 || two != 2 {
		t.Fatalf("numbers %d, %d, %d", one, same, two)
	}
	build(t, index("one"), 2, 10)
	if n := indexNumber(t, index("one")); n != 1 {
		t.Fatalf("built again it has number %d", n)
	}

	for _, id := range []string{"one", "same"} {
		deleteDesign(t, db, id)
	}
	if err := db.CleanupViews(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, entries := viewKeys(t, engine, keyspace.ViewRows), viewKeys(t, engine, keyspace.ViewIDs); rows != 1 ||
		entries != 1 {
		t.Fatalf("%d rows and %d entries are left", rows, entries)
	}
	save(t, db, numberedDesign("one", 1))
	build(t, index("one"), 3, 10)
	if n := indexNumber(t, index("one")); n != 3 {
		t.Fatalf("created again it has number %d", n)
	}
	want := []string{`a 1 1`}
	if got := values(t, index("one")); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func deleteDesign(tb testing.TB, db *layer.Database, id string) {
	tb.Helper()
	doc, err := db.Get(tb.Context(), "_design/"+id, layer.GetOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	save(tb, db, fmt.Sprintf(`{"_id":"_design/%s","_rev":"%s","_deleted":true}`, id, doc.Rev))
}

// values returns an index's rows of the view n: id, key and value.
func values(tb testing.TB, ix *layer.Index) (lines []string) {
	tb.Helper()
	result := fresh(tb, func() (*layer.ViewResult, error) {
		return ix.Query(tb.Context(), layer.ViewQuery{View: "n", Limit: -1})
	})
	for row, err := range result.Rows {
		if err != nil {
			tb.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Value))
	}
	return lines
}

// built builds an index.
func built(ctx context.Context, ix *layer.Index) error {
	b, err := ix.StartBuild(ctx, 1)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, shard := range b.Shards {
		for r := (layer.StepResult{}); !r.Done; {
			if r, err = b.Step(ctx, shard, 100); err != nil {
				return err
			}
		}
	}
	return b.Finish(ctx)
}

// Two nodes that create indexes at once give them different numbers.
func TestIndexNumber_atOnce(t *testing.T) {
	engine := mustEngine(t)
	store := openViewStore(t, engine)
	first := mustCreate(t, store, "db", layer.CreateOptions{})
	other, err := openViewStore(t, engine).Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	const designs = 12
	for i := range designs {
		save(t, first, numberedDesign(fmt.Sprint(i), i))
	}
	save(t, first, `{"_id":"a","n":1}`)
	var workers sync.WaitGroup
	for i := range designs {
		db := []*layer.Database{first, other}[i%2]
		ix := db.Index(mustDesign(t, db, fmt.Sprint(i)))
		workers.Go(func() {
			// A map that takes long, as on a busy machine, is left to a build.
			ok, err := ix.CatchUp(t.Context(), 100)
			if err == nil && !ok {
				err = built(t.Context(), ix)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	var numbers []int64
	for i := range designs {
		ix := first.Index(mustDesign(t, first, fmt.Sprint(i)))
		numbers = append(numbers, indexNumber(t, ix))
		if got, want := values(t, ix), []string{fmt.Sprintf("a 1 %d", i)}; !slices.Equal(got, want) {
			t.Errorf("index %d: %q", i, got)
		}
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i+1) {
			t.Fatalf("numbers %d", numbers)
		}
	}
	if err := layer.ClearTransactionIDs(t.Context(),
		store); err != nil { // the other store looks for some when it closes
		t.Fatal(err)
	}
}

// An index that was created before there were numbers is read, caught up, built, aggregated and cleared under its old
// keys.
func TestIndexNumber_none(t *testing.T) {
	oneGoroutine(t)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			below := mustEngineWith(t, snapshots)
			db := openAggregates(t, below, below, layer.CreateOptions{Shards: 2})
			save(t, db, aggregateDesign())
			loadRows(t, db, 40)
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 10)
			counts := func(what string, count int) {
				t.Helper()
				if n := indexNumber(t, ix); n != 0 {
					t.Fatalf("%s: the index has number %d", what, n)
				}
				got := fmt.Sprint(reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count",
					Limit: -1}}))
				if want := fmt.Sprintf("[null %d]", count); got != want {
					t.Fatalf("%s: %s, want %s", what, got, want)
				}
			}
			wants := func(what string, count int) {
				t.Helper()
				counts(what, count)
				lines := rows(t, ix, layer.ViewQuery{View: "count", IncludeDocs: true})
				if len(lines) != count {
					t.Fatalf("%s: %d rows", what, len(lines))
				}
			}
			if err := layer.SignIndex(t.Context(), ix); err != nil {
				t.Fatal(err)
			}
			wants("as it was", 200)
			save(t, db, `{"_id":"x","rows":[["a",1],["b",1]]}`)
			if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
				t.Fatal(ok, err)
			}
			wants("caught up", 202)
			for i := range 30 {
				save(t, db, fmt.Sprintf(`{"_id":"%04d","rows":[["c",%d]]}`, i, i))
			}
			b, err := ix.StartBuild(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, err := b.Step(t.Context(), b.Shards[0], 5); err != nil {
				t.Fatal(err)
			}
			counts("while it is built", 202)
			finish(t, b, 10)
			wants("built", 202-30*4)
			if err := ix.Aggregate(t.Context()); err != nil {
				t.Fatal(err)
			}
			wants("aggregated", 202-30*4)
			if viewKeys(t, below, keyspace.ViewMarks) > 0 || viewKeys(t, below, keyspace.ViewPartials) == 0 {
				t.Error("there are marks, or no partials")
			}
			deleteDesign(t, db, "d")
			if err := db.CleanupViews(t.Context()); err != nil {
				t.Fatal(err)
			}
			for r := keyspace.ViewIDs; r <= keyspace.ViewMarks; r++ {
				if n := viewKeys(t, below, r); n > 0 {
					t.Errorf("cleared: %d keys of range %d are left", n, r)
				}
			}
			save(t, db, aggregateDesign())
			if ix = db.Index(mustDesign(t, db, "d")); indexNumber(t, ix) != 0 {
				t.Fatal("cleared, it has a number")
			}
			build(t, ix, 3, 10)
			if n := indexNumber(t, ix); n != 2 {
				t.Errorf("built again it has number %d", n)
			}
		})
	}
}
