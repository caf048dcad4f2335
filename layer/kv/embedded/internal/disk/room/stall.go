package room

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// stall tracks which goroutines of Pebble wait until the disk can be written, and whether commits are blocked by
// that.
type stall struct {
	store string // its directory
	log   *slog.Logger
	is    atomic.Bool // commits are blocked

	mu struct {
		sync.Mutex
		waiting int           // goroutines of Pebble that wait to write the log or manifest
		tables  int           // goroutines of Pebble that wait to write tables
		cause   error         // the error that the last of them met
		stalled chan struct{} // closed while commits are blocked
	}
}

func (s *stall) init(store string, log *slog.Logger) {
	s.store, s.log = store, log
	s.mu.stalled = make(chan struct{})
}

// Stalled returns a channel that is closed while commits are blocked because Pebble waits for space.
func (s *stall) Stalled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stalled
}

// met records the error that a goroutine of Pebble met.
func (s *stall) met(cause error) {
	s.mu.Lock()
	s.mu.cause = cause
	s.mu.Unlock()
}

// cause returns the error of the last goroutine of Pebble that could not write.
func (s *stall) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.cause
}

// check detects commits that take too long while tables cannot be written. It reports whether anything waits.
func (s *stall) check(busy func() time.Duration) (waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.tables > 0 && busy() > busyGrace {
		s.mark()
	} else {
		s.clear()
	}
	return s.mu.waiting+s.mu.tables > 0
}

// mark marks commits as blocked and reports whether they were not before. Called with mu locked.
func (s *stall) mark() bool {
	if s.is.Swap(true) {
		return false
	}
	close(s.mu.stalled)
	return true
}

// clear ends the stall if nothing waits any more. Called with mu locked.
func (s *stall) clear() {
	if s.mu.waiting == 0 && s.is.Swap(false) {
		s.mu.stalled = make(chan struct{})
		s.log.Info("the store can be written again", "directory", s.store)
	}
}

// waiter is a goroutine of Pebble that waits until it can write.
type waiter struct {
	s     *stall
	met   func(cause error)
	table bool
	began time.Time
}

// enter records that a goroutine could not write and will retry until it can; it then calls Done. met is called with
// the errors of the retries.
func (s *stall) enter(table bool, met func(cause error)) waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if table {
		s.mu.tables++
	} else {
		s.mu.waiting++
	}
	return waiter{s, met, table, time.Now()}
}

func (w waiter) Done() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.table {
		w.s.mu.tables--
		return
	}
	w.s.mu.waiting--
	w.s.clear()
}

// Pause waits between two tries.
func (w waiter) Pause(cause error) {
	w.met(cause)
	waited := time.Since(w.began)
	if waited > stallGrace && !w.table {
		w.s.mu.Lock()
		if w.s.mark() {
			w.s.log.Error("the store cannot be written; retrying until it can", "directory", w.s.store,
				"error", cause)
		}
		w.s.mu.Unlock()
	}
	time.Sleep(min(max(waited/2, 20*time.Millisecond), time.Second))
}

// pauses delay the tables of flushes and compactions that cannot be written: Pebble retries each immediately.
type pauses struct {
	mu struct {
		sync.Mutex
		flushed pause // between tables of flushes
		merged  pause // between tables of compactions
	}
}

// pause delays tables of one kind.
type pause struct {
	failures int       // consecutive tables that could not be written
	until    time.Time // when the next one may begin
}

// of returns the pause of flushes or of compactions. Called with mu locked.
func (p *pauses) of(flush bool) *pause {
	if flush {
		return &p.mu.flushed
	}
	return &p.mu.merged
}

// failed records that a table could not be written.
func (p *pauses) failed(flush bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of(flush)
	of.failures = min(of.failures+1, 10)
	of.until = time.Now().Add(min(spaceTick<<of.failures, tablePause))
}

// wrote records that a table of a flush, or all tables of a compaction, could be written.
func (p *pauses) wrote(flush bool) {
	p.mu.Lock()
	*p.of(flush) = pause{}
	p.mu.Unlock()
}

// left returns for how long no table may be begun.
func (p *pauses) left(flush bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.of(flush).until)
}
