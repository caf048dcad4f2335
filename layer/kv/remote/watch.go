package remote

import (
	"errors"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// watch implements kv.Watch. It is a call that the server answers when its watch ends.
type watch struct {
	t    *txLink
	k    *call
	done chan struct{}

	mu struct {
		sync.Mutex
		armed bool // by the commit
		lost  bool // the connection broke before it was armed
		over  bool
		err   error
	}
}

// Watch implements kv.Transaction.
func (t *transaction) Watch(key []byte) kv.Watch {
	w := &watch{t: &t.txLink, done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.usable()
	if err == nil && len(key) > kv.MaxKeySize {
		err = kv.NewError(kv.CodeKeyTooLarge, "the key is too large", nil)
	}
	if err == nil {
		k := &call{kind: kindWatch, watch: w, done: make(chan struct{})}
		w.k = k
		_, err = t.requestLocked(k, func(dst []byte) []byte { return appendBytes(dst, key) })
	}
	if err != nil {
		w.finish(err)
		return w
	}
	t.watches = append(t.watches, w)
	return w
}

// answered records how the watch ended at the server, or that the connection broke.
func (w *watch) answered(err error) {
	w.mu.Lock()
	if errors.Is(err, errBroken) {
		if !w.mu.armed {
			w.mu.lost = true // the commit or Cancel decides how the watch ends
			w.mu.Unlock()
			return
		}
		err = nil // the key may have changed in the meantime
	}
	w.mu.Unlock()
	w.finish(err)
}

// arm records that the commit succeeded.
func (w *watch) arm() {
	w.mu.Lock()
	w.mu.armed = true
	lost := w.mu.lost
	w.mu.Unlock()
	if lost {
		w.finish(nil)
	}
}

// finish ends the watch. Only the first call has an effect.
func (w *watch) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mu.over {
		w.mu.over, w.mu.err = true, err
		close(w.done)
	}
}

func (w *watch) Done() <-chan struct{} { return w.done }

func (w *watch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.err
}

func (w *watch) Cancel() {
	select {
	case <-w.done:
		return
	default:
	}
	w.finish(errCancelled)
	w.t.mu.Lock()
	c, object := w.t.conn, w.t.object
	w.t.mu.Unlock()
	if c != nil {
		// if sending fails, the watch has ended with the connection
		_ = c.send(kindWatchCancel, object, w.k.number, nil)
	}
}
