package engine

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

// arena allocates the memory of one runtime. The engine has its own allocator for small blocks, which asks here for 4
// KB at a time, so that requests here are few and large. The bookkeeping lies outside of the allocated memory: it
// stays intact whatever a script does to its memory, and freeing everything is one system call.
//
// Not safe for concurrent use, except for protect.
type arena struct {
	// held serialises protect and close.
	held sync.Mutex
	mem  []byte
	base uintptr
	// sizes holds, at the first unit of each used block, its length in units.
	sizes []uint32
	// top is the first unit that was never allocated.
	top, limit int
	// Free blocks below top: those of up to smallUnits by length, the others ordered by address.
	small [smallUnits + 1][]uint32
	runs  []run
	used  int // units in use
}

const (
	unit       = 512
	smallUnits = 16 // 8 KB
)

// run is a sequence of free units.
type run struct{ at, n uint32 }

func newArena(size int) (*arena, error) {
	mem, err := mapMemory(size)
	if err != nil {
		return nil, fmt.Errorf("script: reserve %d bytes for a runtime: %w", size, err)
	}
	return &arena{mem: mem, base: uintptr(unsafe.Pointer(unsafe.SliceData(mem))), limit: size / unit}, nil
}

// close frees the memory. Nothing may use it any more.
func (a *arena) close() error {
	a.held.Lock()
	defer a.held.Unlock()
	if a.mem == nil {
		return nil
	}
	mem := a.mem
	a.mem = nil
	return unmapMemory(mem)
}

// protect makes the memory inaccessible if may agrees: the next access faults. This is permanent.
func (a *arena) protect(may func() bool) {
	a.held.Lock()
	defer a.held.Unlock()
	if a.mem != nil && may() {
		_ = protectMemory(a.mem) // if it is unsupported, only the engine's own interrupt can stop a call
	}
}

// alloc returns the address of size bytes, aligned to unit, or 0 if there is no space.
func (a *arena) alloc(size uint64) uintptr {
	if size == 0 || size > uint64(a.limit)*unit {
		return 0
	}
	n := int((size + unit - 1) / unit)
	at := a.take(n)
	if at < 0 {
		return 0
	}
	a.sizes[at] = uint32(n)
	a.used += n
	return a.base + uintptr(at)*unit
}

func (a *arena) take(n int) int {
	if n <= smallUnits {
		if l := len(a.small[n]); l > 0 {
			at := a.small[n][l-1]
			a.small[n] = a.small[n][:l-1]
			return int(at)
		}
	}
	if at := a.takeRun(n); at >= 0 {
		return at
	}
	if at := a.extend(n); at >= 0 {
		return at
	}
	a.gather()
	if at := a.takeRun(n); at >= 0 {
		return at
	}
	return a.extend(n)
}

// takeRun takes n units from the first free run that is long enough.
func (a *arena) takeRun(n int) int {
	for i := range a.runs {
		r := &a.runs[i]
		if int(r.n) < n {
			continue
		}
		at := r.at
		r.at += uint32(n)
		if r.n -= uint32(n); r.n == 0 {
			a.runs = slices.Delete(a.runs, i, i+1)
		}
		return int(at)
	}
	return -1
}

// extend takes n units that were never used.
func (a *arena) extend(n int) int {
	if a.limit-a.top < n {
		return -1
	}
	at := a.top
	a.top += n
	if need := a.top; need > len(a.sizes) {
		a.sizes = append(a.sizes, make([]uint32, max(need-len(a.sizes), 1<<bits.Len(uint(len(a.sizes)))))...)
	}
	return at
}

// gather merges the small free blocks and their neighbours into runs.
func (a *arena) gather() {
	for n := range a.small {
		for _, at := range a.small[n] {
			a.runs = append(a.runs, run{at, uint32(n)})
		}
		a.small[n] = a.small[n][:0]
	}
	slices.SortFunc(a.runs, func(x, y run) int { return int(x.at) - int(y.at) })
	out := a.runs[:0]
	for _, r := range a.runs {
		if l := len(out); l > 0 && out[l-1].at+out[l-1].n == r.at {
			out[l-1].n += r.n
			continue
		}
		out = append(out, r)
	}
	if l := len(out); l > 0 && int(out[l-1].at+out[l-1].n) == a.top {
		a.top = int(out[l-1].at)
		out = out[:l-1]
	}
	a.runs = out
}

func (a *arena) index(addr uintptr) int { return int((addr - a.base) / unit) }

func (a *arena) free(addr uintptr) {
	at := a.index(addr)
	n := a.sizes[at]
	a.sizes[at] = 0
	a.used -= int(n)
	a.release(uint32(at), n)
}

func (a *arena) release(at, n uint32) {
	switch {
	case n <= smallUnits:
		a.small[n] = append(a.small[n], at)
		return
	case int(at+n) == a.top:
		a.top = int(at)
		return
	}
	i, _ := slices.BinarySearchFunc(a.runs, at, func(r run, at uint32) int { return int(r.at) - int(at) })
	if i > 0 && a.runs[i-1].at+a.runs[i-1].n == at {
		a.runs[i-1].n += n
		if i < len(a.runs) && at+n == a.runs[i].at {
			a.runs[i-1].n += a.runs[i].n
			a.runs = slices.Delete(a.runs, i, i+1)
		}
		return
	}
	if i < len(a.runs) && at+n == a.runs[i].at {
		a.runs[i].at = at
		a.runs[i].n += n
		return
	}
	a.runs = slices.Insert(a.runs, i, run{at, n})
}

// realloc resizes the block at addr, in place if possible, and returns its address; 0, with the block unchanged, if
// there is no space.
func (a *arena) realloc(addr uintptr, size uint64) uintptr {
	if size > uint64(a.limit)*unit {
		return 0
	}
	at, n := a.index(addr), int((size+unit-1)/unit)
	old := int(a.sizes[at])
	switch {
	case n <= old && n > old/2:
		return addr
	case n > old && at+old == a.top && a.limit-at >= n:
		a.extend(n - old)
		a.sizes[at] = uint32(n)
		a.used += n - old
		return addr
	}
	to := a.alloc(size)
	if to == 0 {
		return 0
	}
	copy(a.bytes(to, n*unit), a.bytes(addr, min(n, old)*unit))
	a.free(addr)
	return to
}

// bytes returns the memory at addr.
func (a *arena) bytes(addr uintptr, n int) []byte {
	at := addr - a.base
	return a.mem[at : at+uintptr(n) : at+uintptr(n)]
}
