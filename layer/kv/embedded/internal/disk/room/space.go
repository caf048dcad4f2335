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

// Space measures free disk space and keeps a reserve. Commits are refused before the disk is full, so that Pebble can
// still flush memtables, compact, and commit transactions that make room (kv.Transaction.MakesRoom).
//
// The free space minus what Pebble owes (see room) decides which commits are admitted:
//
//	reserve      every commit
//	0            only those that make room, if reserve/4 is free
//	less         none
//
// With less than reserve/2 free, the ballast is released. With less than reserve/8, no compaction begins or continues
// with another table: that space is for the log and for flushes. If Pebble meets a full disk nevertheless, package
// guard makes it wait and try again (see stall), and commits are answered without it.
type Space struct {
	gauge
	log     *slog.Logger
	ballast ballast
	Busy    func() time.Duration // how long Pebble has been busy with the current commits
	Pending func() bool          // the reclaimer has space to free

	room
	stall
	pauses pauses

	Refusing atomic.Bool // commits are refused for lack of space
	// hidden is set if the disk refused to give space that it claims to have, as with a quota. It is cleared when the
	// ballast could be filled again.
	hidden atomic.Bool
	// Opening is set while the store can only be read because there is no space yet for what opening it writes.
	Opening atomic.Bool

	// Retrying is held, shared, while an operation that failed for lack of space is retried. Exclusive holders see
	// files that do not change.
	Retrying sync.RWMutex
}

const (
	// maxReserve: an eighth of the disk, but at most this, is kept free. A memtable is an eighth of that, so that all
	// memtables can be flushed and the resulting tables compacted.
	maxReserve   = 128 << 20
	reservePart  = 8
	minMemTable  = 1 << 20
	memTablePart = 8 * reservePart
	// minDisk: on a smaller disk the reserve may not suffice for deletions, flushes and compactions.
	minDisk = 32 << 20
	// ballastPart is the divisor for the largest ballast: disk size / ballastPart.
	ballastPart = 16

	// stallGrace is how long Pebble waits before commits are refused: releasing the ballast may have been enough.
	stallGrace = 300 * time.Millisecond
	// busyGrace is how long commits may take while tables cannot be written.
	busyGrace = 2 * time.Second
	// looksEvery is the maximum age of a look at the disk.
	looksEvery = 100 * time.Millisecond
	spaceTick  = 250 * time.Millisecond
	// tablePause is how long no table is begun after one could not be written, unless space is freed.
	tablePause = 5 * time.Second
)

// New measures the disk of dir, which need not exist yet if its parent does.
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

// refuse starts refusing commits.
func (s *Space) refuse() {
	if s.Refusing.CompareAndSwap(false, true) {
		s.log.Warn("the disk is nearly full; writes are refused until there is space", logged(s)...)
	}
}

// Refusal returns the error of a refused commit.
func (s *Space) Refusal() error {
	return s.refusalFor(s.stall.cause())
}

func (s *Space) refusalFor(cause error) error {
	switch {
	case cause == nil || failure.IsDiskFull(cause):
		return kv.NewError(kv.CodeDiskFull, fullText(s), cause)
	default:
		return kv.NewError(kv.CodeUnwritable, fmt.Sprintf("the store in %s cannot be written", s.dir), cause)
	}
}

func fullText(s *Space) string {
	if s.total == 0 {
		return fmt.Sprintf("the disk of %s is full", s.dir)
	}
	return fmt.Sprintf("the disk of %s has %.1f MB left", s.dir, float64(s.free.Load())/1e6)
}

// Degraded returns the reasons why the operator is needed, for kv.Degrader.
func (s *Space) Degraded() []string {
	reasons := s.refuses()
	if s.total > 0 && s.total < minDisk {
		reasons = append(reasons, fmt.Sprintf("disk_small: the disk of %s has %.1f MB in total, but deletions need "+
			"%.1f MB to work once it is full; enlarge it", s.dir, float64(s.total)/1e6, minDisk/1e6))
	}
	return reasons
}

// refuses returns why writes are refused.
func (s *Space) refuses() []string {
	cause := s.stall.cause()
	switch unwritable := s.Opening.Load() || s.stall.is.Load(); {
	case unwritable && cause != nil && !failure.IsDiskFull(cause):
		return []string{fmt.Sprintf("store_unwritable: the store in %s cannot be written: %v; reads work, "+
			"and writes resume when it can be written", s.dir, cause)}
	case unwritable || s.Refusing.Load() && !enough(s):
		text := limits(s)
		if hidden := s.hidden.Load(); hidden || unwritable || s.total == 0 { // the limits are not why
			text = fullText(s)
			if hidden {
				text += ", but does not give more of it, perhaps because of a quota"
			}
			text += "; writes are refused until there is space"
		}
		return []string{"disk_full: " + text + "; deletions and compaction continue as far as possible"}
	}
	return nil
}

// enough reports whether writes that were refused are accepted again. Refusing is cleared a moment later.
func enough(s *Space) bool { return s.total > 0 && s.left() >= s.needed() && !s.hidden.Load() }

// Run maintains the ballast and detects when there is space again, until stop is closed.
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

// tend runs on every tick.
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
	}
	switch {
	case enough(s):
		if s.Refusing.CompareAndSwap(true, false) {
			s.log.Info("the disk has space again; writes are accepted", logged(s)...)
		}
	case !s.Opening.Load():
		Judge(s)
	}
}

// Judge starts refusing commits if one would be refused: the node's health should show it earlier.
func Judge(s *Space) {
	if s.left() < s.reserve && !s.stall.is.Load() && !s.worthWaiting(false) {
		s.refuse()
	}
}

// BeforeOpening frees space for what opening the store writes, if there is little.
func (s *Space) BeforeOpening() {
	if s.total > 0 && s.free.Load() < s.reserve/2 {
		s.giveBallast()
	}
}

// giveBallast releases the ballast if it has not been released yet.
func (s *Space) giveBallast() {
	if s.ballast.size > 0 && s.ballast.release() {
		s.log.Warn("the disk is full; the ballast was released", "directory", s.dir, "bytes", s.ballast.size)
		s.look()
	}
}

// met records that the disk had no space for something or could not be written.
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

// Queue records that a goroutine of Pebble could not write and will retry until it can. The goroutine then calls
// Done.
func (s *Space) Queue(table bool) waiter { return s.enter(table, s.met) }

// TableWritten records that a table of a flush, or all tables of a compaction, could be written.
func (s *Space) TableWritten(flush bool) { s.pauses.wrote(flush) }

// TableFailed records that a table could not be written. BeginTable delays the next one.
func (s *Space) TableFailed(flush bool, cause error) {
	if !errors.Is(cause, errNoRoom) {
		s.met(cause)
	}
	s.pauses.failed(flush)
}

// BeginTable waits after a table could not be written: until there is more space, or for some time. It refuses a
// table of a compaction that would use the space reserved for the log.
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
