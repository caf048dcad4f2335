package compact

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/guard"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

// Reclaimer frees the disk space of cleared rows. Pebble frees it only in compactions, and it compacts ranges that
// nobody writes to any more only when it has nothing else to do, if at all: a deleted database would keep its space
// for days.
//
// Commits note cleared ranges here by themselves. For rows that were cleared one by one, Reclaim must be called.
type Reclaimer struct {
	Store     *store.Store
	Space     *room.Space
	Damage    *damage.Damage
	Guard     *guard.Guard
	Views     *versions.Views
	Snapshots *versions.Closer

	mu struct {
		sync.Mutex
		cleared []clearedSpan
		working bool // some of the taken ranges are being compacted
	}
}

// clearedSpan is a range with cleared rows, and the version that cleared them.
type clearedSpan struct {
	keys.Span
	version int64
	asked   bool // by Reclaim: compact even if there is little
	urgent  bool // only until there is enough space
	small   bool // it was checked, and all small ones together held less than reclaimBytes
}

const (
	// reclaimBytes is how many bytes of tables in the cleared ranges make a compaction worthwhile.
	reclaimBytes = 4 << 20
	// maxCleared bounds the ranges that are kept without being asked for. Beyond it, small ones are dropped, and
	// Pebble compacts them some day.
	maxCleared    = 1000
	reclaimPeriod = time.Second
)

// Note adds ranges that were cleared at a version. It copies their keys.
func (r *Reclaimer) Note(version int64, asked bool, spans ...keys.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range spans {
		c := clearedSpan{Span: keys.Span{Begin: bytes.Clone(s.Begin), End: bytes.Clone(s.EndKey())}, version: version,
			asked: asked}
		switch {
		case asked: // one request is enough
			r.mu.cleared = slices.DeleteFunc(r.mu.cleared, func(o clearedSpan) bool {
				return o.asked && !o.urgent && bytes.Equal(o.Begin, c.Begin) && bytes.Equal(o.End, c.End)
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

// take returns the ranges whose old rows nobody reads any more, and keeps the others.
func (r *Reclaimer) take(oldest int64) (ready []clearedSpan) {
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

// all adds a range of all keys, as long as commits wait for space.
func (r *Reclaimer) all(version int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.mu.cleared, func(c clearedSpan) bool { return c.urgent }) {
		r.mu.cleared = append(r.mu.cleared,
			clearedSpan{Span: keys.Span{Begin: []byte{0}, End: keys.EndOfKeys}, version: version, asked: true,
				urgent: true})
	}
}

// Pending reports whether there are cleared ranges that are worth a compaction.
func (r *Reclaimer) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.working || slices.ContainsFunc(r.mu.cleared, func(c clearedSpan) bool { return !c.urgent && !c.small })
}

func (r *Reclaimer) working(on bool) {
	r.mu.Lock()
	r.mu.working = on
	r.mu.Unlock()
}

// SmallRanges returns the number of ranges that together were not worth a compaction. Tests wait for it.
func (r *Reclaimer) SmallRanges() (n int) {
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
func (r *Reclaimer) putBack(spans []clearedSpan, small bool) {
	for i := range spans {
		spans[i].small = small
	}
	r.mu.Lock()
	r.mu.cleared = append(r.mu.cleared, spans...)
	r.mu.Unlock()
}

// Run is the reclaimer's goroutine.
func (r *Reclaimer) Run() {
	ctx, cancel := r.Store.UntilStop()
	defer cancel()
	tick := time.NewTicker(reclaimPeriod)
	defer tick.Stop()
	for {
		select {
		case <-r.Store.Stop:
			return
		case <-tick.C:
		case <-r.Space.Needs():
			r.all(r.Views.Oldest())
		}
		if r.Space.Opening.Load() || r.Store.Failed() != nil {
			continue
		}
		if r.Space.Refusing.Load() {
			if err := r.Guard.TrimLogs(); err != nil {
				r.Store.Log.Warn("cannot free the space of old logs", "error", err)
			}
		}
		if err := r.once(ctx); err != nil && ctx.Err() == nil {
			r.Store.Log.Warn("cannot free the space of deleted data; will try again", "error", err)
		}
	}
}

// once compacts the cleared ranges that are no longer read.
func (r *Reclaimer) once(ctx context.Context) error {
	ready := r.take(r.Views.Oldest())
	if len(ready) == 0 {
		return nil
	}
	if !r.Damage.MayFlush(r.Store.DB.Load(), store.StopWrites-2) {
		r.putBack(ready, false)
		return nil
	}
	worth, err := r.worth(ready)
	if err == nil && worth {
		r.Snapshots.Signal()
		if err = r.Store.Flush(ctx, nil); err == nil {
			err = r.compact(ctx, ready)
		}
	}
	if err != nil || !worth { // wait until there is more
		r.putBack(ready, err == nil)
	}
	return err
}

// worth reports whether the cleared ranges are worth a compaction.
func (r *Reclaimer) worth(ranges []clearedSpan) (bool, error) {
	if r.Space.Refusing.Load() {
		return true, nil
	}
	size := uint64(0)
	for _, c := range ranges {
		if c.asked {
			return true, nil
		}
		n, err := r.Store.DB.Load().EstimateDiskUsage(c.Begin, c.End)
		if err != nil {
			return false, err
		}
		size += n
	}
	return size >= reclaimBytes, nil
}

func (r *Reclaimer) compact(ctx context.Context, ranges []clearedSpan) error {
	var cleared, urgent keys.Set
	for _, c := range ranges {
		if c.urgent {
			urgent.Add(c.Span)
		} else {
			cleared.Add(c.Span)
		}
	}
	r.working(len(cleared.Spans) > 0)
	defer r.working(false)
	for _, s := range cleared.Spans {
		if err := r.compactSpan(ctx, s, false, func() bool { return false }); err != nil {
			return err
		}
	}
	r.working(false)
	for _, s := range urgent.Spans {
		if err := r.compactSpan(ctx, s, true, r.roomMade); err != nil {
			return err
		}
	}
	return r.Guard.TrimLogs()
}

// roomMade reports whether no commit waits for space any more.
func (r *Reclaimer) roomMade() bool {
	r.Space.MeasureOnce(r.Store)
	return !r.Space.Lacks()
}

// compactSpan compacts the tables with deletions in s, with upper also those of level 0, and everything below them,
// piece by piece, until enough returns true.
func (r *Reclaimer) compactSpan(ctx context.Context, s keys.Span, upper bool, enough func() bool) error {
	from := s.Begin
	for !enough() {
		piece, found, err := nextPiece(r.Store.DB.Load(), keys.Span{Begin: from, End: s.End}, r.Space.Piece(), upper)
		if err != nil || !found {
			return err
		}
		// Damage is reported to the operator elsewhere, and trying again would not help.
		if err := r.Store.DB.Load().Compact(ctx, piece.Begin, piece.End, false); err != nil && !failure.IsDamage(err) {
			return fmt.Errorf("embedded: compact: %w", err)
		}
		if from = piece.End; bytes.Compare(from, s.End) >= 0 {
			return nil
		}
	}
	return nil
}

// nextPiece returns the first part of s with deletions, with upper also with tables in level 0, that is worth a
// separate compaction.
func nextPiece(db *pebble.DB, s keys.Span, bytesOf uint64, upper bool) (piece keys.Span, found bool, err error) {
	levels, err := db.SSTables(pebble.WithProperties(), pebble.WithKeyRangeFilter(s.Begin, s.End))
	if err != nil {
		return keys.Span{}, false, fmt.Errorf("embedded: list the tables: %w", err)
	}
	for level, tables := range levels {
		for i := range tables {
			t := &tables[i]
			if (level > 0 || !upper) && (t.Properties == nil || t.Properties.NumDeletions == 0) {
				continue
			}
			begin := keys.Max(s.Begin, t.Smallest.UserKey)
			if !found || bytes.Compare(begin, piece.Begin) < 0 {
				piece.Begin, found = begin, true
			}
		}
	}
	if !found {
		return keys.Span{}, false, nil
	}
	// The end of the piece is where the lowest tables, which are the largest, add up to bytesOf.
	piece.End = s.End
	size := uint64(0)
	for level := len(levels) - 1; level > 0; level-- {
		if len(levels[level]) == 0 {
			continue
		}
		for i := range levels[level] {
			t := &levels[level][i]
			if bytes.Compare(t.Largest.UserKey, piece.Begin) < 0 {
				continue
			}
			if size += t.Size; size >= bytesOf {
				if end := keys.After(t.Largest.UserKey); bytes.Compare(end, s.End) < 0 {
					piece.End = end
				}
				break
			}
		}
		break
	}
	return piece, bytes.Compare(piece.Begin, piece.End) < 0, nil
}
