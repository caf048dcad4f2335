package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/script/internal/turns"
)

// Call is the running call of a function: how long it may run, and why it ended. Only the calling goroutine uses it,
// except for KillIfStuck, KillFor, Interrupt and Turn.
type Call struct {
	m *machine
	// deadline is a time as of turns.Now before which the call need not be looked at; 0 while no call is running,
	// interrupted if it must end, killed once the watchdog has revoked the memory.
	deadline atomic.Int64
	// budget is how much processor time in nanoseconds the call may use, as counted by Turn.Ran, which begins anew
	// after what the call did outside (see begin).
	budget  atomic.Int64
	ctx     context.Context // of the caller
	turn    atomic.Pointer[turns.Turn]
	closing <-chan struct{} // closed when the sandbox closes

	whole   time.Duration // how long it may run
	listing Listing       // what a list function talks to, or nil

	used   string // the forbidden function that the call used, and the resulting error
	limit  string // which limit ended the call, "" for none
	logged int    // number of messages
	ended  error  // why the call was ended, if not by a limit
	// dead means that the runtime can run nothing any more; only Close may be called.
	dead bool
}

const (
	killed      = -1
	interrupted = 1
)

func (c *Call) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// Turn returns the turn of the call, nil if the runtime is idle.
func (c *Call) Turn() *turns.Turn { return c.turn.Load() }

// Dead reports whether the call has left the runtime unusable.
func (c *Call) Dead() bool { return c.dead }

// arm starts the clock of a call; disarm stops it and reports whether the machine is still intact.
func (c *Call) arm(d time.Duration) {
	c.limit, c.used, c.ended, c.m.starved, c.logged = "", "", nil, false, 0
	if t := c.turn.Load(); t != nil {
		t.Called()
	}
	c.whole = d
	c.begin(int64(d))
}

// begin starts the clock with time left for what Turn.Ran counts from now on.
func (c *Call) begin(left int64) {
	c.budget.Store(left)
	c.Resume(left)
}

func (c *Call) disarm() bool {
	for {
		deadline := c.deadline.Load()
		if deadline == killed {
			c.dead = true
			return false
		}
		if c.deadline.CompareAndSwap(deadline, 0) {
			c.dead = c.dead || c.m.starved
			return !c.m.starved
		}
	}
}

// overdue reports whether the running call must end.
func (c *Call) overdue() bool {
	if _, late := c.late(0); late {
		c.limit = "time"
		return true
	}
	if c.m.starved {
		c.limit = "memory"
		return true
	}
	if c.ctx != nil && c.ctx.Err() != nil {
		c.ended = context.Cause(c.ctx)
		return true
	}
	if t := c.turn.Load(); t != nil && c.ended == nil {
		c.ended = t.Ask(c)
	}
	return c.ended != nil
}

// late reports whether the call has used its time and its deadline has passed by grace nanoseconds, and returns the
// deadline. A call that had to wait for a processor, or whose process was stopped, has not used its time by its
// deadline and gets a later one: which documents an index has must not depend on what else the machine does.
func (c *Call) late(grace int64) (deadline int64, late bool) {
	for {
		deadline, now := c.deadline.Load(), turns.Now()
		if deadline != killed && (deadline <= 0 || now <= deadline+grace) {
			return deadline, false
		}
		t := c.turn.Load()
		if deadline == killed || deadline == interrupted || t == nil {
			return deadline, true
		}
		left := c.budget.Load() - t.Ran()
		if left < int64(time.Millisecond) {
			return deadline, true
		}
		c.deadline.CompareAndSwap(deadline, now+left) // unless the call was ended meanwhile, which the next round sees
	}
}

// Pause stops the clock of the running call and returns the time it has left; false if its time is over.
func (c *Call) Pause() (left int64, ok bool) {
	for {
		deadline := c.deadline.Load()
		if deadline <= 0 {
			return 0, false
		}
		if c.deadline.CompareAndSwap(deadline, 0) { // else the watchdog has just looked at the call, see late
			return deadline - turns.Now(), true
		}
	}
}

// Resume restarts the clock.
func (c *Call) Resume(left int64) { c.deadline.Store(turns.Now() + left) }

// killGrace is how long after its deadline a call may still end by itself.
const killGrace = int64(100 * time.Millisecond)

// KillIfStuck kills a call that is still running after its deadline, by revoking access to its memory: loops in the
// engine's built-in functions (a search in an object that claims 2^53 elements) never check for interrupts. The
// watchdog calls it, at any time.
func (c *Call) KillIfStuck() {
	if deadline, late := c.late(killGrace); late && deadline != killed {
		c.kill(deadline)
	}
}

// KillFor kills the running call if it still belongs to the turn.
func (c *Call) KillFor(t *turns.Turn) {
	if deadline := c.deadline.Load(); deadline > 0 && c.turn.Load() == t {
		c.kill(deadline)
	}
}

// kill revokes the memory of the running call if its deadline is unchanged.
func (c *Call) kill(deadline int64) {
	c.m.arena.protect(func() bool { return c.deadline.CompareAndSwap(deadline, killed) })
}

// Interrupt ends the running call at its next step, for Close.
func (c *Call) Interrupt() {
	for {
		deadline := c.deadline.Load()
		if deadline <= 0 || c.deadline.CompareAndSwap(deadline, interrupted) {
			return
		}
	}
}

// stopped returns the error of a call that exceeded a limit, or nil.
func (c *Call) stopped(function string) error {
	switch {
	case c.ended != nil:
		return c.ended
	case c.limit != "":
		return &LimitError{Function: function, Limit: c.limit}
	case c.deadline.Load() == killed:
		if t := c.turn.Load(); t != nil && t.WasStopped() {
			return turns.ErrStopped
		}
		return &LimitError{Function: function, Limit: "time"}
	case c.m.starved:
		return &LimitError{Function: function, Limit: "memory"}
	}
	return nil
}

// fault turns a panic in the engine into an error.
func (c *Call) fault(function string, p any) error {
	if err := c.stopped(function); err != nil {
		return err
	}
	return &RuntimeError{Function: function, Name: "InternalError", Message: fmt.Sprint("the engine failed: ", p)}
}

// unrepeatable throws, and makes the call fail even if the function catches the exception.
func (c *Call) unrepeatable(ctx uintptr, what string) value {
	c.used = "the result depends on " + what +
		", but an index must be the same whenever and wherever it is built: use dates and numbers from the " +
		"document, and compare them with the time in the query"
	return js.XJS_ThrowTypeError(c.m.tls, ctx,
		c.m.text("map and reduce functions have neither the clock nor random numbers"), 0)
}

// repeatable returns the error for reading the clock if the ended call did so, else err.
func (c *Call) repeatable(function string, err error) error {
	if c.used == "" {
		return err
	}
	out := &RuntimeError{Function: function, Name: Unrepeatable, Message: c.used}
	var thrown *RuntimeError
	if errors.As(err, &thrown) {
		out.Line = thrown.Line
	} else if err != nil {
		return err
	}
	return out
}
