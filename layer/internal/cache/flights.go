package cache

import (
	"context"
	"errors"
	"sync"

	"github.com/divandb/divan/layer/internal/fault"
)

// Flights has one of several callers who want the same thing at once make it for all of them. The one that makes it
// does so in its own goroutine, under its own context and transaction. What makes it fail may be its own fault, so the
// others do not take its failure for theirs: one of them makes the thing next. golang.org/x/sync/singleflight was
// rejected since it hands the first caller's failure to everybody, and makes the thing in a goroutine that nobody waits
// for. The zero value is ready. Safe for concurrent use.
type Flights[K comparable, V any] struct {
	mu    sync.Mutex
	under map[K]*flight[V]
}

// flight is one thing being made.
type flight[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error
}

// maxJoined is how many failures of others a caller waits for before it makes the thing alone.
const maxJoined = 2

// errFlight is the error of a flight whose maker has panicked.
var errFlight = errors.New("layer: the caller that loaded this has panicked")

// Do returns what load makes for the key, here or in a call of another caller that is under way.
func (f *Flights[K, V]) Do(ctx context.Context, key K, load func() (V, error)) (V, error) {
	for range maxJoined {
		f.mu.Lock()
		x := f.under[key]
		if x == nil {
			x = &flight[V]{done: make(chan struct{}), err: errFlight}
			if f.under == nil {
				f.under = map[K]*flight[V]{}
			}
			f.under[key] = x
			f.mu.Unlock()
			return f.lead(key, x, load)
		}
		f.mu.Unlock()
		select {
		case <-x.done:
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
		if x.err == nil || fault.KindOf(x.err) == fault.Invalid { // it is the thing that is wrong, for everybody
			return x.value, x.err
		}
	}
	return load()
}

func (f *Flights[K, V]) lead(key K, x *flight[V], load func() (V, error)) (V, error) {
	defer func() {
		f.mu.Lock()
		delete(f.under, key)
		f.mu.Unlock()
		close(x.done)
	}()
	x.value, x.err = load()
	return x.value, x.err
}
