package layer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// BenchmarkQuery_afterRewrite alternates a write and a fresh read of one key with its offset, on an index whose
// documents were all rewritten and whose aggregates were brought up to date afterwards. before/s is the number of such
// rounds per second before that.
func BenchmarkQuery_afterRewrite(b *testing.B) {
	db := openViews(b, layer.CreateOptions{})
	save(b, db,
		`{"_id":"_design/d","views":{"name":{"map":"function(doc) { emit(doc.name, doc.turn); }","reduce":"_sum"}}}`)
	const docs = 100_000
	revs := make([]layer.Rev, docs)
	edit := func(i, turn int) layer.Edit {
		return layer.Edit{ID: fmt.Sprintf("city-%06d", i), Rev: revs[i],
			Body: fmt.Appendf(nil, `{"name":"Sant Julià %06d","turn":%d}`, i, turn)}
	}
	ix := db.Index(mustDesign(b, db, "d"))
	rewrite := func(turn int) {
		for batch := range slices.Chunk(rand.Perm(docs), 1000) {
			edits := make([]layer.Edit, len(batch))
			for j, i := range batch {
				edits[j] = edit(i, turn)
			}
			results, err := db.Bulk(b.Context(), edits, layer.WriteOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for j, r := range results {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
				revs[batch[j]] = r.Rev
			}
		}
		build(b, ix, int64(turn), 1000)
		if err := ix.Aggregate(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	turn := 2
	round := func() {
		turn++
		i := turn * 7919 % docs
		var err error
		if revs[i], err = db.Put(b.Context(), edit(i, turn), layer.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		if ok, err := ix.CatchUp(b.Context(), 10); !ok || err != nil {
			b.Fatal(ok, err)
		}
		key := fmt.Appendf(nil, `"Sant Julià %06d"`, i)
		if lines, offset := pageOf(b, ix,
			layer.ViewQuery{View: "name", Key: key, Limit: 1, WithOffset: true}); len(lines) != 1 || offset != int64(
			i) {
			b.Fatal(lines, offset)
		}
	}
	rewrite(1)
	const before = 1000
	began := time.Now()
	for range before {
		round()
	}
	rate := before / time.Since(began).Seconds()
	rewrite(2)
	for b.Loop() {
		round()
	}
	b.ReportMetric(rate, "before/s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rounds/s")
}
