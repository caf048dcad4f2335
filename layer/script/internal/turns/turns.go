// Package turns shares the processors among the calls of functions, fairly between databases. What a call does is not
// known here: it asks often whether it may go on, and can be paused.
package turns

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Turns shares the processors among the calls of functions. A call runs only while it has the turn. Safe for concurrent
// use.
//
// A call begins as a short one. If it has run for a slice it is a long one. Fewer long calls run at once than there are
// processors, so that short calls and the rest of the node go on whatever functions do. The engine asks for interrupts
// often; there a long call gives its turn to a call of another database and waits, with its runtime, until it is next.
// The turn goes to the database that has used least of late, less the time for which others were preferred to it. Calls
// of a database whose long calls have used much begin as long ones.
//
// What a call holds while it waits is bounded too: only so many long calls may have begun, in all and for each
// database. One too many is stopped and begins again later, which is allowed since functions change nothing but their
// own runtime. A call that never asks for interrupts keeps its processor; the watchdog lets others go on beside it, and
// stops all but as many as long calls may run.
type Turns struct {
	width  int                    // calls that may run at once
	slow   int                    // long ones that may run at once
	most   int                    // long calls that may have begun
	share  int                    // of one database
	waits  [classes]time.Duration // for a call's turns in all; 0 is without end
	closed <-chan struct{}
	// pressing is set while a call waits that may begin as soon as a long one pauses.
	pressing atomic.Bool

	mu struct {
		sync.Mutex
		accounts map[string]*account
		waiting  []*account       // that have turns waiting
		running  int              // turns that run, but for stuck ones
		slow     int              // long calls that run, stuck ones too
		longs    int              // long calls that have begun
		idle     map[[32]byte]int // idle runtimes by program
		patience int64            // nanoseconds between two that are made in the place of others
		made     int64            // when one was made
		counts   counts
		pruned   int64
	}
}

// counts are since the start.
type counts struct {
	limits  map[string]int64
	stopped int64 // calls that begin again
	refused int64
	used    float64 // seconds
}

// Turn is one caller's. It is used by one goroutine, and looked at by the watchdog.
type Turn struct {
	turns   *Turns
	account *account
	class   Class
	program [32]byte // its key
	ctx     context.Context
	waited  int64 // nanoseconds, over all its waits
	// granted gets one element when the turn is given, or taken for good. At most one wait is under way.
	granted chan struct{}
	since   atomic.Int64 // when it began to run, or was last charged
	calls   atomic.Int64 // of functions, since it began to run

	// Under turns.mu.
	thread  int   // that it runs on
	charged int64 // the thread's time at since
	ran     int64 // nanoseconds of the thread's that the call under way has run
	counted int64 // of calls
	loads   bool  // makes a runtime
	runs    bool  // counted in turns.mu.running
	slow    bool  // counted in turns.mu.slow
	begun   bool  // counted in turns.mu.longs
	long    atomic.Bool
	stuck   bool // runs, but is only counted as slow
	stopped bool // the call has to end, and begin again
	queued  int64
}

// slice is how long a call runs before others are looked for.
const slice = 10 * time.Millisecond

// loadSlice is how long it may take to make a runtime and to compile its functions.
const loadSlice = 5 * slice

// stuckAfter is how long a call may run without asking before others go on beside it.
const stuckAfter = 5 * slice

// ErrClosed is the error of waits that the end of the sandbox ends.
var ErrClosed = errors.New("script: the sandbox is closed")

// ErrStopped ends a call that has to begin again.
var ErrStopped = errors.New("script: the call has to begin again")

// New shares processors among calls, of which each has one of a number of runtimes. A call of class Query waits for at
// most wait in all. Waits end when closed does.
func New(processors, runtimes int, wait time.Duration, closed <-chan struct{}) *Turns {
	width := min(processors, runtimes)
	s := &Turns{width: width, slow: max(1, width-1), most: max(1, runtimes*3/4), closed: closed}
	s.share = min(s.most, max(s.slow, runtimes/4))
	s.waits = [classes]time.Duration{Query: wait, Interactive: min(wait, maxInteractiveWait)}
	s.mu.accounts = map[string]*account{}
	s.mu.idle = map[[32]byte]int{}
	s.mu.patience = int64(leastStartWait)
	s.mu.counts.limits = map[string]int64{"time": 0, "memory": 0, "stack": 0, "rows": 0}
	return s
}

// Open makes a turn for the database that ctx names, for calls of a program. Close ends its use.
func (s *Turns) Open(ctx context.Context, program [32]byte) *Turn {
	c := chargeOf(ctx)
	t := &Turn{turns: s, class: c.class, program: program, ctx: ctx, granted: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.account = s.mu.accounts[c.database]; t.account == nil {
		t.account = &account{name: c.database}
		s.mu.accounts[c.database] = t.account
	}
	t.account.held++
	return t
}

// Close ends the use of the turn.
func (t *Turn) Close() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.account.held--
}

// Begin waits for the turn. Where it returns no error, End gives the turn back.
func (t *Turn) Begin() error {
	s := t.turns
	s.mu.Lock()
	t.stopped = false
	n := Now()
	s.enqueue(t, false, n)
	s.dispatch(n)
	s.mu.Unlock()
	if err := t.wait(); err != nil {
		return err
	}
	goruntime.LockOSThread() // so that the thread's time is the call's
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fresh()
	t.start()
	t.loads = true
	return nil
}

// Loaded says that what made the runtime ends, and calls of functions begin.
func (t *Turn) Loaded() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.charge(t, Now())
	t.fresh()
}

// fresh is for the first call. Under turns.mu.
func (t *Turn) fresh() {
	t.ran, t.counted, t.loads = 0, 0, false
	t.calls.Store(0)
}

// short reports whether the call under way has not run for long. Under turns.mu.
func (t *Turn) short() bool {
	if t.loads {
		return t.ran < int64(loadSlice)
	}
	return t.ran < int64(slice)
}

// start notes where the turn, which was granted, begins to run. Under turns.mu.
func (t *Turn) start() {
	t.thread = thread()
	t.charged = threadTime(t.thread)
	t.since.Store(Now())
}

// wait ends when the turn was given. On an error the caller does not have it.
func (t *Turn) wait() error {
	select {
	case <-t.granted:
		return nil
	default:
	}
	began := Now()
	var late <-chan time.Time
	if most := t.turns.waits[t.class]; most > 0 {
		timer := time.NewTimer(most - time.Duration(t.waited))
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-t.granted:
	case <-t.ctx.Done():
		err = context.Cause(t.ctx)
	case <-t.turns.closed:
		err = ErrClosed
	case <-late:
		err = &BusyError{Database: t.account.name, Waited: t.turns.waits[t.class], Others: t.turns.spares(t.account)}
	}
	t.waited += Now() - began
	if err != nil {
		t.turns.leave(t, err)
	}
	return err
}

// End gives the turn back.
func (t *Turn) End() {
	defer goruntime.UnlockOSThread()
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	n := Now()
	s.charge(t, n)
	t.halt()
	t.forget()
	s.dispatch(n)
}

// Spent reports whether another should have the turn before the caller's next call.
func (t *Turn) Spent() bool {
	if Now()-t.since.Load() < int64(slice) {
		return false
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(t, Now())
	return t.stopped || len(s.mu.waiting) > 0
}

// Pausable is a call that can stop its clock.
type Pausable interface {
	// Pause stops the clock and returns how long the call may still run; false where its time is over.
	Pause() (left int64, ok bool)
	// Resume starts the clock again.
	Resume(left int64)
}

// Called counts a call of a function.
func (t *Turn) Called() { t.calls.Add(1) }

// Ask is called from within a call, often. It returns nil where the call may go on, perhaps after a pause.
func (t *Turn) Ask(call Pausable) error {
	s := t.turns
	n := Now()
	if n-t.since.Load() < int64(slice) && !(s.pressing.Load() && t.long.Load()) {
		return nil
	}
	s.mu.Lock()
	s.charge(t, n)
	switch {
	case t.stopped:
		s.mu.Unlock()
		return ErrStopped
	case !t.long.Load() && t.short():
		s.mu.Unlock()
		return nil
	case !t.begun && !s.beginLong(t, n):
		t.stopped = true
		s.mu.counts.stopped++
		s.mu.Unlock()
		return ErrStopped
	case !t.stuck && s.mu.slow <= s.slow && len(s.mu.waiting) == 0:
		s.mu.Unlock()
		return nil
	}
	left, ok := call.Pause()
	if !ok {
		s.mu.Unlock()
		return nil // its time was over just now
	}
	t.halt()
	s.enqueue(t, true, n)
	s.dispatch(n)
	s.mu.Unlock()
	err := t.wait()
	call.Resume(left)
	if err != nil {
		return err
	}
	s.mu.Lock()
	stopped := t.stopped
	if !stopped {
		t.start()
	}
	s.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	select {
	case <-s.closed: // Close did not find the call running
		return ErrClosed
	default:
		return nil
	}
}

// WasStopped reports whether the call has to end, and begin again.
func (t *Turn) WasStopped() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	return t.stopped
}
