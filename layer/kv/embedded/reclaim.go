package embedded

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// reclaimer gives the room of what was cleared back to the disk. Pebble does so only when it compacts, and it compacts what nobody writes to any more when
// it has nothing else to do, if at all: a deleted database would take its room for days.
//
// What is cleared as a range is noted here by itself. Rows that were cleared one by one are Reclaim's to find.
type reclaimer struct {
	store     *store
	space     *space
	damage    *damage
	guard     *guard
	views     *views
	snapshots *snapshotCloser

	mu struct {
		sync.Mutex
		cleared []clearedSpan
		working bool // some that were taken are compacted
	}
}

// clearedSpan is a range in which rows were cleared, and the version that cleared them.
type clearedSpan struct {
	span
	version int64
	asked   bool // by Reclaim: also what little there is
	urgent  bool // only until there is room
	small   bool // it was looked at, and all that were together held less than reclaimBytes
}

const (
	// reclaimBytes of tables in the ranges that were cleared make a compaction worth while.
	reclaimBytes = 4 << 20
	// maxCleared is how many ranges are kept, beside those that were asked for. For a further one a small one is
	// forgotten, which Pebble meets some day.
	maxCleared    = 1000
	reclaimPeriod = time.Second
)

// note adds ranges that were cleared at a version. It copies their keys.
func (r *reclaimer) note(version int64, asked bool, spans ...span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range spans {
		c := clearedSpan{span: span{begin: bytes.Clone(s.begin), end: bytes.Clone(s.endKey())}, version: version, asked: asked}
		switch {
		case asked: // once is enough
			r.mu.cleared = slices.DeleteFunc(r.mu.cleared, func(o clearedSpan) bool {
				return o.asked && !o.urgent && bytes.Equal(o.begin, c.begin) && bytes.Equal(o.end, c.end)
			})
		case len(r.mu.cleared) >= maxCleared:
			i := slices.IndexFunc(r.mu.cleared, func(o clearedSpan) bool { return o.small })
			if i < 0 {
				continue
			}
			r.mu.cleared = slices.Delete(r.mu.cleared, i, i+1)
		}
		r.mu.cleared = append(r.mu.cleared, c)
	}
}

// take returns the ranges that nobody reads any more as they were before, and keeps the others.
func (r *reclaimer) take(oldest int64) (ready []clearedSpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.mu.cleared[:0]
	for _, c := range r.mu.cleared {
		if c.version <= oldest {
			ready = append(ready, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(r.mu.cleared[len(kept):])
	r.mu.cleared = kept
	return ready
}

// all adds all keys, for as long as commits wait for room.
func (r *reclaimer) all(version int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.mu.cleared, func(c clearedSpan) bool { return c.urgent }) {
		r.mu.cleared = append(r.mu.cleared,
			clearedSpan{span: span{begin: []byte{0}, end: endOfKeys}, version: version, asked: true, urgent: true})
	}
}

// pending reports whether there are ranges that were cleared and are worth a compaction.
func (r *reclaimer) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.working || slices.ContainsFunc(r.mu.cleared, func(c clearedSpan) bool { return !c.urgent && !c.small })
}

func (r *reclaimer) working(on bool) {
	r.mu.Lock()
	r.mu.working = on
	r.mu.Unlock()
}

// smallRanges is how many ranges are kept because together they were not worth a compaction. Tests wait for it.
func (r *reclaimer) smallRanges() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.mu.cleared {
		if c.small {
			n++
		}
	}
	return n
}

// putBack keeps ranges for the next time. small says that together they are not worth a compaction.
func (r *reclaimer) putBack(spans []clearedSpan, small bool) {
	for i := range spans {
		spans[i].small = small
	}
	r.mu.Lock()
	r.mu.cleared = append(r.mu.cleared, spans...)
	r.mu.Unlock()
}

// run is the reclaimer's goroutine.
func (r *reclaimer) run() {
	ctx, cancel := r.store.untilStop()
	defer cancel()
	tick := time.NewTicker(reclaimPeriod)
	defer tick.Stop()
	for {
		select {
		case <-r.store.stop:
			return
		case <-tick.C:
		case <-r.space.needs():
			r.all(r.views.oldest())
		}
		if r.space.opening.Load() || r.store.failed() != nil {
			continue
		}
		if r.space.refusing.Load() {
			if err := r.guard.trimLogs(); err != nil {
				r.store.log.Warn("the room of old logs could not be given back", "error", err)
			}
		}
		if err := r.once(ctx); err != nil && ctx.Err() == nil {
			r.store.log.Warn("the room of what was deleted could not be given back, and is tried again", "error", err)
		}
	}
}

// once compacts what was cleared and is no longer read.
func (r *reclaimer) once(ctx context.Context) error {
	ready := r.take(r.views.oldest())
	if len(ready) == 0 {
		return nil
	}
	if !r.damage.mayFlush(r.store.db.Load(), stopWrites-2) {
		r.putBack(ready, false)
		return nil
	}
	worth, err := r.worth(ready)
	if err == nil && worth {
		r.snapshots.signal()
		if err = r.store.flush(ctx, nil); err == nil {
			err = r.compact(ctx, ready)
		}
	}
	if err != nil || !worth { // until there is more
		r.putBack(ready, err == nil)
	}
	return err
}

// worth reports whether ranges that were cleared are worth a compaction.
func (r *reclaimer) worth(ranges []clearedSpan) (bool, error) {
	if r.space.refusing.Load() {
		return true, nil
	}
	size := uint64(0)
	for _, c := range ranges {
		if c.asked {
			return true, nil
		}
		n, err := r.store.db.Load().EstimateDiskUsage(c.begin, c.end)
		if err != nil {
			return false, err
		}
		size += n
	}
	return size >= reclaimBytes, nil
}

func (r *reclaimer) compact(ctx context.Context, ranges []clearedSpan) error {
	var cleared, urgent spanSet
	for _, c := range ranges {
		if c.urgent {
			urgent.add(c.span)
		} else {
			cleared.add(c.span)
		}
	}
	r.working(len(cleared.spans) > 0)
	defer r.working(false)
	for _, s := range cleared.spans {
		if err := r.compactSpan(ctx, s, false, func() bool { return false }); err != nil {
			return err
		}
	}
	r.working(false)
	for _, s := range urgent.spans {
		if err := r.compactSpan(ctx, s, true, r.roomMade); err != nil {
			return err
		}
	}
	return r.guard.trimLogs()
}

// roomMade reports whether no commit waits for room any more.
func (r *reclaimer) roomMade() bool {
	r.space.measureOnce(r.store)
	return !r.space.lacks()
}

// compactSpan compacts the tables with deletions in s, or also those of level 0, with all that lies below these, piece
// by piece, until that is enough.
func (r *reclaimer) compactSpan(ctx context.Context, s span, upper bool, enough func() bool) error {
	from := s.begin
	for !enough() {
		piece, found, err := nextPiece(r.store.db.Load(), span{begin: from, end: s.end}, r.space.piece(), upper)
		if err != nil || !found {
			return err
		}
		// Of damage the operator is told elsewhere; trying again does not help.
		if err := r.store.db.Load().Compact(ctx, piece.begin, piece.end, false); err != nil && !isDamage(err) {
			return fmt.Errorf("embedded: compact: %w", err)
		}
		if from = piece.end; bytes.Compare(from, s.end) >= 0 {
			return nil
		}
	}
	return nil
}

// nextPiece is the first part of s with deletions, or also with tables in level 0, that is worth a compaction of its
// own.
func nextPiece(db *pebble.DB, s span, bytesOf uint64, upper bool) (piece span, found bool, err error) {
	levels, err := db.SSTables(pebble.WithProperties(), pebble.WithKeyRangeFilter(s.begin, s.end))
	if err != nil {
		return span{}, false, fmt.Errorf("embedded: list the tables: %w", err)
	}
	for level, tables := range levels {
		for i := range tables {
			t := &tables[i]
			if (level > 0 || !upper) && (t.Properties == nil || t.Properties.NumDeletions == 0) {
				continue
			}
			begin := maxKey(s.begin, t.Smallest.UserKey)
			if !found || bytes.Compare(begin, piece.begin) < 0 {
				piece.begin, found = begin, true
			}
		}
	}
	if !found {
		return span{}, false, nil
	}
	// To where the lowest tables, which are the largest, make a piece.
	piece.end = s.end
	size := uint64(0)
	for level := len(levels) - 1; level > 0; level-- {
		if len(levels[level]) == 0 {
			continue
		}
		for i := range levels[level] {
			t := &levels[level][i]
			if bytes.Compare(t.Largest.UserKey, piece.begin) < 0 {
				continue
			}
			if size += t.Size; size >= bytesOf {
				if end := keyAfter(t.Largest.UserKey); bytes.Compare(end, s.end) < 0 {
					piece.end = end
				}
				break
			}
		}
		break
	}
	return piece, bytes.Compare(piece.begin, piece.end) < 0, nil
}
