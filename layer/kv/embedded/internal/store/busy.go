package store

import (
	"sync/atomic"
	"time"
)

// Busy tells how long Pebble has been at something.
type Busy struct{ since atomic.Int64 } // after processStart, 0 for at nothing

var processStart = time.Now()

func (b *Busy) Begin() { b.since.CompareAndSwap(0, int64(time.Since(processStart))) }
func (b *Busy) End()   { b.since.Store(0) }

func (b *Busy) Elapsed() time.Duration {
	if since := b.since.Load(); since != 0 {
		return time.Since(processStart) - time.Duration(since)
	}
	return 0
}
