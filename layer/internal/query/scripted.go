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

// scripted reduces with a JavaScript function: first batches of rows, then the results of batches.
type scripted struct {
	ctx          context.Context
	f            *script.Reduce
	keys, values [][]byte
	size         int
	partial      [][]byte // results of batches
	until        time.Time
	failed       *groupError // the current group's error; its remaining rows are ignored
}

const (
	reduceRows  = 500     // maximum rows in one call of the function
	reduceBytes = 1 << 20 // maximum size of these rows, plus one row
	rereduceAt  = 100     // maximum results in one rereduce call
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

// merges returns false: results of JavaScript functions are not stored, so there are no partials.
func (r *scripted) merges() bool { return false }

func (r *scripted) counts() bool { return false }

func (r *scripted) reset() {
	r.keys, r.values, r.size = r.keys[:0], r.values[:0], 0
	r.partial, r.failed = r.partial[:0], nil
}

func (r *scripted) merge(*aggregate.Partial) error {
	return errors.New("this reduction has no stored partials")
}

// reduce reduces the rows held back to one result.
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

// broken reports whether the current group has failed.
func (r *scripted) broken() bool { return r.failed != nil }

// fail keeps an error that concerns only the current group.
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

// call runs the function within the query's time limit. As in CouchDB, the result is null if the function throws. A
// function that was stopped at a limit is an error of its author.
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
