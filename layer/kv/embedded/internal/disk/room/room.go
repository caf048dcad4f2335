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

// room decides which commits the disk has room for.
//
// What a commit costs is not what it writes. Pebble writes it to the log, then to a table of level 0, then to the level
// below, together with what is there, and removes what it has read only after each of these steps. What it will write
// before it removes anything is owed: it has to be free, or a compaction fails half way, and flushes and the log with
// it. So a commit counts against the room that is free beside what is owed. Where compactions lag behind, commits wait
// for a moment; that is better than to refuse them, and the room that they wait for is soon there.
type room struct {
	owed atomic.Int64 // when it was measured last
	// applied are three times the bytes of the commits that were written since then: for the log, level 0 and the level
	// below.
	applied  atomic.Int64
	promised atomic.Int64 // bytes of the commits that were let in and have no answer yet

	waiting atomic.Int64  // commits that wait for room
	wanted  chan struct{} // one token for the reclaimer while commits wait
	moved   chan struct{} // one token for Measure after a flush or compaction

	measuring sync.Mutex // held by a measurement
	mu        struct {
		sync.Mutex
		measured chan struct{} // closed at the next measurement
	}
}

const (
	// roomWait is how long a commit waits for room: it must not be too old by then.
	roomWait = 4 * time.Second
	// measurePeriod is between two measurements, where nothing is flushed or compacted.
	measurePeriod = 100 * time.Millisecond
	// ample room is for more than Pebble could owe.
	ample = 4 << 30
	// costs is how often a commit's bytes are written: to the log, to level 0 and to the level below.
	costs = 3
	// maxOverlap is how often the bytes of level 0 are what of the level below is compacted with them, at most.
	maxOverlap = 16
)

func (r *room) init() {
	r.wanted, r.moved = make(chan struct{}, 1), make(chan struct{}, 1)
	r.mu.measured = make(chan struct{})
}

// Needs has a token while commits wait for room.
func (r *room) Needs() <-chan struct{} { return r.wanted }

// Lacks reports whether commits wait for room.
func (r *room) Lacks() bool { return r.waiting.Load() > 0 }

// Changed has what Pebble owes measured anew.
func (r *room) Changed() { signal(r.moved) }

// measured is closed at the next measurement.
func (r *room) measured() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.measured
}

// Listen has Pebble tell when what it owes has changed. Package guard tells when files are gone.
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

// Admit lets a commit of size bytes in, or says why not. It waits for a moment where room is to be expected. Where it
// lets the commit in, leave has to be called.
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

// worthWaiting reports whether what a refused commit lacks may soon be there.
func (s *Space) worthWaiting(makesRoom bool) bool {
	switch {
	case s.Opening.Load() || s.stall.is.Load():
		return false
	case makesRoom:
		return true
	case s.hidden.Load():
		return false
	}
	// What was deleted gives room, or there would be enough if Pebble owed nothing.
	return s.Pending() || !s.Refusing.Load() && s.free.Load() >= s.needed()
}

// refused notes that a commit was refused, where there is an error.
func (s *Space) refused(err error, makesRoom bool) error {
	if err != nil && !makesRoom && !s.Opening.Load() && !s.stall.is.Load() {
		s.refuse()
	}
	return err
}

// tryAdmit is admit without waiting.
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
			enough = left >= s.needed() && !s.hidden.Load() // not on and off with every table
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

// Leave is for when a commit that was let in has its answer.
func (s *Space) Leave(size int) {
	s.room.applied.Add(costs * int64(size))
	s.room.promised.Add(int64(-size))
}

// left is the room that is free beside what is owed, as far as that is known.
func (s *Space) left() int64 {
	return s.free.Load() - s.written.Load() - s.room.owed.Load() - s.room.applied.Load() - costs*s.room.promised.Load()
}

// Measure is the goroutine that keeps up with what Pebble owes. It may have to wait for Pebble while that waits for
// room.
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

// MeasureOnce measures what Pebble owes, and has the commits look that wait for room.
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
		s.look() // after it: a compaction that has ended in between is counted rather twice than not at all
	}
	r.owed.Store(owed)
	r.applied.Add(-applied)
	r.mu.Lock()
	close(r.mu.measured)
	r.mu.measured = make(chan struct{})
	r.mu.Unlock()
}

// errNoRoom is what a compaction gets that would take the room of the log and of flushes.
var errNoRoom = fmt.Errorf("the room that is left is for the log: %w", syscall.ENOSPC)
