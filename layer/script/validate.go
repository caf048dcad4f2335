package script

import (
	"context"

	"github.com/divandb/divan/layer/script/internal/engine"
)

// Validate is one validate_doc_update function. Safe for concurrent use.
type Validate struct{ handle }

// Validate compiles a validate_doc_update function. ddoc is the JSON of its design document, which is `this` in the
// function and is searched by require.
func (s *Sandbox) Validate(ctx context.Context, ddoc []byte, f Function) (*Validate, error) {
	h, err := s.checked(ctx, &engine.Program{Functions: []Function{f}, Live: true, Root: ddoc})
	if err != nil {
		return nil, err
	}
	return &Validate{h}, nil
}

// Validate checks whether the user may replace oldDoc ("null" for none) by newDoc. All arguments are JSON texts. It
// returns nil for yes, a *Rejection for no, and a *RuntimeError, which also means no, if the function throws something
// without a name.
func (f *Validate) Validate(ctx context.Context, newDoc, oldDoc, userCtx, security []byte) error {
	return f.once(ctx, func(f *engine.Func) error { return f.Validate(newDoc, oldDoc, userCtx, security) })
}
