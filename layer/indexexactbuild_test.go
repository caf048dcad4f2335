package layer_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// exactHistory is the history of one writer, for concurrent readers.
type exactHistory struct {
	mu     sync.Mutex // held while the writer writes
	seqs   []layer.Seq
	states []exactState
}

// write edits some documents in one transaction.
func (h *exactHistory) write(tb testing.TB, db *layer.Database, ids []string, v int) {
	edits := make([]layer.Edit, len(ids))
	next := exactState{}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.states); n > 0 {
		next = maps.Clone(h.states[n-1])
	}
	for i, id := range ids {
		doc := exactDoc{n: []int{v % 13, 13 + (v+i)%7}, v: v}
		edits[i] = layer.Edit{ID: id, Body: fmt.Appendf(nil, `{"n":[%d,%d],"v":%d}`, doc.n[0], doc.n[1], v)}
		if old, err := db.Get(tb.Context(), id, layer.GetOptions{}); err == nil {
			edits[i].Rev = old.Rev
		}
		next[id] = doc
	}
	if _, err := db.Bulk(tb.Context(), edits, layer.WriteOptions{Atomic: true}); err != nil {
		tb.Error(err)
		return
	}
	pass, err := db.Changes(tb.Context(), layer.ChangesOptions{Descending: true, Limit: 1})
	if err != nil {
		tb.Error(err)
		return
	}
	for row, err := range pass.Rows {
		if err != nil {
			tb.Error(err)
			return
		}
		h.seqs, h.states = append(h.seqs, row.Seq), append(h.states, next)
	}
}

// at returns the state at a sequence.
func (h *exactHistory) at(seq layer.Seq) exactState {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range slices.Backward(h.seqs) {
		if s.Compare(seq) <= 0 {
			return h.states[i]
		}
	}
	return exactState{}
}

// last returns the last written sequence.
func (h *exactHistory) last() layer.Seq {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seqs[len(h.seqs)-1]
}

// While a writer writes, builds of thousands of changes begin on one node, are abandoned halfway and taken over by the
// other. Readers on both nodes, of the index as it is (update=false, lazy) and brought up to date (true), get the rows
// of exactly the sequence that they are told. DIVAN_TEST_BUILD_SECONDS is the duration.
func TestIndex_exactWhileBuilt(t *testing.T) {
	seconds := 1.0
	if s := os.Getenv("DIVAN_TEST_BUILD_SECONDS"); s != "" {
		var err error
		if seconds, err = strconv.ParseFloat(s, 64); err != nil {
			t.Fatal(err)
		}
	}
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngineWith(t, snapshots)
			if !snapshots {
				engine = countsBegins{engine}
			}
			readWhileBuilt(t, engine, time.Duration(seconds*float64(time.Second)))
		})
	}
}

func readWhileBuilt(t *testing.T, engine kv.Engine, long time.Duration) {
	const docs = 3000
	var dbs [2]*layer.Database
	var ixs [2]*layer.Index
	for i := range dbs {
		store := openPartials(t, engine, 100)
		if i == 0 {
			mustCreate(t, store, "db", layer.CreateOptions{Shards: 2})
		}
		var err error
		if dbs[i], err = store.Database(t.Context(), "db"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			save(t, dbs[i], exactDesign)
		}
		ixs[i] = dbs[i].Index(mustDesign(t, dbs[i], "d"))
	}
	ids := make([]string, docs)
	for i := range ids {
		ids[i] = fmt.Sprintf("%04d", i)
	}
	var h exactHistory
	for part := range slices.Chunk(ids, 250) {
		h.write(t, dbs[0], part, 0)
	}
	build(t, ixs[0], 1, 1000)

	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() {
		for v := 1; ctx.Err() == nil; v++ {
			from := (v * 97) % (docs - 100)
			h.write(t, dbs[v%2], ids[from:from+100], v)
		}
	})
	var builds, given atomic.Int64
	work.Go(func() {
		for token := int64(2); ctx.Err() == nil; token++ {
			done, err := buildSome(ctx, ixs[token/3%2], token, token%3 == 0)
			if err != nil {
				t.Errorf("build %d: %v", token, err)
				return
			}
			if builds.Add(1); !done {
				given.Add(1)
			}
		}
	})
	var answers [4]atomic.Int64
	for i := range answers {
		work.Go(func() {
			for ctx.Err() == nil {
				fresh := i >= 2 // update=true
				var least layer.Seq
				if fresh {
					least = h.last()
					if ok, err := ixs[i%2].CatchUp(t.Context(), 500); err != nil {
						t.Error(err)
						return
					} else if !ok {
						least = layer.Seq{}
					}
				}
				if problem := wrongAnswer(t, ixs[i%2], &h, least); problem != "" {
					t.Error(problem)
					return
				}
				answers[i].Add(1)
			}
		})
	}
	work.Wait()
	t.Logf("%d builds, %d of them given up; answers %d %d %d %d", builds.Load(), given.Load(), answers[0].Load(),
		answers[1].Load(), answers[2].Load(), answers[3].Load())
}

// buildSome begins a build, takes some steps, and finishes it if whole is set.
func buildSome(ctx context.Context, ix *layer.Index, token int64, whole bool) (done bool, err error) {
	b, err := ix.StartBuild(context.WithoutCancel(ctx), token)
	if err != nil {
		return false, err
	}
	defer b.Close()
	for _, shard := range b.Shards {
		for steps := 0; ; steps++ {
			if !whole && steps == 8 || ctx.Err() != nil {
				return false, nil
			}
			r, err := b.Step(context.WithoutCancel(ctx), shard, 40)
			if err != nil {
				return false, err
			}
			if r.Done {
				break
			}
		}
	}
	return true, b.Finish(context.WithoutCancel(ctx))
}

// countsBegins counts the transactions of a context that noteBegins made.
type countsBegins struct{ kv.Engine }

type begins struct{}

func noteBegins(ctx context.Context) (context.Context, *atomic.Int64) {
	var n atomic.Int64
	return context.WithValue(ctx, begins{}, &n), &n
}

// notedBegins returns nil if noteBegins has not made the context: the one of a store's upkeep, which may begin a
// transaction at any time.
func notedBegins(ctx context.Context) *atomic.Int64 {
	n, _ := ctx.Value(begins{}).(*atomic.Int64)
	return n
}

func (e countsBegins) Begin(ctx context.Context) kv.Transaction {
	if n := notedBegins(ctx); n != nil {
		n.Add(1)
	}
	return e.Engine.Begin(ctx)
}

// wrongAnswer describes what is wrong with the answer of an index. If the engine does not support snapshots and the
// transaction of an answer ends before the answer does, the rest is of another sequence (C6). Such an answer is not
// checked.
func wrongAnswer(tb testing.TB, ix *layer.Index, h *exactHistory, least layer.Seq) string {
	ctx, begun := noteBegins(tb.Context())
	result, err := ix.Query(ctx, layer.ViewQuery{View: "n", Limit: -1})
	if err != nil {
		return err.Error()
	}
	began := begun.Load()
	var got []string
	for row, err := range result.Rows {
		if err != nil {
			return err.Error()
		}
		got = append(got, fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Value))
	}
	state := h.at(result.UpdateSeq)
	want := state.rows()
	if whole := begun.Load() == began; whole && (!slices.Equal(got, want) || result.TotalRows != int64(len(want))) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		return fmt.Sprintf("at %s: %d rows, said to be %d, want %d; they differ from row %d on", result.UpdateSeq,
			len(got),
			result.TotalRows, len(want), at)
	}
	if result.UpdateSeq.Compare(least) < 0 {
		return fmt.Sprintf("as of %s, which is before %s", result.UpdateSeq, least)
	}
	reduced, err := ix.Reduce(ctx,
		layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count", Limit: -1}, GroupLevel: 1})
	if err != nil {
		return err.Error()
	}
	began = begun.Load()
	var groups []string
	for row, err := range reduced.Rows {
		if err != nil {
			return err.Error()
		}
		groups = append(groups, fmt.Sprintf("%s %s", row.Key, row.Value))
	}
	counts, _ := h.at(reduced.UpdateSeq).groups()
	if whole := begun.Load() == began; whole && !slices.Equal(groups, counts) {
		return fmt.Sprintf("at %s: %q, want %q", reduced.UpdateSeq, groups, counts)
	}
	return ""
}
