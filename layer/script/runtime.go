package script

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

// maxStack bounds calls in JavaScript, in the engine's stack slots: a plain call takes one, a call through forEach or a
// replace callback several.
const maxStack = 2000

// runtime is one engine with memory of its own and the functions of one program. Used by one goroutine at a time, except
// for kill.
type runtime struct {
	id    uintptr
	arena *arena
	tls   *libc.TLS
	rt    uintptr // JSRuntime
	eval  uintptr // the engine's own eval, see engineEval

	main      realm   // where documents live
	functions []realm // one for each function of the program
	helpers   helpers
	root      value // what require looks in, and `this` of filters; frozen, of the main realm

	args   uintptr // room for the arguments of a call
	atoms  map[string]js.TJSAtom
	texts  map[string]uintptr // C strings that live as long as the runtime
	input  buffer
	escape buffer

	emitted   []emission
	compiling bool
	starved   bool   // the running call asked for memory that there was not
	limit     string // which limit ended the running call, "" none
	log       func(string)
	logged    int // messages of the running call
	ctx       context.Context

	idleSince time.Time

	// call is the deadline of the running call in nanoseconds since start; 0 while idle, killed once the watchdog took the memory away.
	call atomic.Int64
	// memory orders kill and close.
	memory sync.Mutex
	// dead runtimes run nothing any more; close is all that may be called.
	dead bool
}

const killed = -1

// realm is a global object with its own built-ins, and the function that was compiled there.
type realm struct {
	ctx  uintptr
	fn   value
	name string
}

// emission is one call of emit, until the function has returned.
type emission struct{ key, value value }

var start = time.Now()

func now() int64 { return int64(time.Since(start)) + 1 }

var utc sync.Once

// newRuntime starts an engine without functions.
func newRuntime(limits Limits, log func(string)) (*runtime, error) {
	a, err := newArena(int(limits.Memory))
	if err != nil {
		return nil, err
	}
	r := &runtime{arena: a, tls: libc.NewTLS(), root: undefined, atoms: make(map[string]js.TJSAtom), texts: make(map[string]uintptr), log: log}
	utc.Do(r.forgetTimeZone)
	r.id = register(r)
	err = r.guard("", func() error { return r.boot(limits) })
	if err != nil {
		r.close()
		return nil, fmt.Errorf("script: start a runtime: %w", err)
	}
	return r, nil
}

// forgetTimeZone makes local time UTC for the engine's C library, so that dates do not depend on the machine.
func (r *runtime) forgetTimeZone() {
	name, zone := r.cstring("TZ"), r.cstring("UTC0")
	libc.Xsetenv(r.tls, name, zone, 1)
	r.arena.free(name)
	r.arena.free(zone)
}

func (r *runtime) boot(limits Limits) error {
	outOfMemory := errors.New("out of memory")
	mf := r.arena.alloc(64)
	*at[js.TJSMallocFunctions](mf) = js.TJSMallocFunctions{
		Fjs_malloc: funcAddr(engineAlloc), Fjs_free: funcAddr(engineFree), Fjs_realloc: funcAddr(engineRealloc),
	}
	if r.rt = js.XJS_NewRuntime2(r.tls, mf, r.id); r.rt == 0 {
		return outOfMemory
	}
	js.XJS_SetRuntimeOpaque(r.tls, r.rt, r.id)
	js.XJS_SetMaxStackSize(r.tls, r.rt, maxStack)
	js.XJS_SetInterruptHandler(r.tls, r.rt, funcAddr(engineInterrupt), r.id)
	if r.args = r.arena.alloc(unit); r.args == 0 {
		return outOfMemory
	}
	ctx, err := r.context()
	if err != nil {
		return err
	}
	r.main = realm{ctx: ctx}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	return r.loadHelpers()
}

// context makes a global object with the built-ins of CouchDB 3.5's sandbox.
func (r *runtime) context() (uintptr, error) {
	ctx := js.XJS_NewContextRaw(r.tls, r.rt)
	if ctx == 0 || !intrinsics(r.tls, ctx) {
		return 0, &LimitError{Limit: "memory"}
	}
	c := at[js.TJSContext](ctx)
	r.eval = c.Feval_internal
	c.Feval_internal = funcAddr(engineEval)
	return ctx, nil
}

// guard runs f, in which the engine runs. A fault, be it memory taken away by the watchdog or the engine's own, comes
// back as an error and leaves the runtime dead.
func (r *runtime) guard(function string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if p := recover(); p != nil {
			r.dead = true
			err = r.fault(function, p)
		}
	}()
	return f()
}

func (r *runtime) fault(function string, p any) error {
	if r.call.Load() == killed {
		return &LimitError{Function: function, Limit: "time"}
	}
	if r.starved && r.limit == "" {
		r.limit = "memory"
	}
	if r.limit != "" {
		return &LimitError{Function: function, Limit: r.limit}
	}
	return &RuntimeError{Function: function, Name: "InternalError", Message: fmt.Sprint("the engine failed: ", p)}
}

// limited runs f, a call of one function of the program, guarded and within a time. Where f is stopped, or fails in the engine, the
// error is that function's.
func (r *runtime) limited(function int, d time.Duration, f func(r *runtime, fn *realm) error) error {
	fn := &r.functions[function]
	err := r.guard(fn.name, func() error {
		r.arm(d)
		return f(r, fn)
	})
	if !r.disarm() && err == nil {
		err = r.stopped(fn.name)
	}
	return err
}

// tidy collects what the last call left in cycles, where that is much. A runtime whose functions hold on to more than half of
// the memory is given up: the next document finds a new one, and not by surprise an old one without room.
func (r *runtime) tidy() {
	if r.arena.used < r.arena.limit/4 {
		return
	}
	err := r.guard("", func() error {
		js.XJS_RunGC(r.tls, r.rt)
		return nil
	})
	r.dead = r.dead || err != nil || r.arena.used > r.arena.limit/2
}

// stopped is the error of a call that is over a limit.
func (r *runtime) stopped(function string) error {
	switch {
	case r.starved:
		return &LimitError{Function: function, Limit: "memory"}
	case r.limit == "cancelled":
		return context.Cause(r.ctx)
	case r.limit != "" || r.call.Load() == killed:
		return &LimitError{Function: function, Limit: "time"}
	}
	return &LimitError{Function: function, Limit: "rows"}
}

// arm starts the clock of one call; disarm stops it and reports whether the runtime is still whole.
func (r *runtime) arm(d time.Duration) {
	r.limit, r.starved, r.logged = "", false, 0
	r.call.Store(now() + int64(d))
}

func (r *runtime) disarm() bool {
	for {
		deadline := r.call.Load()
		if deadline == killed {
			r.dead = true
			return false
		}
		if r.call.CompareAndSwap(deadline, 0) {
			r.dead = r.dead || r.starved
			return !r.starved
		}
	}
}

// overdue says whether the running call has to end.
func (r *runtime) overdue() bool {
	deadline := r.call.Load()
	if deadline == killed || deadline > 0 && now() > deadline {
		r.limit = "time"
		return true
	}
	if r.starved {
		r.limit = "memory"
		return true
	}
	if r.ctx != nil && r.ctx.Err() != nil {
		r.limit = "cancelled"
		return true
	}
	return false
}

// killGrace is how long after its deadline a call may still end by itself.
const killGrace = int64(100 * time.Millisecond)

// killIfStuck takes the memory away from a call that did not end although its time is over: loops inside the engine's
// own functions (a search in an object that says it has 2^53 elements) never ask whether they should. Called by the
// watchdog, at any time.
func (r *runtime) killIfStuck() {
	deadline := r.call.Load()
	if deadline <= 0 || now() < deadline+killGrace {
		return
	}
	r.memory.Lock()
	defer r.memory.Unlock()
	if r.arena.mem != nil && r.call.CompareAndSwap(deadline, killed) {
		_ = protectMemory(r.arena.mem) // where it is unsupported, the engine's own interrupt is all there is
	}
}

// close gives all memory back. The engine is not asked to free its objects one by one: they lie in the arena.
func (r *runtime) close() {
	r.dead = true
	r.tls.Close()
	r.memory.Lock()
	defer r.memory.Unlock()
	if r.arena.mem != nil {
		_ = r.arena.close()
	}
	unregister(r.id)
}

// free drops one reference.
func (r *runtime) free(v value) { js.XFreeValue(r.tls, r.main.ctx, v) }

// atom is the engine's number for a property name. They are kept, since documents of one database share their names.
func (r *runtime) atom(name []byte, addr uintptr) js.TJSAtom {
	if a, ok := r.atoms[string(name)]; ok {
		return a
	}
	a := js.XJS_NewAtomLen(r.tls, r.main.ctx, addr, js.Tsize_t(len(name)))
	if a != 0 && len(r.atoms) < maxAtoms && len(name) <= maxAtomText {
		r.atoms[string(name)] = a
	}
	return a
}

// Names beyond these are looked up each time and given back.
const (
	maxAtoms    = 4096
	maxAtomText = 128
)

func (r *runtime) keepsAtom(name []byte) bool {
	_, ok := r.atoms[string(name)]
	return ok
}

// text is a C string that lives as long as the runtime. For the few fixed texts that the engine is given.
func (r *runtime) text(s string) uintptr {
	p, ok := r.texts[s]
	if !ok {
		p = r.cstring(s)
		r.texts[s] = p
	}
	return p
}

// property reads a member by name; the value is the caller's.
func (r *runtime) property(ctx uintptr, v value, name string) value {
	return js.XJS_GetPropertyStr(r.tls, ctx, v, r.text(name))
}

// global is the global object of a realm, which stays the realm's. It is what map functions have as `this`, in strict code too.
func (r *runtime) global(ctx uintptr) value { return at[js.TJSContext](ctx).Fglobal_obj }

// invoke calls fn with args, which stay the caller's.
func (r *runtime) invoke(ctx uintptr, fn, this value, args ...value) value {
	for i, v := range args {
		*at[value](r.args + uintptr(i)*16) = v
	}
	return js.XJS_Call(r.tls, ctx, fn, this, int32(len(args)), r.args)
}

// failure takes the pending exception and makes it an error of the function.
func (r *runtime) failure(ctx uintptr, function string) error {
	e := js.XJS_GetException(r.tls, ctx)
	defer js.XFreeValue(r.tls, ctx, e)
	if r.starved && r.limit == "" {
		r.limit = "memory"
	}
	if r.limit != "" {
		r.dead = true
		if r.limit == "cancelled" {
			return context.Cause(r.ctx)
		}
		return &LimitError{Function: function, Limit: r.limit}
	}
	out := &RuntimeError{Function: function}
	if tag(e) == js.EJS_TAG_OBJECT && js.XJS_IsError(r.tls, ctx, e) != 0 {
		out.Name, out.Message = r.errorText(ctx, e, "name"), r.errorText(ctx, e, "message")
		out.Line = lineOf(r.errorText(ctx, e, "stack"), function)
		if out.Name == "InternalError" {
			// The engine ran out of stack or memory. What is left of its state is not to be relied on.
			r.dead = true
			switch {
			case strings.Contains(out.Message, "stack overflow"):
				return &LimitError{Function: function, Limit: "stack"}
			case strings.Contains(out.Message, "string too long"): // 2^30, not yet built in full
				return &LimitError{Function: function, Limit: "memory"}
			}
		}
		return out
	}
	out.Message = r.describe(ctx, e)
	return out
}

func (r *runtime) errorText(ctx uintptr, e value, name string) string {
	v := r.property(ctx, e, name)
	defer js.XFreeValue(r.tls, ctx, v)
	if t := tag(v); t != js.EJS_TAG_STRING && t != js.EJS_TAG_STRING_ROPE && t != js.EJS_TAG_INT {
		r.dropException(ctx, v)
		return ""
	}
	return r.string(ctx, v)
}

func (r *runtime) dropException(ctx uintptr, v value) {
	if isException(v) {
		js.XFreeValue(r.tls, ctx, js.XJS_GetException(r.tls, ctx))
	}
}

// describe is what was thrown, as text: JSON where it is an object.
func (r *runtime) describe(ctx uintptr, v value) string {
	if t := tag(v); t == js.EJS_TAG_STRING || t == js.EJS_TAG_STRING_ROPE {
		return r.string(ctx, v)
	}
	out, err := r.appendJSON(nil, ctx, v, "")
	if err != nil {
		return "an object that cannot be shown"
	}
	return string(out)
}

// string is the text of v by JavaScript's rules, cut off where it is very long, "" if it has none.
func (r *runtime) string(ctx uintptr, v value) string {
	const most = 2000
	n := r.args + unit/2
	p := js.XJS_ToCStringLen2(r.tls, ctx, n, v, 0)
	if p == 0 {
		r.dropException(ctx, exception)
		return ""
	}
	defer js.XJS_FreeCString(r.tls, ctx, p)
	size := int(*at[js.Tsize_t](n))
	s := strings.ToValidUTF8(string(r.arena.bytes(p, min(size, most))), "\uFFFD")
	if size > most {
		s += "..."
	}
	return s
}

// lineOf finds the line of the innermost frame of a stack that lies in the named function's source.
func lineOf(stack, function string) int {
	for line := range strings.Lines(stack) {
		_, rest, ok := strings.Cut(line, function+":")
		if !ok {
			continue
		}
		n := 0
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	return 0
}

// hurry ends the running call at its next step, for Close.
func (r *runtime) hurry() {
	for {
		deadline := r.call.Load()
		if deadline <= 0 || r.call.CompareAndSwap(deadline, 1) {
			return
		}
	}
}
