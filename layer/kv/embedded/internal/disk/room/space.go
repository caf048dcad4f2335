package room

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// Space knows how much room the disk has, and keeps some of it back. Commits are refused before the disk is full, so
// that Pebble can still write what is in memory to tables, compact them, and commit what makes room
// (kv.Transaction.MakesRoom).
//
// Of the room that is free beside what Pebble owes (room):
//
//	reserve      every commit
//	0            only what makes room, if reserve/4 is free
//	less         nothing
//
// With less than reserve/2 free, the ballast is given up. No compaction is begun, or goes on to its next table, with
// less than reserve/8: that is for the log and for flushes. Where Pebble meets a full disk all the same, package guard
// makes it wait and try again (see stall), and commits are answered without it.
type Space struct {
	gauge
	log     *slog.Logger
	ballast ballast
	Busy    func() time.Duration // how long Pebble has been at the commits that it has
	Pending func() bool          // there is something that the reclaimer gives back

	room
	stall
	pauses pauses

	Refusing atomic.Bool // commits are refused for want of room
	// hidden is set where the disk refused to give room that it said it has, as with a quota. It ends when the ballast
	// could be made again.
	hidden atomic.Bool
	// Opening is set while the store can only be read, because what its opening writes has no room yet.
	Opening atomic.Bool

	// Retrying is held, shared, while what failed for want of room is tried again. Who holds it alone sees files that
	// do not change.
	Retrying sync.RWMutex
}

const (
	// An eighth of the disk, but no more than this, is kept free. A memtable is an eighth of that, so that all
	// memtables can be flushed and what came of them compacted.
	maxReserve   = 128 << 20
	reservePart  = 8
	minMemTable  = 1 << 20
	memTablePart = 8 * reservePart
	// On a smaller disk the reserve is not sure to be enough for deletions, flushes and compactions.
	minDisk = 32 << 20
	// ballastPart of the disk is the ballast at most.
	ballastPart = 16

	// stallGrace is how long Pebble waits before commits are told: giving up the ballast may have been enough.
	stallGrace = 300 * time.Millisecond
	// busyGrace is how long commits may take while tables cannot be written.
	busyGrace = 2 * time.Second
	// looksEvery is how old a look at the disk may be.
	looksEvery = 100 * time.Millisecond
	spaceTick  = 250 * time.Millisecond
	// tablePause is how long no table is begun after one could not be written, unless there is more room.
	tablePause = 5 * time.Second
)

// New looks at the disk of dir, which need not exist yet if its parent does.
func New(dir string, fs vfs.FS, log *slog.Logger, ballastBytes int64) *Space {
	s := &Space{gauge: gauge{fs: fs, dir: dir}, log: log}
	s.stall.init(dir, log)
	s.room.init()
	usage, err := fs.GetDiskUsage(dir)
	if err != nil || usage.TotalBytes == 0 {
		return s
	}
	s.total = int64(usage.TotalBytes)
	s.reserve = min(s.total/reservePart, maxReserve)
	s.free.Store(int64(usage.AvailBytes))
	s.ballast = ballast{path: fs.PathJoin(dir, ballastFile), size: min(ballastBytes, s.total/ballastPart)}
	s.ballast.look()
	return s
}

// refuse notes that commits are refused.
func (s *Space) refuse() {
	if s.Refusing.CompareAndSwap(false, true) {
		s.log.Warn("the disk is nearly full; writes are refused until there is room", "directory", s.dir,
			"free", s.free.Load(), "needed", s.needed()+s.room.owed.Load())
	}
}

// Refusal is the error of a commit that was not begun.
func (s *Space) Refusal() error {
	return s.refusalFor(s.stall.cause())
}

func (s *Space) refusalFor(cause error) error {
	switch {
	case cause == nil || failure.IsDiskFull(cause):
		return kv.NewError(kv.CodeDiskFull, s.fullText(), cause)
	default:
		return kv.NewError(kv.CodeUnwritable, fmt.Sprintf("the store in %s cannot be written", s.dir), cause)
	}
}

func (s *Space) fullText() string {
	if s.total == 0 {
		return fmt.Sprintf("the disk of %s is full", s.dir)
	}
	return fmt.Sprintf("the disk of %s has %.1f MB left", s.dir, float64(s.free.Load())/1e6)
}

// Degraded is why the operator is needed, for the engine to tell.
func (s *Space) Degraded() []string {
	reasons := s.refuses()
	if s.total > 0 && s.total < minDisk {
		reasons = append(reasons, fmt.Sprintf("disk_small: the disk of %s has %.1f MB in all, and %.1f MB are needed "+
			"for what makes room on it once it is full; enlarge it", s.dir, float64(s.total)/1e6, minDisk/1e6))
	}
	return reasons
}

// refuses is why writes are refused.
func (s *Space) refuses() []string {
	cause := s.stall.cause()
	switch unwritable := s.Opening.Load() || s.stall.is.Load(); {
	case unwritable && cause != nil && !failure.IsDiskFull(cause):
		return []string{fmt.Sprintf("store_unwritable: the store in %s cannot be written: %v; reads are answered, "+
			"and writes go on when it can be", s.dir, cause)}
	case unwritable || s.Refusing.Load():
		text := s.fullText()
		switch {
		case s.hidden.Load():
			text += ", but gives no more, as with a quota"
		case s.total > 0:
			text += fmt.Sprintf(", %.1f MB are needed", float64(s.needed()+s.room.owed.Load())/1e6)
		}
		return []string{"disk_full: " + text +
			"; writes are refused until there is room; deletions and compaction go on as far as they can"}
	}
	return nil
}

// Run looks after the ballast, and notes when there is room again, until stop is closed.
func (s *Space) Run(stop <-chan struct{}) {
	tick := time.NewTicker(spaceTick)
	defer tick.Stop()
	for n := 0; ; n++ {
		s.tend(n)
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// tend is done every tick.
func (s *Space) tend(n int) {
	waiting := s.stall.check(s.Busy)
	if s.total == 0 {
		return
	}
	free := s.look()
	if free < s.reserve/2 {
		s.giveBallast()
	}
	if waiting {
		return
	}
	free = s.left()
	missing := s.ballast.size > 0 && !s.ballast.whole.Load()
	if (missing || s.hidden.Load()) && free >= s.needed()+s.ballast.size && n%4 == 0 {
		margin := int64(0)
		if s.hidden.Load() {
			margin = s.reserve
		}
		if err := s.ballast.fill(margin); err == nil {
			s.hidden.Store(false)
		}
		s.look()
		free = s.left()
	}
	switch {
	case free >= s.needed() && !s.hidden.Load():
		if s.Refusing.CompareAndSwap(true, false) {
			s.log.Info("there is room on the disk again; writes are taken", "directory", s.dir, "free", s.free.Load())
		}
	case free < s.reserve && !s.Opening.Load() && !s.stall.is.Load() && !s.worthWaiting(false):
		s.refuse() // as a commit would find out: who looks at the node's health should know it before
	}
}

// BeforeOpening makes room for what opening the store writes, where there is little.
func (s *Space) BeforeOpening() {
	if s.total > 0 && s.free.Load() < s.reserve/2 {
		s.giveBallast()
	}
}

// giveBallast makes room with the ballast, if it has not been given yet.
func (s *Space) giveBallast() {
	if s.ballast.size > 0 && s.ballast.release() {
		s.log.Warn("the disk is full; the ballast was given up", "directory", s.dir, "bytes", s.ballast.size)
		s.look()
	}
}

// met notes that the disk had no room for something, or could not be written.
func (s *Space) met(cause error) {
	s.stall.met(cause)
	if !failure.IsDiskFull(cause) {
		return
	}
	if free := s.look(); s.total > 0 && (errors.Is(cause, syscall.EDQUOT) || free >= s.needed()+s.ballast.size) {
		s.hidden.Store(true)
	}
	s.giveBallast()
	s.refuse()
}

// Queue says that a goroutine of Pebble could not write and will try again until it can. It calls done then.
func (s *Space) Queue(table bool) waiter { return s.enter(table, s.met) }

// TableWritten notes that a table could be written, or of a compaction all of them.
func (s *Space) TableWritten(flush bool) { s.pauses.wrote(flush) }

// TableFailed notes that a table could not be written. beginTable holds the next one up.
func (s *Space) TableFailed(flush bool, cause error) {
	if !errors.Is(cause, errNoRoom) {
		s.met(cause)
	}
	s.pauses.failed(flush)
}

// BeginTable waits after a table could not be written: for more room, or for some time. It refuses one of a compaction
// that would take the room of the log.
func (s *Space) BeginTable(flush bool) error {
	left := func() time.Duration { return s.pauses.left(flush) }
	if left() > 0 {
		w := s.Queue(true)
		for then := s.look(); left() > 0 && s.free.Load() <= then+s.reserve/4; s.look() {
			time.Sleep(min(left(), spaceTick))
		}
		w.Done()
	}
	if !flush && s.total > 0 && s.look() < s.reserve/8 {
		s.TableFailed(flush, errNoRoom)
		return errNoRoom
	}
	return nil
}
