package engine

import (
	_ "embed"

	"modernc.org/libc"
	js "modernc.org/libquickjs"
)

//go:embed render.js
var renderSource string

// Listing is what a list function writes to and reads from. The methods are called one at a time.
type Listing interface {
	// Begin takes the status and the headers of the response, as the JSON of CouchDB's response object. The function
	// may call it again as long as nothing was sent. The texts are valid only during the call.
	Begin(head []byte)
	// Write keeps a piece of the response's body. It does not block.
	Write(text []byte)
	// Flush sends what was written, and may block.
	Flush() error
	// Ready reports whether Row returns at once.
	Ready() bool
	// Row returns the next row as JSON, valid until the next call, or nil after the last one. It may also send what was
	// written.
	Row() ([]byte, error)
}

// renderer compiles the functions by which Go calls a show, list, update or rewrite function in the realm ctx.
func (r *Runtime) renderer(ctx uintptr) (value, error) {
	setup := r.m.evaluate(ctx, renderSource, "render")
	if isException(setup) {
		return undefined, r.failure(ctx, "render")
	}
	host := js.XJS_NewObject(r.m.tls, ctx)
	r.m.define(ctx, host, "begin", 1, engineBegin)
	r.m.define(ctx, host, "write", 1, engineWrite)
	r.m.define(ctx, host, "flush", 0, engineFlush)
	r.m.define(ctx, host, "row", 0, engineRow)
	out := r.m.invoke(ctx, setup, undefined, host)
	r.m.free(setup)
	r.m.free(host)
	if isException(out) {
		return undefined, r.failure(ctx, "render")
	}
	return out, nil
}

// Respond calls the function as kind: "show" with a document and a request, "update" with the same, "rewrite" with a
// request, or "list" with the head of the rows and a request. All are JSON texts. The result is JSON: a list whose
// first item says what it is (render.js).
func (f *Func) Respond(kind string, texts ...[]byte) ([]byte, error) {
	m := f.r.m
	args, err := f.documents(texts...)
	if err != nil {
		return nil, err
	}
	run := m.property(f.ctx, f.render, kind)
	ret := m.invoke(f.ctx, run, undefined, append([]value{f.fn, f.r.root}, args...)...)
	if isException(ret) {
		return nil, f.failure()
	}
	out, err := f.appendJSON(nil, ret)
	if err == nil && len(out) > maxResponse {
		err = &LimitError{Function: f.name, Limit: "memory"}
	}
	return out, err
}

// List calls the function as a list function that talks to io. Each row has the whole time of a call.
func (f *Func) List(head, req []byte, io Listing) ([]byte, error) {
	f.r.call.listing = io
	defer func() { f.r.call.listing = nil }()
	return f.Respond("list", head, req)
}

// outside runs do, which may block, without the clock and without the turn. Afterwards the function has its whole time
// again if anew is set, and otherwise what was left of it. It reports whether the call may continue.
func (c *Call) outside(do func() error, anew bool) bool {
	left, ok := c.Pause()
	if !ok {
		c.limit = "time"
		return false
	}
	t := c.turn.Load()
	switch {
	case anew:
		left = int64(c.whole)
	case t != nil:
		left = c.budget.Load() - t.Ran()
	}
	var err error
	if t != nil {
		err = t.Outside(do)
	} else {
		err = do()
	}
	c.begin(left)
	if err != nil {
		c.ended = err
	}
	return err == nil
}

// again gives the call its whole time, for the next row.
func (c *Call) again() bool {
	if _, ok := c.Pause(); !ok {
		c.limit = "time"
		return false
	}
	if t := c.turn.Load(); t != nil {
		t.Called()
	}
	c.begin(int64(c.whole))
	return true
}

// end throws what the function cannot catch. The call's reason is recorded already.
func (c *Call) end(tls *libc.TLS, ctx uintptr) value {
	v := js.XJS_ThrowInternalError(tls, ctx, c.m.text("interrupted"), 0)
	js.XJS_SetUncatchableException(tls, ctx, 1)
	return v
}

// engineBegin implements host.begin of render.js.
func engineBegin(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	return passText(tls, ctx, argc, argv, Listing.Begin)
}

// engineWrite implements host.write of render.js.
func engineWrite(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr) value {
	return passText(tls, ctx, argc, argv, Listing.Write)
}

// passText passes the UTF-8 of the first argument.
func passText(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr, to func(Listing, []byte)) value {
	r := byContext(tls, ctx).owner
	if argc < 1 || r.call.listing == nil {
		return undefined
	}
	n := r.m.args + unit/2
	p := js.XJS_ToCStringLen2(tls, ctx, n, *at[value](argv), 0)
	if p == 0 {
		return exception
	}
	to(r.call.listing, r.m.arena.bytes(p, int(*at[js.Tsize_t](n))))
	js.XJS_FreeCString(tls, ctx, p)
	return undefined
}

// engineFlush implements host.flush of render.js. It gives no time: a function could send without end.
func engineFlush(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	r := byContext(tls, ctx).owner
	if r.call.listing != nil && !r.call.outside(r.call.listing.Flush, false) {
		return r.call.end(tls, ctx)
	}
	return undefined
}

// engineRow implements host.row of render.js: the next row, or undefined after the last one.
func engineRow(tls *libc.TLS, ctx uintptr, _ value, _ int32, _ uintptr) value {
	r := byContext(tls, ctx).owner
	c := &r.call
	if c.listing == nil {
		return undefined
	}
	var row []byte
	next := func() (err error) {
		row, err = c.listing.Row()
		return err
	}
	goOn := c.listing.Ready()
	if goOn {
		if goOn = c.again(); goOn {
			c.ended = next()
			goOn = c.ended == nil
		}
	} else {
		goOn = c.outside(next, true)
	}
	if !goOn {
		return c.end(tls, ctx)
	}
	if row == nil {
		return undefined
	}
	v, err := r.document(row, false)
	if err != nil {
		c.ended = err
		return c.end(tls, ctx)
	}
	return v
}
