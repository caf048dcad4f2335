// Package cursor holds the running results of a session's statements, and moves cursors over them in both directions.
// What a cursor may do in a transaction, and when it is closed, is decided by package query.
package cursor

import (
	"context"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Source is a running result.
type Source interface {
	// Next returns a row or io.EOF. With noWait it returns exec.ErrIdle instead of waiting for a change, and may be
	// called again.
	Next(ctx context.Context, noWait bool) ([]types.Datum, error)
	Close()
}

// Running returns the rows of a plan.
type Running struct {
	Plan exec.Plan
	// State is closed with the rows.
	State *exec.State
	// Open is set if the plan is open.
	Open bool
	// Unpin releases what the plan reads from. It may be called twice.
	Unpin func()
	// Ended, unless nil, is called once at the end, while the plan can still be described.
	Ended func(plan exec.Plan)
}

// Next implements Source.
func (r *Running) Next(ctx context.Context, noWait bool) ([]types.Datum, error) {
	r.State.Ctx, r.State.NoWait = ctx, noWait
	if !r.Open {
		r.Open = true
		if err := r.Plan.Open(&exec.Env{State: r.State}); err != nil {
			return nil, err
		}
	}
	return r.Plan.Next()
}

// finish ends the reads. They may begin again.
func (r *Running) finish() {
	if r.Ended != nil && r.Open {
		r.Ended(r.Plan)
		r.Ended = nil
	}
	r.Open = false
	r.Plan.Close()
}

// Close implements Source.
func (r *Running) Close() {
	r.finish()
	r.Unpin()
	r.State.Close()
}

// State returns the state of the running query behind rows, nil if there is none.
func State(rows Source) *exec.State {
	if s, ok := rows.(*Rows); ok {
		rows = s.source
	}
	if r, ok := rows.(*Running); ok {
		return r.State
	}
	return nil
}

// Fixed is a precomputed result.
type Fixed struct{ Rows [][]types.Datum }

// Next implements Source.
func (r *Fixed) Next(context.Context, bool) ([]types.Datum, error) {
	if len(r.Rows) == 0 {
		return nil, io.EOF
	}
	row := r.Rows[0]
	r.Rows = r.Rows[1:]
	return row, nil
}

// Close implements Source.
func (r *Fixed) Close() {}
