package script

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer/script/internal/engine"
)

// Reduce is one reduce function. Safe for concurrent use.
type Reduce struct {
	handle
	anySize bool
}

// AnySize returns the function without the limit on the size of its results relative to its input.
func (f *Reduce) AnySize() *Reduce { return &Reduce{f.handle, true} }

// Reduce compiles a reduce function. As in CouchDB it has no require.
func (s *Sandbox) Reduce(ctx context.Context, f Function) (*Reduce, error) {
	h, err := s.checked(ctx, &engine.Program{Functions: []Function{f}})
	if err != nil {
		return nil, err
	}
	return &Reduce{handle: h}, nil
}

// Reduce calls the function with rows: each key is the JSON text of [key, id], and values are the rows' values. The
// caller owns the result, which is JSON text. A *RuntimeError or *LimitError says that the function failed. CouchDB
// then shows null if the function threw, or the error if the result is too large, which has the Name ReduceOverflow.
func (f *Reduce) Reduce(ctx context.Context, keys, values [][]byte) ([]byte, error) {
	return f.call(ctx, inputSize(keys, values), list(keys), list(values))
}

// Rereduce calls the function with the results of earlier calls.
func (f *Reduce) Rereduce(ctx context.Context, values [][]byte) ([]byte, error) {
	return f.call(ctx, inputSize(nil, values), nil, list(values))
}

// call passes keys and values, as JSON lists, to the function. size is their size as CouchDB counts it.
func (f *Reduce) call(ctx context.Context, size int, keys, values []byte) (out []byte, err error) {
	err = f.once(ctx, func(fn *engine.Func) (err error) {
		out, err = fn.Reduce(keys, values)
		return err
	})
	if answer := len(out) + len("[]"); err == nil && !f.anySize && answer > overflowFrom && 2*answer > size {
		err = &RuntimeError{Function: f.p.Functions[0].Name, Name: ReduceOverflow,
			Message: fmt.Sprintf("Reduce output must shrink more rapidly: input size: %d output size: %d", size,
				answer)}
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReduceOverflow is the Name of the error for a result that is too large.
const ReduceOverflow = "reduce_overflow_error"

// overflowFrom is the size in bytes from which the result of a reduction must be less than half of the input, as in
// CouchDB's default (reduce_limit).
const overflowFrom = 4096

// inputSize returns how many bytes CouchDB would send to its query server, without the source.
func inputSize(keys, values [][]byte) int {
	n := len(`["reduce",[""],[]]`) - len(",")
	if keys == nil {
		n += len("re")
	}
	for i := range values {
		n += len(values[i]) + 1
		if keys != nil {
			n += len(keys[i]) + len("[,]")
		}
	}
	return n
}

// list makes a JSON array of JSON texts.
func list(items [][]byte) []byte {
	n := 2
	for _, item := range items {
		n += len(item) + 1
	}
	out := make([]byte, 0, n)
	out = append(out, '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}
