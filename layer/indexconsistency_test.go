package layer_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// While documents are written in a loop, builds begin, end and are abandoned, the database is resharded and requests
// catch up, every query sees one state: each document once, with the body that its row was made from, and at least as
// new as what was acknowledged before a catch-up (P8; apache/couchdb #3381, #3382).
func TestIndex_consistent(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			keepConsistent(t, openViewsOn(t, mustEngineWith(t, snapshots), layer.CreateOptions{Shards: 2}))
		})
	}
}

func keepConsistent(t *testing.T, db *layer.Database) {
	save(t, db, `{"_id":"_design/d","views":{"v":{"map":"function(doc) { emit(doc.n, doc.n); }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	const docs = 5
	for i := range docs {
		save(t, db, fmt.Sprintf(`{"_id":"%d","n":0}`, i))
	}
	build(t, ix, 1, 3)

	stop := make(chan struct{})
	time.AfterFunc(1500*time.Millisecond, func() { close(stop) })
	running := func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	var written [docs]atomic.Int64
	var workers sync.WaitGroup
	workers.Go(func() { // the writer
		for n := int64(1); running(); n++ {
			i := int(n % docs)
			save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, n))
			written[i].Store(n)
		}
	})
	workers.Go(func() { // the resharder
		for n := 1; running(); n++ {
			if _, err := db.Reshard(t.Context(), 1+n%4); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	workers.Go(func() { // the indexer
		for token := int64(2); running(); token++ {
			b, err := ix.StartBuild(t.Context(), token)
			if err != nil {
				t.Error(err)
				return
			}
			giveUp := token%3 == 0
			for _, shard := range b.Shards {
				for done := false; !done && !giveUp; {
					r, err := b.Step(t.Context(), shard, 1)
					if err != nil {
						t.Error(err)
						return
					}
					done = r.Done
					time.Sleep(time.Millisecond)
				}
			}
			if !giveUp {
				if err := b.Finish(t.Context()); err != nil {
					t.Error(err)
				}
			}
			b.Close()
			time.Sleep(5 * time.Millisecond)
		}
	})
	var queries, fresh atomic.Int64
	for range 2 {
		workers.Go(func() {
			for running() {
				var before [docs]int64
				for i := range before {
					before[i] = written[i].Load()
				}
				caught, err := ix.CatchUp(t.Context(), 1000)
				if err != nil {
					t.Error(err)
					return
				}
				if !caught {
					before = [docs]int64{} // a build is in progress: the state as of its start is correct
				} else {
					fresh.Add(1)
				}
				queries.Add(1)
				if problem := inconsistency(t, ix, before[:]); problem != "" {
					t.Error(problem)
					return
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d queries, %d of them caught up", queries.Load(), fresh.Load())
}

// inconsistency describes what is wrong with the answer to a query of all rows.
func inconsistency(tb testing.TB, ix *layer.Index, atLeast []int64) string {
	result, err := ix.Query(tb.Context(), layer.ViewQuery{View: "v", Limit: -1, IncludeDocs: true})
	if err != nil {
		return err.Error()
	}
	seen := make([]bool, len(atLeast))
	for row, err := range result.Rows {
		if err != nil {
			return err.Error()
		}
		var i int
		var n int64
		if _, err := fmt.Sscan(row.ID, &i); err != nil {
			return err.Error()
		}
		if _, err := fmt.Sscan(string(row.Key), &n); err != nil {
			return err.Error()
		}
		switch want := fmt.Sprintf(`{"n":%d}`, n); {
		case seen[i]:
			return fmt.Sprintf("document %d has two rows", i)
		case row.Doc == nil || string(row.Doc.Body) != want:
			return fmt.Sprintf("the row of document %d is of %s, its body is %+v", i, want, row.Doc)
		case n < atLeast[i]:
			return fmt.Sprintf("the row of document %d is of %d, %d was acknowledged before", i, n, atLeast[i])
		}
		seen[i] = true
	}
	for i, ok := range seen {
		if !ok {
			return fmt.Sprintf("document %d has no row", i)
		}
	}
	return ""
}
