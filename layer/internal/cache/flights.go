package cache

import (
	"context"
	"errors"
	"sync"

	"github.com/divandb/divan/layer/internal/fault"
)

// Flights lets one of several callers that need the same value at once load it for all of them. The caller that loads
// does so on its own goroutine, with its own context and transaction. Its failure may be its own fault, so the others
// do not share it: one of them loads next. Unlike golang.org/x/sync/singleflight, it does not report the first caller's
// failure to all callers, and starts no goroutine that nobody waits for. The zero value is ready to use. Flights is
// safe for concurrent use.
type Flights[K comparable, V any] struct {
	mu    sync.Mutex
	under map[K]*flight[V]
}

// flight is one load in progress.
type flight[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error
}

// maxJoined is how many failed loads of others a caller waits for before it loads alone.
const maxJoined = 2

// errFlight is the error of a flight whose load has panicked.
var errFlight = errors.New("layer: another caller panicked while loading the value")

// Do returns the result of load for the key, or that of another caller's running load.
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
		// Invalid is the fault of the value, for all callers.
		if x.err == nil || fault.KindOf(x.err) == fault.Invalid {
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
