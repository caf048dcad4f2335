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

// Call is the call of a function that is under way: how long it may go on, and why it ended. It is used by the
// goroutine that calls, but for KillIfStuck, KillFor, Hurry and Turn.
type Call struct {
	m *machine
	// deadline is in nanoseconds as turns.Now has them; 0 while no call is under way, killed once the watchdog took the
	// memory away.
	deadline atomic.Int64
	ctx      context.Context // of who calls
	turn     atomic.Pointer[turns.Turn]
	closing  <-chan struct{} // closed when the sandbox closes

	used   string // what the call used although it may not, and its error
	limit  string // which limit ended the call, "" none
	logged int    // messages
	ended  error  // why the call was ended, where not for a limit
	// dead runtimes run nothing any more; Close is all that may be called.
	dead bool
}

const killed = -1

func (c *Call) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// Turn is the turn of the call, nil where the runtime is idle.
func (c *Call) Turn() *turns.Turn { return c.turn.Load() }

// Dead reports whether the call has left a runtime that cannot run any more.
func (c *Call) Dead() bool { return c.dead }

// arm starts the clock of one call; disarm stops it and reports whether the machine is still whole.
func (c *Call) arm(d time.Duration) {
	c.limit, c.used, c.ended, c.m.starved, c.logged = "", "", nil, false, 0
	if t := c.turn.Load(); t != nil {
		t.Called()
	}
	c.deadline.Store(turns.Now() + int64(d))
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

// overdue says whether the running call has to end.
func (c *Call) overdue() bool {
	deadline := c.deadline.Load()
	if deadline == killed || deadline > 0 && turns.Now() > deadline {
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

// Pause stops the clock of the running call and returns how long the call may still run; false where its time is over.
func (c *Call) Pause() (left int64, ok bool) {
	deadline := c.deadline.Load()
	return deadline - turns.Now(), deadline > 0 && c.deadline.CompareAndSwap(deadline, 0)
}

// Resume starts the clock again.
func (c *Call) Resume(left int64) { c.deadline.Store(turns.Now() + left) }

// killGrace is how long after its deadline a call may still end by itself.
const killGrace = int64(100 * time.Millisecond)

// KillIfStuck takes the memory away from a call that did not end although its time is over: loops inside the engine's
// own functions (a search in an object that says it has 2^53 elements) never ask whether they should. Called by the
// watchdog, at any time.
func (c *Call) KillIfStuck() {
	deadline := c.deadline.Load()
	if deadline > 0 && turns.Now() >= deadline+killGrace {
		c.kill(deadline)
	}
}

// KillFor kills the running call if it still is the turn's.
func (c *Call) KillFor(t *turns.Turn) {
	if deadline := c.deadline.Load(); deadline > 0 && c.turn.Load() == t {
		c.kill(deadline)
	}
}

// kill takes the memory away from the running call, if its deadline still is this one.
func (c *Call) kill(deadline int64) {
	c.m.arena.protect(func() bool { return c.deadline.CompareAndSwap(deadline, killed) })
}

// Hurry ends the running call at its next step, for Close.
func (c *Call) Hurry() {
	for {
		deadline := c.deadline.Load()
		if deadline <= 0 || c.deadline.CompareAndSwap(deadline, 1) {
			return
		}
	}
}

// stopped is the error of a call that is over a limit; nil where it is not.
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

// fault makes an error of a panic within the engine.
func (c *Call) fault(function string, p any) error {
	if err := c.stopped(function); err != nil {
		return err
	}
	return &RuntimeError{Function: function, Name: "InternalError", Message: fmt.Sprint("the engine failed: ", p)}
}

// unrepeatable throws, and makes the call fail even where the function catches that.
func (c *Call) unrepeatable(ctx uintptr, what string) value {
	c.used = "the result depends on " + what +
		", but an index has to be the same whenever and wherever it is built: use dates and numbers of the " +
		"document, and compare them with the time in the query"
	return js.XJS_ThrowTypeError(c.m.tls, ctx,
		c.m.text("map and reduce functions have neither the clock nor random numbers"), 0)
}

// repeatable makes err, of a call that has ended, the error of a function that read the clock, if it did.
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
