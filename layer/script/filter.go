package script

import (
	"context"

	js "modernc.org/libquickjs"
)

// Filter decides which documents a changes feed shows. Safe for concurrent use.
type Filter struct {
	handle
	byView bool
}

// Filter compiles a filter function. ddoc is the JSON of its design document, which is `this` in the function and where
// require looks.
func (s *Sandbox) Filter(ctx context.Context, ddoc []byte, f Function) (*Filter, error) {
	h, err := s.checked(ctx, &program{functions: []Function{f}, live: true, root: ddoc})
	if err != nil {
		return nil, err
	}
	return &Filter{handle: h}, nil
}

// FilterByView compiles a map function to use as a filter (filter=_view): it shows the documents for which it emits.
func (s *Sandbox) FilterByView(ctx context.Context, ddoc []byte, f Function) (*Filter, error) {
	out, err := s.Filter(ctx, ddoc, f)
	if err != nil {
		return nil, err
	}
	out.byView = true
	return out, nil
}

// Filter says for each document (JSON text) whether it is shown. req is the JSON of CouchDB's request object. As in
// CouchDB the first document that the function fails for ends the call, with a *RuntimeError or *LimitError.
func (f *Filter) Filter(ctx context.Context, docs [][]byte, req []byte) ([]bool, error) {
	out := make([]bool, len(docs))
	next := 0
	for next < len(docs) {
		err := f.with(ctx, func(r *runtime) error {
			for next < len(docs) {
				err := r.limited(0, f.s.limits.Time, func(r *runtime, fn *realm) (err error) {
					out[next], err = f.one(r, fn, docs[next], req)
					return err
				})
				if err != nil {
					return err
				}
				r.reset()
				if next++; r.dead || r.turn.Load().spent() {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *Filter) one(r *runtime, fn *realm, doc, req []byte) (bool, error) {
	args, err := r.documents(fn, doc, req)
	if err != nil {
		return false, err
	}
	this := r.root
	if f.byView {
		this = r.global(fn.ctx)
	}
	ret := r.invoke(fn.ctx, fn.fn, this, args...)
	if isException(ret) {
		return false, r.failure(fn.ctx, fn.name)
	}
	show := js.XJS_ToBool(r.tls, fn.ctx, ret) > 0
	if f.byView {
		show = len(r.emitted) > 0
	}
	return show, nil
}

// documents turns JSON texts into arguments of fn that it may change.
func (r *runtime) documents(fn *realm, texts ...[]byte) ([]value, error) {
	out := make([]value, 0, len(texts))
	for _, text := range texts {
		v, err := r.document(text, false)
		if err != nil {
			return nil, r.documentError(err, fn.name)
		}
		out = append(out, v)
	}
	return out, nil
}
