package watch

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/google/btree"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

// Watch implements kv.Watch.
type Watch struct {
	of   *Watches
	key  []byte
	seen []byte // the value that the transaction saw, nil for none

	once sync.Once
	done chan struct{}
	err  error
}

func (w *Watch) Done() <-chan struct{} { return w.done }

func (w *Watch) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// Cancel unregisters a watch unless it is finished: then it is unregistered already, or will be by who arms it. So it
// takes no lock that all watches share.
func (w *Watch) Cancel() {
	w.once.Do(func() {
		w.finish(failure.ErrCancelled)
		w.of.remove(w) // after finish: who registers it at this moment sees that it is done
	})
}

// Finish closes done with err. Only the first call has an effect.
func (w *Watch) Finish(err error) { w.once.Do(func() { w.finish(err) }) }

func (w *Watch) finish(err error) {
	w.err = err
	w.of.count.Add(-1)
	close(w.done)
}

// Failed returns a watch that has failed with err.
func (ws *Watches) Failed(err error) *Watch {
	w := &Watch{of: ws, done: make(chan struct{})}
	ws.count.Add(1)
	w.Finish(err)
	return w
}

func sameValue(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// watchedKey is a key with armed watches.
type watchedKey struct {
	key     []byte
	watches []*Watch
}

// Watches are all watches of an engine. Armed ones are indexed by key.
type Watches struct {
	Limit int
	count atomic.Int64 // unfinished watches, armed or not
	keys  atomic.Int64 // keys with armed watches

	mu struct {
		sync.Mutex
		keys   *btree.BTreeG[*watchedKey]
		closed bool
	}
}

// Make returns a new watch of key whose current value is seen, nil for none. If ok, the caller arms it later. If
// there are too many watches, it returns a failed watch and false.
func (ws *Watches) Make(key, seen []byte) (w *Watch, ok bool) {
	if ws.count.Add(1) > int64(ws.Limit) {
		ws.count.Add(-1)
		return ws.Failed(errTooManyWatches), false
	}
	return &Watch{of: ws, key: bytes.Clone(key), seen: seen, done: make(chan struct{})}, true
}

var errTooManyWatches = kv.NewError(kv.CodeTooManyWatches, "too many watches", nil)

// Arm lets w wait for commits. Once w is registered, Arm compares the current value with the one that the transaction
// saw, so that no commit in between is missed.
func (ws *Watches) Arm(w *Watch, views *versions.Views) {
	if !ws.add(w) {
		return
	}
	v, err := views.Acquire()
	if err != nil {
		ws.remove(w)
		w.Finish(err)
		return
	}
	defer views.Release(v)
	now, err := v.Get(w.key)
	if err != nil || !sameValue(now, w.seen) {
		ws.remove(w)
		w.Finish(err)
	}
}

// add registers w. It returns false, with w finished, if the engine is closed or w was cancelled.
func (ws *Watches) add(w *Watch) bool {
	ws.mu.Lock()
	if ws.mu.closed {
		ws.mu.Unlock()
		w.Finish(failure.ErrClosed)
		return false
	}
	if ws.mu.keys == nil {
		ws.mu.keys = btree.NewG(16, func(a, b *watchedKey) bool { return bytes.Compare(a.key, b.key) < 0 })
	}
	k, ok := ws.mu.keys.Get(&watchedKey{key: w.key})
	if !ok {
		k = &watchedKey{key: w.key}
		ws.mu.keys.ReplaceOrInsert(k)
		ws.keys.Add(1)
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

// remove unregisters w if it is registered.
func (ws *Watches) remove(w *Watch) {
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

func (ws *Watches) dropEmpty(k *watchedKey) {
	if len(k.watches) > 0 {
		return
	}
	if _, ok := ws.mu.keys.Delete(k); ok {
		ws.keys.Add(-1)
	}
}

// Armed reports whether any watch is armed.
func (ws *Watches) Armed() bool { return ws.keys.Load() > 0 }

// changes are the writes of a group of commits.
type changes interface {
	// Spans returns what the i-th commit has written: its own keys and those made from its versionstamp, each sorted
	// and disjoint. ok is false past the last commit.
	Spans(i int) (written, stamped []keys.Span, ok bool)
}

// Notify fires the watches whose keys a group of commits has changed, after the group's version v was published. Call
// it only if Armed.
func (ws *Watches) Notify(v *versions.View, by changes) {
	var fired []*Watch
	ws.mu.Lock()
	for _, k := range ws.touched(by) {
		now, err := v.Get(k.key)
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
		w.Finish(nil)
	}
}

// touched returns the watched keys that were written. Called with mu locked.
func (ws *Watches) touched(by changes) (in []*watchedKey) {
	for i := 0; ; i++ {
		own, stamped, ok := by.Spans(i)
		if !ok {
			return in
		}
		if len(own) > 0 {
			in = ws.touchedBy(keys.Set{Spans: own}, in)
		}
		if len(stamped) > 0 {
			in = ws.touchedBy(keys.Set{Spans: stamped}, in)
		}
	}
}

// touchedBy iterates over the shorter list: the watched keys or the written spans.
func (ws *Watches) touchedBy(written keys.Set, in []*watchedKey) []*watchedKey {
	if ws.mu.keys.Len() < len(written.Spans) {
		ws.mu.keys.Ascend(func(k *watchedKey) bool {
			if _, touched := written.Find(k.key); touched {
				in = append(in, k)
			}
			return true
		})
		return in
	}
	for _, s := range written.Spans {
		ws.mu.keys.AscendGreaterOrEqual(&watchedKey{key: s.Begin}, func(k *watchedKey) bool {
			if !s.EndsAfter(k.key) {
				return false
			}
			in = append(in, k)
			return true
		})
	}
	return in
}

// Close fails all armed watches.
func (ws *Watches) Close() {
	ws.mu.Lock()
	ws.mu.closed = true
	var all []*Watch
	if ws.mu.keys != nil {
		ws.mu.keys.Ascend(func(k *watchedKey) bool {
			all = append(all, k.watches...)
			return true
		})
		ws.mu.keys.Clear(false)
		ws.keys.Store(0)
	}
	ws.mu.Unlock()
	for _, w := range all {
		w.Finish(failure.ErrClosed)
	}
}
