package layer_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// Tasks of several shards that write rows of the same views, and marks for the same partials, do not conflict.
func TestBuild_withoutConflicts(t *testing.T) {
	below := mustEngine(t)
	e := &costEngine{Engine: below}
	db := openAggregates(t, e, below, layer.CreateOptions{Shards: 4})
	save(t, db, aggregateDesign())
	ix := db.Index(mustDesign(t, db, "d"))
	const docs = 400
	for token := range int64(2) { // the first build, and one that finds partials
		for i := range docs {
			save(t, db, fmt.Sprintf(`{"_id":"%03d","rows":[[%d,%d],["same",1]]}`, i, i%7, token))
		}
		b, err := ix.StartBuild(t.Context(), token+1)
		if err != nil {
			t.Fatal(err)
		}
		e.conflicts.Store(0)
		var tasks sync.WaitGroup
		for _, shard := range b.Shards {
			tasks.Go(func() {
				for done := false; !done; {
					r, err := b.Step(t.Context(), shard, 10)
					if err != nil {
						t.Error(err)
						return
					}
					done = r.Done
				}
			})
		}
		tasks.Wait()
		if n := e.conflicts.Load(); n > 0 {
			t.Errorf("build %d: %d conflicts between tasks", token+1, n)
		}
		if err := b.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
}

// For n rows, a reduction of all rows, an offset and a skip read O(log n) of them, also after some writes.
func TestIndex_Aggregate_reads(t *testing.T) {
	below := mustEngine(t)
	e := &costEngine{Engine: below}
	db := openAggregates(t, e, below, layer.CreateOptions{})
	save(t, db, aggregateDesign())
	for i := range 20 {
		rows := ""
		for j := range 100 {
			rows += fmt.Sprintf(`,[["%d",%d],1]`, j%5, i*100+j)
		}
		save(t, db, fmt.Sprintf(`{"_id":"%d","rows":[%s]}`, i, rows[1:]))
	}
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	for name, written := range map[string]bool{"clean": false, "after a write": true} {
		if written {
			save(t, db, `{"_id":"x","rows":[[["2",1000.5],1]]}`)
			if ok, err := ix.CatchUp(t.Context(), 10); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		const most = 300 // of 2000 rows; partials are of 8
		read := func(what string, f func()) {
			e.rows.Store(0)
			f()
			if n := e.rows.Load(); n > most {
				t.Errorf("%s, %s: %d rows were read", name, what, n)
			}
		}
		read("sum", func() {
			reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "sum", Limit: -1}})
		})
		read("stats by group", func() {
			reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "stats", Limit: -1}, GroupLevel: 1})
		})
		read("offset", func() {
			if _, offset := pageOf(t, ix,
				layer.ViewQuery{View: "none", Key: []byte(`["4",1999]`), Limit: 1, WithOffset: true}); offset < 1999 {
				t.Errorf("offset %d", offset)
			}
		})
		read("skip", func() { pageOf(t, ix, layer.ViewQuery{View: "none", Skip: 1500, Limit: 1}) })
	}
}

// A reduction of rows most of which were written since their partials does not look for marks under each partial, and
// reads the rows of neighbours together. On a cluster each of these reads is a round trip.
func TestIndex_Reduce_manyMarked(t *testing.T) {
	oneGoroutine(t)
	below := mustEngine(t)
	e := &costEngine{Engine: below}
	db := openAggregates(t, e, below, layer.CreateOptions{})
	save(t, db, aggregateDesign())
	const docs = 1024
	ix := db.Index(mustDesign(t, db, "d"))
	write := func(n, step int) {
		for i := 0; i < docs; i++ {
			if i%step == 0 {
				save(t, db, fmt.Sprintf(`{"_id":"%04d","rows":[[%d,%d]]}`, i, i, n))
			}
			if i%64 < 63 {
				continue
			}
			if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	build(t, ix, 1, 100)
	write(1, 1)
	if err := ix.Aggregate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []layer.ReduceQuery{{ViewQuery: layer.ViewQuery{View: "sum", Limit: -1}},
		{ViewQuery: layer.ViewQuery{View: "sum", Limit: -1, Descending: true}}} {
		write(2, 3) // in all partials
		e.ranges.Store(0)
		if got, want := reduceLines(t, ix, q), fmt.Sprintf("[null %d]", docs+(docs+2)/3); fmt.Sprint(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n := e.ranges.Load(); n > docs/8/2 {
			t.Errorf("%d ranges were read for %d partials", n, docs/8)
		}
	}
}

// When rows are counted by groups, partials with marks can be used if the added rows belong to their group. The
// returned keys are the current ones, also if a key was replaced by an equal one with another spelling.
func TestIndex_Reduce_countsMarked(t *testing.T) {
	oneGoroutine(t)
	below := mustEngine(t)
	e := &costEngine{Engine: below}
	db := openAggregates(t, e, below, layer.CreateOptions{})
	save(t, db, aggregateDesign())
	const docs = 512
	for i := range docs {
		save(t, db, fmt.Sprintf(`{"_id":"%03d","rows":[[["\u00e9",%d],1],[[2,%d],1]]}`, i, i, i))
	}
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 100)
	for i := 0; i < docs; i += 16 { // in every second partial
		save(t, db, fmt.Sprintf(`{"_id":"%03d","rows":[[["e\u0301",%d],1],[[2,%d.5],1],[[2,%d.75],1]]}`, i, i, i, i))
	}
	save(t, db, fmt.Sprintf(`{"_id":"x","rows":[[[3,1],1],[[1.5,%d],1]]}`, docs))
	if ok, err := ix.CatchUp(t.Context(), 100); !ok || err != nil {
		t.Fatal(ok, err)
	}
	e.rows.Store(0)
	got := reduceLines(t, ix, layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count", Limit: -1}, GroupLevel: 1})
	if want := fmt.Sprintf("[[1.5] 1 [2] %d [3] 1 [\"e\u0301\"] %d]", docs+docs/16, docs); fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := e.rows.Load(); n > 300 { // 130 marks, and the rows between the groups
		t.Errorf("%d rows were read", n)
	}
}

// The end of a first build brings the aggregates of many rows up to date in few transactions, each of which is a chain
// of reads. With writers that slow down a cluster they take a considerable part of a build.
func TestBuild_Finish_transactions(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	below := mustEngine(t)
	e := &costEngine{Engine: below}
	db := openAggregates(t, e, below, layer.CreateOptions{})
	const docs = 4000
	fillFor(t, db, docs)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, 1) }","reduce":"_sum"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for done := false; !done; {
		r, err := b.Step(t.Context(), b.Shards[0], docs)
		if err != nil {
			t.Fatal(err)
		}
		done = r.Done
	}
	e.forget()
	if err := b.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, rows := e.transactions.Load(), e.rows.Load(); n > 12 || rows > 2*docs {
		t.Errorf("%d transactions, %d rows read", n, rows)
	}
}
