package engine

import (
	"errors"

	"github.com/tidwall/gjson"
	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/script/internal/jstext"
)

// Func is one function of a runtime, in its own realm: a global object with its own built-ins. Its methods are called
// within Runtime.Limited. Only the values that they return are outside the runtime's memory.
type Func struct {
	r    *Runtime
	ctx  uintptr
	fn   value
	name string
	// render has the functions of render.js, if the program renders.
	render value
}

// Document is the document that functions of one runtime map. It is parsed for the first function, and is valid until
// the runtime is reset.
type Document struct {
	Text  []byte
	value value
	ready bool
}

// Map calls the function, which has this number in the program, on the document and adds its rows to rows. After an
// error, rows may contain some of them.
func (f *Func) Map(doc *Document, number int, rows *jstext.Rows) error {
	r, m := f.r, f.r.m
	if !doc.ready {
		var err error
		if doc.value, err = f.document(doc.Text, true); err != nil {
			return err
		}
		doc.ready = true
	}
	from := rows.Mark()
	ret := m.invoke(f.ctx, f.fn, m.global(f.ctx), doc.value)
	if isException(ret) {
		err := f.failure()
		if !r.call.dead {
			r.dropEmitted()
		}
		return err
	}
	m.free(ret)
	for _, e := range r.emitted {
		row := jstext.Row{Function: number, Key: len(rows.Text)}
		var err error
		if rows.Text, err = f.appendJSON(rows.Text, e.key); err == nil {
			row.Value = len(rows.Text)
			rows.Text, err = f.appendEmitted(rows.Text, e.value)
		}
		if err == nil && rows.Since(from) > maxOutput {
			err = &LimitError{Function: f.name, Limit: "rows"}
		}
		if err != nil {
			if !r.call.dead {
				r.dropEmitted()
			}
			return err
		}
		row.End = len(rows.Text)
		rows.Rows = append(rows.Rows, row)
	}
	r.dropEmitted()
	return nil
}

// Show calls a filter with a document and a request, and reports whether the document passes. A map function used as
// a filter passes documents for which it emits.
func (f *Func) Show(doc, req []byte, byView bool) (bool, error) {
	r, m := f.r, f.r.m
	args, err := f.documents(doc, req)
	if err != nil {
		return false, err
	}
	this := r.root
	if byView {
		this = m.global(f.ctx)
	}
	ret := m.invoke(f.ctx, f.fn, this, args...)
	if isException(ret) {
		return false, f.failure()
	}
	show := js.XJS_ToBool(m.tls, f.ctx, ret) > 0
	if byView {
		show = len(r.emitted) > 0
	}
	return show, nil
}

// Reduce calls a reduce function with lists of keys and values, as JSON texts; keys is nil if values are results of
// earlier calls. The result is JSON.
func (f *Func) Reduce(keys, values []byte) ([]byte, error) {
	k, rereduce := null, keys == nil
	if !rereduce {
		var err error
		if k, err = f.document(keys, false); err != nil {
			return nil, err
		}
	}
	v, err := f.document(values, false)
	if err != nil {
		return nil, err
	}
	m := f.r.m
	ret := m.invoke(f.ctx, f.fn, m.global(f.ctx), k, v, boolValue(rereduce))
	if isException(ret) {
		return nil, f.failure()
	}
	return f.appendJSON(nil, ret)
}

// Validate calls a function with documents as arguments. The error may be a *Rejection.
func (f *Func) Validate(texts ...[]byte) error {
	args, err := f.documents(texts...)
	if err != nil {
		return err
	}
	ret := f.r.m.invoke(f.ctx, f.fn, f.r.root, args...)
	if isException(ret) {
		return f.rejection()
	}
	return nil
}

// rejection examines what validate_doc_update threw.
func (f *Func) rejection() error {
	m := f.r.m
	if f.r.call.stopped(f.name) != nil {
		return f.failure()
	}
	thrown := js.XJS_GetException(m.tls, f.ctx)
	if tag(thrown) == js.EJS_TAG_OBJECT && js.XJS_IsError(m.tls, f.ctx, thrown) == 0 {
		for _, name := range []string{"forbidden", "unauthorized"} {
			reason := m.property(f.ctx, thrown, name)
			if isException(reason) {
				m.dropException(f.ctx, reason)
				continue
			}
			if tag(reason) != js.EJS_TAG_UNDEFINED {
				out := &Rejection{Name: name}
				out.Reason, out.JSON = f.describe(reason)
				m.free(reason)
				m.free(thrown)
				return out
			}
		}
	}
	if out := f.named(thrown); out != nil && f.r.call.stopped(f.name) == nil {
		m.free(thrown)
		return out
	}
	js.XJS_Throw(m.tls, f.ctx, thrown) // not a rejection: treated as any other error
	return f.failure()
}

// named returns the error for what CouchDB's query server takes for a message: a list of "error" or "fatal", a name and
// a reason, or an object with a single member, which is the reason. It returns nil for anything else.
func (f *Func) named(thrown value) error {
	text, isJSON := f.describe(thrown)
	if !isJSON || js.XJS_IsError(f.r.m.tls, f.ctx, thrown) != 0 {
		return nil
	}
	v := gjson.Parse(text)
	switch items := v.Array(); {
	case v.Type == gjson.String: // such as that of a Date
		return &RuntimeError{Function: f.name, Message: v.Str}
	case v.IsArray() && len(items) == 3 && (items[0].Str == "error" || items[0].Str == "fatal") &&
		items[1].Type == gjson.String:
		out := &Rejection{Name: items[1].Str, Reason: items[2].Str}
		if items[2].Type != gjson.String {
			out.Reason, out.JSON = items[2].Raw, true
		}
		return out
	case v.IsObject():
		if members := v.Map(); len(members) == 1 {
			for _, reason := range members {
				return &RuntimeError{Function: f.name, Message: reason.String()}
			}
		}
	}
	return nil
}

// documents converts JSON texts to arguments that the function may change.
func (f *Func) documents(texts ...[]byte) ([]value, error) {
	out := make([]value, 0, len(texts))
	for _, text := range texts {
		v, err := f.document(text, false)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// document converts a JSON text to a value. The error names the function.
func (f *Func) document(text []byte, frozen bool) (value, error) {
	v, err := f.r.document(text, frozen)
	if err == nil {
		return v, nil
	}
	if f.r.call.ended != nil {
		return v, f.r.call.ended
	}
	var limit *LimitError
	if errors.As(err, &limit) {
		return v, &LimitError{Function: f.name, Limit: limit.Limit}
	}
	return v, &RuntimeError{Function: f.name, Message: err.Error()}
}
