package work

import (
	"context"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Work accounts for the resources that one statement uses while it is parsed, bound, planned or run. It must not be
// used concurrently.
type Work struct {
	// Ctx is the context of the current call. Each Execute of a portal has its own.
	Ctx context.Context

	memory *Memory // the session's memory; may be nil
	limit  int64
	used   int64
	taken  int64 // reserved from memory; at least used
	steps  int   // since Ctx was last checked
	spent  int64 // by Spend
	// scratch owns the values of the expressions being evaluated.
	scratch *Scratch

	turns *Turns // may be nil
	turn  *turn  // nil until one is needed
	since time.Time

	report   func() // see Report
	period   time.Duration
	reported time.Time
}

// chunk is how much a statement reserves from its session at a time. slack is how much unused memory it may keep
// reserved.
const (
	chunk = 64 << 10
	slack = 1 << 20
)

// New returns the Work of a statement. It reserves memory from session, at most limit bytes, and takes turns. session
// and turns may be nil. The caller must close it.
func New(ctx context.Context, session *Memory, limit int64, turns *Turns) *Work {
	if limit <= 0 {
		limit = DefaultStatement
	}
	return &Work{Ctx: ctx, memory: session, limit: limit, turns: turns, since: time.Now()}
}

// Hold reserves n bytes. If it cannot, it reserves nothing and returns an error with code 53200.
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

// Release releases n bytes.
func (w *Work) Release(n int64) {
	w.used = max(w.used-max(n, 0), 0)
	if w.memory != nil && w.taken-w.used > slack {
		keep := (w.used + chunk - 1) / chunk * chunk
		w.memory.Shrink(w.taken - keep)
		w.taken = keep
	}
}

// Crowded reports whether a part of the statement that holds that much memory should write it to temporary files:
// little of the statement's memory is left, and this part has a good share of it.
func (w *Work) Crowded(held int64) bool { return w.used > w.limit/4*3 && held >= w.limit/64 }

// Share returns a small part of the statement's memory, for the buffers of one of its parts.
func (w *Work) Share() int64 { return w.limit / 8 }

// Limit returns the most bytes that the statement may hold.
func (w *Work) Limit() int64 { return w.limit }

// Used returns the bytes held.
func (w *Work) Used() int64 { return w.used }

// Back releases what was reserved since Used returned mark.
func (w *Work) Back(mark int64) {
	if w.used > mark {
		w.Release(w.used - mark)
	}
}

// Close releases everything. The Work may be used again afterwards.
func (w *Work) Close() {
	if w.memory != nil {
		w.memory.Shrink(w.taken)
	}
	w.used, w.taken = 0, 0
	w.Pause()
}

// stepsPerLook is the number of steps between two checks of the context, some tens of microseconds.
const stepsPerLook = 128

// Step is called in every loop that may run for long. n is the size of the step: 1 for a row, or for some hundred
// bytes. After the context has ended it returns the cause.
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
	if w.turns == nil && w.report == nil {
		return nil
	}
	now := time.Now()
	if w.report != nil && now.Sub(w.reported) >= w.period {
		w.reported = now
		w.report()
	}
	if w.turns == nil {
		return nil
	}
	return w.turnOf(now)
}

// Report makes Step call report after each period of work, on the goroutine that calls Step. A statement that waits is
// not reported.
func (w *Work) Report(period time.Duration, report func()) {
	w.report, w.period, w.reported = report, period, time.Now()
}

// MaxSpend limits the steps of binding and planning one statement. It allows some seconds; ordinary statements take
// milliseconds.
const MaxSpend = 50_000_000

// Spend is Step for binding and planning, which must end even if they are not cancelled.
func (w *Work) Spend(n int) error {
	if w.spent += int64(n); w.spent > MaxSpend {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is too complex to plan").
			WithHint("Divide it. A WITH query that is used more than once is computed once unless it is NOT " +
				"MATERIALIZED.")
	}
	return w.Step(n)
}

// Scratch counts the memory of the values that expressions produce for one row, until the next row. Each evaluator of
// expressions over rows has one.
type Scratch struct{ n int64 }

// Enter releases the values of the last row and makes s the owner of the values made from now on. It returns the
// previous owner, which must be passed to Leave.
func (w *Work) Enter(s *Scratch) (around *Scratch) {
	w.Drop(s)
	around, w.scratch = w.scratch, s
	return around
}

// Leave ends what Enter began. The values stay counted.
func (w *Work) Leave(around *Scratch) { w.scratch = around }

// Drop releases what s owns.
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
