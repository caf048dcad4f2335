package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Go collects garbage whenever the heap has doubled. A node that has little in memory, such as 10 MB, would do so forty
// times a second while it reads many documents, and spend a quarter of its time on that. Here the heap may grow to
// heapFloor first. Go has no setting for it, so the percentage is set again after each collection.

// heapFloor is the size of the heap, in bytes, below which no garbage is collected.
const heapFloor = 64 << 20

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
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := percentFor(live[0].Value.Uint64())
	// Setting it stops all goroutines for a moment.
	if percent == standardPercent && c.percent != percent || percent > c.percent*5/4 || percent < c.percent*4/5 {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
	runtime.SetFinalizer(m, c.collected)
}

// standardPercent is Go's own setting: the heap may double.
const standardPercent = 100

// percentFor returns by how many percent a heap with so many bytes in use may grow.
func percentFor(live uint64) int {
	const least = 4 << 20 // with more percent Go's least heap would be larger than heapFloor
	return max(standardPercent, int(100*heapFloor/max(live, least))-100)
}
