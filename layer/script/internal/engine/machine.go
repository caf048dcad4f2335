package engine

import (
	"errors"
	"strings"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

// maxStack bounds the depth of JavaScript calls, in the engine's stack slots: a plain call takes one, a call through
// forEach or a replace callback several.
const maxStack = 2000

// machine is one engine with its own memory. It handles values and knows nothing about functions and their limits.
type machine struct {
	id    uintptr
	owner *Runtime // handles the engine's callbacks
	arena *arena
	tls   *libc.TLS
	rt    uintptr // JSRuntime
	eval  uintptr // the engine's own eval, see engineEval
	main  uintptr // the JSContext where documents live

	args   uintptr // memory for the arguments of a call
	atoms  map[string]js.TJSAtom
	texts  map[string]uintptr // C strings that live as long as the machine
	input  buffer
	escape buffer
	image  *image // nil while the program is loaded
	since  since

	compiling bool
	starved   bool // the running call failed to allocate memory
}

func newMachine(owner *Runtime, memory int64) (*machine, error) {
	a, err := newArena(int(memory))
	if err != nil {
		return nil, err
	}
	m := &machine{
		owner: owner, arena: a, tls: libc.NewTLS(), atoms: make(map[string]js.TJSAtom), texts: make(map[string]uintptr),
	}
	utc.Do(m.forgetTimeZone)
	m.id = register(m)
	return m, nil
}

// forgetTimeZone makes local time UTC in the engine's C library, so that dates do not depend on the machine.
func (m *machine) forgetTimeZone() {
	name, zone := m.cstring("TZ"), m.cstring("UTC0")
	libc.Xsetenv(m.tls, name, zone, 1)
	m.arena.free(name)
	m.arena.free(zone)
}

// boot starts the engine.
func (m *machine) boot() error {
	outOfMemory := errors.New("out of memory")
	mf := m.arena.alloc(64)
	*at[js.TJSMallocFunctions](mf) = js.TJSMallocFunctions{
		Fjs_malloc: funcAddr(engineAlloc), Fjs_free: funcAddr(engineFree), Fjs_realloc: funcAddr(engineRealloc),
	}
	if m.rt = js.XJS_NewRuntime2(m.tls, mf, m.id); m.rt == 0 {
		return outOfMemory
	}
	js.XJS_SetRuntimeOpaque(m.tls, m.rt, m.id)
	js.XJS_SetMaxStackSize(m.tls, m.rt, maxStack)
	js.XJS_SetInterruptHandler(m.tls, m.rt, funcAddr(engineInterrupt), m.id)
	if m.args = m.arena.alloc(unit); m.args == 0 {
		return outOfMemory
	}
	ctx, err := m.context()
	m.main = ctx
	return err
}

// context creates a global object with the built-ins of CouchDB 3.5's sandbox.
func (m *machine) context() (uintptr, error) {
	ctx := js.XJS_NewContextRaw(m.tls, m.rt)
	if ctx == 0 || !intrinsics(m.tls, ctx) {
		return 0, &LimitError{Limit: "memory"}
	}
	c := at[js.TJSContext](ctx)
	m.eval = c.Feval_internal
	c.Feval_internal = funcAddr(engineEval)
	return ctx, nil
}

// close frees all memory. The engine need not free its objects one by one: they lie in the arena.
func (m *machine) close() {
	m.tls.Close()
	_ = m.arena.close()
	unregister(m.id)
}

// free drops one reference.
func (m *machine) free(v value) { js.XFreeValue(m.tls, m.main, v) }

// atom returns the engine's number of a property name. Atoms are kept, since documents of one database share their
// names.
func (m *machine) atom(name []byte, addr uintptr) js.TJSAtom {
	if a, ok := m.atoms[string(name)]; ok {
		return a
	}
	a := js.XJS_NewAtomLen(m.tls, m.main, addr, js.Tsize_t(len(name)))
	if a != 0 && len(m.atoms) < maxAtoms && len(name) <= maxAtomText {
		m.atoms[string(name)] = a
		m.since.names = append(m.since.names, string(name))
	}
	return a
}

// Names beyond these limits are looked up and released each time.
const (
	maxAtoms    = 1024
	maxAtomText = 128
)

func (m *machine) keepsAtom(name []byte) bool {
	_, ok := m.atoms[string(name)]
	return ok
}

// text returns a C string that lives as long as the machine. It is for the few fixed texts that the engine needs.
func (m *machine) text(s string) uintptr {
	p, ok := m.texts[s]
	if !ok {
		if p = m.cstring(s); p == 0 {
			m.starved = true
			panic("no room for a fixed text") // guard turns this into the memory limit's error
		}
		m.texts[s] = p
		m.since.texts = append(m.since.texts, s)
	}
	return p
}

// property reads a member by name; the caller owns the value.
func (m *machine) property(ctx uintptr, v value, name string) value {
	return js.XJS_GetPropertyStr(m.tls, ctx, v, m.text(name))
}

// global returns the global object of a realm, which the realm still owns. It is `this` in map functions, also in
// strict code.
func (m *machine) global(ctx uintptr) value { return at[js.TJSContext](ctx).Fglobal_obj }

// invoke calls fn with args, which the caller still owns.
func (m *machine) invoke(ctx uintptr, fn, this value, args ...value) value {
	for i, v := range args {
		*at[value](m.args + uintptr(i)*16) = v
	}
	return js.XJS_Call(m.tls, ctx, fn, this, int32(len(args)), m.args)
}

// cstring copies s into the arena with a terminating NUL; the caller frees it. It returns 0 if there is no space.
func (m *machine) cstring(s string) uintptr {
	p := m.arena.alloc(uint64(len(s) + 1))
	if p == 0 {
		return 0
	}
	b := m.arena.bytes(p, len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p
}

// evaluate runs source as a script of the host and returns its value.
func (m *machine) evaluate(ctx uintptr, source, file string) value {
	text := m.cstring(source)
	if text == 0 {
		return js.XJS_ThrowOutOfMemory(m.tls, ctx)
	}
	defer m.arena.free(text)
	was := m.compiling
	m.compiling = true
	defer func() { m.compiling = was }()
	compiled := js.XJS_Eval(m.tls, ctx, text, js.Tsize_t(len(source)), m.text(file),
		js.MJS_EVAL_TYPE_GLOBAL|js.MJS_EVAL_FLAG_COMPILE_ONLY)
	if isException(compiled) {
		return compiled
	}
	m.compiling = was
	if frameSlots(compiled) > maxFrame {
		js.XFreeValue(m.tls, ctx, compiled)
		return js.XJS_ThrowRangeError(m.tls, ctx, m.text("a function has too many variables"), 0)
	}
	return js.XJS_EvalFunction(m.tls, ctx, compiled)
}

// define makes a Go function a member of obj.
func (m *machine) define(ctx uintptr, obj value, name string, length int32,
	f func(*libc.TLS, uintptr, value, int32, uintptr) value) {
	fn := js.XJS_NewCFunction2(m.tls, ctx, funcAddr(f), m.text(name), length, js.EJS_CFUNC_generic, 0)
	js.XJS_SetPropertyStr(m.tls, ctx, obj, m.text(name), fn)
}

func (m *machine) errorText(ctx uintptr, e value, name string) string {
	v := m.property(ctx, e, name)
	defer js.XFreeValue(m.tls, ctx, v)
	if t := tag(v); t != js.EJS_TAG_STRING && t != js.EJS_TAG_STRING_ROPE && t != js.EJS_TAG_INT {
		m.dropException(ctx, v)
		return ""
	}
	return m.string(ctx, v)
}

func (m *machine) dropException(ctx uintptr, v value) {
	if isException(v) {
		js.XFreeValue(m.tls, ctx, js.XJS_GetException(m.tls, ctx))
	}
}

// string returns the text of v by JavaScript's rules, truncated if very long, or "" if it has none.
func (m *machine) string(ctx uintptr, v value) string {
	const most = 2000
	n := m.args + unit/2
	p := js.XJS_ToCStringLen2(m.tls, ctx, n, v, 0)
	if p == 0 {
		m.dropException(ctx, exception)
		return ""
	}
	defer js.XJS_FreeCString(m.tls, ctx, p)
	size := int(*at[js.Tsize_t](n))
	s := strings.ToValidUTF8(string(m.arena.bytes(p, min(size, most))), "\uFFFD")
	if size > most {
		s += "..."
	}
	return s
}
