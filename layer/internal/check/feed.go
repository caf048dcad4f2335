package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// feedChecker compares the counts of a shard's entries (feed/counts.go) with the entries, up to the mark. A block is
// compared at one version: one with few entries, or of the lowest level, with its entries, and others with the blocks
// below, which have been compared themselves. Concurrent writes do not change by how much a count is wrong, because
// they only add.
type feedChecker struct {
	*checker
	shape *feed.Shape
	mark  feed.Mark
}

func (x feedCheck) feedCounts() error {
	var marks map[db.ShardID][]feed.Mark
	err := x.at(func() (err error) {
		marks, err = feed.ReadFeedMarks(x.r, x.keys)()
		return err
	})
	if err != nil {
		return err
	}
	for _, list := range marks {
		for _, m := range list {
			c := &feedChecker{checker: x.checker, shape: &feed.StateOf(x.v.s).Shape, mark: m}
			if _, _, err := c.blocks(feed.FeedLevels-1, 0,
				c.shape.In(feed.FeedLevels-1, c.shape.End()-1)+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocks compares the blocks of a level in [from, to). It returns how many entries there are in addition to those
// counted. known is false if this could not be found out.
func (c *feedChecker) blocks(level int, from, to uint64) (wrong int64, known bool, err error) {
	for known = true; from < to; {
		var next uint64
		var found bool
		err := c.at(func() (err error) {
			next, found, err = c.next(level, from, to)
			return err
		})
		if err != nil || !found || c.shape.First(level, next) >= c.mark.Closed {
			return wrong, known, err
		}
		n, counted, err := c.block(level, next)
		if err != nil {
			return wrong, false, err
		}
		wrong, known, from = wrong+n, known && counted, next+1
	}
	return wrong, known, nil
}

// next returns the first block, from from on, that has a row or an entry.
func (c *feedChecker) next(level int, from, to uint64) (block uint64, found bool, err error) {
	m := &c.mark
	in := feed.CountRange(c.keys, level, m.Shard, m.Incarnation, from, to)
	row, err := db.FirstRow(c.r, in, false)
	if err != nil {
		return 0, false, err
	}
	if row != nil {
		n, _, err := tuple.TakeInt(row.Key[len(feed.CountsPrefix(c.keys, nil, level, m.Shard, m.Incarnation)):])
		if err != nil {
			return 0, false, db.Corrupt("counts of changes", err)
		}
		block, found = uint64(n), true
	}
	entry, err := db.FirstRow(c.r, c.entries(level, from, to), false)
	if err != nil || entry == nil {
		return block, found, err
	}
	seq, _, err := db.TakeSeq(entry.Key[len(c.keys.Feed(nil, m.Shard)):])
	if err != nil {
		return 0, false, db.Corrupt("changes entry", err)
	}
	if of := c.shape.In(level, c.shape.Leaf(seq)); !found || of < block {
		block, found = of, true
	}
	return block, found, nil
}

// entries returns the range of the entries in blocks [from, to).
func (c *feedChecker) entries(level int, from, to uint64) kv.KeyRange {
	m := &c.mark
	first, end := c.shape.First(level, from), c.shape.End()
	if to <= c.shape.In(level, end-1) {
		end = c.shape.First(level, to)
	}
	return feed.EntryRange(c.keys, m.Shard, c.shape.Before(m.Incarnation, first), c.shape.Before(m.Incarnation, end))
}

// block compares a block and those below it.
func (c *feedChecker) block(level int, block uint64) (wrong int64, known bool, err error) {
	var below int64
	known = true
	if level > 0 {
		dense := false
		if err := c.at(func() (err error) {
			dense, err = c.dense(level, block)
			return err
		}); err != nil {
			return 0, false, err
		}
		if dense {
			from, to := c.shape.First(1, block), c.shape.First(1, block+1)
			if below, known, err = c.blocks(level-1, from, to); err != nil {
				return 0, false, err
			}
		}
	}
	if c.shape.First(level, block+1) > c.mark.Closed {
		return below, known, nil
	}
	compared := known
	err = c.at(func() (err error) {
		wrong, known, err = c.compare(level, block, below, compared)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return wrong, known, c.settle()
}

// dense reports whether the rows below a block are used.
func (c *feedChecker) dense(level int, block uint64) (bool, error) {
	if sparse, err := c.sparse(level, block); sparse || err != nil {
		return false, err
	}
	if c.shape.First(level, block+1) > c.mark.Closed {
		return true, nil
	}
	n, err := c.there(level, block, c.shape.Sparse+1)
	return n > c.shape.Sparse, err
}

// compare compares a closed block with its entries, or with the blocks below it. below is how many entries these are
// known to lack.
func (c *feedChecker) compare(level int, block uint64, below int64, known bool) (int64, bool, error) {
	// A block above may have become sparse, so that the rows below it are not used any more.
	if level < feed.FeedLevels-1 {
		if gone, err := c.sparse(level+1, c.shape.In(1, block)); gone || err != nil {
			return 0, true, err
		}
	}
	counted, err := c.counted(level, block, block+1)
	if err != nil {
		return 0, false, err
	}
	limit, few := int64(0), true
	if level > 0 {
		limit = c.shape.Sparse + 1
	}
	there, err := c.there(level, block, limit)
	if err != nil {
		return 0, false, err
	}
	if level > 0 && there > c.shape.Sparse {
		few = counted <= c.shape.Sparse
		if !few {
			if there, err = c.counted(level-1, c.shape.First(1, block), c.shape.First(1, block+1)); err != nil {
				return 0, false, err
			}
			there += below
		}
		if few {
			c.fault(keyspace.FeedCounts, "", "shard %q: block %d of level %d counts %d entries, but has more",
				c.mark.Shard, block, level, counted)
			return 0, false, nil
		}
	}
	if there == counted || !few && !known {
		return 0, few || known, nil
	}
	c.fault(keyspace.FeedCounts, "", "shard %q: block %d of level %d counts %d entries, but has %d",
		c.mark.Shard, block, level, counted, there)
	return there - counted, true, nil
}

// sparse reports whether a block, or one above it, is closed and has so few entries that the rows below it are not used
// any more.
func (c *feedChecker) sparse(level int, block uint64) (bool, error) {
	for ; level < feed.FeedLevels; level, block = level+1, c.shape.In(1, block) {
		if c.shape.First(level, block+1) > c.mark.Closed {
			continue
		}
		n, err := c.counted(level, block, block+1)
		if err != nil || n <= c.shape.Sparse {
			return err == nil, err
		}
	}
	return false, nil
}

// counted returns the sum of the rows of blocks.
func (c *feedChecker) counted(level int, from, to uint64) (n int64, err error) {
	m := &c.mark
	rows := c.r.GetRange(feed.CountRange(c.keys, level, m.Shard, m.Incarnation, from, to),
		kv.RangeOptions{Mode: kv.ModeWantAll})
	prefix := len(feed.CountsPrefix(c.keys, nil, level, m.Shard, m.Incarnation))
	return n, feed.EachBlock(rows, prefix, func(b feed.BlockCount) bool {
		n += b.N
		return true
	})
}

// there returns how many entries a block has, up to a limit unless that is 0.
func (c *feedChecker) there(level int, block uint64, limit int64) (n int64, err error) {
	rows := c.r.GetRange(c.entries(level, block, block+1),
		kv.RangeOptions{Limit: int(limit), Mode: kv.ModeWantAll})
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}
