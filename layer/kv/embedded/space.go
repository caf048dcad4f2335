package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
)

// space knows how much room the disk has, and keeps some of it back. Commits are refused before the disk is full, so that Pebble can still write
// what is in memory to tables, compact them, and commit what makes room (kv.Transaction.MakesRoom).
//
// Of the room that is free beside what Pebble owes (room):
//
//	reserve      every commit
//	0            only what makes room, if reserve/4 is free
//	less         nothing
//
// With less than reserve/2 free, the ballast is given up.
// No compaction is begun, or goes on to its next table, with less than reserve/8: that is for the log and for flushes.
// Where Pebble meets a full disk all the same, guardFS makes it wait and try again (see stalled), and commits are answered without it.
type space struct {
	fs      vfs.FS
	dir     string
	log     *slog.Logger
	ballast ballast
	busy    func() time.Duration // how long Pebble has been at the commits that it has
	pending func() bool          // there is something that the reclaimer gives back

	total, reserve int64 // 0 where the file system does not tell
	baseLevel      int64 // bytes of the level below level 0, at most
	room           room

	free     atomic.Int64 // when it was looked at last
	lookedAt atomic.Int64 // when that was, in nanoseconds since processStart
	written  atomic.Int64 // bytes that guardFS has seen since then
	refusing atomic.Bool  // commits are refused for want of room
	// hidden is set where the disk refused to give room that it said it has, as with a quota. It ends when the ballast could be made again.
	hidden atomic.Bool
	// opening is set while the store can only be read, because what its opening writes has no room yet.
	opening atomic.Bool
	// isStalled is set while commits cannot go on because Pebble waits for room.
	isStalled atomic.Bool

	// retrying is held, shared, while what failed for want of room is tried again. Who holds it alone sees files that do not change.
	retrying sync.RWMutex

	mu struct {
		sync.Mutex
		waiting int           // goroutines of Pebble that wait to write the log or manifest
		tables  int           // and tables
		cause   error         // what the last of them met
		stalled chan struct{} // closed while isStalled
		flushed pauses        // between tables that flushes begin
		merged  pauses        // between tables that compactions begin
	}
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

// newSpace looks at the disk of dir, which need not exist yet if its parent does.
func newSpace(dir string, o Options) *space {
	s := &space{fs: o.fs, dir: dir, log: o.Logger}
	s.mu.stalled = make(chan struct{})
	s.room.init()
	usage, err := o.fs.GetDiskUsage(dir)
	if err != nil || usage.TotalBytes == 0 {
		return s
	}
	s.total = int64(usage.TotalBytes)
	s.reserve = min(s.total/reservePart, maxReserve)
	s.free.Store(int64(usage.AvailBytes))
	s.ballast = ballast{path: o.fs.PathJoin(dir, ballastFile), size: min(o.BallastBytes, s.total/ballastPart)}
	s.ballast.look()
	return s
}

// memTable is o's size of a memtable, or less on a small disk: log files are of that size, and some are kept for reuse.
func (s *space) memTable(size int64) int64 {
	if s.total == 0 {
		return size
	}
	return min(size, max(s.total/memTablePart, minMemTable))
}

// fit makes the tables of a small disk small: what a compaction writes needs room before what it has read is removed.
func (s *space) fit(po *pebble.Options) {
	const large = 1 << 30
	s.baseLevel = 64 << 20 // Pebble's default
	if s.total == 0 || s.total >= large {
		return
	}
	scaled := func(n, least int64) int64 { return max(n*(s.total>>10)/(large>>10), least) }
	po.TargetFileSizes[0] = scaled(2<<20, 128<<10)
	s.baseLevel = scaled(64<<20, 2<<20)
	po.LBaseMaxBytes = s.baseLevel
	// Level 0 is compacted as a whole, more or less.
	po.L0CompactionThreshold = 4
	po.L0CompactionFileThreshold = int(scaled(500, 24))
}

// isDiskFull reports whether the disk, or a quota, has no room.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isUnwritable reports whether err says that nothing can be written now, which the operator can change while the store is open.
func isUnwritable(err error) bool {
	return isDiskFull(err) || isDenied(err)
}

// wrote counts bytes that were given to the disk.
func (s *space) wrote(n int) {
	if s.written.Add(int64(n)) > s.reserve/8 && s.total > 0 {
		s.look()
	}
}

// look asks the file system.
func (s *space) look() int64 {
	s.lookedAt.Store(int64(time.Since(processStart)))
	s.written.Store(0)
	if usage, err := s.fs.GetDiskUsage(s.dir); err == nil && s.total > 0 {
		s.free.Store(int64(usage.AvailBytes))
	}
	return s.free.Load()
}

// refuse notes that commits are refused.
func (s *space) refuse() {
	if s.refusing.CompareAndSwap(false, true) {
		s.log.Warn("the disk is nearly full; writes are refused until there is room", "directory", s.dir,
			"free", s.free.Load(), "needed", s.needed()+s.room.owed.Load())
	}
}

// needed is how many bytes that are free, beside what Pebble owes, let ordinary commits in again.
func (s *space) needed() int64 { return s.reserve + s.reserve/4 }

// stalled is closed while commits cannot go on because Pebble waits for room.
func (s *space) stalled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stalled
}

// refusal is the error of a commit that was not begun.
func (s *space) refusal() error {
	s.mu.Lock()
	cause := s.mu.cause
	s.mu.Unlock()
	return s.refusalFor(cause)
}

func (s *space) refusalFor(cause error) error {
	switch {
	case cause == nil || isDiskFull(cause):
		return kv.NewError(kv.CodeDiskFull, s.fullText(), cause)
	default:
		return kv.NewError(kv.CodeUnwritable, fmt.Sprintf("the store in %s cannot be written", s.dir), cause)
	}
}

func (s *space) fullText() string {
	if s.total == 0 {
		return fmt.Sprintf("the disk of %s is full", s.dir)
	}
	return fmt.Sprintf("the disk of %s has %.1f MB left", s.dir, float64(s.free.Load())/1e6)
}

// degraded is why the operator is needed, for Engine.Degraded.
func (s *space) degraded() []string {
	reasons := s.refuses()
	if s.total > 0 && s.total < minDisk {
		reasons = append(reasons, fmt.Sprintf("disk_small: the disk of %s has %.1f MB in all, and %.1f MB are needed "+
			"for what makes room on it once it is full; enlarge it", s.dir, float64(s.total)/1e6, minDisk/1e6))
	}
	return reasons
}

// refuses is why writes are refused.
func (s *space) refuses() []string {
	s.mu.Lock()
	cause := s.mu.cause
	s.mu.Unlock()
	switch unwritable := s.opening.Load() || s.isStalled.Load(); {
	case unwritable && cause != nil && !isDiskFull(cause):
		return []string{fmt.Sprintf("store_unwritable: the store in %s cannot be written: %v; reads are answered, and writes go on when it can be", s.dir, cause)}
	case unwritable || s.refusing.Load():
		text := s.fullText()
		switch {
		case s.hidden.Load():
			text += ", but gives no more, as with a quota"
		case s.total > 0:
			text += fmt.Sprintf(", %.1f MB are needed", float64(s.needed()+s.room.owed.Load())/1e6)
		}
		return []string{"disk_full: " + text + "; writes are refused until there is room; deletions and compaction go on as far as they can"}
	}
	return nil
}

// run looks after the ballast, and notes when there is room again, until stop is closed.
func (s *space) run(stop <-chan struct{}) {
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
func (s *space) tend(n int) {
	s.mu.Lock()
	if s.mu.tables > 0 && s.busy() > busyGrace {
		s.markStalled()
	} else {
		s.clearStalled()
	}
	waiting := s.mu.waiting+s.mu.tables > 0
	s.mu.Unlock()
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
		if s.refusing.CompareAndSwap(true, false) {
			s.log.Info("there is room on the disk again; writes are taken", "directory", s.dir, "free", s.free.Load())
		}
	case free < s.reserve && !s.opening.Load() && !s.isStalled.Load() && !s.worthWaiting(false):
		s.refuse() // as a commit would find out: who looks at the node's health should know it before
	}
}

// giveBallast makes room with the ballast, if it has not been given yet.
func (s *space) giveBallast() {
	if s.ballast.size > 0 && s.ballast.release() {
		s.log.Warn("the disk is full; the ballast was given up", "directory", s.dir, "bytes", s.ballast.size)
		s.look()
	}
}

// met notes that the disk had no room for something, or could not be written.
func (s *space) met(cause error) {
	s.mu.Lock()
	s.mu.cause = cause
	s.mu.Unlock()
	if !isDiskFull(cause) {
		return
	}
	if free := s.look(); s.total > 0 && (errors.Is(cause, syscall.EDQUOT) || free >= s.needed()+s.ballast.size) {
		s.hidden.Store(true)
	}
	s.giveBallast()
	s.refuse()
}

// waiter is a goroutine of Pebble's that waits until it can write.
type waiter struct {
	s     *space
	table bool
	began time.Time
}

// queue says that a goroutine could not write and will try again until it can. It calls done then.
func (s *space) queue(table bool) waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if table {
		s.mu.tables++
	} else {
		s.mu.waiting++
	}
	return waiter{s, table, time.Now()}
}

func (w waiter) done() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if w.table {
		w.s.mu.tables--
		return
	}
	w.s.mu.waiting--
	w.s.clearStalled()
}

// pause is between two tries.
func (w waiter) pause(cause error) {
	w.s.met(cause)
	waited := time.Since(w.began)
	if waited > stallGrace && !w.table {
		w.s.mu.Lock()
		if w.s.markStalled() {
			w.s.log.Error("the store cannot be written; it is tried again until it can", "directory", w.s.dir, "error", cause)
		}
		w.s.mu.Unlock()
	}
	time.Sleep(min(max(waited/2, 20*time.Millisecond), time.Second))
}

// markStalled reports whether it was news. Called with mu locked.
func (s *space) markStalled() bool {
	if s.isStalled.Swap(true) {
		return false
	}
	close(s.mu.stalled)
	return true
}

// clearStalled is for when nothing may wait any more. Called with mu locked.
func (s *space) clearStalled() {
	if s.mu.waiting == 0 && s.isStalled.Swap(false) {
		s.mu.stalled = make(chan struct{})
		s.log.Info("the store can be written again", "directory", s.dir)
	}
}

// pauses are between tables of one kind, where they cannot be written: Pebble begins each anew at once.
type pauses struct {
	failures int       // tables that could not be written since the last that could
	until    time.Time // when the next may be begun
}

// pausesOf are those of flushes or of compactions. Called with mu locked.
func (s *space) pausesOf(flush bool) *pauses {
	if flush {
		return &s.mu.flushed
	}
	return &s.mu.merged
}

// tableFailed notes that a table could not be written. beginTable holds the next one up.
func (s *space) tableFailed(flush bool, cause error) {
	if !errors.Is(cause, errNoRoom) {
		s.met(cause)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pausesOf(flush)
	p.failures = min(p.failures+1, 10)
	p.until = time.Now().Add(min(spaceTick<<p.failures, tablePause))
}

// tableWritten notes that one could, or of a compaction all of them.
func (s *space) tableWritten(flush bool) {
	s.mu.Lock()
	*s.pausesOf(flush) = pauses{}
	s.mu.Unlock()
}

// beginTable waits after a table could not be written: for more room, or for some time. It refuses one of a compaction
// that would take the room of the log.
func (s *space) beginTable(flush bool) error {
	left := func() time.Duration {
		s.mu.Lock()
		defer s.mu.Unlock()
		return time.Until(s.pausesOf(flush).until)
	}
	if left() > 0 {
		w := s.queue(true)
		for then := s.look(); left() > 0 && s.free.Load() <= then+s.reserve/4; s.look() {
			time.Sleep(min(left(), spaceTick))
		}
		w.done()
	}
	if !flush && s.total > 0 && s.look() < s.reserve/8 {
		s.tableFailed(flush, errNoRoom)
		return errNoRoom
	}
	return nil
}
