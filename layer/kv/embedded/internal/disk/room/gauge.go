package room

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// gauge tells how much room the disk has.
type gauge struct {
	fs  vfs.FS
	dir string

	total, reserve int64 // 0 where the file system does not tell
	baseLevel      int64 // bytes of the level below level 0, at most

	free     atomic.Int64 // when it was looked at last
	lookedAt atomic.Int64 // when that was, in nanoseconds since gaugeStart
	written  atomic.Int64 // bytes that package guard has seen since then
}

var gaugeStart = time.Now()

// MemTable is o's size of a memtable, or less on a small disk: log files are of that size, and some are kept for reuse.
func (g *gauge) MemTable(size int64) int64 {
	if g.total == 0 {
		return size
	}
	return min(size, max(g.total/memTablePart, minMemTable))
}

// Fit makes the tables of a small disk small: what a compaction writes needs room before what it has read is removed.
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
	// Level 0 is compacted as a whole, more or less.
	po.L0CompactionThreshold = 4
	po.L0CompactionFileThreshold = int(scaled(500, 24))
}

// Wrote counts bytes that were given to the disk.
func (g *gauge) Wrote(n int) {
	if g.written.Add(int64(n)) > g.reserve/8 && g.total > 0 {
		g.look()
	}
}

// look asks the file system.
func (g *gauge) look() int64 {
	g.lookedAt.Store(int64(time.Since(gaugeStart)))
	g.written.Store(0)
	if usage, err := g.fs.GetDiskUsage(g.dir); err == nil && g.total > 0 {
		g.free.Store(int64(usage.AvailBytes))
	}
	return g.free.Load()
}

// FreeBytes is the room on the disk, as it was a moment ago. ok is false where the file system does not tell.
func (g *gauge) FreeBytes() (free int64, ok bool) { return g.free.Load(), g.total > 0 }

// needed is how many bytes that are free, beside what Pebble owes, let ordinary commits in again.
func (g *gauge) needed() int64 { return g.reserve + g.reserve/4 }

// owes is how much Pebble writes before it removes anything: what is in memory, to level 0, and that with all of level
// 0 to the level below, together with what is there.
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

// reclaimPiece is how many bytes of tables are compacted at a time, about, or on a small disk an eighth of its
// reserve.
const reclaimPiece = 16 << 20

// Piece is how many bytes of tables are compacted at a time.
func (g *gauge) Piece() uint64 {
	if g.total == 0 {
		return reclaimPiece
	}
	return uint64(min(g.reserve/8, reclaimPiece))
}
