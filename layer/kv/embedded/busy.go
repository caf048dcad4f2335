package embedded

import (
	"sync/atomic"
	"time"
)

// busy tells how long Pebble has been at something.
type busy struct{ since atomic.Int64 } // after processStart, 0 for at nothing

var processStart = time.Now()

func (b *busy) begin() { b.since.CompareAndSwap(0, int64(time.Since(processStart))) }
func (b *busy) end()   { b.since.Store(0) }

func (b *busy) elapsed() time.Duration {
	if since := b.since.Load(); since != 0 {
		return time.Since(processStart) - time.Duration(since)
	}
	return 0
}
