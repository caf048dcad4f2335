package engine

import (
	_ "embed"
	"math/rand/v2"
	"time"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

//go:embed prelude.js
var preludeSource string

//go:embed helpers.js
var helpersSource string

// helpers are JavaScript functions of the main realm.
type helpers struct{ freeze value }

func (r *Runtime) loadHelpers() error {
	v := r.m.evaluate(r.m.main, helpersSource, "helpers")
	if isException(v) {
		return r.failure(r.m.main, "helpers")
	}
	r.helpers.freeze = js.XJS_GetPropertyUint32(r.m.tls, r.m.main, v, 0)
	r.m.free(v)
	return nil
}

// prepare defines the globals of a realm.
func (r *Runtime) prepare(ctx uintptr) error {
	setup := r.m.evaluate(ctx, preludeSource, "prelude")
	if isException(setup) {
		return r.failure(ctx, "prelude")
	}
	host := js.XJS_NewObject(r.m.tls, ctx)
	r.m.define(ctx, host, "log", 1, engineLog)
	r.m.define(ctx, host, "load", 2, engineLoad)
	r.m.define(ctx, host, "clock", 0, engineClock)
	r.m.define(ctx, host, "draw", 0, engineDraw)
	global := js.XJS_GetGlobalObject(r.m.tls, ctx)
	r.m.define(ctx, global, "emit", 2, engineEmit)
	r.m.free(global)
	done := r.m.invoke(ctx, setup, undefined, host, r.root)
	r.m.free(setup)
	r.m.free(host)
	if isException(done) {
		return r.failure(ctx, "prelude")
	}
	r.m.free(done)
	return nil
}

// engineLog implements host.log of the prelude.
func engineLog(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx).owner
	if r.call.logged++; r.log != nil && argc > 0 && r.call.logged <= maxLogged {
		r.log(r.m.string(ctx, *at[value](argv)))
	}
	return undefined
}

// engineClock implements host.clock of the prelude: the time in milliseconds.
func engineClock(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	if r := byContext(tls, ctx).owner; !r.live {
		return r.call.unrepeatable(ctx, "the clock (Date.now, Date(), new Date() without arguments)")
	}
	return floatValue(float64(time.Now().UnixMilli()))
}

// engineDraw implements host.draw of the prelude: a random number in [0, 1).
func engineDraw(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	if r := byContext(tls, ctx).owner; !r.live {
		return r.call.unrepeatable(ctx, "random numbers (Math.random)")
	}
	return floatValue(rand.Float64())
}

// engineLoad implements host.load of the prelude: it compiles a module's text to a function of module, exports and
// require.
func engineLoad(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx).owner
	n := r.m.args + unit/2
	p := js.XJS_ToCStringLen2(tls, ctx, n, *at[value](argv), 0)
	if p == 0 {
		return exception
	}
	size := int(*at[js.Tsize_t](n))
	if size > maxSource {
		js.XJS_FreeCString(tls, ctx, p)
		return js.XJS_ThrowRangeError(tls, ctx, r.m.text("the module is too long"), 0)
	}
	source := string(r.m.arena.bytes(p, size))
	js.XJS_FreeCString(tls, ctx, p)
	return r.m.evaluate(ctx, "(function (module, exports, require) {"+source+"\n})",
		r.m.string(ctx, *at[value](argv + 16)))
}

// engineEmit implements emit: it keeps key and value until the function has returned, since CouchDB serialises them
// only then.
func engineEmit(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	r := byContext(tls, ctx).owner
	if len(r.emitted) >= maxRows {
		r.call.limit = "rows"
		v := js.XJS_ThrowInternalError(tls, ctx, r.m.text("too many rows"), 0)
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

func (r *Runtime) dropEmitted() {
	for _, e := range r.emitted {
		r.m.free(e.key)
		r.m.free(e.value)
	}
	r.emitted = r.emitted[:0]
}
