package script

import (
	"context"

	"github.com/divandb/divan/layer/script/internal/engine"
)

// Filter decides which documents a changes feed shows. Safe for concurrent use.
type Filter struct {
	handle
	byView bool
}

// Filter compiles a filter function. ddoc is the JSON of its design document, which is `this` in the function and is
// searched by require.
func (s *Sandbox) Filter(ctx context.Context, ddoc []byte, f Function) (*Filter, error) {
	h, err := s.checked(ctx, &engine.Program{Functions: []Function{f}, Live: true, Root: ddoc})
	if err != nil {
		return nil, err
	}
	return &Filter{handle: h}, nil
}

// FilterByView compiles a map function for use as a filter (filter=_view): it passes the documents for which it
// emits.
func (s *Sandbox) FilterByView(ctx context.Context, ddoc []byte, f Function) (*Filter, error) {
	out, err := s.Filter(ctx, ddoc, f)
	if err != nil {
		return nil, err
	}
	out.byView = true
	return out, nil
}

// Filter reports for each document (JSON text) whether it passes. req is the JSON of CouchDB's request object. As in
// CouchDB the first document for which the function fails ends the call, with a *RuntimeError or *LimitError.
func (f *Filter) Filter(ctx context.Context, docs [][]byte, req []byte) ([]bool, error) {
	out := make([]bool, len(docs))
	next := 0
	for next < len(docs) {
		err := f.with(ctx, func(r *engine.Runtime) error {
			for next < len(docs) {
				err := r.Limited(0, f.s.limits.Time, func(fn *engine.Func) (err error) {
					out[next], err = fn.Show(docs[next], req, f.byView)
					return err
				})
				if err != nil {
					return err
				}
				r.Reset()
				if next++; r.Call().Dead() || r.Call().Turn().Spent() {
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
