package layer_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// BenchmarkBulk loads new documents over 4 connections in batches of 1,000, including the parsing of JSON.
func BenchmarkBulk(b *testing.B) {
	for _, size := range []int{100, 300} {
		b.Run(fmt.Sprintf("%dbytes", size), func(b *testing.B) {
			d := mustCreate(b, mustStore(b, mustEngine(b), layer.Options{}), "db", layer.CreateOptions{})
			const batch, connections = 1000, 4
			pad := fmt.Sprintf("%0*d", size-60, 0)
			var next sync.Mutex
			n := 0
			start := time.Now()
			var wg sync.WaitGroup
			for range connections {
				wg.Go(func() {
					for {
						next.Lock()
						from := n
						n += batch
						next.Unlock()
						if from >= b.N {
							return
						}
						edits := make([]layer.Edit, 0, batch)
						for i := from; i < min(from+batch, b.N); i++ {
							e, err := layer.ParseEdit(fmt.Appendf(nil,
								`{"_id":"%09d","name":"x","country":"NO","pad":"%s"}`, i, pad), false)
							if err != nil {
								b.Error(err)
								return
							}
							edits = append(edits, e)
						}
						results, err := d.Bulk(b.Context(), edits, layer.WriteOptions{})
						if err != nil {
							b.Error(err)
							return
						}
						for _, r := range results {
							if r.Err != nil {
								b.Error(r.Err)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "docs/s")
		})
	}
}

// BenchmarkUpdate updates documents in batches of 1,000.
func BenchmarkUpdate(b *testing.B) {
	const batch, docs = 1000, 10_000
	d := mustCreate(b, mustStore(b, mustEngine(b), layer.Options{}), "db", layer.CreateOptions{})
	revs := make([]layer.Rev, docs)
	update := func(from, n int) {
		edits := make([]layer.Edit, n)
		for i := range edits {
			id := fmt.Sprintf("%09d", from+i)
			edits[i] = layer.Edit{ID: id, Rev: revs[from+i], Body: fmt.Appendf(nil, `{"name":"x","n":%d}`, i)}
		}
		results, err := d.Bulk(b.Context(), edits, layer.WriteOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for i, r := range results {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
			revs[from+i] = r.Rev
		}
	}
	for from := 0; from < docs; from += batch {
		update(from, batch)
	}
	b.ResetTimer()
	start := time.Now()
	for n := 0; n < b.N; n += batch {
		update(n%docs, min(batch, b.N-n))
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "docs/s")
}

// BenchmarkPut writes single documents from many goroutines.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("%dwriters", writers), func(b *testing.B) {
			d := mustCreate(b, mustStore(b, mustEngine(b), layer.Options{}), "db", layer.CreateOptions{})
			start := time.Now()
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					for i := w; i < b.N; i += writers {
						e, _ := layer.ParseEdit(fmt.Appendf(nil, `{"_id":"%09d","name":"x","country":"NO"}`, i), false)
						if _, err := d.Put(b.Context(), e, layer.WriteOptions{}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "docs/s")
		})
	}
}

// BenchmarkChanges reads a feed of 100,000 documents from its beginning.
func BenchmarkChanges(b *testing.B) {
	const docs = 100_000
	d := mustCreate(b, mustStore(b, mustEngine(b), layer.Options{}), "db", layer.CreateOptions{})
	fill(b, d, docs)
	for _, o := range []layer.ChangesOptions{{Limit: -1}, {Limit: -1, IncludeDocs: true}} {
		b.Run(fmt.Sprintf("docs=%t", o.IncludeDocs), func(b *testing.B) {
			rows := 0
			start := time.Now()
			for b.Loop() {
				pass, err := d.Changes(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range pass.Rows {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
			}
			if rows == 0 || rows%docs != 0 {
				b.Fatalf("%d rows", rows)
			}
			b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
		})
	}
}

func fill(tb testing.TB, d *layer.Database, n int) {
	tb.Helper()
	edits := make([]layer.Edit, 0, n)
	for i := range n {
		edits = append(edits, edit(tb, fmt.Sprintf(`{"_id":"%09d","name":"x","country":"NO","population":%d}`, i, i)))
	}
	if _, err := d.Bulk(tb.Context(), edits, layer.WriteOptions{}); err != nil {
		tb.Fatal(err)
	}
}
