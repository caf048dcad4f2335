package kvtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// soon is how long a watch may take on a machine that is busy with other tests.
const soon = 10 * time.Second

func watch(t *testing.T, e kv.Engine, k string) kv.Watch {
	t.Helper()
	tx := begin(t, e)
	w := tx.Watch(key(k))
	wantCommit(t, "watching "+k, tx, 0)
	t.Cleanup(w.Cancel)
	return w
}

func wantFired(t *testing.T, what string, w kv.Watch) {
	t.Helper()
	select {
	case <-w.Done():
		if w.Err() != nil {
			t.Errorf("%s: %v", what, w.Err())
		}
	case <-time.After(soon):
		t.Errorf("%s: silent", what)
	}
}

func wantWaiting(t *testing.T, what string, w kv.Watch) {
	t.Helper()
	select {
	case <-w.Done():
		t.Errorf("%s: fired, %v", what, w.Err())
	default:
	}
}

func testWatches(t *testing.T, e kv.Engine) {
	changes := []struct {
		name, key string
		change    func(tx kv.Transaction)
	}{
		{"set", "a", func(tx kv.Transaction) { tx.Set(key("a"), []byte("2")) }},
		{"clear", "a", func(tx kv.Transaction) { tx.Clear(key("a")) }},
		{"clear range", "a", func(tx kv.Transaction) { tx.ClearRange(keyRange("", "b")) }},
		{"atomic", "a", func(tx kv.Transaction) { tx.Atomic(kv.AtomicAppendIfFits, key("a"), []byte("2")) }},
		{"stamped value", "a", func(tx kv.Transaction) { tx.SetVersionstampedValue(key("a"), make([]byte, 10), 0) }},
		{"empty value", "a", func(tx kv.Transaction) { tx.Set(key("a"), nil) }},
		{"creation", "b", func(tx kv.Transaction) { tx.Set(key("b"), nil) }},
	}
	for _, c := range changes {
		update(t, e, func(tx kv.Transaction) { tx.Set(key("a"), []byte("1")); tx.Clear(key("b")) })
		w, other := watch(t, e, c.key), watch(t, e, "other")
		update(t, e, c.change)
		wantFired(t, c.name, w)
		wantWaiting(t, c.name+" of another key", other)
		other.Cancel()
	}

	put(t, e, "a=1")
	w := watch(t, e, "a")
	put(t, e, "a=1", "c=1")
	wantWaiting(t, "set to the same value", w)
	put(t, e, "a=2")
	wantFired(t, "after a set to the same value", w)

	// A change between the transaction's read version and its commit fires the watch.
	tx := begin(t, e)
	w = tx.Watch(key("a"))
	put(t, e, "a=3")
	wantCommit(t, "watch over a change", tx, 0)
	wantFired(t, "change before the commit", w)

	// The transaction's own write is not a change.
	tx = begin(t, e)
	tx.Set(key("a"), []byte("mine"))
	w = tx.Watch(key("a"))
	wantCommit(t, "watch of an own write", tx, 0)
	put(t, e, "c=2")
	wantWaiting(t, "own write", w)
	put(t, e, "a=theirs")
	wantFired(t, "after an own write", w)

	// A watch outlives its transaction and the transaction's context.
	ctx, cancel := context.WithCancel(t.Context())
	tx = e.Begin(ctx)
	w = tx.Watch(key("a"))
	wantCommit(t, "watch to outlive", tx, 0)
	tx.Cancel()
	cancel()
	time.Sleep(10 * time.Millisecond) // time for a faulty watch to end
	wantWaiting(t, "transaction and context cancelled after the commit", w)
	put(t, e, "a=outlived")
	wantFired(t, "transaction and context cancelled after the commit", w)

	// Watches of one key are independent of each other.
	w1, w2, w3 := watch(t, e, "a"), watch(t, e, "a"), watch(t, e, "a")
	w2.Cancel()
	w2.Cancel()
	<-w2.Done()
	isCode(t, "a cancelled watch", w2.Err(), kv.CodeCancelled)
	wantWaiting(t, "another watch of the key", w1)
	put(t, e, "a=again")
	wantFired(t, "first", w1)
	wantFired(t, "third", w3)

	// If the commit fails, the watch fails.
	tx = begin(t, e)
	must(t, tx.Get(key("c")))
	w = tx.Watch(key("a"))
	put(t, e, "c=3")
	tx.Set(key("d"), nil)
	wantCommit(t, "conflict", tx, kv.CodeNotCommitted)
	<-w.Done()
	isCode(t, "a watch whose commit failed", w.Err(), kv.CodeNotCommitted)
	tx = begin(t, e)
	w = tx.Watch(key("a"))
	tx.Cancel()
	<-w.Done()
	isCode(t, "a watch whose transaction was cancelled", w.Err(), kv.CodeCancelled)
	tx = begin(t, e)
	w = tx.Watch([]byte{0xff})
	<-w.Done()
	isCode(t, "a watch outside", w.Err(), kv.CodeKeyOutsideRange)
}

// testWatchStorm checks that readers that wait only by watches see every last state, in any interleaving of writes.
func testWatchStorm(t *testing.T, e kv.Engine) {
	const writers, rounds, keys = 4, 60, 3
	name := func(i int) []byte { return key(fmt.Sprintf("n%d", i%keys)) }
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				tx := e.Begin(t.Context())
				tx.Atomic(kv.AtomicAdd, name(w+i), []byte{1, 0, 0, 0})
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for k := range keys {
		wg.Go(func() {
			for {
				tx := e.Begin(t.Context())
				v, err := tx.Get(name(k)).Wait()
				if err != nil {
					t.Error(err)
					return
				}
				w := tx.Watch(name(k))
				if err := tx.Commit(); err != nil {
					t.Error(err)
					return
				}
				if len(v) == 4 && int(v[0])+int(v[1])<<8 == writers*rounds/keys {
					w.Cancel()
					return
				}
				select {
				case <-w.Done():
				case <-time.After(soon):
					t.Errorf("the watch of %q is silent after %v", name(k), v)
					return
				}
			}
		})
	}
	wg.Wait()
}
