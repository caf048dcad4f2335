package embedded_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// TestEngine_versionsAreGivenBack checks that a version is held only while it is the newest or a transaction reads
// it.
func TestEngine_versionsAreGivenBack(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				set(t, e, fmt.Sprintf("%d/%d", w, i), "v")
				get(t, e, fmt.Sprintf("%d/%d", w, i))
			}
		})
	}
	wg.Wait()
	if n := e.Views(); n != 1 {
		t.Errorf("%d versions are held without a holder", n)
	}
	a, b := e.Begin(t.Context()), e.Begin(t.Context())
	for _, tx := range []kv.Transaction{a, b} {
		if _, err := tx.ReadVersion().Wait(); err != nil {
			t.Fatal(err)
		}
	}
	set(t, e, "x", "1")
	set(t, e, "x", "2")
	if n := e.Views(); n != 2 {
		t.Errorf("%d versions are held, want that of two transactions and the newest", n)
	}
	a.Cancel()
	if n := e.Views(); n != 2 {
		t.Errorf("%d versions are held, want that of one transaction and the newest", n)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := e.Views(); n != 1 {
		t.Errorf("%d versions are held after the last transaction ended", n)
	}
}

// TestEngine_forgottenTransactions checks that a transaction that is never ended releases its version and its files
// after its time limit.
func TestEngine_forgottenTransactions(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{}.WithTransactionTime(200*time.Millisecond))
	var pairs []string
	for i := range 3000 {
		pairs = append(pairs, fmt.Sprintf("k%05d", i), "v")
	}
	set(t, e, pairs...)
	if err := e.Pebble().Flush(); err != nil {
		t.Fatal(err)
	}
	tx := e.Begin(t.Context())
	it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")}, kv.RangeOptions{})
	if !it.Next() {
		t.Fatal(it.Err())
	}
	set(t, e, "x", "1")
	if e.Views() != 2 || e.Pebble().Metrics().TableIters == 0 {
		t.Errorf("%d versions and %d iterators are held, want 2 and some", e.Views(), e.Pebble().Metrics().TableIters)
	}
	deadline := time.Now().Add(10 * time.Second)
	for e.Views() != 1 || e.Pebble().Metrics().TableIters != 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d versions and %d iterators are held after the time limit", e.Views(),
				e.Pebble().Metrics().TableIters)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for it.Next() {
	}
	if !kv.IsCode(it.Err(), kv.CodeTooOld) {
		t.Errorf("range: %v", it.Err())
	}
	if _, err := tx.Get([]byte("x")).Wait(); !kv.IsCode(err, kv.CodeTooOld) {
		t.Errorf("get: %v", err)
	}
}

// TestEngine_fullResolver checks that when the resolver forgets early, transactions that read before that must be
// retried, and nothing else changes.
func TestEngine_fullResolver(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{ResolverBytes: 64 << 10})
	long := e.Begin(t.Context())
	defer long.Cancel()
	if _, err := long.Get([]byte("a")).Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		var pairs []string
		for j := range 100 {
			pairs = append(pairs, fmt.Sprintf("a long key, so that few fit/%d/%d", i, j), "v")
		}
		set(t, e, pairs...)
	}
	if n := e.WindowBytes(); n > 65<<10 { // a little more than the resolver's
		t.Errorf("the window has %d bytes", n)
	}
	if v, err := long.Get([]byte("b")).Wait(); err != nil || v != nil {
		t.Errorf("read %q, %v: reads must not depend on the resolver", v, err)
	}
	long.Set([]byte("b"), nil)
	if err := long.Commit(); !kv.IsCode(err, kv.CodeTooOld) || !kv.Retryable(err) {
		t.Errorf("commit: %v", err)
	}
	set(t, e, "b", "1")
}

// TestEngine_tooManyWatches checks that the limit is reported, and that finished watches no longer count.
func TestEngine_tooManyWatches(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{MaxWatches: 3})
	tx := e.Begin(t.Context())
	var watches []kv.Watch
	for range 3 {
		watches = append(watches, tx.Watch([]byte("a")))
	}
	over := tx.Watch([]byte("a"))
	<-over.Done()
	if !kv.IsCode(over.Err(), kv.CodeTooManyWatches) {
		t.Errorf("%v", over.Err())
	}
	watches[1].Cancel()
	again := tx.Watch([]byte("a"))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	set(t, e, "a", "1")
	for _, w := range []kv.Watch{watches[0], watches[2], again} {
		<-w.Done()
		if w.Err() != nil {
			t.Errorf("%v", w.Err())
		}
	}
}

// TestEngine_windowBytes checks that the memory for recent writes stays below the promised 64 MB, whatever is written
// within a transaction's time, also while runs are merged. The time limit is an hour here, because on a slow machine
// little is written within five seconds.
func TestEngine_windowBytes(t *testing.T) {
	oneGoroutine(t)
	e := mustOpen(t, t.TempDir(), embedded.Options{}.WithTransactionTime(time.Hour))
	most := int64(0)
	key := bytes.Repeat([]byte("k"), 200)
	for i := range 16 {
		tx := e.Begin(t.Context())
		for j := range 12_000 { // 2.5 MB of written keys
			binary.BigEndian.PutUint32(key, uint32(j*16+i))
			tx.Set(append([]byte("a"), key...), nil)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		most = max(most, e.WindowBytes())
	}
	if most < 20<<20 || 2*most > 64_000_000 {
		t.Errorf("%d bytes were kept for 40 MB of keys", most)
	}
}
