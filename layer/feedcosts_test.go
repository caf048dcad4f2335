package layer_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/tuple"
)

// writeFeed writes the entries of many documents, and instead of the documents only their count, as if the database had
// been written at a constant rate until now. Its database has one shard and nothing else in it. It returns some
// sequences.
func writeFeed(tb testing.TB, e kv.Engine, d *layer.Database, entries, perSecond int) (seqs []layer.Seq) {
	tb.Helper()
	key := func(sub keyspace.Subspace, rest ...any) []byte {
		return append(tuple.Tuple{int64(keyspace.Data), d.Number(), int64(sub)}, rest...).Pack()
	}
	const batch = 20_000
	var base int64
	for from := 0; from < entries; from += batch {
		to := min(entries, from+batch)
		_, _, err := kv.Transact(tb.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			if base == 0 {
				now, err := tx.ReadVersion().Wait()
				if err != nil {
					return struct{}{}, err
				}
				if base = now - int64(entries)*1_000_000/int64(perSecond); base <= 0 {
					tb.Fatalf("the store is at version %d: too young for so many entries", now)
				}
			}
			var last tuple.Versionstamp
			for i := from; i < to; i++ {
				binary.BigEndian.PutUint64(last.Transaction[:], uint64(base+int64(i)*1_000_000/int64(perSecond)))
				last.User = uint16(i)
				value := tuple.Tuple{keyspace.SeqFormat, fmt.Sprintf("doc-%09d", i), 1, make([]byte, 16), 1, true}
				tx.Set(key(keyspace.Changes, "1", 0, last), value.Pack())
				if i%(entries/100) == 0 && i/(entries/100) == len(seqs) { // once, even if the transaction is retried
					var seq layer.Seq
					copy(seq.Stamp[:], last.Transaction[:])
					binary.BigEndian.PutUint16(seq.Stamp[10:], last.User)
					seqs = append(seqs, seq)
				}
			}
			tx.Set(key(keyspace.Wake, "1"), tuple.Tuple{0, last}.Pack())
			tx.Set(key(keyspace.ShardCounters, "1", "doc_count"), binary.LittleEndian.AppendUint64(nil, uint64(to)))
			return struct{}{}, nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return seqs
}

// feedPage reads a page of the feed, and the number of changes pending after it.
func feedPage(ctx context.Context, d *layer.Database, o layer.ChangesOptions) (rows int, pending int64, last layer.Seq,
	err error) {
	pass, err := d.Changes(ctx, o)
	if err != nil {
		return 0, 0, last, err
	}
	for _, err := range pass.Rows {
		if err != nil {
			return 0, 0, last, err
		}
		rows++
	}
	pending, err = pass.Pending(ctx)
	return rows, pending, pass.LastSeq(), err
}

// A page of a large feed costs as much as one of a small feed, wherever it is, and whatever else is written.
func TestPending_costs(t *testing.T) {
	oneGoroutine(t)
	const limit = 100
	for _, entries := range []int{2_000, 50_000} {
		t.Run(strconv.Itoa(entries), func(t *testing.T) {
			e := &costEngine{Engine: mustEngine(t)}
			d := mustQuietDatabase(t, e, layer.CreateOptions{})
			writeFeed(t, e, d, entries, 10_000)
			for more := true; more; {
				var err error
				if more, err = layer.CloseFeed(t.Context(), d, 4096); err != nil {
					t.Fatal(err)
				}
			}
			rev := put(t, d, `{"_id":"a"}`)
			var since layer.Seq
			left := int64(entries) + 1
			for i := 0; left > limit; i++ {
				rev = put(t, d, `{"_id":"a","_rev":"`+rev.String()+`"}`)
				e.forget()
				rows, pending, last, err := feedPage(t.Context(), d, layer.ChangesOptions{Since: since, Limit: limit})
				if left -= limit; err != nil || rows != limit || pending != left {
					t.Fatalf("%d rows, %d pending, %v; want %d", rows, pending, err, left)
				}
				// Besides the page: at most the entries of a leaf, of a fifteenth of a second, and some rows of each
				// level.
				if n := e.rows.Load() + e.gets.Load(); n > limit+2_000 || e.ranges.Load() > 10 ||
					e.transactions.Load() > 2 {
					t.Fatalf("page %d reads %d rows of %d ranges in %d transactions", i, n, e.ranges.Load(),
						e.transactions.Load())
				}
				since = last
				if entries > 2_000 && i%10 == 0 && left > 10*limit { // not every page of a large feed
					rows, pending, last, err = feedPage(t.Context(), d,
						layer.ChangesOptions{Since: since, Limit: 9 * limit})
					if left -= 9 * limit; err != nil || rows != 9*limit || pending != left {
						t.Fatalf("%d rows, %d pending, %v; want %d", rows, pending, err, left)
					}
					since = last
				}
			}
			// The newest changes leave all others.
			e.forget()
			rows, pending, _, err := feedPage(t.Context(), d, layer.ChangesOptions{Descending: true, Limit: limit})
			if err != nil || rows != limit || pending != int64(entries)+1-limit {
				t.Errorf("%d rows, %d pending, %v", rows, pending, err)
			}
			if n := e.rows.Load() + e.gets.Load(); n > 2*limit && !faultkv.Enabled() {
				t.Errorf("a page of the newest changes reads %d rows", n)
			}
		})
	}
}

// BenchmarkChangesPage reads pages of 100 from random places in a feed while four others write. DIVAN_BENCH_ENTRIES is
// the number of entries of the large feed, and DIVAN_BENCH_RATE how many were written per second: a new FoundationDB
// cluster has not existed long enough for many.
func BenchmarkChangesPage(b *testing.B) {
	number := func(variable string, or int) int {
		if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
			return n
		}
		return or
	}
	rate := number("DIVAN_BENCH_RATE", 10_000)
	for _, entries := range []int{20_000, number("DIVAN_BENCH_ENTRIES", 1_000_000)} {
		b.Run(strconv.Itoa(entries), func(b *testing.B) {
			e := mustEngine(b)
			s, err := layer.Open(b.Context(), e, layer.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			d := mustCreate(b, s, "db", layer.CreateOptions{})
			seqs := writeFeed(b, e, d, entries, rate)
			began := time.Now()
			for more := true; more; {
				if more, err = layer.CloseFeed(b.Context(), d, 4096); err != nil {
					b.Fatal(err)
				}
			}
			counted := time.Since(began)
			ctx, stop := context.WithCancel(b.Context())
			var writers sync.WaitGroup
			for w := range 4 {
				writers.Go(func() {
					var revs [50]layer.Rev
					for i := 0; ctx.Err() == nil; i++ {
						id := fmt.Sprintf("w%d-%d", w, i%len(revs))
						rev, err := d.Put(ctx, layer.Edit{ID: id, Rev: revs[i%len(revs)], Body: []byte(`{}`)},
							layer.WriteOptions{})
						if err != nil && ctx.Err() == nil {
							b.Error(err)
							return
						}
						revs[i%len(revs)] = rev
					}
				})
			}
			var times []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				if _, _, _, err := feedPage(b.Context(), d,
					layer.ChangesOptions{Since: seqs[i*7919%len(seqs)], Limit: 100}); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
			}
			stop()
			writers.Wait()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(entries)/counted.Seconds(), "counted/s")
		})
	}
}
