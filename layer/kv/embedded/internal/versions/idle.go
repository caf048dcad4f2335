package versions

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// maxIdle is how many iterators a view keeps for later reads: about as many as read at the same time on few processors.
const maxIdle = 4

// idle are iterators of the newest view that no cursor uses. A new iterator costs as much as a short read, mostly for
// opening the files that the read is in, and the next read is often in the same ones.
type idle struct {
	mu    sync.Mutex
	iters []*pebble.Iterator
	ended bool // the view is no longer the newest
}

// take returns an iterator with these bounds, or nil if there is none.
func (i *idle) take(lower, upper []byte) *pebble.Iterator {
	i.mu.Lock()
	n := len(i.iters)
	if n == 0 {
		i.mu.Unlock()
		return nil
	}
	iter := i.iters[n-1]
	i.iters = i.iters[:n-1]
	i.mu.Unlock()
	iter.SetBounds(lower, upper)
	return iter
}

// put keeps iter, or closes it if it has failed or is one too many.
func (i *idle) put(iter *pebble.Iterator) error {
	if iter.Error() == nil {
		i.mu.Lock()
		keep := !i.ended && len(i.iters) < maxIdle
		if keep {
			i.iters = append(i.iters, iter)
		}
		i.mu.Unlock()
		if keep {
			return nil
		}
	}
	return iter.Close()
}

// drop closes all that are idle: they keep files and memtables from being freed. If ended is set, none are kept from
// now on.
func (i *idle) drop(ended bool) {
	i.mu.Lock()
	iters := i.iters
	i.iters, i.ended = nil, i.ended || ended
	i.mu.Unlock()
	for _, iter := range iters {
		_ = iter.Close() // it has no error
	}
}
