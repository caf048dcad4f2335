package script

import (
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

//go:embed prelude.js
var preludeSource string

//go:embed helpers.js
var helpersSource string

// helpers are functions of the main realm.
type helpers struct{ freeze value }

// program is what a runtime is loaded with. It does not change.
type program struct {
	functions []Function
	// direct says of each function whether it seldom needs the engine; it is nil if none of them is like that. A
	// runtime compiles such a function when it first calls it, since all compiled code is part of the memory that is
	// restored after each document.
	direct []bool
	// live functions have the clock and random numbers.
	live bool
	// lazy is set where the modules that functions name cannot be loaded before the first document.
	lazy atomic.Bool
	// root is the JSON of the object that require looks in, nil for no require.
	root []byte
}

// load compiles the program's functions, each in a realm of its own and within the time of one call. The error is a
// *CompileError for what is wrong with a source.
func (r *runtime) load(p *program, limit time.Duration) error {
	r.live = p.live
	if p.root != nil {
		err := r.guard("", func() (err error) {
			r.root, err = r.document(p.root, true)
			return err
		})
		if err != nil {
			return err
		}
	}
	r.functions = make([]realm, len(p.functions))
	for i := range p.functions {
		if p.isDirect(i) {
			continue
		}
		if err := r.add(p, i, limit); err != nil {
			return err
		}
	}
	r.take()
	return nil
}

func (p *program) isDirect(function int) bool { return p.direct != nil && p.direct[function] }

// add compiles a function that is not in the runtime yet.
func (r *runtime) add(p *program, function int, limit time.Duration) error {
	f := p.functions[function]
	var added realm
	err := r.guard(f.Name, func() (err error) {
		r.arm(limit)
		added, err = r.compile(f)
		if !r.disarm() && err == nil {
			err = r.stopped(f.Name)
		}
		return err
	})
	if r.used != "" && (err == nil || !r.dead) {
		err = &CompileError{Function: f.Name, Message: r.used}
	}
	if err != nil && r.isClosing() {
		return ErrClosed
	}
	var stopped *LimitError
	if errors.As(err, &stopped) {
		err = &CompileError{Function: f.Name, Message: "stopped at the " + stopped.Limit + " limit"}
	}
	if err != nil {
		return err
	}
	r.functions[function] = added
	return nil
}

// check compiles the functions that load left out, and forgets them.
func (r *runtime) check(p *program, limit time.Duration) error {
	for i := range p.functions {
		if r.has(i) {
			continue
		}
		if err := r.add(p, i, limit); err != nil {
			r.dead = true
			return err
		}
		r.functions[i] = realm{}
		r.reset()
	}
	return nil
}

func (r *runtime) has(function int) bool { return r.functions[function].ctx != 0 }

func (r *runtime) loadHelpers() error {
	v := r.evaluate(r.main.ctx, helpersSource, "helpers")
	if isException(v) {
		return r.failure(r.main.ctx, "helpers")
	}
	r.helpers.freeze = js.XJS_GetPropertyUint32(r.tls, r.main.ctx, v, 0)
	r.free(v)
	return nil
}

// evaluate runs source as a script of the host's and returns its value.
func (r *runtime) evaluate(ctx uintptr, source, file string) value {
	text := r.cstring(source)
	if text == 0 {
		return js.XJS_ThrowOutOfMemory(r.tls, ctx)
	}
	defer r.arena.free(text)
	was := r.compiling
	r.compiling = true
	defer func() { r.compiling = was }()
	compiled := js.XJS_Eval(r.tls, ctx, text, js.Tsize_t(len(source)), r.text(file), js.MJS_EVAL_TYPE_GLOBAL|js.MJS_EVAL_FLAG_COMPILE_ONLY)
	if isException(compiled) {
		return compiled
	}
	r.compiling = was
	if frameSlots(compiled) > maxFrame {
		js.XFreeValue(r.tls, ctx, compiled)
		return js.XJS_ThrowRangeError(r.tls, ctx, r.text("a function has too many variables"), 0)
	}
	return js.XJS_EvalFunction(r.tls, ctx, compiled)
}

// compile makes a new realm with one function.
func (r *runtime) compile(f Function) (realm, error) {
	if len(f.Source) > maxSource {
		return realm{}, &CompileError{Function: f.Name, Message: fmt.Sprintf("the source is longer than %d bytes", maxSource)}
	}
	ctx, err := r.context()
	if err != nil {
		return realm{}, err
	}
	if err := r.prepare(ctx); err != nil {
		return realm{}, err
	}
	fn, err := r.functionValue(ctx, f)
	return realm{ctx: ctx, fn: fn, name: f.Name}, err
}

// prepare gives a realm its globals.
func (r *runtime) prepare(ctx uintptr) error {
	setup := r.evaluate(ctx, preludeSource, "prelude")
	if isException(setup) {
		return r.failure(ctx, "prelude")
	}
	host := js.XJS_NewObject(r.tls, ctx)
	r.define(ctx, host, "log", 1, engineLog)
	r.define(ctx, host, "load", 2, engineLoad)
	r.define(ctx, host, "clock", 0, engineClock)
	r.define(ctx, host, "draw", 0, engineDraw)
	global := js.XJS_GetGlobalObject(r.tls, ctx)
	r.define(ctx, global, "emit", 2, engineEmit)
	r.free(global)
	done := r.invoke(ctx, setup, undefined, host, r.root)
	r.free(setup)
	r.free(host)
	if isException(done) {
		return r.failure(ctx, "prelude")
	}
	r.free(done)
	return nil
}

// define makes a Go function a member of obj.
func (r *runtime) define(ctx uintptr, obj value, name string, length int32, f func(*libc.TLS, uintptr, value, int32, uintptr) value) {
	fn := js.XJS_NewCFunction2(r.tls, ctx, funcAddr(f), r.text(name), length, js.EJS_CFUNC_generic, 0)
	js.XJS_SetPropertyStr(r.tls, ctx, obj, r.text(name), fn)
}

// functionValue compiles a source: a function expression, or as CouchDB's engine takes it a script whose value is a function.
func (r *runtime) functionValue(ctx uintptr, f Function) (value, error) {
	fn := r.evaluate(ctx, "("+f.Source+"\n)", f.Name)
	if isException(fn) {
		first := r.failure(ctx, f.Name)
		if r.dead {
			return undefined, first
		}
		script, _ := wrapFunctions(f.Source)
		if fn = r.evaluate(ctx, script, f.Name); isException(fn) {
			second := r.failure(ctx, f.Name)
			if r.dead {
				return undefined, second
			}
			return undefined, compileError(f, later(first, second))
		}
	}
	if js.XJS_IsFunction(r.tls, ctx, fn) == 0 {
		r.free(fn)
		return undefined, &CompileError{Function: f.Name, Message: "the source is not a function"}
	}
	return fn, nil
}

// later is the error of the attempt that came further: the other one failed at what only it does not understand.
func later(first, second error) error {
	var a, b *RuntimeError
	if errors.As(first, &a) && errors.As(second, &b) && b.Line > a.Line {
		return second
	}
	return first
}

func compileError(f Function, err error) error {
	var run *RuntimeError
	if !errors.As(err, &run) {
		return err
	}
	out := &CompileError{Function: f.Name, Message: run.Message, Line: run.Line}
	if lines := strings.Count(strings.TrimRight(f.Source, " \t\r\n"), "\n") + 1; out.Line > lines {
		// At the bracket that functionValue adds, of which the author knows nothing.
		out.Line, out.Message = lines, "unexpected end of the source"
	}
	if run.Name != "" {
		out.Message = run.Name + ": " + out.Message
	}
	return out
}

// engineLog is host.log of the prelude.
func engineLog(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx)
	if r.logged++; r.log != nil && argc > 0 && r.logged <= maxLogged {
		r.log(r.string(ctx, *at[value](argv)))
	}
	return undefined
}

// engineClock is host.clock of the prelude: the time in milliseconds.
func engineClock(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	if r := byContext(tls, ctx); !r.live {
		return r.unrepeatable(ctx, "the clock (Date.now, Date(), new Date() without arguments)")
	}
	return floatValue(float64(time.Now().UnixMilli()))
}

// engineDraw is host.draw of the prelude: a random number from 0 up to 1.
func engineDraw(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	if r := byContext(tls, ctx); !r.live {
		return r.unrepeatable(ctx, "random numbers (Math.random)")
	}
	return floatValue(rand.Float64())
}

// unrepeatable throws, and makes the call fail even where the function catches that.
func (r *runtime) unrepeatable(ctx uintptr, what string) value {
	r.used = "the result depends on " + what + ", but an index has to be the same whenever and wherever it is built: use dates and numbers of the " +
		"document, and compare them with the time in the query"
	return js.XJS_ThrowTypeError(r.tls, ctx, r.text("map and reduce functions have neither the clock nor random numbers"), 0)
}

// Unrepeatable is the Name of the error of a map or reduce function that reads the clock or draws random numbers.
const Unrepeatable = "unrepeatable"

// repeatable makes err, of a call that has ended, the error of a function that read the clock, if it did.
func (r *runtime) repeatable(function string, err error) error {
	if r.used == "" {
		return err
	}
	out := &RuntimeError{Function: function, Name: Unrepeatable, Message: r.used}
	var thrown *RuntimeError
	if errors.As(err, &thrown) {
		out.Line = thrown.Line
	} else if err != nil {
		return err
	}
	return out
}

// engineLoad is host.load of the prelude: it compiles a module's text to a function of module, exports and require.
func engineLoad(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx)
	n := r.args + unit/2
	p := js.XJS_ToCStringLen2(tls, ctx, n, *at[value](argv), 0)
	if p == 0 {
		return exception
	}
	size := int(*at[js.Tsize_t](n))
	if size > maxSource {
		js.XJS_FreeCString(tls, ctx, p)
		return js.XJS_ThrowRangeError(tls, ctx, r.text("the module is too long"), 0)
	}
	source := string(r.arena.bytes(p, size))
	js.XJS_FreeCString(tls, ctx, p)
	return r.evaluate(ctx, "(function (module, exports, require) {"+source+"\n})", r.string(ctx, *at[value](argv + 16)))
}

// engineEmit is emit: it keeps key and value until the function has returned, since CouchDB shows them as they are then.
func engineEmit(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx)
	if len(r.emitted) >= maxRows {
		r.limit = "rows"
		v := js.XJS_ThrowInternalError(tls, ctx, r.text("too many rows"), 0)
		js.XJS_SetUncatchableException(tls, ctx, 1)
		return v
	}
	e := emission{undefined, undefined}
	if argc > 0 {
		e.key = js.XDupValue(tls, ctx, *at[value](argv))
	}
	if argc > 1 {
		e.value = js.XDupValue(tls, ctx, *at[value](argv + 16))
	}
	r.emitted = append(r.emitted, e)
	return undefined
}

func (r *runtime) dropEmitted() {
	for _, e := range r.emitted {
		r.free(e.key)
		r.free(e.value)
	}
	r.emitted = r.emitted[:0]
}
