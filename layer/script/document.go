package script

import (
	"errors"

	js "modernc.org/libquickjs"
)

// errRepeated is internal: an object names a member twice.
var errRepeated = errors.New("repeated member")

// errDocument says that a text given as a document is no JSON. The store checks documents before it keeps them.
var errDocument = errors.New("script: the document is not JSON")

// maxDocumentDepth bounds the nesting of documents.
const maxDocumentDepth = 1000

// document turns JSON text into a value of the main realm, frozen or not. The engine's own JSON.parse followed by a deep
// Object.freeze takes three times as long.
func (r *runtime) document(json []byte, frozen bool) (value, error) {
	b := r.input.room(r.arena, len(json)+1)
	if b == nil {
		return undefined, &LimitError{Limit: "memory"}
	}
	copy(b, json)
	b[len(json)] = 0
	p := parser{scan: scan{text: b[:len(json)]}, r: r, frozen: frozen}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.pos != len(p.text) {
			r.free(v)
			err = errDocument
		}
	}
	if errors.Is(err, errRepeated) {
		v, err = r.repeatedDocument(frozen, len(json))
	}
	r.input.shrink(r.arena)
	r.escape.shrink(r.arena)
	if err != nil {
		return undefined, err
	}
	return v, nil
}

// repeatedDocument reads a document in which an object names a member twice, by the engine's JSON.parse: the last one counts.
func (r *runtime) repeatedDocument(frozen bool, size int) (value, error) {
	ctx := r.main.ctx
	v := js.XJS_ParseJSON(r.tls, ctx, r.input.addr, js.Tsize_t(size), r.text("document"))
	if isException(v) {
		r.dropException(ctx, v)
		return undefined, errDocument
	}
	if !frozen {
		return v, nil
	}
	done := r.invoke(ctx, r.helpers.freeze, undefined, v)
	if isException(done) {
		r.free(v)
		return undefined, r.failure(ctx, "freeze")
	}
	r.free(done)
	return v, nil
}
