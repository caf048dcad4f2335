package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/remote"
)

const (
	storageRounds = 9
	storageKeys   = 1 << 17
	storageRows   = 200_000 // of 100 bytes, for reads
)

// runStorage compares the embedded engine, directly and through the remote engine, with Pebble on the same disk. It
// alternates in short rounds, so that other work on the machine affects all of them, and compares medians.
func runStorage(ctx context.Context, e *environment, t *table) (err error) {
	dir := e.newDir("storage")
	quiet := slog.New(slog.DiscardHandler)
	// first, while this process has nothing else in memory
	if err := scanLarge(ctx, e.newDir("scan"), quiet, t); err != nil {
		return err
	}
	raw, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{
		CacheSize: 128 << 20, MemTableSize: 16 << 20, MemTableStopWritesThreshold: 3,
		FormatMajorVersion: pebble.FormatNewest, Logger: silent{},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	store, err := embedded.Open(filepath.Join(dir, "embedded"), embedded.Options{Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server, err := remote.Serve(l, store, remote.Options{Secret: "benchmark", Logger: quiet})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	far, err := remote.Open(ctx, server.Addr().String(), remote.Options{Secret: "benchmark", Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, far.Close()) }()
	for _, measure := range []func() error{
		func() error { return compareCommits(ctx, raw, store, far, t) },
		func() error { return compareReads(ctx, raw, store, t) },
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// compareCommits compares one read and two sets of 100 bytes, synced, with synced batches of two sets.
func compareCommits(ctx context.Context, raw *pebble.DB, store *embedded.Engine, far kv.Engine, t *table) error {
	value := make([]byte, 100)
	batch := func(int) error {
		b := raw.NewBatch()
		_ = b.Set(storageKey(storageKeys), value, nil) // a batch in memory never fails
		_ = b.Set(storageKey(storageKeys), value, nil)
		return errors.Join(b.Commit(pebble.Sync), b.Close())
	}
	transaction := func(e kv.Engine) func(int) error {
		return func(int) error {
			_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
				_, err := tx.Get(storageKey(storageKeys)).Wait()
				tx.Set(storageKey(storageKeys), value)
				tx.Set(storageKey(storageKeys), value)
				return struct{}{}, err
			})
			return err
		}
	}
	window, stop := watchWindow(store)
	for _, c := range []struct{ clients, ops int }{{64, 16_000}, {1, 1500}} {
		took, err := byRounds(c.clients, c.ops, batch, transaction(store), transaction(far))
		if err != nil {
			return errors.Join(err, stop())
		}
		what := fmt.Sprintf("small transactions, %d client(s)", c.clients)
		t.row(what+", Pebble's batches", "%.0f /s", rate(c.ops, took.median(0)))
		t.row(what+", embedded", "%.0f /s, %.0f%% of Pebble", rate(c.ops, took.median(1)), took.percent(1, 0))
		more := ""
		if c.clients == 1 {
			more = fmt.Sprintf(", %.2f ms more for each", 1000*(took.median(2)-took.median(1)).Seconds()/float64(c.ops))
		}
		t.row(what+", remote", "%.0f /s, %.0f%% of embedded%s", rate(c.ops, took.median(2)), took.percent(2, 1), more)
	}
	if err := stop(); err != nil {
		return err
	}
	t.row("versions and conflicts in memory meanwhile, at most", "%.1f MB", float64(window.Load())/1e6)
	return nil
}

// watchWindow polls how much the engine keeps in memory, until stop.
func watchWindow(e *embedded.Engine) (most *atomic.Int64, stop func() error) {
	most = new(atomic.Int64)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-ended:
				return
			case <-tick.C:
				most.Store(max(most.Load(), e.WindowBytes()))
			}
		}
	}()
	return most, func() error { close(ended); <-done; return nil }
}

// compareReads compares reads of single keys and of all rows in order, both from memory.
func compareReads(ctx context.Context, raw *pebble.DB, store *embedded.Engine, t *table) error {
	keys := make([][]byte, storageRows)
	value := make([]byte, 100)
	for from := 0; from < len(keys); from += 5000 {
		b := raw.NewBatch()
		_, _, err := kv.Transact(ctx, store, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for i := from; i < from+5000; i++ {
				keys[i] = append([]byte("rows/"), storageKey(1<<40)...)
				tx.Set(keys[i], value)
				_ = b.Set(keys[i], value, nil)
			}
			return struct{}{}, nil
		})
		if err = errors.Join(err, b.Commit(pebble.Sync), b.Close()); err != nil {
			return err
		}
	}
	if err := raw.Flush(); err != nil {
		return err
	}
	const gets = 50_000
	took, err := byRounds(2, gets/10, func(int) error {
		for range 10 {
			v, closer, err := raw.Get(keys[rand.IntN(len(keys))])
			if err != nil {
				return err
			}
			sink.Add(int64(len(v)))
			if err := closer.Close(); err != nil {
				return err
			}
		}
		return nil
	}, func(int) error {
		tx := store.Begin(ctx)
		defer tx.Cancel()
		for range 10 {
			v, err := tx.Get(keys[rand.IntN(len(keys))]).Wait()
			if err != nil {
				return err
			}
			sink.Add(int64(len(v)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.row("point reads, Pebble", "%.0f /s", rate(gets, took.median(0)))
	t.row("point reads, embedded, 10 in a transaction", "%.0f /s, %.0f%% of Pebble", rate(gets, took.median(1)),
		took.percent(1, 0))
	for _, reverse := range []bool{false, true} {
		took, err := byRounds(1, 1, func(int) error {
			return scanRaw(raw, reverse)
		}, func(int) error { return scanRows(ctx, store, reverse) })
		if err != nil {
			return err
		}
		direction := map[bool]string{false: "forward", true: "in reverse"}[reverse]
		t.row("range reads "+direction+", Pebble's iterator", "%.0f rows/s", rate(storageRows, took.median(0)))
		t.row("range reads "+direction+", embedded", "%.0f rows/s, %.0f%% of Pebble", rate(storageRows, took.median(1)),
			took.percent(1, 0))
	}
	return nil
}

var sink atomic.Int64 // so that no read is optimized away

func scanRaw(db *pebble.DB, reverse bool) error {
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte("rows/"), UpperBound: []byte("rows0")})
	if err != nil {
		return err
	}
	first, next := iter.First, iter.Next
	if reverse {
		first, next = iter.Last, iter.Prev
	}
	n := 0
	for ok := first(); ok; ok = next() {
		n += len(iter.Key()) + len(iter.Value())
	}
	sink.Add(int64(n))
	return errors.Join(iter.Error(), iter.Close())
}

func scanRows(ctx context.Context, e kv.Engine, reverse bool) error {
	tx := e.Begin(ctx)
	defer tx.Cancel()
	it := tx.GetRange(kv.KeyRange{Begin: []byte("rows/"), End: []byte("rows0")},
		kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse})
	defer it.Close()
	n := 0
	for it.Next() {
		row := it.KeyValue()
		n += len(row.Key) + len(row.Value)
	}
	sink.Add(int64(n))
	return it.Err()
}

// scanLarge reads all of a store that is ten times larger than the cache, and shows the resident memory before and
// meanwhile.
func scanLarge(ctx context.Context, dir string, quiet *slog.Logger, t *table) (err error) {
	const cache, size, rows = 16 << 20, 160 << 20, 4096
	store, err := embedded.Open(dir, embedded.Options{CacheBytes: cache, MemTableBytes: 4 << 20, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	value := make([]byte, rows)
	for i := 0; i < size/rows; i += 512 {
		_, _, err := kv.Transact(ctx, store, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for j := i; j < i+512; j++ {
				for k := range value {
					value[k] = byte(rand.Uint32()) // incompressible
				}
				tx.Set(binary.BigEndian.AppendUint64([]byte("rows/"), uint64(j)), value)
			}
			return struct{}{}, nil
		})
		if err != nil {
			return err
		}
	}
	debug.FreeOSMemory()
	snap, err := store.OpenSnapshot(ctx) // a scan may take longer than a transaction
	if err != nil {
		return err
	}
	defer snap.Close()
	it := snap.GetRange(kv.KeyRange{Begin: []byte("rows/"), End: []byte("rows0")},
		kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	var tenth, all float64
	for n := 0; it.Next(); n++ {
		sink.Add(int64(len(it.KeyValue().Value)))
		if n%64 == 0 {
			all = max(all, residentMB())
		}
		if n == size/rows/10 {
			tenth = all
		}
	}
	t.row("scan of 168 MB with a cache of 17 MB: resident in the first tenth, and at most", "%.0f MB, %.0f MB", tenth,
		all)
	return it.Err()
}

// residentMB returns this process's resident memory, or 0 if the system does not report it.
func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / 1e6
}

// rounds has the durations of the rounds of several ways to do the same, by way and round.
type rounds [][]time.Duration

// median returns a way's median.
func (r rounds) median(way int) time.Duration {
	took := slices.Sorted(slices.Values(r[way]))
	return took[len(took)/2]
}

// percent returns the speed of a way in percent of another's. It compares each round with the adjacent round of the
// other and returns the median, because other work on the machine varies over time.
func (r rounds) percent(way, of int) float64 {
	var ratios []float64
	for i := range r[way] {
		ratios = append(ratios, 100*r[of][i].Seconds()/r[way][i].Seconds())
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// byRounds runs ops times each of ways from several clients, one way after the other, repeatedly. The first round of
// each is not counted: it fills caches and creates files.
func byRounds(clients, ops int, ways ...func(i int) error) (rounds, error) {
	all := make(rounds, len(ways))
	for round := range storageRounds + 1 {
		for w, way := range ways {
			took, err := oneRound(clients, ops, way)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[w] = append(all[w], took)
			}
		}
	}
	return all, nil
}

func oneRound(clients, ops int, way func(i int) error) (time.Duration, error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	for c := range clients {
		wg.Go(func() {
			for errs[c] == nil {
				i := int(next.Add(1)) - 1
				if i >= ops {
					return
				}
				errs[c] = way(i)
			}
		})
	}
	wg.Wait()
	return time.Since(began), errors.Join(errs...)
}

// storageKey returns one of n keys, which are spread over the whole store.
func storageKey(n uint64) []byte {
	k := binary.BigEndian.AppendUint64(make([]byte, 0, 24), rand.Uint64N(n)*0x9e3779b97f4a7c15)
	k[0] &= 0x7f // below the keys of the engines
	return append(k, "some more bytes"...)
}

// silent discards Pebble's log.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...)) // it must not return
}
