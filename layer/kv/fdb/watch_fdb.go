//go:build fdb

package fdb

import (
	"context"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// watch waits for the client's future in a goroutine of the engine, which ends when the watch fires, fails, is
// cancelled, or the engine closes.
type watch struct {
	done   chan struct{} // closed by wait
	err    error         // set before done is closed
	future fdb.FutureNil // nil if the watch could not be made
	cancel sync.Once
}

func (t *transaction) Watch(key []byte) kv.Watch {
	w := &watch{done: make(chan struct{})}
	err := t.readable(key)
	if err == nil {
		err = t.arm(w, key)
	}
	if err != nil { // otherwise w.err belongs to its goroutine
		w.err = err
		close(w.done)
	}
	return w
}

// arm asks the client for the watch. If a transaction is cancelled after the watched value was read, the client ends
// the watch only when the transaction is destroyed, which would wait for the watch: so the transaction cancels its
// watches itself.
func (t *transaction) arm(w *watch, key []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.stage == cancelled {
		return kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	}
	w.future = t.tr.Watch(fdb.Key(key))
	if !t.engine.watch(func() { w.wait(t.engine.ctx) }) {
		return kv.NewError(kv.CodeCancelled, "the store is closed", nil)
	}
	t.mu.watches = append(t.mu.watches, w)
	return nil
}

func (w *watch) wait(ctx context.Context) {
	defer close(w.done)
	defer context.AfterFunc(ctx, w.Cancel)()
	w.err = convert(context.Background(), w.future.Get())
	if kv.IsCode(w.err, codeOperationCancelled) {
		w.err = kv.NewError(kv.CodeCancelled, "the watch was cancelled", nil)
	}
}

func (w *watch) Done() <-chan struct{} { return w.done }

func (w *watch) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

func (w *watch) Cancel() {
	if w.future != nil {
		w.cancel.Do(w.future.Cancel)
	}
}
