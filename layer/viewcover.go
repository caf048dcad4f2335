package layer

import (
	"bytes"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// cover reads ranges of a view by the largest partials that serve, and by rows where none does. It is for one range, and goes on after the last thing
// taken where the stream needs a new transaction.
type cover struct {
	s       *stream
	view    int
	reverse bool
	// counts says that a partial with marks serves too: its rows are then those of now, and nothing else of it is to be used.
	counts bool
	// alike, where it is set with counts, is asked for a test of the marks in a partial, which serves where all of them pass it; nil where it does not serve at all.
	alike func(p *partial) func(position []byte, delta int64) bool
	// large says that the range is thought to be large: partials are looked for at once. total, where it is not 0, is how many rows the view has: it tells which
	// levels there can be.
	large bool
	total int64
	// lowest has only the partials be used that stand for rows.
	lowest bool
	// partial is given the next partial: taken, or to be shown in smaller parts.
	partial func(p *partial) (taken, more bool, err error)
	// row is given the next row; position is behind the view's prefix of its key.
	row func(position []byte, row kv.KeyValue) (more bool, err error)

	rows   []byte // prefixes
	levels [keyspace.ViewLevels][]byte
	marks  markCursors
	left   span   // what the attempt under way reads
	done   []byte // the position that it has come to, where it has taken something
}

// directRows is how many rows are read before partials are looked for: most ranges are short.
func (s *stream) directRows() int { return aggregateOf(s.d.store).partialRows / 2 }

// run reads a range, by rows alone where partials is not set. more is false where one of the functions wanted no more.
func (c *cover) run(k *indexKeys, s span, partials bool) (more bool, err error) {
	c.rows, c.left = k.rowPrefix(c.view), s
	var patience kv.Patience
	for {
		if more, err = c.attempt(k, partials); err == nil {
			return more, nil
		}
		if c.done != nil {
			patience.Progress()
		}
		if err := c.s.renew(patience.Tried(err)); err != nil {
			return false, err
		}
		c.advance()
	}
}

func (c *cover) attempt(k *indexKeys, partials bool) (more bool, err error) {
	if !partials {
		return c.scan(c.left, 0, nil)
	}
	if !c.large {
		read, direct := 0, c.s.directRows()
		if more, err = c.scan(c.left, direct, &read); err != nil || !more || read < direct {
			return more, err
		}
		c.advance()
	}
	for level := range c.levels {
		c.levels[level] = k.partialPrefix(c.view, level)
	}
	marked, level := getMarked(c.s.r, k), c.top()
	it := c.open(level, c.left) // both are asked for at once
	defer it.Close()
	now, err := marked()
	if err != nil {
		return false, err
	}
	if !now.on {
		return c.scan(c.left, 0, nil)
	}
	c.marks = newMarkCursors(c.s.r, k.markPrefixes(c.view, now), c.left, c.reverse)
	if c.s.overlaid { // partials with their marks stand for the rows that the build has written
		c.marks = append(c.marks,
			&markCursor{r: c.s.r, prefix: k.beforePrefix(c.view), all: c.left, reverse: c.reverse, before: true})
	}
	defer c.marks.close()
	return c.walk(level, c.left, it)
}

// top is the highest level of which there are some partials.
func (c *cover) top() int {
	level := keyspace.ViewLevels - 1
	if c.lowest {
		return 0
	}
	if c.total == 0 {
		return level
	}
	size := int64(aggregateOf(c.s.d.store).partialRows)
	for covers := size * size * size; level > 0 && covers > c.total/2; covers /= size {
		level--
	}
	return level
}

// advance leaves behind what was taken.
func (c *cover) advance() {
	if c.done == nil {
		return
	}
	if c.reverse {
		c.left.end = c.done
	} else {
		c.left.begin = c.done
	}
	c.done = nil
}

// took notes that everything up to the other end of a span is done.
func (c *cover) took(s span) {
	if c.reverse {
		c.done = append(c.done[:0], s.begin...)
	} else {
		c.done = append(c.done[:0], s.end...)
	}
}

// empty reports whether the span is none.
func (s span) empty() bool { return bytes.Compare(s.begin, s.end) >= 0 }

// span reads what is left of a span by partials of the level and below.
func (c *cover) span(level int, s span) (more bool, err error) {
	if level < 0 {
		return c.scan(s, 0, nil)
	}
	it := c.open(level, s)
	defer it.Close()
	return c.walk(level, s, it)
}

// open begins to read the partials of a level.
func (c *cover) open(level int, s span) kv.RangeIterator {
	return c.s.r.GetRange(s.at(c.levels[level]), kv.RangeOptions{Reverse: c.reverse, Mode: kv.ModeWantAll})
}

// walk is span with the partials of the level.
func (c *cover) walk(level int, s span, it kv.RangeIterator) (more bool, err error) {
	prefix := c.levels[level]
	rest := s
	var edge []byte // of rest
	for it.Next() {
		var p partial
		row := it.KeyValue()
		if err := parsePartial(&p, row.Key[len(prefix):], row.Value); err != nil {
			return false, corrupt("aggregate", err)
		}
		if bytes.Compare(p.begin, rest.begin) < 0 || bytes.Compare(p.end, rest.end) > 0 {
			continue
		}
		gap := span{rest.begin, p.begin}
		if c.reverse {
			gap = span{p.end, rest.end}
		}
		if !gap.empty() {
			if more, err := c.span(level-1, gap); err != nil || !more {
				return more, err
			}
		}
		if more, err := c.offer(level, &p); err != nil || !more {
			return more, err
		}
		if c.reverse {
			edge = append(edge[:0], p.begin...)
			rest.end = edge
		} else {
			edge = append(edge[:0], p.end...)
			rest.begin = edge
		}
	}
	if err := it.Err(); err != nil {
		return false, err
	}
	if rest.empty() {
		return true, nil
	}
	return c.span(level-1, rest)
}

// offer has a partial taken, whole or in parts.
func (c *cover) offer(level int, p *partial) (more bool, err error) {
	serves, err := c.serves(p)
	if err != nil {
		return false, err
	}
	if serves {
		taken, more, err := c.partial(p)
		if err != nil || !more {
			return more, err
		}
		if taken {
			c.took(p.span)
			return true, nil
		}
	}
	more, err = c.span(level-1, p.span)
	if err == nil && more {
		c.took(p.span)
	}
	return more, err
}

// serves reports whether a partial can be used in spite of its marks, if it has some.
func (c *cover) serves(p *partial) (bool, error) {
	if !c.counts {
		marked, err := c.marks.any(p.span)
		return !marked, err
	}
	var fits func([]byte, int64) bool
	if c.alike != nil {
		if fits = c.alike(p); fits == nil {
			return false, nil
		}
	}
	n, ok, err := c.marks.sum(p.span, fits)
	p.rows += n
	return ok, err
}

// scan reads rows, n at most where n is not 0, and adds how many to read.
func (c *cover) scan(s span, n int, read *int) (more bool, err error) {
	it := c.s.r.GetRange(s.at(c.rows), kv.RangeOptions{Limit: n, Reverse: c.reverse, Mode: kv.ModeWantAll})
	defer it.Close()
	keep := n > 0 || !c.s.exact() // whether it may have to go on from here
	for it.Next() {
		row := it.KeyValue()
		position := row.Key[len(c.rows):]
		if more, err := c.row(position, row); err != nil || !more {
			return more, err
		}
		if read != nil {
			*read++
		}
		if keep {
			if c.done = append(c.done[:0], position...); !c.reverse {
				c.done = append(c.done, 0)
			}
		}
	}
	return true, it.Err()
}
