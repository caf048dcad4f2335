package room

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// stall knows what of Pebble waits until the disk can be written, and whether commits cannot go on for it.
type stall struct {
	store string // its directory
	log   *slog.Logger
	is    atomic.Bool // commits cannot go on

	mu struct {
		sync.Mutex
		waiting int           // goroutines of Pebble that wait to write the log or manifest
		tables  int           // and tables
		cause   error         // what the last of them met
		stalled chan struct{} // closed while commits cannot go on
	}
}

func (s *stall) init(store string, log *slog.Logger) {
	s.store, s.log = store, log
	s.mu.stalled = make(chan struct{})
}

// Stalled is closed while commits cannot go on because Pebble waits for room.
func (s *stall) Stalled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stalled
}

// met notes what a goroutine of Pebble met.
func (s *stall) met(cause error) {
	s.mu.Lock()
	s.mu.cause = cause
	s.mu.Unlock()
}

// cause is what the last goroutine of Pebble that could not write met.
func (s *stall) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.cause
}

// check notes whether commits have taken too long while tables cannot be written. It reports whether anything waits.
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

// mark reports whether it was news. Called with mu locked.
func (s *stall) mark() bool {
	if s.is.Swap(true) {
		return false
	}
	close(s.mu.stalled)
	return true
}

// clear is for when nothing may wait any more. Called with mu locked.
func (s *stall) clear() {
	if s.mu.waiting == 0 && s.is.Swap(false) {
		s.mu.stalled = make(chan struct{})
		s.log.Info("the store can be written again", "directory", s.store)
	}
}

// waiter is a goroutine of Pebble's that waits until it can write.
type waiter struct {
	s     *stall
	met   func(cause error)
	table bool
	began time.Time
}

// enter says that a goroutine could not write and will try again until it can. It calls done then. met is told what it
// meets meanwhile.
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

// Pause is between two tries.
func (w waiter) Pause(cause error) {
	w.met(cause)
	waited := time.Since(w.began)
	if waited > stallGrace && !w.table {
		w.s.mu.Lock()
		if w.s.mark() {
			w.s.log.Error("the store cannot be written; it is tried again until it can", "directory", w.s.store,
				"error", cause)
		}
		w.s.mu.Unlock()
	}
	time.Sleep(min(max(waited/2, 20*time.Millisecond), time.Second))
}

// pauses are between tables that cannot be written: Pebble begins each anew at once.
type pauses struct {
	mu struct {
		sync.Mutex
		flushed pause // between tables that flushes begin
		merged  pause // between tables that compactions begin
	}
}

// pause is between tables of one kind.
type pause struct {
	failures int       // tables that could not be written since the last that could
	until    time.Time // when the next may be begun
}

// of is that of flushes or of compactions. Called with mu locked.
func (p *pauses) of(flush bool) *pause {
	if flush {
		return &p.mu.flushed
	}
	return &p.mu.merged
}

// failed notes that a table could not be written.
func (p *pauses) failed(flush bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.of(flush)
	of.failures = min(of.failures+1, 10)
	of.until = time.Now().Add(min(spaceTick<<of.failures, tablePause))
}

// wrote notes that one could, or of a compaction all of them.
func (p *pauses) wrote(flush bool) {
	p.mu.Lock()
	*p.of(flush) = pause{}
	p.mu.Unlock()
}

// left is for how long no table may be begun.
func (p *pauses) left(flush bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.of(flush).until)
}
