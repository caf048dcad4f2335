package script

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

var start = time.Now()

func now() int64 { return int64(time.Since(start)) + 1 }

// guard runs f, in which the engine runs. A fault, be it memory taken away by the watchdog or the engine's own, comes
// back as an error and leaves the runtime dead.
func (r *runtime) guard(function string, f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if p := recover(); p != nil {
			r.dead = true
			err = r.fault(function, p)
		}
	}()
	return f()
}

// limited runs f, a call of one function of the program, guarded and within a time. Where f is stopped, or fails in the engine, the
// error is that function's.
func (r *runtime) limited(function int, d time.Duration, f func(r *runtime, fn *realm) error) error {
	if r.isClosing() {
		return ErrClosed
	}
	fn := &r.functions[function]
	err := r.guard(fn.name, func() error {
		r.arm(d)
		return f(r, fn)
	})
	if !r.disarm() && err == nil {
		err = r.stopped(fn.name)
	}
	err = r.repeatable(fn.name, err)
	var over *LimitError
	if t := r.turn.Load(); t != nil && errors.As(err, &over) {
		t.turns.overLimit(over.Limit)
	}
	return err
}

func (r *runtime) isClosing() bool {
	select {
	case <-r.closing:
		return true
	default:
		return false
	}
}

// arm starts the clock of one call; disarm stops it and reports whether the runtime is still whole.
func (r *runtime) arm(d time.Duration) {
	r.limit, r.used, r.ended, r.starved, r.logged = "", "", nil, false, 0
	if t := r.turn.Load(); t != nil {
		t.calls.Add(1)
	}
	r.call.Store(now() + int64(d))
}

func (r *runtime) disarm() bool {
	for {
		deadline := r.call.Load()
		if deadline == killed {
			r.dead = true
			return false
		}
		if r.call.CompareAndSwap(deadline, 0) {
			r.dead = r.dead || r.starved
			return !r.starved
		}
	}
}

// overdue says whether the running call has to end.
func (r *runtime) overdue() bool {
	deadline := r.call.Load()
	if deadline == killed || deadline > 0 && now() > deadline {
		r.limit = "time"
		return true
	}
	if r.starved {
		r.limit = "memory"
		return true
	}
	if r.ctx != nil && r.ctx.Err() != nil {
		r.ended = context.Cause(r.ctx)
		return true
	}
	if t := r.turn.Load(); t != nil && r.ended == nil {
		r.ended = t.ask(r)
	}
	return r.ended != nil
}

// pause stops the clock of the running call and returns how long the call may still run; false where its time is over.
func (r *runtime) pause() (left int64, ok bool) {
	deadline := r.call.Load()
	return deadline - now(), deadline > 0 && r.call.CompareAndSwap(deadline, 0)
}

// resume starts the clock again.
func (r *runtime) resume(left int64) { r.call.Store(now() + left) }

// killGrace is how long after its deadline a call may still end by itself.
const killGrace = int64(100 * time.Millisecond)

// killIfStuck takes the memory away from a call that did not end although its time is over: loops inside the engine's
// own functions (a search in an object that says it has 2^53 elements) never ask whether they should. Called by the
// watchdog, at any time.
func (r *runtime) killIfStuck() {
	deadline := r.call.Load()
	if deadline > 0 && now() >= deadline+killGrace {
		r.kill(deadline)
	}
}

// killFor kills the running call if it still is the turn's.
func (r *runtime) killFor(t *turn) {
	if deadline := r.call.Load(); deadline > 0 && r.turn.Load() == t {
		r.kill(deadline)
	}
}

// kill takes the memory away from the running call, if its deadline still is this one.
func (r *runtime) kill(deadline int64) {
	r.memory.Lock()
	defer r.memory.Unlock()
	if r.arena.mem != nil && r.call.CompareAndSwap(deadline, killed) {
		_ = protectMemory(r.arena.mem) // where it is unsupported, the engine's own interrupt is all there is
	}
}

// hurry ends the running call at its next step, for Close.
func (r *runtime) hurry() {
	for {
		deadline := r.call.Load()
		if deadline <= 0 || r.call.CompareAndSwap(deadline, 1) {
			return
		}
	}
}
