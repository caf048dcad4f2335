package embedded_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// The benchmarks compare the engine with plain Pebble, on one store and in one run, because only the ratio is
// independent of the machine and its disk.

// clients runs op n times in total, from several goroutines, and returns the operations per second.
func clients(b *testing.B, count, n int, op func(client, i int) error) float64 {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for c := range count {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := op(c, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(start).Seconds()
}

func randomKey(prefix byte, n int) []byte {
	k := append(make([]byte, 0, 32), prefix)
	k = binary.BigEndian.AppendUint64(k, rand.Uint64N(uint64(n))*0x9e3779b97f4a7c15)
	return append(k, "some more bytes"...)
}

// BenchmarkSmallTransactions compares synced transactions of one read and two sets of 100 bytes with synced Pebble
// batches of two sets. The two run in turns, so that neither pays for the other's compactions. The keys are few
// enough to stay in the cache.
func BenchmarkSmallTransactions(b *testing.B) {
	const keys, turns = 1 << 17, 8
	for _, count := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", count), func(b *testing.B) {
			e := mustOpen(b, b.TempDir(), embedded.Options{})
			db, value := e.Pebble(), make([]byte, 100)
			n := max(b.N, 800*count) / turns
			var pebbleTime, engineTime float64
			b.ResetTimer()
			for range turns {
				pebbleTime += 1 / clients(b, count, n, func(_, i int) error {
					batch := db.NewBatch()
					defer func() { _ = batch.Close() }()
					_ = batch.Set(randomKey('r', keys), value, nil)
					_ = batch.Set(randomKey('r', keys), value, nil)
					return batch.Commit(pebble.Sync)
				})
				engineTime += 1 / clients(b, count, n, func(_, i int) error {
					_, _, err := kv.Transact(b.Context(), e, kv.TransactOptions{},
						func(tx kv.Transaction) (struct{}, error) {
							_, err := tx.Get(randomKey('e', keys)).Wait()
							tx.Set(randomKey('e', keys), value)
							tx.Set(randomKey('e', keys), value)
							return struct{}{}, err
						})
					return err
				})
			}
			b.ReportMetric(turns/pebbleTime, "pebble-commits/s")
			b.ReportMetric(turns/engineTime, "commits/s")
			b.ReportMetric(pebbleTime/engineTime, "of-pebble")
		})
	}
}

// BenchmarkBulk runs transactions of 5,000 sets from 4 connections, as _bulk_docs does.
func BenchmarkBulk(b *testing.B) {
	const connections, sets = 4, 5000
	e := mustOpen(b, b.TempDir(), embedded.Options{})
	n := max(b.N, 400)
	value := make([]byte, 150)
	for i := range value {
		value[i] = byte(rand.Uint32())
	}
	start := cpuTime()
	b.ResetTimer()
	perSecond := clients(b, connections, n, func(c, i int) error {
		_, _, err := kv.Transact(b.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			doc := make([]byte, 16)
			for j := range sets / 5 {
				binary.BigEndian.PutUint64(doc, rand.Uint64())
				for part := range 4 {
					k := append(append(make([]byte, 0, 48), "\x15\x01db-name\x00"...), byte(part))
					tx.Set(append(append(k, doc...), byte(j)), value[:100+part*10])
				}
				stamped := append(append([]byte("\x15\x02db-name\x00"), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff), byte(j>>8), byte(j))
				tx.SetVersionstampedKey(stamped, 10, doc)
			}
			return struct{}{}, nil
		})
		return err
	})
	b.ReportMetric(perSecond*sets, "sets/s")
	b.ReportMetric(float64(n*sets)/(cpuTime()-start).Seconds(), "sets/cpu-s")
	b.ReportMetric(float64(e.Pebble().Metrics().Total().TableBytesFlushed+
		e.Pebble().Metrics().Total().TableBytesCompacted)/float64(n*sets), "written-B/set")
}

// BenchmarkPointReads compares transactions of 10 random reads with Pebble's Get.
func BenchmarkPointReads(b *testing.B) {
	e, keys := loaded(b)
	snap := e.Pebble().NewSnapshot()
	defer func() { _ = snap.Close() }()
	n := max(b.N, 20_000)
	b.ResetTimer()
	raw := clients(b, 2, n/10, func(_, _ int) error {
		for range 10 {
			v, closer, err := snap.Get(keys[rand.IntN(len(keys))])
			if err != nil {
				return err
			}
			sink(v)
			if err := closer.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	engine := clients(b, 2, n/10, func(_, _ int) error {
		tx := e.Begin(b.Context())
		defer tx.Cancel()
		for range 10 {
			v, err := tx.Get(keys[rand.IntN(len(keys))]).Wait()
			if err != nil {
				return err
			}
			sink(v)
		}
		return nil
	})
	b.ReportMetric(10*raw, "pebble-reads/s")
	b.ReportMetric(10*engine, "reads/s")
	b.ReportMetric(engine/raw, "of-pebble")
}

// BenchmarkRangeReads reads the whole store row by row and compares with a Pebble iterator.
func BenchmarkRangeReads(b *testing.B) {
	e, keys := loaded(b)
	for _, reverse := range []bool{false, true} {
		b.Run(fmt.Sprintf("reverse=%v", reverse), func(b *testing.B) {
			n := max(b.N, 1)
			rows := float64(n * len(keys))
			start := time.Now()
			for range n {
				iter, err := e.Pebble().NewIter(&pebble.IterOptions{LowerBound: []byte("k"), UpperBound: []byte("l")})
				if err != nil {
					b.Fatal(err)
				}
				step := iter.Next
				ok := iter.First
				if reverse {
					step, ok = iter.Prev, iter.Last
				}
				for valid := ok(); valid; valid = step() {
					sink(iter.Key())
					sink(iter.Value())
				}
				if err := iter.Close(); err != nil {
					b.Fatal(err)
				}
			}
			raw := rows / time.Since(start).Seconds()
			start = time.Now()
			for range n {
				tx := e.Begin(b.Context())
				it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")},
					kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse})
				for it.Next() {
					row := it.KeyValue()
					sink(row.Key)
					sink(row.Value)
				}
				if it.Err() != nil {
					b.Fatal(it.Err())
				}
				it.Close()
				tx.Cancel()
			}
			engine := rows / time.Since(start).Seconds()
			b.ReportMetric(raw, "pebble-rows/s")
			b.ReportMetric(engine, "rows/s")
			b.ReportMetric(engine/raw, "of-pebble")
		})
	}
}

// BenchmarkShortRanges reads one row from a random key on, as the lookup of a document's winner does.
func BenchmarkShortRanges(b *testing.B) {
	e, keys := loaded(b)
	snap := e.Pebble().NewSnapshot()
	defer func() { _ = snap.Close() }()
	n := max(b.N, 10_000)
	b.ResetTimer()
	raw := clients(b, 2, n, func(_, _ int) error {
		iter, err := snap.NewIter(&pebble.IterOptions{LowerBound: []byte("k"), UpperBound: keys[rand.IntN(len(keys))]})
		if err != nil {
			return err
		}
		if iter.Last() {
			sink(iter.Key())
		}
		return iter.Close()
	})
	engine := clients(b, 2, n, func(_, _ int) error {
		tx := e.Begin(b.Context())
		defer tx.Cancel()
		it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: keys[rand.IntN(len(keys))]},
			kv.RangeOptions{Limit: 1, Reverse: true})
		defer it.Close()
		if it.Next() {
			sink(it.KeyValue().Key)
		}
		return it.Err()
	})
	b.ReportMetric(raw, "pebble-reads/s")
	b.ReportMetric(engine, "reads/s")
	b.ReportMetric(engine/raw, "of-pebble")
}

var sunk atomic.Int64

// sink uses a value, so that the compiler does not remove the read.
func sink(b []byte) {
	if len(b) == 1<<30 {
		sunk.Add(1)
	}
}

// loaded returns a store of 200,000 rows, flushed.
func loaded(b *testing.B) (*embedded.Engine, [][]byte) {
	b.Helper()
	e := mustOpen(b, b.TempDir(), embedded.Options{})
	keys := make([][]byte, 200_000)
	value := make([]byte, 100)
	for from := 0; from < len(keys); from += 5000 {
		_, _, err := kv.Transact(b.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for i := from; i < from+5000; i++ {
				keys[i] = randomKey('k', 1<<40)
				tx.Set(keys[i], value)
			}
			return struct{}{}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := e.Pebble().Flush(); err != nil {
		b.Fatal(err)
	}
	return e, keys
}

// BenchmarkAcknowledge measures the horizon mark that each group of commits writes, beside its sync.
func BenchmarkAcknowledge(b *testing.B) {
	e := mustOpen(b, b.TempDir(), embedded.Options{})
	version := set(b, e, "a", "1")
	for b.Loop() {
		if err := e.Acknowledge(version); err != nil {
			b.Fatal(err)
		}
	}
}
