package work

import (
	"context"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Work is what one statement uses while it is parsed, bound, planned or run. It belongs to one goroutine.
type Work struct {
	// Ctx is the context of the call under way. It changes from one Execute of a portal to the next.
	Ctx context.Context

	memory *Memory // of the session; nil without one
	limit  int64
	used   int64
	taken  int64 // from memory; at least used
	steps  int   // since the last look at Ctx
	spent  int64 // of Spend
	// scratch owns the values of expressions under way.
	scratch *Scratch

	turns *Turns // nil for none
	turn  *turn  // nil until one is needed
	since time.Time
}

// chunk is how much a statement takes from its session at a time. slack is how much more than it uses it may keep.
const (
	chunk = 64 << 10
	slack = 1 << 20
)

// New starts a piece of work. Memory comes from session and ends at limit, time comes from turns. Both may be nil.
// Close it.
func New(ctx context.Context, session *Memory, limit int64, turns *Turns) *Work {
	if limit <= 0 {
		limit = DefaultStatement
	}
	return &Work{Ctx: ctx, memory: session, limit: limit, turns: turns, since: time.Now()}
}

// Hold takes n bytes, or none and fails with 53200.
func (w *Work) Hold(n int64) error {
	if n <= 0 {
		return nil
	}
	if n > w.limit-w.used {
		return outOfMemory("the statement needs", w.limit, "sql.statement_memory")
	}
	w.used += n
	if w.used <= w.taken || w.memory == nil {
		return nil
	}
	more := (w.used - w.taken + chunk - 1) / chunk * chunk
	if err := w.memory.Grow(more); err != nil {
		w.used -= n
		return err
	}
	w.taken += more
	return nil
}

// Release gives n bytes back.
func (w *Work) Release(n int64) {
	w.used = max(w.used-max(n, 0), 0)
	if w.memory != nil && w.taken-w.used > slack {
		keep := (w.used + chunk - 1) / chunk * chunk
		w.memory.Shrink(w.taken - keep)
		w.taken = keep
	}
}

// Used is how many bytes are held.
func (w *Work) Used() int64 { return w.used }

// Back releases what was taken since Used answered mark.
func (w *Work) Back(mark int64) {
	if w.used > mark {
		w.Release(w.used - mark)
	}
}

// Close releases everything. The work may go on after it.
func (w *Work) Close() {
	if w.memory != nil {
		w.memory.Shrink(w.taken)
	}
	w.used, w.taken = 0, 0
	w.Pause()
}

// stepsPerLook is how many steps pass between two looks at the context: some tens of microseconds.
const stepsPerLook = 128

// Step is called in every loop that may run for long. n is the size of the step: 1 for a row, or for some hundred
// bytes. It returns the cause once the context has ended.
func (w *Work) Step(n int) error {
	if w.steps += n; w.steps < stepsPerLook {
		return nil
	}
	return w.look()
}

func (w *Work) look() error {
	w.steps = 0
	if w.Ctx.Err() != nil {
		return context.Cause(w.Ctx)
	}
	if w.turns == nil {
		return nil
	}
	return w.turnOf(time.Now())
}

// MaxSpend bounds the steps of binding and planning one statement: some seconds, where honest statements take
// milliseconds.
const MaxSpend = 50_000_000

// Spend is Step for binding and planning, which must end even where nobody cancels them.
func (w *Work) Spend(n int) error {
	if w.spent += int64(n); w.spent > MaxSpend {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is too complex to plan").
			WithHint("Divide it. A WITH query that is used more than once is computed once unless it is NOT " +
				"MATERIALIZED.")
	}
	return w.Step(n)
}

// Scratch is what the values that expressions make for one row take of memory, until the next row. Whoever computes
// expressions for rows has one.
type Scratch struct{ n int64 }

// Enter makes s the owner of the values that are made from now on, after giving back those of the last row. Leave with
// the owner it returns.
func (w *Work) Enter(s *Scratch) (around *Scratch) {
	w.Drop(s)
	around, w.scratch = w.scratch, s
	return around
}

// Leave ends what Enter began. The values stay counted.
func (w *Work) Leave(around *Scratch) { w.scratch = around }

// Drop gives back what s owns.
func (w *Work) Drop(s *Scratch) {
	if s.n > 0 {
		w.Release(s.n)
		s.n = 0
	}
}

// Value counts a value of n bytes that an expression has made.
func (w *Work) Value(n int64) error {
	if err := w.Hold(n); err != nil {
		return err
	}
	if w.scratch != nil {
		w.scratch.n += n
	}
	return nil
}
