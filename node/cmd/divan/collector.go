package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Go collects garbage whenever the heap has doubled, which does not fit a node. A node that has little in memory, such
// as 10 MB, would do so forty times a second while it reads many documents, and spend a quarter of its time on that.
// And the store's caches are bytes in the heap, which a collection need not look into: as much garbage would be left
// to gather as they hold, though collecting it costs next to nothing. So here the heap may grow by as much as the last
// collection had to look into, but by leastGrowth and an eighth at least, and to heapFloor. Go has no setting for it,
// so the percentage is set again after each collection.

const (
	// heapFloor is the size of the heap, in bytes, below which no garbage is collected.
	heapFloor = 64 << 20
	// leastGrowth is by how many bytes at least the heap grows between collections.
	leastGrowth = 32 << 20
)

// collectLess starts to keep the heap from being collected below heapFloor, unless the operator has set how often that
// happens. The returned function ends it.
func collectLess() (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	c := &collector{percent: standardPercent}
	c.collected(&mark{})
	return func() {
		c.ended.Store(true)
		debug.SetGCPercent(standardPercent)
	}
}

type collector struct {
	percent int // only used by the goroutine of finalizers, after the start
	ended   atomic.Bool
}

// mark is an object that nothing refers to: its finalizer runs after each collection. It has a pointer, since small
// objects without one share their memory with others.
type mark struct{ _ *byte }

// collected follows a collection.
func (c *collector) collected(m *mark) {
	if c.ended.Load() {
		return
	}
	last := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(last)
	percent := percentFor(last[0].Value.Uint64(), last[1].Value.Uint64())
	// Setting it stops all goroutines for a moment.
	if percent > c.percent*9/8 || percent < c.percent*8/9 {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
	runtime.SetFinalizer(m, c.collected)
}

// standardPercent is Go's own setting: the heap may double.
const standardPercent = 100

// percentFor returns by how many percent a heap may grow that has so many bytes in use, of which so many were scanned:
// the rest is known to have no pointers.
func percentFor(live, scanned uint64) int {
	const least = 4 << 20 // with more percent Go's least heap would be larger than heapFloor
	live = max(live, least)
	by := max(scanned, leastGrowth, live/8)
	if live+by < heapFloor {
		by = heapFloor - live
	}
	return int(100 * by / live)
}
