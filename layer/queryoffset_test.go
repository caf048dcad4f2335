package layer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Offsets are correct whatever ranks this node has cached: of a fresh index, after writes, while a build has written
// half of what follows, and for queries that continue from an older sequence.
func TestIndex_Query_offsets(t *testing.T) {
	oneGoroutine(t)
	below := mustEngine(t)
	db := openAggregates(t, below, below, layer.CreateOptions{Shards: 1})
	save(t, db, aggregateDesign())
	ix := db.Index(mustDesign(t, db, "d"))
	random := rand.New(rand.NewPCG(1, 2))
	write := func(n int) {
		for range n {
			rows := ""
			for range random.IntN(12) {
				rows += fmt.Sprintf(`,[%d,1]`, random.IntN(400))
			}
			if rows != "" {
				rows = rows[1:]
			}
			save(t, db, fmt.Sprintf(`{"_id":"%d","rows":[%s]}`, random.IntN(100), rows))
		}
	}
	check := func(when string) {
		t.Helper()
		all := allRows(t, ix, "none")
		for i := range 40 { // the table is created after some of them
			q := layer.ViewQuery{View: "none", Key: fmt.Appendf(nil, "%d", random.IntN(420)-10), Limit: -1,
				WithOffset: true, Descending: i%3 == 0}
			want := int64(0)
			for _, r := range all {
				var key, asked int
				if _, err := fmt.Sscan(r.key+" "+string(q.Key), &key, &asked); err != nil {
					t.Fatal(err)
				}
				if key < asked && !q.Descending || key > asked && q.Descending {
					want++
				}
			}
			if _, offset := pageOf(t, ix, q); offset != want {
				t.Fatalf("%s: key %s, descending %v: offset %d, want %d of %d", when, q.Key, q.Descending, offset, want,
					len(all))
			}
		}
	}
	write(150)
	build(t, ix, 1, 20)
	check("built")
	for round := range 4 {
		write(10)
		if ok, err := ix.CatchUp(t.Context(), 1000); !ok || err != nil {
			t.Fatal(ok, err)
		}
		check("caught up")
		if round%2 == 1 {
			if err := ix.Aggregate(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("aggregated")
		}
	}
	write(60)
	b, err := ix.StartBuild(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Step(t.Context(), b.Shards[0], 20); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := kv.OpenSnapshot(t.Context(), below); ok && err == nil {
		check("half built") // on an engine without snapshots a query adds the other half
	}
	for done := false; !done; {
		r, err := b.Step(t.Context(), b.Shards[0], 20)
		if err != nil {
			t.Fatal(err)
		}
		done = r.Done
	}
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("built again")
}

// A query for one key of an index that is up to date, with its offset, begins no transaction and reads five keys and
// three short ranges, however large the view is. One of the ranges is the view's counter, which was a single key until
// writers of an interactive index counted its rows by shard: it has at most one row per shard of the database.
func TestIndex_Query_cost(t *testing.T) {
	oneGoroutine(t)
	e := &snapshotCosts{costEngine{Engine: mustEngine(t)}}
	if _, ok, err := kv.OpenSnapshot(t.Context(), e.Engine); !ok || err != nil {
		t.Skip("the engine holds no snapshots")
	}
	db := openViewsOn(t, e, layer.CreateOptions{})
	save(t, db,
		`{"_id":"_design/d","views":{"name":{"map":"function(doc) { if (doc.name) emit(doc.name, doc.lat); }"}}}`)
	loadCities(t, db, 5000)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 1000)
	ask := func(i int) {
		t.Helper()
		q := layer.ViewQuery{View: "name", Key: fmt.Appendf(nil, `"Sant Julià de Lòria %d"`, i), Limit: 10,
			WithOffset: true, Current: true, Fresh: true}
		if lines, offset := pageOf(t, ix, q); len(lines) != 1 || offset < 0 {
			t.Fatalf("%q, offset %d", lines, offset)
		}
	}
	for i := range 20 {
		ask(i)
	}
	e.forget()
	const queries = 100
	for i := range queries {
		ask(i * 41)
	}
	if e.transactions.Load() > 0 || e.gets.Load() > 5*queries || e.ranges.Load() > 3*queries ||
		e.rows.Load() > 70*queries {
		t.Errorf("%d queries: %d transactions, %d keys, %d ranges, %d rows", queries, e.transactions.Load(),
			e.gets.Load(), e.ranges.Load(), e.rows.Load())
	}
	t.Logf("%d queries: %d transactions, %d keys, %d ranges, %d rows", queries, e.transactions.Load(), e.gets.Load(),
		e.ranges.Load(), e.rows.Load())
}
