package work

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The times that govern turns.
const (
	// free is how long a statement runs before it needs a turn.
	free = 5 * time.Millisecond
	// slice is how long it keeps a turn while others wait.
	slice = 10 * time.Millisecond
	// A turn on the processor that is reserved for short statements ends after lent, followed by a pause in which the
	// runtime polls the network.
	lent  = 5 * time.Millisecond
	pause = 100 * time.Microsecond
	// quiet is how long nothing short may have arrived before that processor is lent.
	quiet = 30 * time.Millisecond
	// stale is the age at which a turn is taken away from a statement that does not check it: it is waiting for the
	// disk or for its client.
	stale = 20 * time.Millisecond
)

// Turns shares the processors between long statements, so that short ones find one free. Without it a woken goroutine
// waits for a time slice of each long statement, and the network is not polled meanwhile: with four long statements on
// two processors, point reads were a hundred times slower. Statements that have run for some milliseconds take turns on
// all processors but one, and on that one too while no short statements arrive. It is safe for concurrent use.
type Turns struct {
	arrived atomic.Int64 // last call of Arrive, in nanoseconds since began
	began   time.Time
	waiting atomic.Int32
	procs   func() int

	mu struct {
		sync.Mutex
		held  []*turn
		queue []*waiter // first come, first served
	}
}

// turn is a statement's right to run.
type turn struct {
	lent  bool
	since time.Time
	seen  atomic.Int64 // when its statement last checked it, in the unit of Turns.arrived
	taken atomic.Bool  // taken away, because the statement did not check it
}

// waiter is a statement that is waiting for a turn.
type waiter struct{ ready chan *turn } // receives one turn; never closed

// NewTurns returns the turns of a process. procs returns the number of processors; nil means to ask the runtime each
// time, because the number may change.
func NewTurns(procs func() int) *Turns {
	if procs == nil {
		procs = func() int { return runtime.GOMAXPROCS(0) }
	}
	return &Turns{began: time.Now(), procs: procs}
}

// Arrive records the arrival of a request that is probably short: an HTTP request, or a message of a session.
func (t *Turns) Arrive() { t.arrived.Store(int64(time.Since(t.began))) }

// take waits for a turn.
func (t *Turns) take(ctx context.Context) (*turn, error) {
	t.mu.Lock()
	if len(t.mu.queue) == 0 {
		if got := t.grant(); got != nil {
			t.mu.Unlock()
			return got, nil
		}
	}
	w := &waiter{ready: make(chan *turn, 1)}
	t.mu.queue = append(t.mu.queue, w)
	t.waiting.Add(1)
	t.mu.Unlock()
	timer := time.NewTicker(stale)
	defer timer.Stop()
	for {
		select {
		case got := <-w.ready:
			return got, nil
		case <-timer.C:
			t.mu.Lock()
			t.steal()
			t.serve()
			t.mu.Unlock()
		case <-ctx.Done():
			t.mu.Lock()
			if i := slices.Index(t.mu.queue, w); i >= 0 {
				t.mu.queue = slices.Delete(t.mu.queue, i, i+1)
				t.waiting.Add(-1)
				t.mu.Unlock()
			} else {
				// It got a turn in the meantime.
				t.mu.Unlock()
				t.give(<-w.ready)
			}
			return nil, context.Cause(ctx)
		}
	}
}

// grant returns a new turn if one is available, otherwise nil. mu is held.
func (t *Turns) grant() *turn {
	ours, lentOut := 0, false
	for _, h := range t.mu.held {
		if h.lent {
			lentOut = true
		} else {
			ours++
		}
	}
	now := time.Since(t.began)
	got := &turn{since: time.Now()}
	switch procs := t.procs(); {
	case ours < max(procs-1, 1):
		got.lent = procs == 1 // no other processor can be left free
	case procs > 1 && !lentOut && now-time.Duration(t.arrived.Load()) > quiet:
		got.lent = true
	default:
		return nil
	}
	if got.lent && lentOut {
		return nil
	}
	got.seen.Store(int64(now))
	t.mu.held = append(t.mu.held, got)
	return got
}

// serve gives available turns to the waiters. mu is held.
func (t *Turns) serve() {
	for len(t.mu.queue) > 0 {
		got := t.grant()
		if got == nil {
			return
		}
		t.mu.queue[0].ready <- got
		t.mu.queue = t.mu.queue[1:]
		t.waiting.Add(-1)
	}
}

// steal takes turns away from statements that do not check them. mu is held.
func (t *Turns) steal() {
	now := int64(time.Since(t.began))
	t.mu.held = slices.DeleteFunc(t.mu.held, func(h *turn) bool {
		if now-h.seen.Load() < int64(stale) {
			return false
		}
		h.taken.Store(true)
		return true
	})
}

// give ends a turn.
func (t *Turns) give(h *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.mu.held, h); i >= 0 {
		t.mu.held = slices.Delete(t.mu.held, i, i+1)
	}
	t.serve()
}

// keep is called regularly by a statement that has a turn. It returns false if the turn is over.
func (t *Turns) keep(h *turn, now time.Time) bool {
	if h.taken.Load() {
		return false
	}
	since := now.Sub(t.began)
	h.seen.Store(int64(since))
	ran := now.Sub(h.since)
	if h.lent {
		return ran < lent && time.Duration(t.arrived.Load()) < h.since.Sub(t.began)
	}
	return ran < slice || t.waiting.Load() == 0
}

// turnOf makes sure that work that has run for long has a turn.
func (w *Work) turnOf(now time.Time) error {
	if w.turn == nil {
		if now.Sub(w.since) < free {
			return nil
		}
	} else {
		if w.turns.keep(w.turn, now) {
			return nil
		}
		if w.turn.lent {
			// While this goroutine sleeps the processor is idle, and the runtime polls the network.
			time.Sleep(pause)
		}
		w.Pause()
	}
	var err error
	w.turn, err = w.turns.take(w.Ctx)
	return err
}

// Pause gives the turn back while the statement waits for its client.
func (w *Work) Pause() {
	if w.turn != nil {
		w.turns.give(w.turn)
		w.turn = nil
	}
}

// Resume is called when the client has asked for more. A short run then needs no turn.
func (w *Work) Resume() { w.since = time.Now() }
