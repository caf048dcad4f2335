//go:build fdb

package fdb_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// TestWatch_OutlivesTimeout checks that the time limit of a transaction does not apply to its watches.
func TestWatch_OutlivesTimeout(t *testing.T) {
	fdbtest.Whole(t)
	e := mustOpen(t, fdb.Options{ClusterFile: fdbtest.AnotherFile(t), Timeout: 300 * time.Millisecond})
	key := []byte("watched")
	tx := e.Begin(t.Context())
	w := tx.Watch(key)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx.Cancel()
	time.Sleep(time.Second) // longer than the timeout
	select {
	case <-w.Done():
		t.Fatalf("the watch ended without a change: %v", w.Err())
	default:
	}
	write(t, e, key)
	select {
	case <-w.Done():
		if w.Err() != nil {
			t.Error(w.Err())
		}
	case <-time.After(limit):
		t.Error("the watch is silent")
	}
}

func write(t *testing.T, e kv.Engine, key []byte) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
		tx.SetVersionstampedValue(key, make([]byte, 10), 0)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func erase(t *testing.T, e kv.Engine) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (int, error) {
		tx.ClearRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTransaction_LeavesNothing runs transactions that end in every possible way, from many goroutines, and counts
// what remains: goroutines, the client's handles, resident memory.
func TestTransaction_LeavesNothing(t *testing.T) {
	total := 100_000
	if testing.Short() {
		total = 10_000
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1 // to count handles
	e := fdbtest.Whole(t)
	for i := range 1000 {
		write(t, e, binary.BigEndian.AppendUint32([]byte("row"), uint32(i)))
	}
	runEndings(t, e, total/2) // let the client's caches and threads, and the heap, reach their size
	goroutines, memory := runtime.NumGoroutine(), residentAfterGC(t)
	runEndings(t, e, total/2)
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > goroutines && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	after, handles := residentAfterGC(t), handles()
	t.Logf("%d goroutines, %d handles; resident %d MB, then %d MB", runtime.NumGoroutine(), handles, memory>>20,
		after>>20)
	if handles > 32 { // a worker's last handle may still be on a stack
		t.Errorf("%d transactions and futures of the client remain of %d transactions", handles, total)
	}
	if after > memory+40<<20 {
		t.Errorf("resident memory went from %d to %d MB", memory>>20, after>>20)
	}
}

// handles counts the reachable transactions and futures of the binding: each holds one of the client's, and releases
// it when it is collected.
func handles() int64 {
	records := make([]runtime.MemProfileRecord, 1000)
	for {
		n, ok := runtime.MemProfile(records, false)
		if records = records[:min(n, len(records))]; ok {
			break
		}
		records = make([]runtime.MemProfileRecord, n+100)
	}
	var live int64
	for _, r := range records {
		for frames, more := runtime.CallersFrames(r.Stack()), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if strings.HasSuffix(f.Function, "fdb.Database.CreateTransaction") ||
				strings.HasSuffix(f.Function, "fdb.newFutureWithDb") {
				live += r.InUseObjects()
				break
			}
		}
	}
	return live
}

func runEndings(t *testing.T, e kv.Engine, n int) {
	const workers = 32
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range n / workers {
				if err := runEnding(t.Context(), e, i%8, w); err != nil {
					t.Errorf("ending %d: %v", i%8, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func runEnding(ctx context.Context, e kv.Engine, how, worker int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tx := e.Begin(ctx)
	defer tx.Cancel()
	own := []byte(fmt.Sprintf("own%d", worker))
	rows := kv.KeyRange{Begin: []byte("row"), End: []byte("rox")}
	switch how {
	case 0: // committed
		tx.Set(own, []byte("1"))
		return tx.Commit()
	case 1: // cancelled with reads and writes in progress
		tx.Set(own, []byte("2"))
		tx.Get(rows.Begin)
		tx.Cancel()
	case 2: // an iterator that is left open
		it := tx.GetRange(rows, kv.RangeOptions{})
		it.Next()
		return it.Err()
	case 3: // the context ends while somebody waits
		value := tx.Get(own)
		go cancel()
		if _, err := value.Wait(); err != nil && !kv.IsCode(err, kv.CodeCancelled) {
			return err
		}
	case 4: // the context ends during the commit
		tx.Set(own, []byte("3"))
		go cancel()
		if err := tx.Commit(); err != nil && !kv.IsCode(err, kv.CodeCancelled) {
			return err
		}
	case 5: // a watch that nobody waits for
		w := tx.Watch(own)
		err := tx.Commit()
		w.Cancel()
		return err
	case 6: // a watch of a transaction that never commits
		w := tx.Watch(own)
		tx.Cancel()
		<-w.Done()
	case 7: // futures that nobody waits for
		for range 5 {
			tx.Snapshot().Get(own)
			tx.GetKey(kv.FirstGreaterThan(own))
		}
		tx.ReadVersion()
	}
	return nil
}

// residentAfterGC returns the process's resident memory in bytes. The binding releases handles in finalizers, so it
// takes more than one collection.
func residentAfterGC(t *testing.T) int {
	t.Helper()
	for range 4 {
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm to read memory from")
	}
	pages, err := strconv.Atoi(string(bytes.Fields(statm)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
