package layer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// shortReads is an engine without snapshots whose transactions become too old at one row of twenty while it is enabled.
type shortReads struct {
	kv.Engine
	on atomic.Bool
}

func (e *shortReads) Begin(ctx context.Context) kv.Transaction {
	return shortTransaction{e.Engine.Begin(ctx), e}
}

type shortTransaction struct {
	kv.Transaction
	e *shortReads
}

func (t shortTransaction) Snapshot() kv.Reader { return shortReader{t.Transaction.Snapshot(), t.e} }

type shortReader struct {
	kv.Reader
	e *shortReads
}

func (r shortReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return &shortRange{RangeIterator: r.Reader.GetRange(in, o), e: r.e}
}

type shortRange struct {
	kv.RangeIterator
	e   *shortReads
	old bool
}

func (r *shortRange) Next() bool {
	if r.old = r.old || r.e.on.Load() && rand.IntN(20) == 0; r.old {
		return false
	}
	return r.RangeIterator.Next()
}

func (r *shortRange) Err() error {
	if r.old {
		return kv.NewError(kv.CodeTooOld, "read for too long", nil)
	}
	return r.RangeIterator.Err()
}

// The rows that one document emits for one key are sorted by value in a descending query too, whatever is skipped, and
// also if each transaction ends after a few rows.
func TestIndex_Query_descending(t *testing.T) {
	oneGoroutine(t)
	short := &shortReads{Engine: mustEngine(t)}
	for name, engine := range map[string]kv.Engine{"snapshots": mustEngine(t), "none": mustEngineWith(t, false),
		"transactions that end": short} {
		t.Run(name, func(t *testing.T) {
			db := openViewsOn(t, engine, layer.CreateOptions{})
			save(t, db,
				`{"_id":"_design/d","views":{"v":{"map":"function(doc) { for (var i = 0; i < doc.n; i++) { emit(1, i); emit(doc._id, i) } }"}}}`)
			var want []string
			for i := range 8 {
				n := 1 + i*i%5
				save(t, db, fmt.Sprintf(`{"_id":"%d","n":%d}`, i, n))
				var same []string
				for v := range n {
					same = append(same, fmt.Sprintf("%d 1 %d", i, v))
				}
				want = append(same, want...)
			}
			ix := db.Index(mustDesign(t, db, "d"))
			build(t, ix, 1, 10)
			short.on.Store(true)
			defer short.on.Store(false)
			for skip := range len(want) + 1 {
				for limit := 1; limit < 7; limit++ {
					q := layer.ViewQuery{View: "v", Key: []byte("1"), Descending: true, Skip: skip, Limit: limit}
					if got, want := rows(t, ix, q), page(want, skip, limit); !slices.Equal(got, want) {
						t.Fatalf("skip %d, limit %d: got %q, want %q", skip, limit, got, want)
					}
				}
			}
			var all []string
			for i := 7; i >= 0; i-- {
				for v := range 1 + i*i%5 {
					all = append(all, fmt.Sprintf(`%d "%d" %d`, i, i, v))
				}
			}
			all = append(all, want...)
			if got := rows(t, ix, layer.ViewQuery{View: "v", Descending: true, Limit: -1}); !slices.Equal(got, all) {
				t.Errorf("all: got %q, want %q", got, all)
			}
		})
	}
}
