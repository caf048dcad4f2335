package room

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// gauge measures free disk space.
type gauge struct {
	fs  vfs.FS
	dir string

	total, reserve int64 // 0 if the file system does not tell
	baseLevel      int64 // maximum size of the level below level 0, in bytes

	free     atomic.Int64 // as of the last look
	lookedAt atomic.Int64 // time of the last look, in nanoseconds since gaugeStart
	written  atomic.Int64 // bytes that package guard has written since the last look
}

var gaugeStart = time.Now()

// MemTable returns o's memtable size, or less on a small disk: log files have that size, and some are kept for reuse.
func (g *gauge) MemTable(size int64) int64 {
	if g.total == 0 {
		return size
	}
	return min(size, max(g.total/memTablePart, minMemTable))
}

// Fit makes tables smaller on a small disk, because a compaction writes its output before its input is removed.
func (g *gauge) Fit(po *pebble.Options) {
	const large = 1 << 30
	g.baseLevel = 64 << 20 // Pebble's default
	if g.total == 0 || g.total >= large {
		return
	}
	scaled := func(n, least int64) int64 { return max(n*(g.total>>10)/(large>>10), least) }
	po.TargetFileSizes[0] = scaled(2<<20, 128<<10)
	g.baseLevel = scaled(64<<20, 2<<20)
	po.LBaseMaxBytes = g.baseLevel
	// A compaction of level 0 takes nearly all of it.
	po.L0CompactionThreshold = 4
	po.L0CompactionFileThreshold = int(scaled(500, 24))
}

// Wrote counts bytes written to the disk.
func (g *gauge) Wrote(n int) {
	if g.written.Add(int64(n)) > g.reserve/8 && g.total > 0 {
		g.look()
	}
}

// look asks the file system for the free space.
func (g *gauge) look() int64 {
	g.lookedAt.Store(int64(time.Since(gaugeStart)))
	g.written.Store(0)
	if usage, err := g.fs.GetDiskUsage(g.dir); err == nil && g.total > 0 {
		g.free.Store(int64(usage.AvailBytes))
	}
	return g.free.Load()
}

// FreeBytes returns the free space as of the last look. ok is false if the file system does not tell.
func (g *gauge) FreeBytes() (free int64, ok bool) { return g.free.Load(), g.total > 0 }

// Spare returns the free space that writes of documents do not need: beside the reserve and what Pebble owes, another
// reserve is left to them. ok is false if the file system does not tell.
func (s *Space) Spare() (bytes int64, ok bool) {
	if s.total == 0 {
		return 0, false
	}
	s.look()
	return s.left() - s.needed() - s.reserve, true
}

const (
	// lowPart: the disk is low if less than this part of it is free, but not if there is more than enough, in bytes.
	lowPart   = 20
	lowEnough = 10 << 30
)

// Low reports whether the disk will soon be full, as of the last look: with less than a twentieth of it free, at most
// 10 GB, or with less than twice what is needed for writes. text says how much is left, as the reason disk_full does.
func (s *Space) Low() (text string, low bool) {
	if s.total == 0 || s.free.Load() > max(min(s.total/lowPart, lowEnough), 2*s.needed()) {
		return "", false
	}
	return limits(s), true
}

// limits says how much is left, and the limits for writes. These hold for what compactions do not need: a disk with the
// same free space may take writes or refuse them.
func limits(s *Space) string {
	return fmt.Sprintf("the disk of %s has %.1f of %.1f MB left, %.1f MB of it for writes, without what compactions "+
		"need; writes are refused below %.1f MB and go on from %.1f MB", s.dir, float64(s.free.Load())/1e6,
		float64(s.total)/1e6, float64(max(0, s.left()))/1e6, float64(s.reserve)/1e6, float64(s.needed())/1e6)
}

// logged are the figures of limits for the log, in bytes.
func logged(s *Space) []any {
	return []any{"directory", s.dir, "free", s.free.Load(), "for_writes", s.left(), "refused_below", s.reserve,
		"accepted_from", s.needed()}
}

// needed returns the free space, beside what Pebble owes, from which ordinary commits are admitted again.
func (g *gauge) needed() int64 { return g.reserve + g.reserve/4 }

// owes returns how much Pebble writes before it removes anything: the memtables to level 0, and those plus level 0,
// together with the data they overlap, to the level below.
func (g *gauge) owes(m *pebble.Metrics) int64 {
	inMemory := int64(m.WAL.Size)
	upper := inMemory + m.Levels[0].TablesSize
	for _, l := range m.Levels[1:] {
		if l.TablesSize > 0 {
			upper += min(l.TablesSize, g.baseLevel, maxOverlap*upper)
			break
		}
	}
	return inMemory + max(0, upper-m.Compact.InProgressBytes)
}

// reclaimPiece is about how many bytes of tables are compacted at a time; on a small disk it is an eighth of the
// reserve.
const reclaimPiece = 16 << 20

// Piece returns how many bytes of tables are compacted at a time.
func (g *gauge) Piece() uint64 {
	if g.total == 0 {
		return reclaimPiece
	}
	return uint64(min(g.reserve/8, reclaimPiece))
}
