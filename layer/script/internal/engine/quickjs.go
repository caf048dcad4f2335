package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

// The engine is QuickJS, the one that CouchDB 3.5 runs, translated to Go (modernc.org/libquickjs). Measured against
// goja it is faster and, unlike goja, can be held to a memory size. It is used directly and not through the wrapper
// modernc.org/quickjs, since the wrapper gives neither a memory area per runtime, nor several global objects per
// runtime, nor values without a trip through text.
//
// This file is the only one that knows how the engine lays out a value.

// value is a JavaScript value. Values are counted by reference: who gets one from the engine frees it, unless noted.
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

// at is the memory at an address of the engine's, which the Go collector neither owns nor moves.
func at[T any](addr uintptr) *T { return (*T)(unsafe.Add(nil, addr)) }

// funcAddr is how translated C holds a pointer to a function: the address of its closure. f is a top-level function,
// whose closure is static.
func funcAddr(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// running finds the machine that a callback from the engine belongs to: the engine can carry a number, but no Go
// pointer.
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

// byContext finds the machine of a JavaScript context.
func byContext(tls *libc.TLS, ctx uintptr) *machine {
	return byID(js.XJS_GetRuntimeOpaque(tls, js.XJS_GetRuntime(tls, ctx)))
}

// The memory functions that the engine is given. state counts what is in use, from which the engine decides when to
// collect.

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

// engineInterrupt is asked every few thousand steps; any answer but 0 ends the script, past its catch blocks.
func engineInterrupt(_ *libc.TLS, _, id uintptr) int32 {
	if byID(id).owner.call.overdue() {
		return 1
	}
	return 0
}

// frameSlots is the largest frame, in values, of any function within compiled code. A frame lies outside of the arena,
// so that large frames and deep recursion together must be bounded here.
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

// engineEval stands in front of the engine's own eval, for the eval and Function that a script calls. What the host
// compiles is held to maxSource before it comes here.
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
