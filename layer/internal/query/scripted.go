package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script"
)

// scripted reduces with a JavaScript function: rows in batches, then the results of batches.
type scripted struct {
	ctx          context.Context
	f            *script.Reduce
	keys, values [][]byte
	size         int
	partial      [][]byte // results of batches
	until        time.Time
	failed       *groupError // of the group under way, whose other rows do not matter then
}

const (
	reduceRows  = 500     // rows that one call of the function sees
	reduceBytes = 1 << 20 // or as many as make up so many bytes
	rereduceAt  = 100     // results that one call of the function sees
)

func (r *scripted) add(key, docID, value []byte) error {
	if r.broken() {
		return nil
	}
	pair := make([]byte, 0, len(key)+len(docID)+6)
	pair = append(append(pair, '['), key...)
	pair = append(jsontext.AppendQuoted(append(pair, ','), string(docID)), ']')
	r.keys, r.values = append(r.keys, pair), append(r.values, slices.Clone(value))
	r.size += len(pair) + len(value)
	if len(r.keys) < reduceRows && r.size < reduceBytes {
		return nil
	}
	return r.reduce()
}

// merges: what functions make of partials is not stored, they are called when asked.
func (r *scripted) merges() bool { return false }

func (r *scripted) counts() bool { return false }

func (r *scripted) merge(*aggregate.Partial) error {
	return errors.New("a reduction that is not stored")
}

// reduce makes a partial result of the rows held back.
func (r *scripted) reduce() error {
	out, err := r.call(func(ctx context.Context) ([]byte, error) { return r.f.Reduce(ctx, r.keys, r.values) })
	r.keys, r.values, r.size = r.keys[:0], r.values[:0], 0
	if err != nil {
		return r.fail(err)
	}
	r.partial = append(r.partial, out)
	if len(r.partial) < rereduceAt {
		return nil
	}
	return r.rereduce()
}

func (r *scripted) rereduce() error {
	out, err := r.call(func(ctx context.Context) ([]byte, error) { return r.f.Rereduce(ctx, r.partial) })
	if err != nil {
		return r.fail(err)
	}
	r.partial = append(r.partial[:0], out)
	return nil
}

// broken says that the group under way has no result, whatever follows.
func (r *scripted) broken() bool { return r.failed != nil }

// fail keeps an error that is no more than the group's.
func (r *scripted) fail(err error) error {
	if errors.As(err, &r.failed) {
		return nil
	}
	return err
}

func (r *scripted) result(dst []byte) ([]byte, error) {
	if len(r.keys) > 0 {
		if err := r.reduce(); err != nil {
			return nil, err
		}
	}
	if len(r.partial) > 1 && !r.broken() {
		if err := r.rereduce(); err != nil {
			return nil, err
		}
	}
	if failed := r.failed; failed != nil {
		r.failed, r.partial = nil, r.partial[:0]
		return nil, failed
	}
	dst = append(dst, r.partial[0]...)
	r.partial = r.partial[:0]
	return dst, nil
}

// call runs the function within the time of the query. What it gives is null where it threw, as in CouchDB. One that
// was stopped at a limit is the author's error.
func (r *scripted) call(function func(ctx context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithDeadline(r.ctx, r.until)
	defer cancel()
	out, err := function(ctx)
	var thrown *script.RuntimeError
	var limit *script.LimitError
	switch {
	case errors.As(err, &thrown) && thrown.Name == script.ReduceOverflow:
		return nil, &groupError{&fault.Error{Kind: fault.Invalid, Name: thrown.Name, Reason: thrown.Message, Err: err}}
	case errors.As(err, &thrown) && thrown.Name == script.Unrepeatable:
		return nil, &groupError{&fault.Error{Kind: fault.Invalid, Name: "reduce_error", Reason: err.Error(), Err: err}}
	case errors.As(err, &thrown):
		return []byte("null"), nil
	case errors.As(err, &limit):
		return nil, &fault.Error{Kind: fault.Invalid, Name: "reduce_error", Reason: err.Error(), Err: err}
	case err != nil && ctx.Err() != nil && r.ctx.Err() == nil:
		return nil, fault.Errf(fault.Timeout, "",
			"the reduce function takes too long for so many rows; ask for a smaller range")
	}
	return out, design.NotNow(err)
}
