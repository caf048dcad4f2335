//go:build fdb

package fdb

import (
	"context"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// codeOperationCancelled is what a cancelled future fails with.
const codeOperationCancelled kv.Code = 1101

// watch waits for the client's future in a goroutine of the engine, which ends when the watch fires, fails, is cancelled, or the engine closes.
type watch struct {
	done   chan struct{} // closed by wait
	err    error         // set before done is closed
	future fdb.FutureNil
	cancel sync.Once
}

func (t *transaction) Watch(key []byte) kv.Watch {
	w := &watch{done: make(chan struct{})}
	if err := t.checkKey(key); err != nil {
		w.err = err
		close(w.done)
		return w
	}
	w.future = t.tr.Watch(fdb.Key(key))
	t.engine.pending.Go(func() { w.wait(t.engine.ctx) })
	return w
}

func (w *watch) wait(ctx context.Context) {
	defer close(w.done)
	defer context.AfterFunc(ctx, w.Cancel)()
	w.err = convert(ctx, w.future.Get())
	if kv.IsCode(w.err, codeOperationCancelled) {
		w.err = kv.NewError(kv.CodeCancelled, "the watch was cancelled", w.err)
	}
}

func (w *watch) Done() <-chan struct{} { return w.done }

func (w *watch) Err() error { return w.err }

func (w *watch) Cancel() {
	if w.future != nil {
		w.cancel.Do(w.future.Cancel)
	}
}
