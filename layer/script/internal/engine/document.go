package engine

import (
	"errors"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/jsontext"
)

// errRepeated is internal: an object repeats a member name.
var errRepeated = errors.New("repeated member")

// errDocument reports that a document is not JSON. The store checks documents before it keeps them.
var errDocument = errors.New("script: the document is not JSON")

// maxDocumentDepth bounds the nesting of documents.
const maxDocumentDepth = 1000

// document converts JSON text to a value of the main realm, optionally frozen. The engine's own JSON.parse followed
// by a deep Object.freeze takes three times as long.
func (r *Runtime) document(json []byte, frozen bool) (value, error) {
	b := r.m.input.room(r.m.arena, len(json)+1)
	if b == nil {
		return undefined, &LimitError{Limit: "memory"}
	}
	copy(b, json)
	b[len(json)] = 0
	p := parser{Scanner: jsontext.Scanner{Text: b[:len(json)], Halves: true}, m: r.m, frozen: frozen}
	v, err := p.value(0)
	if err == nil {
		if p.Space(); p.Pos != len(p.Text) {
			r.m.free(v)
			err = errDocument
		}
	}
	if errors.Is(err, errRepeated) {
		v, err = r.repeatedDocument(frozen, len(json))
	}
	r.m.input.shrink(r.m.arena)
	r.m.escape.shrink(r.m.arena)
	if err != nil {
		return undefined, err
	}
	return v, nil
}

// repeatedDocument parses a document with repeated member names by the engine's JSON.parse: the last one counts.
func (r *Runtime) repeatedDocument(frozen bool, size int) (value, error) {
	ctx := r.m.main
	v := js.XJS_ParseJSON(r.m.tls, ctx, r.m.input.addr, js.Tsize_t(size), r.m.text("document"))
	if isException(v) {
		r.m.dropException(ctx, v)
		return undefined, errDocument
	}
	if !frozen {
		return v, nil
	}
	done := r.m.invoke(ctx, r.helpers.freeze, undefined, v)
	if isException(done) {
		r.m.free(v)
		return undefined, r.failure(ctx, "freeze")
	}
	r.m.free(done)
	return v, nil
}
