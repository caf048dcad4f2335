// Package engine runs functions in QuickJS: a Runtime has the memory of one engine and the functions of one Program,
// and limits each call in time and memory, whatever the function does. Package script manages the runtimes, and
// package turns decides which call may run.
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

// Runtime is one machine with the functions of one program. One goroutine at a time may use it, except as documented
// at Call.
type Runtime struct {
	m         *machine
	call      Call
	functions []Func // one for each function of the program
	helpers   helpers
	root      value // what require searches, and `this` of filters; frozen, of the main realm
	live      bool  // functions may read the clock
	renders   bool  // functions are shows, lists, updates or rewrites
	emitted   []emission
	log       func(string)
}

// emission is one call of emit, kept until the function has returned.
type emission struct{ key, value value }

var utc sync.Once

// New starts an engine without functions that may use memory bytes. log, unless nil, gets the messages that functions
// log. Once closing is closed no call begins.
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

// Close frees all memory.
func (r *Runtime) Close() {
	r.call.dead = true
	r.m.close()
}

// Call returns the running call.
func (r *Runtime) Call() *Call { return &r.call }

// Lend assigns the runtime to a caller with a turn, until Return.
func (r *Runtime) Lend(ctx context.Context, t *turns.Turn) {
	r.call.ctx = ctx //nolint:fatcontext // of the call that the runtime is lent for
	r.call.turn.Store(t)
}

// Return ends what Lend began, and resets the runtime.
func (r *Runtime) Return() {
	r.Lend(nil, nil) //nolint:staticcheck // nobody calls
	r.Reset()
}

// guard runs f, which runs the engine. A fault, from memory revoked by the watchdog or in the engine itself, becomes
// an error and leaves the runtime dead.
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

// Limited runs f, a call of one function of the program, guarded and within a time limit. If f is stopped, or fails
// in the engine, the error names that function.
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

// Reset restores the runtime to the state after its program was loaded. All values created since become invalid.
func (r *Runtime) Reset() {
	if r.call.dead {
		return
	}
	r.m.reset()
	r.emitted = r.emitted[:0]
	r.adopt()
}

// adopt adds member names of documents to the image, since the next documents will have them too. Functions cannot
// see the difference.
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

// failure converts the pending exception of a realm to an error of the function.
func (r *Runtime) failure(ctx uintptr, function string) error {
	f := Func{r: r, ctx: ctx, name: function}
	return f.failure()
}
