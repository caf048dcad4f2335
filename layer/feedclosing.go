package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
)

const (
	// closingBatch is how many entries one closing counts, unless a single leaf has more.
	closingBatch = 4096
	// closingStrays is how many rows of leaves behind the mark one closing takes back.
	closingStrays = 4 * closingBatch
	// sweepBatch is how many blocks of a level a closing looks at, for rows below them that nobody reads any more.
	sweepBatch = 64
)

// closeFeed counts entries behind the marks of all shards, until there are few.
func (d *Database) closeFeed(ctx context.Context) error {
	p := newPortions(closingBatch)
	for more := true; more; {
		_, err := readPart(ctx, d, p, 0, func(t *txn, n int) (done int, err error) {
			if done, more, err = t.closeSome(n); more {
				done = n // a part with few entries is a whole one too
			}
			return done, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// closeSome counts so many entries. Its transaction needs no id: done twice it would find the marks moved.
func (t *txn) closeSome(most int) (done int, more bool, err error) {
	marks, err := readFeedMarks(t.Snapshot(), t.keys)()
	if err != nil {
		return 0, false, err
	}
	read, err := t.ReadVersion().Wait()
	if err != nil {
		return 0, false, err
	}
	shape := &feedOf(t.db.store).shape
	for i := range t.cfg.maps {
		for _, shard := range t.cfg.maps[i].subspaces() {
			for pos, open := (Seq{}), true; open; pos = (Seq{Incarnation: pos.Incarnation + 1}) {
				if pos.Incarnation, open, err = t.openIncarnation(shard, pos, marks[shard]); err != nil || !open {
					break
				}
				c := feedClosing{t: t, shape: shape, most: most - done, until: shape.end(), least: 1}
				if pos.Incarnation >= t.cfg.incarnation {
					c.until = (uint64(read) + 1) >> shape.leafBits // commits to come have higher versions than the one that is read
					if i == len(t.cfg.maps)-1 {
						c.least = shape.least
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

// openIncarnation is the first incarnation of a shard, from a position on, that has entries behind its mark.
func (t *txn) openIncarnation(shard ShardID, pos Seq, marks []feedMark) (incarnation int64, open bool, err error) {
	shape, prefix := &feedOf(t.db.store).shape, len(t.keys.feed(nil, shard))
	for {
		pos = shape.behind(pos, marks)
		rows := t.Snapshot().GetRange(entryRange(t.keys, shard, pos, Seq{}),
			kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		if !rows.Next() {
			rows.Close()
			return 0, false, rows.Err()
		}
		seq, _, err := takeSeq(rows.KeyValue().Key[prefix:])
		rows.Close()
		if err != nil {
			return 0, false, corrupt("changes entry", err)
		}
		begin := Seq{Incarnation: seq.Incarnation}
		if seq.Incarnation == pos.Incarnation || shape.behind(begin, marks) == begin {
			return seq.Incarnation, true, nil
		}
		pos = begin
	}
}

// behind is a position, or the end of what is closed where it is before that.
func (f *feedShape) behind(pos Seq, marks []feedMark) Seq {
	for i := range marks {
		m := &marks[i]
		if end := f.before(m.incarnation, m.closed); m.incarnation == pos.Incarnation && pos.Compare(end) < 0 {
			return end
		}
	}
	return pos
}

// feedClosing counts entries of a shard and incarnation.
type feedClosing struct {
	t       *txn
	shape   *feedShape
	mark    feedMark
	until   uint64 // leaves below can be closed
	least   int    // entries that are worth it
	most    int
	entries int // that were counted

	from, end uint64 // leaves that are closed
}

// leafDelta is what a closing finds of a leaf: entries, and what those who cleared others have taken from its row.
type leafDelta struct {
	leaf         uint64
	count, stray int64
}

// close moves the mark. again says that there is more that can be closed.
func (c *feedClosing) close(shard ShardID, incarnation int64) (again bool, err error) {
	c.mark = feedMark{shard: shard, incarnation: incarnation}
	key := c.t.keys.feedMark(nil, shard, incarnation)
	value, err := c.t.Get(key).Wait() // with conflict: of two closings one is repeated
	if err == nil {
		err = c.mark.parse(value)
	}
	if err != nil || c.mark.closed >= c.until {
		return false, err
	}
	c.from, c.end = c.mark.closed, c.until
	entries, err := c.countLeaves()
	if err != nil || c.entries < c.least && c.end == c.until {
		c.entries = 0
		return false, err
	}
	leaves, err := c.addStrays(entries)
	if err != nil {
		return false, err
	}
	if err := c.sweep(); err != nil {
		return false, err
	}
	c.eachBlock(feedLevels-1, leaves)
	c.mark.closed = c.end
	c.t.Set(key, c.mark.appendValue(nil))
	return c.end < c.until, nil
}

// countLeaves counts entries from c.from on, and moves c.end back to where it stopped. It goes on to the end of a leaf.
func (c *feedClosing) countLeaves() (leaves []leafDelta, err error) {
	t, m := c.t, &c.mark
	prefix := len(t.keys.feed(nil, m.shard))
	in := entryRange(t.keys, m.shard, c.shape.before(m.incarnation, c.from), c.shape.before(m.incarnation, c.end))
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		seq, _, err := takeSeq(rows.KeyValue().Key[prefix:])
		if err != nil {
			return nil, corrupt("changes entry", err)
		}
		leaf := c.shape.leaf(seq)
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

// addStrays adds what is in the rows of leaves already, and moves c.end back where there are too many rows.
func (c *feedClosing) addStrays(entries []leafDelta) (leaves []leafDelta, err error) {
	t, m := c.t, &c.mark
	prefix := len(t.keys.feedCounts(nil, 0, m.shard, m.incarnation))
	in := t.keys.feedCountRange(0, m.shard, m.incarnation, c.from, c.end)
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Limit: closingStrays + 1, Mode: kv.ModeWantAll})
	n := 0
	err = eachBlock(rows, prefix, func(b blockCount) bool {
		if n++; n > closingStrays {
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
		l.stray = b.n
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

// eachBlock settles the blocks of a level that have some of the leaves.
func (c *feedClosing) eachBlock(level int, leaves []leafDelta) {
	for len(leaves) > 0 {
		n := 1
		for n < len(leaves) && c.shape.in(level, leaves[n].leaf) == c.shape.in(level, leaves[0].leaf) {
			n++
		}
		c.settle(level, leaves[:n])
		leaves = leaves[n:]
	}
}

// settle brings a block's row, and those below it, up to what was counted. It adds, since writers do so at the same
// time; where there is no entry, nobody does.
func (c *feedClosing) settle(level int, leaves []leafDelta) {
	t, m := c.t, &c.mark
	block := c.shape.in(level, leaves[0].leaf)
	first, behind := c.shape.first(level, block), c.shape.first(level, block+1)
	whole := c.from <= first && behind <= c.end
	var count, stray int64
	for i := range leaves {
		count += leaves[i].count
		stray += leaves[i].stray
	}
	switch {
	case level == 0:
	case !whole || count > c.shape.sparse:
		c.eachBlock(level-1, leaves)
	case stray != 0:
		c.clearBelow(level, block)
	}
	if whole && count == 0 {
		t.Clear(t.close(t.keys.feedCount(t.open(), level, m.shard, m.incarnation, block)))
		return
	}
	t.addFeedCount(level, m.shard, m.incarnation, block, count-stray)
}

// below is the rows of a level that are below a block of a higher one.
func (c *feedClosing) below(lower, level int, block uint64) kv.KeyRange {
	from, to := c.shape.first(level-lower, block), c.shape.first(level-lower, block+1)
	return c.t.keys.feedCountRange(lower, c.mark.shard, c.mark.incarnation, from, to)
}

func (c *feedClosing) clearBelow(level int, block uint64) {
	for lower := range level {
		c.t.ClearRange(c.below(lower, level, block))
	}
}

// sweep looks at some closed blocks, in turn with other closings, and removes the rows below those that have become
// sparse. It does so once a closing goes past a block of the second level, and before that writes anything.
func (c *feedClosing) sweep() error {
	if c.shape.in(1, c.from) == c.shape.in(1, c.end) {
		return nil
	}
	for level := 1; level < feedLevels; level++ {
		if err := c.sweepLevel(level); err != nil {
			return err
		}
	}
	return nil
}

func (c *feedClosing) sweepLevel(level int) error {
	t, m := c.t, &c.mark
	prefix := len(t.keys.feedCounts(nil, level, m.shard, m.incarnation))
	in := t.keys.feedCountRange(level, m.shard, m.incarnation, m.swept[level], c.shape.in(level, c.from))
	rows := t.Snapshot().GetRange(in, kv.RangeOptions{Limit: sweepBatch, Mode: kv.ModeExact})
	var blocks []blockCount
	err := eachBlock(rows, prefix, func(b blockCount) bool {
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
		for lower := 0; lower < level && b.n <= c.shape.sparse; lower++ {
			in := c.below(lower, level, b.block)
			garbage = append(garbage, in)
			looks = append(looks, t.Snapshot().GetRange(in, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}))
		}
	}
	for i, look := range looks {
		if !look.Next() { // to clear a range costs the engine something, also where it is empty
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
		if b.n <= 0 {
			t.Clear(t.keys.feedCount(nil, level, m.shard, m.incarnation, b.block))
		}
	}
	return nil
}
