// Package engine runs functions in QuickJS: a Runtime has the memory of one engine and the functions of one Program,
// and bounds each call of them in time and memory, whatever the function does. Who has runtimes and how many there are
// is for package script, and which call may run now for package turns.
package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/divandb/divan/layer/script/internal/turns"
)

// Runtime is one machine with the functions of one program. Used by one goroutine at a time, except for what Call says
// of itself.
type Runtime struct {
	m         *machine
	call      Call
	functions []Func // one for each function of the program
	helpers   helpers
	root      value // what require looks in, and `this` of filters; frozen, of the main realm
	live      bool  // functions may read the clock
	emitted   []emission
	log       func(string)
}

// emission is one call of emit, until the function has returned.
type emission struct{ key, value value }

var utc sync.Once

// New starts an engine without functions, which may hold memory bytes. log is given what functions log, or is nil. Once
// closing is closed no call begins.
func New(memory int64, log func(string), closing <-chan struct{}) (*Runtime, error) {
	r := &Runtime{root: undefined, log: log}
	var err error
	if r.m, err = newMachine(r, memory); err != nil {
		return nil, err
	}
	r.call.m, r.call.closing = r.m, closing
	if err = r.guard("", r.boot); err != nil {
		r.Close()
		return nil, fmt.Errorf("script: start a runtime: %w", err)
	}
	return r, nil
}

func (r *Runtime) boot() error {
	if err := r.m.boot(); err != nil {
		return err
	}
	if err := r.prepare(r.m.main); err != nil {
		return err
	}
	return r.loadHelpers()
}

// Close gives all memory back.
func (r *Runtime) Close() {
	r.call.dead = true
	r.m.close()
}

// Call is the call that is under way.
func (r *Runtime) Call() *Call { return &r.call }

// Lend gives the runtime to who calls, with a turn. Reset takes it back.
func (r *Runtime) Lend(ctx context.Context, t *turns.Turn) {
	r.call.ctx = ctx //nolint:fatcontext // of the call that the runtime is lent for
	r.call.turn.Store(t)
}

// Return ends what Lend began, and resets the runtime.
func (r *Runtime) Return() {
	r.Lend(nil, nil) //nolint:staticcheck // nobody calls
	r.Reset()
}

// guard runs f, in which the engine runs. A fault, be it memory taken away by the watchdog or the engine's own, comes
// back as an error and leaves the runtime dead.
func (r *Runtime) guard(function string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if p := recover(); p != nil {
			r.call.dead = true
			err = r.call.fault(function, p)
		}
	}()
	return f()
}

// Limited runs f, a call of one function of the program, guarded and within a time. Where f is stopped, or fails in the
// engine, the error is that function's.
func (r *Runtime) Limited(function int, d time.Duration, f func(f *Func) error) error {
	if r.call.isClosing() {
		return turns.ErrClosed
	}
	fn := &r.functions[function]
	err := r.guard(fn.name, func() error {
		r.call.arm(d)
		return f(fn)
	})
	if !r.call.disarm() && err == nil {
		err = r.call.stopped(fn.name)
	}
	err = r.call.repeatable(fn.name, err)
	var over *LimitError
	if t := r.call.Turn(); t != nil && errors.As(err, &over) {
		t.OverLimit(over.Limit)
	}
	return err
}

// Reset puts the runtime back to what it was when its program was loaded. All values that were made since are no more.
func (r *Runtime) Reset() {
	if r.call.dead {
		return
	}
	r.m.reset()
	r.emitted = r.emitted[:0]
	r.adopt()
}

// adopt takes names of members that documents had into the image: the next documents have them too. What a
// function can see is the same with and without them.
func (r *Runtime) adopt() {
	names := r.m.names()
	if len(names) == 0 {
		return
	}
	err := r.guard("", func() error { return r.m.intern(names) })
	clear(names)
	if r.call.dead = r.call.dead || err != nil; !r.call.dead {
		r.m.take()
	}
}

// failure takes the pending exception of a realm and makes it an error of the function.
func (r *Runtime) failure(ctx uintptr, function string) error {
	f := Func{r: r, ctx: ctx, name: function}
	return f.failure()
}
