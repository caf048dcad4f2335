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

// A damaged block is dead once nobody can read any more what was in it: its database was deleted. The store gets rid of
// a dead block by itself. Compactions cannot read it; they are given a block without rows in its place (tableFile), and
// write a table that has none of it.
//
// A block is dead where all keys that can be in it are covered by cleared ranges that
//
//   - are in tables above its own: Pebble has nothing there that is older than what lies below, for any key,
//   - have higher sequence numbers than all that is in its table, and
//   - can be seen by all snapshots that are open.
//
// It does not count whether a block reads as empty, since the rows that are seen to be gone may be gone because of
// deletions in the damaged block itself. A cleared range hides what is below it whatever the block held, rows or
// deletions of rows further down, and stays until a compaction has taken it and all below it to the bottom; for that
// it has to pass through the damaged table. So what is dead once stays dead, and nothing of it needs to be on disk:
// after a start it is found out again. Readers are given nothing in a dead block's place. Those that could need it have
// an iterator from before the range was cleared, and get the error.

// deadTried is what the inspector knew when it looked for dead blocks last.
type deadTried struct {
	turn      int
	again     bool       // some snapshots still saw what was cleared, or it could not look
	unflushed bool       // what was cleared may be in memory alone
	flush     *deadFlush // a flush that is under way, nil without one
}

// deadFlush is a flush of what was cleared.
type deadFlush struct {
	begun atomic.Bool // it does not wait for level 0 any more
	done  chan error
}

// ended is where the end of a flush that is under way is told.
func (r *deadTried) ended() <-chan error {
	if r.flush == nil {
		return nil
	}
	return r.flush.done
}

// hopeful reports whether a damaged block can still be found dead while nothing else is flushed.
func (r *deadTried) hopeful() bool { return r.again || r.flush != nil && r.flush.begun.Load() }

// look looks for damaged blocks that are dead now, unless nothing has changed.
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

// beginFlush begins to flush. The inspector does not wait for it: another flush can fill level 0 meanwhile, and this
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

// flushed has the next look find what was flushed.
func (r *deadTried) flushed(ctx context.Context, in *Inspector, err error) {
	r.flush, r.again = nil, true
	if err != nil {
		r.unflushed = true
		r.failed(ctx, in, err)
	}
}

// failed has the next look try again after an error.
func (r *deadTried) failed(ctx context.Context, in *Inspector, err error) {
	if err != nil && ctx.Err() == nil {
		r.turn, r.again = -1, true
		in.Store.Log.Warn("it could not be found out whether damaged blocks are of what was deleted, and is "+
			"tried again",
			"error", err)
	}
}

// findDead finds those of the faults that are dead, and has what was cleared there compacted. again is whether there
// may be more once snapshots are closed.
//
// A table that is dead as a whole is removed by Pebble, which does not read it for that. All that it needs is that what
// was cleared is in a table, too.
func (in *Inspector) findDead(losses map[string][]sst.Fault) (again bool, err error) {
	db := in.Store.DB.Load()
	tables, err := sst.List(db)
	if err != nil {
		return false, err
	}
	// What is in a table can be in front of what a snapshot sees, for a moment. This one is the oldest then.
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
			in.Damage.bury(t.Name, dead)
			in.Store.Log.Info("damaged blocks held nothing but what was deleted", "table", t.Name, "blocks", len(dead))
		}
		if !in.ReadOnly {
			in.Cleared(keys.Joined(cleared))
		}
	}
	return again, nil
}

// blockSpan is where a block's rows can be. Versions of the last row of the block before may be in it, too.
func blockSpan(f *sst.Fault) keys.Span {
	begin := f.Keys.Begin
	if n := len(begin); n > 0 && begin[n-1] == 0 { // see keys.After
		begin = begin[:n-1]
	}
	return keys.Span{Begin: begin, End: f.Keys.End}
}

// makeEmpty gives a block what compactions read in its place. It is false where there is no such thing.
//
// The one key in it is the first that the block can have: it comes after all keys of the block before, and before all
// of the next, and is in the table's range.
func makeEmpty(t *sst.Table, f *sst.Fault) bool {
	key, n := f.Keys.Begin, int(f.End-f.Begin)-block.TrailerLen
	if !f.Rows || bytes.Compare(key, f.Keys.End) >= 0 {
		return false // it has versions of one row alone
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

// clearedRanges are cleared ranges above a table.
type clearedRanges struct {
	spans  []keys.Span // sorted and disjoint
	unseen bool        // there are others, that some snapshots do not see
}

// covers reports whether all of s was cleared, and returns the whole cleared range around it.
func (c *clearedRanges) covers(s keys.Span) (keys.Span, bool) {
	for _, r := range c.spans {
		if bytes.Compare(r.Begin, s.Begin) <= 0 && bytes.Compare(s.End, r.End) <= 0 {
			return r, true
		}
	}
	return keys.Span{}, false
}

// clearedAbove reads which ranges were cleared above a table, from the tables that have keys of the faults.
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
			c.unseen = true // compacted meanwhile; what was cleared is in another table
		case err != nil && !failure.IsDamage(err): // what is damaged clears nothing here
			return c, err
		}
	}
	c.spans = keys.Joined(c.spans)
	return c, nil
}
