package store

import (
	"sync/atomic"
	"time"
)

// Busy tells how long Pebble has been at something.
type Busy struct{ since atomic.Int64 } // since processStart; 0 when idle

var processStart = time.Now()

// Begin records the start of an operation, unless one is running.
func (b *Busy) Begin() { b.since.CompareAndSwap(0, int64(time.Since(processStart))) }

// End records that the operation has ended.
func (b *Busy) End() { b.since.Store(0) }

// Elapsed returns how long the operation has been running, 0 if none is.
func (b *Busy) Elapsed() time.Duration {
	if since := b.since.Load(); since != 0 {
		return time.Since(processStart) - time.Duration(since)
	}
	return 0
}
