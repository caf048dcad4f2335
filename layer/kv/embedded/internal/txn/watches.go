package txn

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/watch"
)

// txWatches are the watches that the commit will arm.
type txWatches struct {
	txReads

	// Guarded by mu.

	watches []*watch.Watch
}

// Watch implements kv.Transaction.
func (t *txWatches) Watch(key []byte) kv.Watch {
	ws := t.p.Watches
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return ws.Failed(err)
	}
	seen, err := t.getLocked(key, false)
	if err != nil {
		return ws.Failed(err)
	}
	w, ok := ws.Make(key, seen)
	if ok {
		t.watches = append(t.watches, w)
	}
	return w
}

// armWatches arms the transaction's watches after its commit. Called with mu locked; unlocks it.
func (t *txWatches) armWatches() {
	ws := t.watches
	t.watches = nil
	t.mu.Unlock()
	for _, w := range ws {
		t.p.Watches.Arm(w, t.p.Views)
	}
}

// failWatches fails the transaction's watches with the error of its commit. Called with mu locked; unlocks it.
func (t *txWatches) failWatches(err error) {
	ws := t.watches
	t.watches = nil
	t.mu.Unlock()
	for _, w := range ws {
		w.Finish(err)
	}
}
