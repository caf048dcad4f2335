// Package turns shares the processors among function calls, fairly between databases. It knows nothing about the
// calls except that they often ask whether they may continue, and can be paused.
package turns

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Turns shares the processors among function calls. A call runs only while it has the turn. Safe for concurrent use.
//
// A call begins as a short one and becomes a long one after a time slice. Fewer long calls run at once than there are
// processors, so that short calls and the rest of the node continue whatever functions do. The engine checks for
// interrupts often; there a long call gives its turn to a call of another database and waits, with its runtime, until
// its next turn. The turn goes to the database that has used the least processor time recently, minus the time for
// which others were preferred to it. Calls of a database begin as long ones if the long calls of their class have used
// much.
//
// What waiting calls hold is bounded too: only a number of long calls may have begun, in total and per database. A
// call beyond that is stopped and restarted later, which is possible since functions change nothing but their own
// runtime. A call that never checks for interrupts keeps its processor; the watchdog lets others run beside it, and
// stops all but as many as there may be long calls.
type Turns struct {
	width  int                    // maximum number of running calls
	slow   int                    // maximum number of running long calls
	most   int                    // maximum number of long calls that have begun
	share  int                    // the same for one database
	waits  [classes]time.Duration // maximum total wait of a call; 0 is unlimited
	closed <-chan struct{}
	// pressing is set while a call waits that may begin as soon as a long one pauses.
	pressing atomic.Bool

	mu struct {
		sync.Mutex
		accounts map[string]*account
		waiting  []*account       // accounts with waiting turns
		running  int              // running turns, without stuck ones
		slow     int              // running long calls, including stuck ones
		longs    int              // long calls that have begun
		idle     map[[32]byte]int // idle runtimes by program
		patience int64            // least time in nanoseconds between two runtimes that replace others
		made     int64            // when the last one was started
		counts   counts
		pruned   int64
	}
}

// counts are totals since the start.
type counts struct {
	limits  map[string]int64
	stopped int64 // calls that were stopped to be restarted
	refused int64
	used    float64 // seconds
}

// Turn is one caller's turn. One goroutine uses it; the watchdog reads it.
type Turn struct {
	turns   *Turns
	account *account
	class   Class
	program [32]byte // key of its program
	ctx     context.Context
	waited  int64 // nanoseconds, over all its waits
	// granted gets one element when the turn is granted, or when the paused call is stopped. At most one wait is in
	// progress.
	granted chan struct{}
	began   atomic.Int64 // when it began to run
	since   atomic.Int64 // the same, or when it was last charged
	calls   atomic.Int64 // function calls since it began to run

	// Guarded by Turns.mu.
	thread  int   // the thread it runs on
	charged int64 // the thread's processor time at since
	ran     int64 // nanoseconds of processor time that the current call has used
	counted int64 // the value of calls when last charged
	loads   bool  // starts a runtime
	runs    bool  // counted in Turns.mu.running
	slow    bool  // counted in Turns.mu.slow
	begun   bool  // counted in Turns.mu.longs
	long    atomic.Bool
	stuck   bool // running, but counted only in slow
	stopped bool // the call must end and be restarted
	pinned  bool // the call cannot be restarted: it is paused, but not stopped
	queued  int64
}

// slice is how long a call runs before others are considered.
const slice = 10 * time.Millisecond

// loadSlice is how long starting a runtime and compiling its functions may take.
const loadSlice = 5 * slice

// stuckAfter is how long a call may run without calling Ask before others run beside it.
const stuckAfter = 5 * slice

// ErrClosed is the error of waits when the sandbox is closed.
var ErrClosed = errors.New("script: the sandbox is closed")

// ErrStopped ends a call that must be restarted.
var ErrStopped = errors.New("script: the call must be restarted")

// New shares processors among calls that use a number of runtimes. A call of class Query waits for at most wait in
// total. Waits end when closed is closed.
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

// Open returns a turn for calls of a program, charged to the database in ctx. The caller closes it.
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

// Begin waits for the turn. If it returns nil, the caller must call End.
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
	goruntime.LockOSThread() // so that the thread's processor time is the call's
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fresh()
	t.start()
	t.loads = true
	return nil
}

// Loaded records that the runtime has started and calls of functions begin.
func (t *Turn) Loaded() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.charge(t, Now())
	t.fresh()
}

// fresh resets the state for a first call. Called with Turns.mu locked.
func (t *Turn) fresh() {
	t.ran, t.counted, t.loads = 0, 0, false
	t.calls.Store(0)
}

// short reports whether the current call has not run for long. Called with Turns.mu locked.
func (t *Turn) short() bool {
	if t.loads {
		return t.ran < int64(loadSlice)
	}
	return t.ran < int64(slice)
}

// start records the thread and time at which the granted turn begins to run. Called with Turns.mu locked.
func (t *Turn) start() {
	t.thread = thread()
	t.charged = threadTime(t.thread)
	n := Now()
	t.began.Store(n)
	t.since.Store(n)
}

// wait returns nil once the turn is granted. After an error the caller does not have it.
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

// End releases the turn.
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

// Spent reports whether another call should get the turn before the caller's next call.
func (t *Turn) Spent() bool {
	if Now()-t.began.Load() < int64(slice) {
		return false
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(t, Now())
	return t.stopped || len(s.mu.waiting) > 0
}

// Ran returns how many nanoseconds of processor time the current call has used, at least: the time before it first
// asked whether it may continue is not counted. It may be called while the turn runs or waits, and locks Turns.mu.
func (t *Turn) Ran() int64 {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.turns.charge(t, Now())
	return t.ran
}

// Pausable is a call whose clock can be stopped.
type Pausable interface {
	// Pause stops the clock and returns the time that the call has left; false if its time is over.
	Pause() (left int64, ok bool)
	// Resume restarts the clock.
	Resume(left int64)
}

// Called counts a function call.
func (t *Turn) Called() { t.calls.Add(1) }

// Ask is called often during a call. It returns nil if the call may continue, possibly after a pause.
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
	case !t.begun && !s.beginLong(t, n) && !t.pinned:
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
		return nil // its time has just ended
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

// WasStopped reports whether the call must end and be restarted.
func (t *Turn) WasStopped() bool {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	return t.stopped
}
