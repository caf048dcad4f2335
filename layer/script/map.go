package script

import (
	"context"
	"errors"
	"time"

	js "modernc.org/libquickjs"
)

// Row is one call of emit: two JSON texts.
type Row struct{ Key, Value []byte }

// Mapped is what the map functions made of one document.
type Mapped struct {
	// Rows has for each function the rows that it emitted, in order; none where Errs is set.
	Rows [][]Row
	// Errs has for each function nil, or why the document is to be skipped in its view: a *RuntimeError or *LimitError.
	Errs []error
}

// Maps is a set of map functions that see the same documents, normally those of one design document. Safe for concurrent
// use; each call of Map works alone.
type Maps struct {
	handle
	direct   *direct
	patience *patience
	most     time.Duration // for one document and function, where not zero
}

// Maps compiles map functions. lib is the JSON of the design document's views.lib, for require("views/lib/..."), or nil. The error is a
// *CompileError for the first function that cannot be compiled.
func (s *Sandbox) Maps(ctx context.Context, lib []byte, functions []Function) (*Maps, error) {
	var root []byte
	if lib != nil {
		root = append(append([]byte(`{"views":{"lib":`), lib...), "}}"...)
	} else {
		root = []byte(`{"views":{}}`)
	}
	direct := newDirect(functions)
	p := &program{functions: functions, root: root, direct: make([]bool, len(functions))}
	for i, f := range direct.functions {
		p.direct[i] = f != nil
	}
	h, err := s.checked(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Maps{handle: h, direct: direct, patience: newPatience(s.limits.Time, len(functions))}, nil
}

// Within is the same functions with a limit on the time that one of them takes over a document, where that is less than the sandbox's.
func (m *Maps) Within(limit time.Duration) *Maps {
	return &Maps{handle: m.handle, direct: m.direct, patience: m.patience, most: limit}
}

// limit is how long a function may take over the next document.
func (m *Maps) limit(function int) time.Duration {
	limit := m.patience.limit(function)
	if m.most > 0 {
		limit = min(limit, m.most)
	}
	return limit
}

// Map runs every function over every document (JSON texts, with _id, _rev and what else the function is to see) and calls
// each with the result, in the order of docs. The memory of the result is used again once each returns. An error of each ends the
// call and is returned as it is; so does the end of ctx. While each runs, the call may hold a runtime.
func (m *Maps) Map(ctx context.Context, docs [][]byte, each func(doc int, result *Mapped) error) error {
	b := batch{maps: m, docs: docs, each: each}
	b.result.Rows = make([][]Row, len(m.p.functions))
	b.result.Errs = make([]error, len(m.p.functions))
	if m.s.closing() {
		return ErrClosed
	}
	for b.begin(); b.doc < len(docs); {
		if err := b.runDirect(ctx); err != nil || b.doc == len(docs) {
			return err
		}
		// A function that is stopped at a limit takes its runtime with it; the next one goes on where it was.
		if err := m.with(ctx, b.run); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// batch is one call of Map: where it is, and what the current document gave so far.
type batch struct {
	maps     *Maps
	docs     [][]byte
	each     func(int, *Mapped) error
	doc      int
	function int // the next function for docs[doc]
	result   Mapped
	out      []byte
	spans    []span
	plain    evaluation // of docs[doc], by direct functions
}

// span is a row within out; out may move while it grows.
type span struct{ function, key, value, end int }

// forget drops the rows that the current function has so far.
func (b *batch) forget() {
	for len(b.spans) > 0 && b.spans[len(b.spans)-1].function == b.function {
		b.spans = b.spans[:len(b.spans)-1]
	}
}

// run works through the documents with one runtime until the last, or until the runtime is dead.
func (b *batch) run(r *runtime) error {
	for b.doc < len(b.docs) {
		if err := b.runDirect(r.ctx); err != nil || b.doc == len(b.docs) {
			return err
		}
		if err := b.document(r); err != nil {
			return err
		}
		if b.function == len(r.functions) {
			if err := b.finish(); err != nil {
				return err
			}
		}
		r.reset()
		if r.dead || r.turn.Load().spent() {
			return nil
		}
	}
	return nil
}

// document runs the functions that are left for the current document, as far as the runtime lives. The error is one that ends the batch.
func (b *batch) document(r *runtime) error {
	var doc value
	ready := false
	for ; b.function < len(r.functions) && !r.dead; b.function++ {
		if b.callDirect() {
			continue
		}
		if !r.has(b.function) {
			ready = false
			if err := b.compile(r); err != nil || r.dead {
				return err // where it is dead, the next runtime takes the function up
			}
		}
		err := r.limited(b.function, b.maps.limit(b.function), func(r *runtime, fn *realm) error {
			if !ready {
				var err error
				if doc, err = r.document(b.docs[b.doc], true); err != nil {
					return r.documentError(err, fn.name)
				}
				ready = true
			}
			return b.call(r, fn, doc)
		})
		var thrown *RuntimeError
		var limit *LimitError
		switch {
		case err == nil:
			b.maps.patience.endedWell(b.function)
		case errors.As(err, &thrown), errors.As(err, &limit):
			b.forget()
			if limit != nil && limit.Limit == "time" {
				b.maps.patience.stopped(b.function)
			}
		default:
			b.forget()
			return err
		}
		b.result.Errs[b.function] = err
	}
	return nil
}

// compile adds the current function, a direct one, to the runtime.
func (b *batch) compile(r *runtime) error {
	r.reset()
	if r.dead {
		return nil
	}
	if err := r.add(b.maps.p, b.function, b.maps.s.compileTime()); err != nil {
		return err
	}
	r.take()
	return nil
}

// documentError makes the function's error of one over its document.
func (r *runtime) documentError(err error, function string) error {
	if r.ended != nil {
		return r.ended
	}
	var limit *LimitError
	if errors.As(err, &limit) {
		return &LimitError{Function: function, Limit: limit.Limit}
	}
	return &RuntimeError{Function: function, Message: err.Error()}
}

// call runs one function over the document and writes down its rows.
func (b *batch) call(r *runtime, f *realm, doc value) error {
	from := len(b.out)
	ret := r.invoke(f.ctx, f.fn, r.global(f.ctx), doc)
	if isException(ret) {
		err := r.failure(f.ctx, f.name)
		if !r.dead {
			r.dropEmitted()
		}
		return err
	}
	r.free(ret)
	for _, e := range r.emitted {
		s := span{function: b.function, key: len(b.out)}
		var err error
		if b.out, err = r.appendJSON(b.out, f.ctx, e.key, f.name); err == nil {
			s.value = len(b.out)
			b.out, err = r.appendEmitted(b.out, f.ctx, e.value, f.name)
		}
		if err == nil && len(b.out)-from > maxOutput {
			err = &LimitError{Function: f.name, Limit: "rows"}
		}
		if err != nil {
			if !r.dead {
				r.dropEmitted()
			}
			return err
		}
		s.end = len(b.out)
		b.spans = append(b.spans, s)
	}
	r.dropEmitted()
	return nil
}

// appendEmitted writes an emitted value: an Error object as its name and message.
func (r *runtime) appendEmitted(dst []byte, ctx uintptr, v value, function string) ([]byte, error) {
	if tag(v) != js.EJS_TAG_OBJECT || js.XJS_IsError(r.tls, ctx, v) == 0 {
		return r.appendJSON(dst, ctx, v, function)
	}
	dst = append(dst, `{"error":`...)
	dst = appendQuoted(dst, []byte(r.errorText(ctx, v, "name")))
	dst = append(dst, `,"message":`...)
	dst = appendQuoted(dst, []byte(r.errorText(ctx, v, "message")))
	return append(dst, '}'), nil
}

// finish hands out the result of the current document and moves on.
func (b *batch) finish() error {
	for i := range b.result.Rows {
		b.result.Rows[i] = b.result.Rows[i][:0]
	}
	for _, s := range b.spans {
		rows := &b.result.Rows[s.function]
		*rows = append(*rows, Row{b.out[s.key:s.value:s.value], b.out[s.value:s.end:s.end]})
	}
	if err := b.each(b.doc, &b.result); err != nil {
		return err
	}
	clear(b.result.Errs)
	b.out, b.spans = b.out[:0], b.spans[:0]
	b.doc++
	b.begin()
	return nil
}

// begin turns to the current document, where there is one.
func (b *batch) begin() {
	b.function = 0
	if b.doc < len(b.docs) {
		b.plain.begin(b.docs[b.doc])
	}
}

// runDirect works through the documents as far as direct functions can.
func (b *batch) runDirect(ctx context.Context) error {
	for b.doc < len(b.docs) {
		for b.function < len(b.result.Rows) && b.callDirect() {
			b.function++
		}
		if b.function < len(b.result.Rows) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := b.finish(); err != nil {
			return err
		}
	}
	return nil
}

// callDirect runs the current function without the engine and writes down its rows; false where it cannot.
func (b *batch) callDirect() bool {
	f := b.maps.direct.functions[b.function]
	if f == nil || !b.plain.run(b.maps.direct, f) {
		return false
	}
	out, spans := len(b.out), len(b.spans)
	for _, e := range b.plain.emits {
		s := span{function: b.function, key: len(b.out)}
		var ok bool
		if b.out, ok = b.plain.append(b.out, e.key); ok {
			s.value = len(b.out)
			b.out, ok = b.plain.append(b.out, e.value)
		}
		if !ok || len(b.out)-out > maxDirectBytes {
			b.out, b.spans = b.out[:out], b.spans[:spans]
			return false
		}
		s.end = len(b.out)
		b.spans = append(b.spans, s)
	}
	return true
}
