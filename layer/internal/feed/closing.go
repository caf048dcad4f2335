package feed

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

const (
	// closingBatch is how many entries one closing counts, unless a single leaf has more.
	closingBatch = 4096
	// closingCorrections is the maximum number of rows of leaves after the mark that one closing corrects.
	closingCorrections = 4 * closingBatch
	// sweepBatch is how many blocks of a level a closing checks for obsolete rows below them.
	sweepBatch = 64
)

// closeFeed counts entries after the marks of all shards, until only a few are left.
func closeFeed(ctx context.Context, d *db.Database) error {
	p := db.NewPortions(closingBatch)
	for more := true; more; {
		_, err := db.ReadPart(ctx, d, p, 0, func(t *db.Txn, n int) (done int, err error) {
			if done, more, err = CloseSome(t, n); more {
				done = n // a part with few entries is complete too
			}
			return done, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// CloseSome counts about the given number of entries. Its transaction needs no transaction id: if it is repeated after
// a commit with unknown result, it finds the marks moved.
func CloseSome(t *db.Txn, most int) (done int, more bool, err error) {
	marks, err := ReadFeedMarks(t.Snapshot(), t.Keys)()
	if err != nil {
		return 0, false, err
	}
	read, err := t.ReadVersion().Wait()
	if err != nil {
		return 0, false, err
	}
	shape := &StateOf(t.Db.Store).Shape
	for i := range t.Cfg.Maps {
		for _, shard := range t.Cfg.Maps[i].Subspaces() {
			for pos, open := (db.Seq{}), true; open; pos = (db.Seq{Incarnation: pos.Incarnation + 1}) {
				if pos.Incarnation, open, err = openIncarnation(t, shard, pos, marks[shard]); err != nil || !open {
					break
				}
				c := feedClosing{t: t, shape: shape, most: most - done, until: shape.End(), least: 1}
				if pos.Incarnation >= t.Cfg.Incarnation {
					// future commits have versions greater than the read version
					c.until = (uint64(read) + 1) >> shape.LeafBits
					if i == len(t.Cfg.Maps)-1 {
						c.least = shape.Least
					}
				}
				again, err := c.close(shard, pos.Incarnation)
				if err != nil {
					return done, false, err
				}
				if done += c.entries; again || done >= most {
					return done, true, nil
				}
			}
			if err != nil {
				return done, false, err
			}
		}
	}
	return done, false, nil
}

// openIncarnation returns the first incarnation of a shard, starting from pos, that has entries after its mark.
func openIncarnation(t *db.Txn, shard db.ShardID, pos db.Seq, marks []Mark) (incarnation int64, open bool, err error) {
	shape, prefix := &StateOf(t.Db.Store).Shape, len(t.Keys.Feed(nil, shard))
	for {
		pos = shape.behind(pos, marks)
		rows := t.Snapshot().GetRange(EntryRange(t.Keys, shard, pos, db.Seq{}),
			kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		if !rows.Next() {
			rows.Close()
			return 0, false, rows.Err()
		}
		seq, _, err := db.TakeSeq(rows.KeyValue().Key[prefix:])
		rows.Close()
		if err != nil {
			return 0, false, db.Corrupt("changes entry", err)
		}
		begin := db.Seq{Incarnation: seq.Incarnation}
		if seq.Incarnation == pos.Incarnation || shape.behind(begin, marks) == begin {
			return seq.Incarnation, true, nil
		}
		pos = begin
	}
}

// behind returns the end of the closed leaves if pos is before it, and pos otherwise.
func (f *Shape) behind(pos db.Seq, marks []Mark) db.Seq {
	for i := range marks {
		m := &marks[i]
		if end := f.Before(m.Incarnation, m.Closed); m.Incarnation == pos.Incarnation && pos.Compare(end) < 0 {
			return end
		}
	}
	return pos
}

// feedClosing counts entries of a shard and incarnation.
type feedClosing struct {
	t       *db.Txn
	shape   *Shape
	mark    Mark
	until   uint64 // leaves below may be closed
	least   int    // minimum number of entries that is worth a closing
	most    int
	entries int // counted so far

	from, end uint64 // leaves that this closing closes
}

// leafDelta is what a closing finds for a leaf: the number of entries, and the sum of its row, which holds what
// transactions that cleared entries have subtracted.
type leafDelta struct {
	leaf              uint64
	count, subtracted int64 // subtracted is negative
}

// close moves the mark. It returns true if there is more to close.
func (c *feedClosing) close(shard db.ShardID, incarnation int64) (again bool, err error) {
	c.mark = Mark{Shard: shard, Incarnation: incarnation}
	key := markKey(c.t.Keys, nil, shard, incarnation)
	// With a read conflict: of two concurrent closings, one is retried.
	value, err := c.t.Get(key).Wait()
	if err == nil {
		err = c.mark.parse(value)
	}
	if err != nil || c.mark.Closed >= c.until {
		return false, err
	}
	c.from, c.end = c.mark.Closed, c.until
	entries, err := c.countLeaves()
	if err != nil || c.entries < c.least && c.end == c.until {
		c.entries = 0
		return false, err
	}
	leaves, err := c.addSubtracted(entries)
	if err != nil {
		return false, err
	}
	if err := c.sweep(); err != nil {
		return false, err
	}
	c.eachBlock(FeedLevels-1, leaves)
	c.mark.Closed = c.end
	c.t.Set(key, c.mark.appendValue(nil))
	return c.end < c.until, nil
}

// countLeaves counts entries from c.from, and moves c.end back to the leaf at which it stopped. It always counts whole
// leaves.
func (c *feedClosing) countLeaves() (leaves []leafDelta, err error) {
	t, m := c.t, &c.mark
	prefix := len(t.Keys.Feed(nil, m.Shard))
	in := EntryRange(t.Keys, m.Shard, c.shape.Before(m.Incarnation, c.from), c.shape.Before(m.Incarnation, c.end))
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		seq, _, err := db.TakeSeq(rows.KeyValue().Key[prefix:])
		if err != nil {
			return nil, db.Corrupt("changes entry", err)
		}
		leaf := c.shape.Leaf(seq)
		if n := len(leaves); n == 0 || leaves[n-1].leaf != leaf {
			if c.entries >= c.most {
				c.end = leaf
				break
			}
			leaves = append(leaves, leafDelta{leaf: leaf})
		}
		leaves[len(leaves)-1].count++
		c.entries++
	}
	return leaves, rows.Err()
}

// addSubtracted adds the values that the rows of leaves already contain. It moves c.end back if there are too many
// rows.
func (c *feedClosing) addSubtracted(entries []leafDelta) (leaves []leafDelta, err error) {
	t, m := c.t, &c.mark
	prefix := len(CountsPrefix(t.Keys, nil, 0, m.Shard, m.Incarnation))
	in := CountRange(t.Keys, 0, m.Shard, m.Incarnation, c.from, c.end)
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Limit: closingCorrections + 1, Mode: kv.ModeWantAll})
	n := 0
	err = EachBlock(rows, prefix, func(b BlockCount) bool {
		if n++; n > closingCorrections {
			c.end = b.block
			return false
		}
		for len(entries) > 0 && entries[0].leaf < b.block {
			leaves, entries = append(leaves, entries[0]), entries[1:]
		}
		l := leafDelta{leaf: b.block}
		if len(entries) > 0 && entries[0].leaf == b.block {
			l, entries = entries[0], entries[1:]
		}
		l.subtracted = b.N
		leaves = append(leaves, l)
		return true
	})
	c.entries = 0
	for leaves = append(leaves, entries...); len(leaves) > 0 && leaves[len(leaves)-1].leaf >= c.end; {
		leaves = leaves[:len(leaves)-1]
	}
	for i := range leaves {
		c.entries += int(leaves[i].count)
	}
	return leaves, err
}

// eachBlock calls settle for each block of the level that contains some of the leaves.
func (c *feedClosing) eachBlock(level int, leaves []leafDelta) {
	for len(leaves) > 0 {
		n := 1
		for n < len(leaves) && c.shape.In(level, leaves[n].leaf) == c.shape.In(level, leaves[0].leaf) {
			n++
		}
		c.settle(level, leaves[:n])
		leaves = leaves[n:]
	}
}

// settle adds the counted entries to the rows of a block and of the blocks below it. It adds because writers subtract
// at the same time; a block without entries has no such writers.
func (c *feedClosing) settle(level int, leaves []leafDelta) {
	t, m := c.t, &c.mark
	block := c.shape.In(level, leaves[0].leaf)
	first, behind := c.shape.First(level, block), c.shape.First(level, block+1)
	whole := c.from <= first && behind <= c.end
	var count, subtracted int64
	for i := range leaves {
		count += leaves[i].count
		subtracted += leaves[i].subtracted
	}
	switch {
	case level == 0:
	case !whole || count > c.shape.Sparse:
		c.eachBlock(level-1, leaves)
	case subtracted != 0:
		c.clearBelow(level, block)
	}
	if whole && count == 0 {
		t.Clear(t.Close(countKey(t.Keys, t.Open(), level, m.Shard, m.Incarnation, block)))
		return
	}
	addFeedCount(t, level, m.Shard, m.Incarnation, block, count-subtracted)
}

// below returns the rows of a lower level that are below a block.
func (c *feedClosing) below(lower, level int, block uint64) kv.KeyRange {
	from, to := c.shape.First(level-lower, block), c.shape.First(level-lower, block+1)
	return CountRange(c.t.Keys, lower, c.mark.Shard, c.mark.Incarnation, from, to)
}

func (c *feedClosing) clearBelow(level int, block uint64) {
	for lower := range level {
		c.t.ClearRange(c.below(lower, level, block))
	}
}

// sweep removes the rows below closed blocks that have become sparse. Each closing that ends in a new block of the
// second level checks some blocks, one after the other. sweep runs before the closing has written anything.
func (c *feedClosing) sweep() error {
	if c.shape.In(1, c.from) == c.shape.In(1, c.end) {
		return nil
	}
	for level := 1; level < FeedLevels; level++ {
		if err := c.sweepLevel(level); err != nil {
			return err
		}
	}
	return nil
}

func (c *feedClosing) sweepLevel(level int) error {
	t, m := c.t, &c.mark
	prefix := len(CountsPrefix(t.Keys, nil, level, m.Shard, m.Incarnation))
	in := CountRange(t.Keys, level, m.Shard, m.Incarnation, m.swept[level], c.shape.In(level, c.from))
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Limit: sweepBatch, Mode: kv.ModeExact})
	var blocks []BlockCount
	err := EachBlock(rows, prefix, func(b BlockCount) bool {
		blocks = append(blocks, b)
		return true
	})
	if err != nil {
		return err
	}
	m.swept[level] = 0
	if len(blocks) == sweepBatch {
		m.swept[level] = blocks[sweepBatch-1].block + 1
	}
	var garbage []kv.KeyRange
	var looks []kv.RangeIterator
	for _, b := range blocks {
		for lower := 0; lower < level && b.N <= c.shape.Sparse; lower++ {
			in := c.below(lower, level, b.block)
			garbage = append(garbage, in)
			looks = append(looks, t.Snapshot().GetRange(in, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}))
		}
	}
	for i, look := range looks {
		// Clearing even an empty range has a cost in the engine.
		if !look.Next() {
			garbage[i].End = garbage[i].Begin
		}
		if failed := look.Err(); err == nil {
			err = failed
		}
		look.Close()
	}
	if err != nil {
		return err
	}
	for _, in := range garbage {
		if string(in.Begin) < string(in.End) {
			t.ClearRange(in)
		}
	}
	for _, b := range blocks {
		if b.N <= 0 {
			t.Clear(countKey(t.Keys, nil, level, m.Shard, m.Incarnation, b.block))
		}
	}
	return nil
}
