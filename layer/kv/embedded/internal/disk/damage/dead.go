package damage

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// A damaged block is dead once no read can need its rows any more, because their database was deleted. The store
// drops dead blocks by itself: compactions, which cannot read the block, get an empty block in its place (tableFile)
// and write a table without it.
//
// A block is dead if all keys that it may contain are covered by cleared ranges that
//
//   - are in tables above its own: for any key, Pebble has nothing there that is older than what lies below,
//   - have higher sequence numbers than everything in its table, and
//   - are visible to all open snapshots.
//
// That reads find none of the block's keys is not enough, since the rows may be hidden by deletions in the damaged
// block itself. A cleared range hides everything below it, whether the block held rows or deletions of rows further
// down, and stays until compactions have taken it and everything below it to the bottom, through the damaged table.
// So a dead block stays dead, and this need not be recorded on disk: it is found out again after a start. Reads get
// nothing in place of a dead block. Those that could need it have an iterator from before the range was cleared, and
// get the error.

// deadTried is the state of the inspector's search for dead blocks.
type deadTried struct {
	turn      int
	again     bool       // some snapshots did not see the cleared range yet, or the search failed
	unflushed bool       // cleared ranges may be in memory only
	flush     *deadFlush // a flush in progress, nil for none
}

// deadFlush is a flush of cleared ranges.
type deadFlush struct {
	begun atomic.Bool // it no longer waits for space in level 0
	done  chan error
}

// ended returns the channel that reports the end of a flush in progress.
func (r *deadTried) ended() <-chan error {
	if r.flush == nil {
		return nil
	}
	return r.flush.done
}

// mayFindDead reports whether a damaged block can still be found dead without another flush.
func (r *deadTried) mayFindDead() bool { return r.again || r.flush != nil && r.flush.begun.Load() }

// look searches for blocks that have become dead, unless nothing has changed.
func (r *deadTried) look(ctx context.Context, in *Inspector) {
	if !in.Damage.some.Load() || in.Space.Opening.Load() || in.Store.Failed() != nil {
		return
	}
	losses, turn := in.Damage.losses()
	changed := in.Damage.Cleared.Swap(false) || turn != r.turn
	r.turn = turn
	r.unflushed = len(losses) > 0 && !in.ReadOnly && (r.unflushed || changed)
	flush := r.unflushed && r.flush == nil && in.Damage.MayFlush(in.Store.DB.Load(), store.StopWrites)
	if len(losses) == 0 || !changed && !r.again && !flush {
		r.again = false
		return
	}
	if flush {
		r.beginFlush(ctx, in)
	}
	var err error
	r.again, err = in.findDead(losses)
	r.failed(ctx, in, err)
}

// beginFlush starts a flush. The inspector does not wait for it: another flush can fill level 0 meanwhile, and this
// one then waits for a compaction that may wait for the inspector in turn.
func (r *deadTried) beginFlush(ctx context.Context, in *Inspector) {
	f := &deadFlush{done: make(chan error, 1)}
	r.flush, r.unflushed = f, false
	in.Store.Running.Go(func() {
		if in.BeforeFlush != nil {
			in.BeforeFlush()
		}
		f.done <- in.Store.Flush(ctx, func() { f.begun.Store(true) })
	})
}

// flushed records the end of a flush, so that the next look uses its result.
func (r *deadTried) flushed(ctx context.Context, in *Inspector, err error) {
	r.flush, r.again = nil, true
	if err != nil {
		r.unflushed = true
		r.failed(ctx, in, err)
	}
}

// failed makes the next look try again after an error.
func (r *deadTried) failed(ctx context.Context, in *Inspector, err error) {
	if err != nil && ctx.Err() == nil {
		r.turn, r.again = -1, true
		in.Store.Log.Warn("cannot find out whether damaged blocks hold only deleted data; "+
			"will try again",
			"error", err)
	}
}

// findDead marks those of the faults that are dead, and has the cleared ranges around them compacted. again reports
// whether there may be more once snapshots are closed.
//
// A table that is dead as a whole is removed by Pebble without reading it. For that it is enough that the cleared
// range is in a table.
func (in *Inspector) findDead(losses map[string][]sst.Fault) (again bool, err error) {
	db := in.Store.DB.Load()
	tables, err := sst.List(db)
	if err != nil {
		return false, err
	}
	// A new snapshot marks what is visible now if no older one is open: for a moment, a table may contain entries that
	// are not visible yet.
	snap := db.NewSnapshot()
	oldest := db.Metrics().Snapshots.EarliestSeqNum
	if err := snap.Close(); err != nil {
		return false, err
	}
	for i := range tables {
		t := &tables[i]
		if len(losses[t.Name]) == 0 || t.Virtual {
			continue
		}
		c, err := in.clearedAbove(t, losses[t.Name], tables, oldest)
		if err != nil {
			return again, err
		}
		again = again || c.unseen
		var dead []sst.Fault
		var cleared []keys.Span
		for _, fault := range losses[t.Name] {
			s, ok := c.covers(blockSpan(&fault))
			if ok && makeEmpty(t, &fault) {
				dead = append(dead, fault)
			}
			if ok {
				cleared = append(cleared, s)
			}
		}
		if len(dead) > 0 {
			in.Damage.markDead(t.Name, dead)
			in.Store.Log.Info("damaged blocks held only deleted data", "table", t.Name, "blocks", len(dead))
		}
		if !in.ReadOnly {
			in.Cleared(keys.Joined(cleared))
		}
	}
	return again, nil
}

// blockSpan returns the keys that a block may contain. It may also have versions of the last row of the block before.
func blockSpan(f *sst.Fault) keys.Span {
	begin := f.Keys.Begin
	if n := len(begin); n > 0 && begin[n-1] == 0 { // see keys.After
		begin = begin[:n-1]
	}
	return keys.Span{Begin: begin, End: f.Keys.End}
}

// makeEmpty prepares the empty block that compactions read in place of a damaged one. It returns false if there can
// be none.
//
// The empty block has a single key, the first one possible in the block: it comes after all keys of the block before,
// precedes all of the next, and is in the table's range.
func makeEmpty(t *sst.Table, f *sst.Fault) bool {
	key, n := f.Keys.Begin, int(f.End-f.Begin)-block.TrailerLen
	if !f.Rows || bytes.Compare(key, f.Keys.End) >= 0 {
		return false // the block has versions of a single row only
	}
	if c := bytes.Compare(key, t.Largest); c > 0 || c == 0 && t.Exclusive {
		return false
	}
	var sum block.Checksummer
	sum.Init(f.Check)
	if sst.WithoutRows(key, max(t.Newest, 1), n, &sum) == nil {
		return false
	}
	check, newest := f.Check, t.Newest
	f.Empty = func() []byte {
		var sum block.Checksummer
		sum.Init(check)
		return sst.WithoutRows(key, max(newest, 1), n, &sum)
	}
	return true
}

// clearedRanges are the cleared ranges above a table.
type clearedRanges struct {
	spans  []keys.Span // sorted and disjoint
	unseen bool        // there are others that some snapshots do not see
}

// covers reports whether all of s was cleared, and returns the cleared range that contains it.
func (c *clearedRanges) covers(s keys.Span) (keys.Span, bool) {
	for _, r := range c.spans {
		if bytes.Compare(r.Begin, s.Begin) <= 0 && bytes.Compare(s.End, r.End) <= 0 {
			return r, true
		}
	}
	return keys.Span{}, false
}

// clearedAbove reads the cleared ranges above a table from the tables that may have keys of the faults.
func (in *Inspector) clearedAbove(
	t *sst.Table, faults []sst.Fault, tables []sst.Table, oldest pebble.SeqNum,
) (c clearedRanges, err error) {
	for i := range tables {
		u := &tables[i]
		above := u.Level < t.Level || u.Level == 0 && t.Level == 0
		if !above || u.Virtual || u.Newest <= t.Newest ||
			!slices.ContainsFunc(faults, func(f sst.Fault) bool { return u.Overlaps(f.Keys) }) {
			continue
		}
		err := u.ClearedRanges(in.Store.FS, in.Store.Dir, func(begin, end []byte, seq pebble.SeqNum) {
			switch {
			case seq <= t.Newest:
			case seq >= oldest:
				c.unseen = true
			default:
				c.spans = append(c.spans, keys.Span{Begin: bytes.Clone(begin), End: bytes.Clone(end)})
			}
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.unseen = true // compacted meanwhile; its cleared ranges are in another table
		case err != nil && !failure.IsDamage(err): // damaged parts contribute no cleared ranges
			return c, err
		}
	}
	c.spans = keys.Joined(c.spans)
	return c, nil
}
