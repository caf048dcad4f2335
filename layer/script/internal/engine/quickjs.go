package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

// The engine is QuickJS, which CouchDB 3.5 runs too, translated to Go (modernc.org/libquickjs). It is faster than
// goja in our measurements and, unlike goja, can be limited in memory. The wrapper modernc.org/quickjs is not used,
// because it offers no memory area per runtime, no several global objects per runtime, and values only by way of
// text.
//
// Only this file knows how the engine lays out a value.

// value is a JavaScript value. Values are reference-counted: whoever gets one from the engine frees it, unless noted.
type value = js.TJSValue

var (
	undefined = value{Ftag: js.EJS_TAG_UNDEFINED}
	null      = value{Ftag: js.EJS_TAG_NULL}
	exception = value{Ftag: js.EJS_TAG_EXCEPTION}
)

func tag(v value) int { return int(int32(v.Ftag)) }

func isException(v value) bool { return tag(v) == js.EJS_TAG_EXCEPTION }

func intValue(n int32) value {
	v := value{Ftag: js.EJS_TAG_INT}
	v.Fu.Fuint641 = uint64(uint32(n))
	return v
}

func intOf(v value) int32 { return int32(uint32(v.Fu.Fuint641)) }

func floatValue(f float64) value {
	v := value{Ftag: js.EJS_TAG_FLOAT64}
	*(*float64)(unsafe.Pointer(&v.Fu)) = f
	return v
}

func floatOf(v value) float64 { return *(*float64)(unsafe.Pointer(&v.Fu)) }

func boolValue(b bool) value {
	v := value{Ftag: js.EJS_TAG_BOOL}
	if b {
		v.Fu.Fuint641 = 1
	}
	return v
}

// at returns a pointer to the engine's memory at addr, which the Go collector neither owns nor moves.
func at[T any](addr uintptr) *T { return (*T)(unsafe.Add(nil, addr)) }

// funcAddr returns a function pointer as translated C represents it: the address of the closure. f must be a
// top-level function, whose closure is static.
func funcAddr(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// running maps numbers to machines for callbacks: the engine can carry a number, but no Go pointer.
var running struct {
	sync.Mutex
	table atomic.Pointer[[]*machine]
}

func register(m *machine) uintptr {
	running.Lock()
	defer running.Unlock()
	var old []*machine
	if p := running.table.Load(); p != nil {
		old = *p
	}
	next := make([]*machine, len(old), len(old)+1)
	copy(next, old)
	for i, other := range next {
		if other == nil {
			next[i] = m
			running.table.Store(&next)
			return uintptr(i)
		}
	}
	next = append(next, m)
	running.table.Store(&next)
	return uintptr(len(next) - 1)
}

func unregister(id uintptr) {
	running.Lock()
	defer running.Unlock()
	next := append([]*machine(nil), *running.table.Load()...)
	next[id] = nil
	running.table.Store(&next)
}

func byID(id uintptr) *machine { return (*running.table.Load())[id] }

// byContext returns the machine of a JavaScript context.
func byContext(tls *libc.TLS, ctx uintptr) *machine {
	return byID(js.XJS_GetRuntimeOpaque(tls, js.XJS_GetRuntime(tls, ctx)))
}

// The engine's memory functions. state counts the memory in use, by which the engine decides when to collect garbage.

func engineAlloc(_ *libc.TLS, state uintptr, size js.Tsize_t) uintptr {
	s := at[js.TJSMallocState](state)
	a := byID(s.Fopaque).arena
	p := a.alloc(size)
	if p == 0 {
		byID(s.Fopaque).starved = true
		return 0
	}
	s.Fmalloc_count++
	s.Fmalloc_size = js.Tsize_t(a.used) * unit
	return p
}

func engineFree(_ *libc.TLS, state, addr uintptr) {
	if addr == 0 {
		return
	}
	s := at[js.TJSMallocState](state)
	a := byID(s.Fopaque).arena
	a.free(addr)
	s.Fmalloc_count--
	s.Fmalloc_size = js.Tsize_t(a.used) * unit
}

func engineRealloc(tls *libc.TLS, state, addr uintptr, size js.Tsize_t) uintptr {
	switch {
	case addr == 0:
		return engineAlloc(tls, state, size)
	case size == 0:
		engineFree(tls, state, addr)
		return 0
	}
	s := at[js.TJSMallocState](state)
	a := byID(s.Fopaque).arena
	p := a.realloc(addr, size)
	if p == 0 {
		byID(s.Fopaque).starved = true
		return 0
	}
	s.Fmalloc_size = js.Tsize_t(a.used) * unit
	return p
}

// engineInterrupt is called every few thousand steps; any result but 0 ends the script, without running its catch
// blocks.
func engineInterrupt(_ *libc.TLS, _, id uintptr) int32 {
	if byID(id).owner.call.overdue() {
		return 1
	}
	return 0
}

// frameSlots returns the largest frame, in values, of any function in compiled code. Frames lie outside of the arena,
// so large frames together with deep recursion must be bounded here.
func frameSlots(compiled value) int {
	most := 0
	pending := []value{compiled}
	for len(pending) > 0 {
		v := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if tag(v) != js.EJS_TAG_FUNCTION_BYTECODE {
			continue
		}
		f := at[js.TJSFunctionBytecode](uintptr(v.Fu.Fuint641))
		most = max(most, int(f.Farg_count)+int(f.Fvar_count)+int(f.Fstack_size))
		pending = append(pending, unsafe.Slice(at[value](f.Fcpool), f.Fcpool_count)...)
	}
	return most
}

// engineEval wraps the engine's own eval, for the eval and Function that scripts call. Code compiled by the host is
// limited to maxSource before it gets here.
func engineEval(tls *libc.TLS, ctx uintptr, this value, input uintptr, size js.Tsize_t, file uintptr, flags,
	scope int32) value {
	m := byContext(tls, ctx)
	if !m.compiling && size > maxEval {
		return js.XJS_ThrowRangeError(tls, ctx, m.text("the source given to eval is too long"), 0)
	}
	return callEval(m.eval, tls, ctx, this, input, size, file, flags, scope)
}

func callEval(f uintptr, tls *libc.TLS, ctx uintptr, this value, input uintptr, size js.Tsize_t, file uintptr, flags,
	scope int32) value {
	return (*(*func(*libc.TLS, uintptr, value, uintptr, js.Tsize_t, uintptr, int32,
		int32) value)(unsafe.Pointer(&struct{ uintptr }{f})))(
		tls, ctx, this, input, size, file, flags, scope)
}

func intrinsics(tls *libc.TLS, ctx uintptr) bool {
	for _, add := range []func(*libc.TLS, uintptr) int32{
		js.XJS_AddIntrinsicBaseObjects, js.XJS_AddIntrinsicEval, js.XJS_AddIntrinsicJSON, js.XJS_AddIntrinsicRegExp,
		js.XJS_AddIntrinsicMapSet, js.XJS_AddIntrinsicDate, js.XJS_AddIntrinsicStringNormalize,
	} {
		if add(tls, ctx) != 0 {
			return false
		}
	}
	return true
}
