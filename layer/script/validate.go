package script

import (
	"context"

	js "modernc.org/libquickjs"
)

// Rejection says that validate_doc_update refuses a document: it threw an object with one of CouchDB's two names.
type Rejection struct {
	// Unauthorized is true for {unauthorized: ...} (401), false for {forbidden: ...} (403).
	Unauthorized bool
	// Reason is the text that was thrown; JSON where it was no text.
	Reason string
}

func (e *Rejection) Error() string {
	if e.Unauthorized {
		return "unauthorized: " + e.Reason
	}
	return "forbidden: " + e.Reason
}

// Validate is one validate_doc_update function. Safe for concurrent use.
type Validate struct{ handle }

// Validate compiles a validate_doc_update function. ddoc is the JSON of its design document, which is `this` in the
// function and where require looks.
func (s *Sandbox) Validate(ctx context.Context, ddoc []byte, f Function) (*Validate, error) {
	h, err := s.checked(ctx, &program{functions: []Function{f}, live: true, root: ddoc})
	if err != nil {
		return nil, err
	}
	return &Validate{h}, nil
}

// Validate asks whether newDoc may replace oldDoc ("null" for none) for that user. All are JSON texts. nil is yes, a *Rejection no; anything
// else that the function throws is a *RuntimeError, and no as well.
func (f *Validate) Validate(ctx context.Context, newDoc, oldDoc, userCtx, security []byte) error {
	return f.once(ctx, func(r *runtime, fn *realm) error { return r.validate(fn, newDoc, oldDoc, userCtx, security) })
}

func (r *runtime) validate(fn *realm, texts ...[]byte) error {
	args, err := r.documents(fn, texts...)
	if err != nil {
		return err
	}
	ret := r.invoke(fn.ctx, fn.fn, r.root, args...)
	if isException(ret) {
		return r.rejection(fn)
	}
	return nil
}

// rejection looks at what validate_doc_update threw.
func (r *runtime) rejection(fn *realm) error {
	if r.stopped(fn.name) != nil {
		return r.failure(fn.ctx, fn.name)
	}
	thrown := js.XJS_GetException(r.tls, fn.ctx)
	if tag(thrown) == js.EJS_TAG_OBJECT && js.XJS_IsError(r.tls, fn.ctx, thrown) == 0 {
		for _, name := range []string{"forbidden", "unauthorized"} {
			reason := r.property(fn.ctx, thrown, name)
			if isException(reason) {
				r.dropException(fn.ctx, reason)
				continue
			}
			if tag(reason) != js.EJS_TAG_UNDEFINED {
				out := &Rejection{Unauthorized: name == "unauthorized", Reason: r.describe(fn.ctx, reason)}
				r.free(reason)
				r.free(thrown)
				return out
			}
		}
	}
	js.XJS_Throw(r.tls, fn.ctx, thrown) // it is no rejection: as any other error
	return r.failure(fn.ctx, fn.name)
}
