package embedded

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/google/btree"

	"github.com/divandb/divan/layer/kv"
)

// watch implements kv.Watch.
type watch struct {
	of   *watches
	key  []byte
	seen []byte // the value that the transaction saw, nil for none

	once sync.Once
	done chan struct{}
	err  error
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
	w.of.remove(w)
	w.finish(errCancelled)
}

// finish closes done. The first call counts.
func (w *watch) finish(err error) {
	w.once.Do(func() {
		w.err = err
		w.of.count.Add(-1)
		close(w.done)
	})
}

// failedWatch is one that could not be made.
func (ws *watches) failed(err error) *watch {
	w := &watch{of: ws, done: make(chan struct{})}
	ws.count.Add(1)
	w.finish(err)
	return w
}

func sameValue(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// watchedKey is a key that watches are armed on.
type watchedKey struct {
	key     []byte
	watches []*watch
}

// watches are all watches of an engine. Armed ones are found by key.
type watches struct {
	limit int
	count atomic.Int64 // not finished, armed or not
	armed atomic.Int64 // keys

	mu struct {
		sync.Mutex
		keys   *btree.BTreeG[*watchedKey]
		closed bool
	}
}

var errTooManyWatches = kv.NewError(kv.CodeTooManyWatches, "too many watches", nil)

// Watch implements kv.Transaction.
func (t *transaction) Watch(key []byte) kv.Watch {
	ws := &t.e.watches
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return ws.failed(err)
	}
	seen, err := t.getLocked(key, false)
	if err != nil {
		return ws.failed(err)
	}
	if ws.count.Add(1) > int64(ws.limit) {
		ws.count.Add(-1)
		return ws.failed(errTooManyWatches)
	}
	w := &watch{of: ws, key: bytes.Clone(key), seen: seen, done: make(chan struct{})}
	t.mu.watches = append(t.mu.watches, w)
	return w
}

// armWatches arms the transaction's watches after its commit. Called with mu locked; unlocks it.
func (t *transaction) armWatches() {
	ws := t.mu.watches
	t.mu.watches = nil
	t.mu.Unlock()
	for _, w := range ws {
		t.e.arm(w)
	}
}

// failWatches ends the transaction's watches as its commit did. Called with mu locked; unlocks it.
func (t *transaction) failWatches(err error) {
	ws := t.mu.watches
	t.mu.watches = nil
	t.mu.Unlock()
	for _, w := range ws {
		w.finish(err)
	}
}

// arm lets w wait for commits. What was committed since the transaction read is looked at once w is in place, so that nothing falls between.
func (e *Engine) arm(w *watch) {
	if !e.watches.add(w) {
		return
	}
	v, err := e.views.acquire()
	if err != nil {
		e.watches.remove(w)
		w.finish(err)
		return
	}
	defer e.views.release(v)
	now, err := v.get(w.key)
	if err != nil || !sameValue(now, w.seen) {
		e.watches.remove(w)
		w.finish(err)
	}
}

// add arms w. It is false where the engine is closed or w was cancelled, and w is finished then.
func (ws *watches) add(w *watch) bool {
	ws.mu.Lock()
	if ws.mu.closed {
		ws.mu.Unlock()
		w.finish(errClosed)
		return false
	}
	if ws.mu.keys == nil {
		ws.mu.keys = btree.NewG(16, func(a, b *watchedKey) bool { return bytes.Compare(a.key, b.key) < 0 })
	}
	k, ok := ws.mu.keys.Get(&watchedKey{key: w.key})
	if !ok {
		k = &watchedKey{key: w.key}
		ws.mu.keys.ReplaceOrInsert(k)
		ws.armed.Add(1)
	}
	k.watches = append(k.watches, w)
	ws.mu.Unlock()
	select {
	case <-w.done: // cancelled before it was armed
		ws.remove(w)
		return false
	default:
		return true
	}
}

// remove disarms w, if it is armed.
func (ws *watches) remove(w *watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.mu.keys == nil {
		return
	}
	k, ok := ws.mu.keys.Get(&watchedKey{key: w.key})
	if !ok {
		return
	}
	for i, o := range k.watches {
		if o == w {
			k.watches = append(k.watches[:i], k.watches[i+1:]...)
			break
		}
	}
	ws.dropEmpty(k)
}

func (ws *watches) dropEmpty(k *watchedKey) {
	if len(k.watches) > 0 {
		return
	}
	if _, ok := ws.mu.keys.Delete(k); ok {
		ws.armed.Add(-1)
	}
}

// notify fires the watches on keys that the group changed, after its version was published.
func (ws *watches) notify(g *group) {
	if ws.armed.Load() == 0 {
		return
	}
	var fired []*watch
	ws.mu.Lock()
	for _, k := range ws.touched(g) {
		now, err := g.view.get(k.key)
		kept := k.watches[:0]
		for _, w := range k.watches {
			if err == nil && sameValue(now, w.seen) {
				kept = append(kept, w)
			} else {
				fired = append(fired, w)
			}
		}
		clear(k.watches[len(kept):])
		k.watches = kept
		ws.dropEmpty(k)
	}
	ws.mu.Unlock()
	for _, w := range fired {
		w.finish(nil)
	}
}

// touched returns the watched keys that the group wrote. Called with mu locked.
func (ws *watches) touched(g *group) []*watchedKey {
	var in []*watchedKey
	for _, r := range g.requests {
		if r.err != nil {
			continue
		}
		in = ws.touchedBy(spanSet{spans: r.writes}, in)
		if len(r.stamped) > 0 {
			in = ws.touchedBy(spanSet{spans: r.stamped}, in)
		}
	}
	return in
}

// touchedBy walks whichever is shorter: the watched keys or the written spans.
func (ws *watches) touchedBy(written spanSet, in []*watchedKey) []*watchedKey {
	if ws.mu.keys.Len() < len(written.spans) {
		ws.mu.keys.Ascend(func(k *watchedKey) bool {
			if _, touched := written.find(k.key); touched {
				in = append(in, k)
			}
			return true
		})
		return in
	}
	for _, s := range written.spans {
		ws.mu.keys.AscendGreaterOrEqual(&watchedKey{key: s.begin}, func(k *watchedKey) bool {
			if !s.endsAfter(k.key) {
				return false
			}
			in = append(in, k)
			return true
		})
	}
	return in
}

// close ends all armed watches.
func (ws *watches) close() {
	ws.mu.Lock()
	ws.mu.closed = true
	var all []*watch
	if ws.mu.keys != nil {
		ws.mu.keys.Ascend(func(k *watchedKey) bool {
			all = append(all, k.watches...)
			return true
		})
		ws.mu.keys.Clear(false)
		ws.armed.Store(0)
	}
	ws.mu.Unlock()
	for _, w := range all {
		w.finish(errClosed)
	}
}
