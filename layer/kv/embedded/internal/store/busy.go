package store

import (
	"sync/atomic"
	"time"
)

// Busy tells how long Pebble has been at something.
type Busy struct{ since atomic.Int64 } // after processStart, 0 for at nothing

var processStart = time.Now()

// Begin says that Pebble is at something, if it is not already.
func (b *Busy) Begin() { b.since.CompareAndSwap(0, int64(time.Since(processStart))) }

// End says that it is not any more.
func (b *Busy) End() { b.since.Store(0) }

// Elapsed is for how long it has been, 0 where it is not.
func (b *Busy) Elapsed() time.Duration {
	if since := b.since.Load(); since != 0 {
		return time.Since(processStart) - time.Duration(since)
	}
	return 0
}
