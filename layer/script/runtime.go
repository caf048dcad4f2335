package script

import (
	"context"
	"errors"
	"fmt"
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
	live      bool   // functions may read the clock
	image     *image // nil while the program is loaded
	since     since
	used      string // what the running call used although it may not, and its error
	limit     string // which limit ended the running call, "" none
	log       func(string)
	logged    int   // messages of the running call
	ended     error // why the running call was ended, where not for a limit
	ctx       context.Context
	turn      atomic.Pointer[turn]
	closing   <-chan struct{} // the sandbox's done

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
		r.since.names = append(r.since.names, string(name))
	}
	return a
}

// Names beyond these are looked up each time and given back.
const (
	maxAtoms    = 1024
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
		if p = r.cstring(s); p == 0 {
			r.starved = true
			panic("no room for a fixed text") // which guard makes the memory limit's error
		}
		r.texts[s] = p
		r.since.texts = append(r.since.texts, s)
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
