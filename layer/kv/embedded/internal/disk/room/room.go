package room

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// room decides which commits fit on the disk.
//
// A commit costs more than its own size. Pebble writes it to the log, then to a table of level 0, then to the level
// below together with the data there, and removes its input only after each of these steps. What it will write before
// it removes anything is called owed. That much must be free, or a compaction fails half way, and flushes and the log
// with it. So a commit is admitted if it fits into the free space minus what is owed. If compactions lag behind,
// commits wait for a moment: that is better than refusing them, and the space is soon there.
type room struct {
	owed atomic.Int64 // as of the last measurement
	// applied is three times the bytes of the commits written since then: for the log, level 0 and the level below.
	applied  atomic.Int64
	promised atomic.Int64 // bytes of admitted commits that have no answer yet

	waiting atomic.Int64  // commits that wait for space
	wanted  chan struct{} // one token for the reclaimer while commits wait
	moved   chan struct{} // one token for Measure after a flush or compaction

	measuring sync.Mutex // held during a measurement
	mu        struct {
		sync.Mutex
		measured chan struct{} // closed at the next measurement
	}
}

const (
	// roomWait is how long a commit waits for space. It must not be too old afterwards.
	roomWait = 4 * time.Second
	// measurePeriod is the time between two measurements if nothing is flushed or compacted.
	measurePeriod = 100 * time.Millisecond
	// ample is more space than Pebble could ever owe.
	ample = 4 << 30
	// costs is how often a commit's bytes are written: to the log, to level 0 and to the level below.
	costs = 3
	// maxOverlap bounds how many bytes of the level below are compacted with each byte of level 0.
	maxOverlap = 16
)

func (r *room) init() {
	r.wanted, r.moved = make(chan struct{}, 1), make(chan struct{}, 1)
	r.mu.measured = make(chan struct{})
}

// Needs has a token while commits wait for space.
func (r *room) Needs() <-chan struct{} { return r.wanted }

// Lacks reports whether commits wait for space.
func (r *room) Lacks() bool { return r.waiting.Load() > 0 }

// Changed triggers a new measurement of what Pebble owes.
func (r *room) Changed() { signal(r.moved) }

// measured returns a channel that is closed at the next measurement.
func (r *room) measured() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.measured
}

// Listen makes Pebble report when what it owes has changed. Package guard reports removed files.
func (s *Space) Listen(l *pebble.EventListener) {
	l.FlushEnd = func(pebble.FlushInfo) { s.Changed() }
	l.CompactionEnd = func(info pebble.CompactionInfo) {
		s.Changed()
		if info.Err == nil && info.Reason != "move" {
			s.pauses.wrote(false)
		}
	}
}

func signal(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// Admit admits a commit of size bytes, or returns why not. It waits for a moment if space is expected soon. For an
// admitted commit the caller must call Leave.
func (s *Space) Admit(ctx context.Context, size int, makesRoom bool, closing <-chan struct{}) error {
	measured := s.room.measured()
	err := s.tryAdmit(size, makesRoom)
	if err == nil || !s.worthWaiting(makesRoom) {
		return s.refused(err, makesRoom)
	}
	s.room.waiting.Add(1)
	defer s.room.waiting.Add(-1)
	timeout := time.NewTimer(roomWait)
	defer timeout.Stop()
	for {
		signal(s.room.wanted)
		select {
		case <-measured:
		case <-timeout.C:
			return s.refused(err, makesRoom)
		case <-ctx.Done():
			return failure.OfContext(ctx)
		case <-closing:
			return failure.ErrClosed
		}
		measured = s.room.measured()
		if err = s.tryAdmit(size, makesRoom); err == nil {
			return nil
		}
		if !s.worthWaiting(makesRoom) {
			return s.refused(err, makesRoom)
		}
	}
}

// worthWaiting reports whether the space that a refused commit lacks may soon be there.
func (s *Space) worthWaiting(makesRoom bool) bool {
	switch {
	case s.Opening.Load() || s.stall.is.Load():
		return false
	case makesRoom:
		return true
	case s.hidden.Load():
		return false
	}
	// Deleted rows will free space, or there would be enough if Pebble owed nothing.
	return s.Pending() || !s.Refusing.Load() && s.free.Load() >= s.needed()
}

// refused records the refusal of a commit if err is not nil.
func (s *Space) refused(err error, makesRoom bool) error {
	if err != nil && !makesRoom && !s.Opening.Load() && !s.stall.is.Load() {
		s.refuse()
	}
	return err
}

// tryAdmit is Admit without waiting.
func (s *Space) tryAdmit(size int, makesRoom bool) error {
	if s.Opening.Load() || s.stall.is.Load() {
		return s.Refusal()
	}
	if s.total > 0 {
		if int64(time.Since(gaugeStart))-s.lookedAt.Load() > int64(looksEvery) {
			s.look()
		}
		left := s.left() - costs*int64(size)
		var enough bool
		switch {
		case makesRoom:
			enough = left >= 0 && s.free.Load() >= s.reserve/4
		case s.Refusing.Load():
			// hysteresis, so that writes do not go on and off with every table
			enough = left >= s.needed() && !s.hidden.Load()
		default:
			enough = left >= s.reserve && !s.hidden.Load()
		}
		if !enough {
			return s.Refusal()
		}
	}
	s.room.promised.Add(int64(size))
	return nil
}

// Leave ends an admitted commit, after its answer.
func (s *Space) Leave(size int) {
	s.room.applied.Add(costs * int64(size))
	s.room.promised.Add(int64(-size))
}

// left returns the free space minus what is owed, as far as known.
func (s *Space) left() int64 {
	return s.free.Load() - s.written.Load() - s.room.owed.Load() - s.room.applied.Load() - costs*s.room.promised.Load()
}

// Measure is the goroutine that keeps measuring what Pebble owes. A measurement may block while Pebble waits for
// space.
func (s *Space) Measure(of *store.Store) {
	tick := time.NewTicker(measurePeriod)
	defer tick.Stop()
	for {
		select {
		case <-of.Stop:
			return
		case <-tick.C:
		case <-s.room.moved:
		}
		if !s.Opening.Load() && of.Failed() == nil {
			s.MeasureOnce(of)
		}
	}
}

// Settle waits for the first measurement of Measure and judges by it, before anybody asks whether the disk is full. It
// does not wait for long if Pebble waits for space.
func Settle(s *Space, of *store.Store) {
	if s.total == 0 || s.Opening.Load() {
		return
	}
	measured := s.room.measured()
	s.Changed()
	late := time.NewTimer(stallGrace)
	defer late.Stop()
	select {
	case <-measured:
	case <-late.C:
	case <-of.Stop:
	}
	Judge(s)
}

// MeasureOnce measures what Pebble owes, and lets waiting commits try again.
func (s *Space) MeasureOnce(of *store.Store) {
	if s.total == 0 {
		return
	}
	r := &s.room
	r.measuring.Lock()
	defer r.measuring.Unlock()
	applied := r.applied.Load()
	owed := int64(0)
	if s.look() < ample || r.waiting.Load() > 0 {
		owed = s.owes(of.DB.Load().Metrics())
		s.look() // afterwards, so that a compaction that ends in between is counted twice rather than not at all
	}
	r.owed.Store(owed)
	r.applied.Add(-applied)
	r.mu.Lock()
	close(r.mu.measured)
	r.mu.measured = make(chan struct{})
	r.mu.Unlock()
}

// errNoRoom is the error of a compaction that would use the space reserved for the log and flushes.
var errNoRoom = fmt.Errorf("the remaining space is reserved for the log: %w", syscall.ENOSPC)
