package machine

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// MemoryWatch finds out whether the process has little memory left, and tells who can do with less. It is safe for
// concurrent use, except that only one goroutine may call Look.
type MemoryWatch struct {
	limit int64 // bytes that the process may use; 0 if unknown
	used  func() int64
	tell  func(short bool)
	inUse atomic.Int64 // bytes in use while memory is short, else 0
}

// NewMemoryWatch returns a MemoryWatch that calls tell when memory has become short, and when it is enough again.
func NewMemoryWatch(tell func(short bool)) *MemoryWatch {
	return &MemoryWatch{limit: memoryLimit(), used: memoryInUse(), tell: tell}
}

// Memory is short when so much of it is in use, and enough again when less is. In between nothing changes.
const (
	shortFrom   = 0.9
	enoughBelow = 0.8
)

// Look compares what is in use with the limit. It does no I/O beyond /proc.
func (w *MemoryWatch) Look() {
	if w.limit <= 0 {
		return
	}
	used, short := w.used(), w.inUse.Load() != 0
	part := float64(used) / float64(w.limit)
	switch {
	case part >= shortFrom:
		w.inUse.Store(used)
	case part < enoughBelow:
		w.inUse.Store(0)
	}
	if now := w.inUse.Load() != 0; now != short {
		w.tell(now)
	}
}

// Degraded says why the node needs an operator, as "name: what is wrong and what to do", while memory is short.
func (w *MemoryWatch) Degraded() []string {
	used := w.inUse.Load()
	if used == 0 {
		return nil
	}
	return []string{fmt.Sprintf("memory_short: %d of the %d MB of memory that the process may use are in use, so "+
		"indexes are not kept warm; give it more memory, or lower the limits of SQL and JavaScript",
		used>>20, w.limit>>20)}
}

// memoryLimit returns how many bytes of memory the process may use: Go's limit, which is set by GOMEMLIMIT or from the
// limit of the process's control group, or else the memory of the machine. It is 0 if unknown.
func memoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	machine, err := memlimit.FromSystem()
	if err != nil || machine > math.MaxInt64 {
		return 0
	}
	return int64(machine)
}

// memoryInUse returns a function that reports how many bytes of memory the process needs: what is resident, without
// garbage and what Go keeps for later. On systems where the resident size is unknown, memory of JavaScript is not
// counted.
func memoryInUse() func() int64 {
	const total, released, objects, live, free = 0, 1, 2, 3, 4
	samples := []metrics.Sample{
		total:    {Name: "/memory/classes/total:bytes"},
		released: {Name: "/memory/classes/heap/released:bytes"},
		objects:  {Name: "/memory/classes/heap/objects:bytes"},
		live:     {Name: "/gc/heap/live:bytes"},
		free:     {Name: "/memory/classes/heap/free:bytes"},
	}
	return func() int64 {
		metrics.Read(samples)
		value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
		garbage := max(0, value(objects)-value(live))
		_, used, _ := ProcessUse()
		if used == 0 {
			used = value(total) - value(released)
		}
		return used - garbage - value(free)
	}
}

// LimitMemory has Go collect garbage more often when the process comes near the limit of its control group, such as a
// container's. Without it, garbage alone could have the process killed. It respects GOMEMLIMIT.
func LimitMemory() {
	// An error means that the limit cannot be found out: then there is none.
	_, _ = memlimit.Set(memlimit.WithProvider(memlimit.FromCgroup), memlimit.WithRatio(cgroupPart))
}

// cgroupPart is the part of a control group's memory that Go may use. JavaScript and the kernel's buffers of
// connections need the rest.
const cgroupPart = 0.9
