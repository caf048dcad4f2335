package aggregate

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Cover reads ranges of a view by the largest partials that serve, and by rows where none does. It is for one range,
// and goes on after the last thing taken where the stream needs a new transaction.
type Cover struct {
	S       *rev.Stream
	View    int
	Reverse bool
	// Counts says that a partial with marks serves too: its rows are then those of now, and nothing else of it is to be
	// used.
	Counts bool
	// Alike, where it is set with counts, is asked for a test of the marks in a partial, which serves where all of them
	// pass it; nil where it does not serve at all.
	Alike func(p *Partial) func(position []byte, delta int64) bool
	// Large says that the range is thought to be large: partials are looked for at once. total, where it is not 0, is
	// how many rows the view has: it tells which levels there can be.
	Large bool
	Total int64
	// lowest has only the partials be used that stand for rows.
	lowest bool
	// Partial is given the next partial: taken, or to be shown in smaller parts.
	Partial func(p *Partial) (taken, more bool, err error)
	// Row is given the next row; position is behind the view's prefix of its key.
	Row func(position []byte, row kv.KeyValue) (more bool, err error)

	rows   []byte // prefixes
	levels [keyspace.ViewLevels][]byte
	marks  markCursors
	left   index.Span // what the attempt under way reads
	done   []byte     // the position that it has come to, where it has taken something
}

// DirectRows is how many rows are read before partials are looked for: most ranges are short.
func DirectRows(s *rev.Stream) int { return StateOf(s.D.Store).PartialRows / 2 }

// Run reads a range, by rows alone where partials is not set. more is false where one of the functions wanted no more.
func (c *Cover) Run(k *index.Keys, s index.Span, partials bool) (more bool, err error) {
	c.rows, c.left = k.RowPrefix(c.View), s
	var patience kv.Patience
	for {
		if more, err = c.attempt(k, partials); err == nil {
			return more, nil
		}
		if c.done != nil {
			patience.Progress()
		}
		if err := c.S.Renew(patience.Tried(err)); err != nil {
			return false, err
		}
		c.advance()
	}
}

func (c *Cover) attempt(k *index.Keys, partials bool) (more bool, err error) {
	if !partials {
		return c.scan(c.left, 0, nil)
	}
	if !c.Large {
		read, direct := 0, DirectRows(c.S)
		if more, err = c.scan(c.left, direct, &read); err != nil || !more || read < direct {
			return more, err
		}
		c.advance()
	}
	for level := range c.levels {
		c.levels[level] = PartialPrefix(k, c.View, level)
	}
	marked, level := GetMarked(c.S.R, k), c.top()
	it := c.open(level, c.left) // both are asked for at once
	defer it.Close()
	now, err := marked()
	if err != nil {
		return false, err
	}
	if !now.On {
		return c.scan(c.left, 0, nil)
	}
	c.marks = NewMarkCursors(c.S.R, MarkPrefixes(k, c.View, now), c.left, c.Reverse)
	if c.S.Overlaid { // partials with their marks stand for the rows that the build has written
		c.marks = append(c.marks,
			&markCursor{r: c.S.R, prefix: k.BeforePrefix(c.View), all: c.left, reverse: c.Reverse, before: true})
	}
	defer c.marks.Close()
	return c.walk(level, c.left, it)
}

// top is the highest level of which there are some partials.
func (c *Cover) top() int {
	level := keyspace.ViewLevels - 1
	if c.lowest {
		return 0
	}
	if c.Total == 0 {
		return level
	}
	size := int64(StateOf(c.S.D.Store).PartialRows)
	for covers := size * size * size; level > 0 && covers > c.Total/2; covers /= size {
		level--
	}
	return level
}

// advance leaves behind what was taken.
func (c *Cover) advance() {
	if c.done == nil {
		return
	}
	if c.Reverse {
		c.left.End = c.done
	} else {
		c.left.Begin = c.done
	}
	c.done = nil
}

// took notes that everything up to the other end of a span is done.
func (c *Cover) took(s index.Span) {
	if c.Reverse {
		c.done = append(c.done[:0], s.Begin...)
	} else {
		c.done = append(c.done[:0], s.End...)
	}
}

// Empty reports whether the span is none.
func Empty(s index.Span) bool { return bytes.Compare(s.Begin, s.End) >= 0 }

// span reads what is left of a span by partials of the level and below.
func (c *Cover) span(level int, s index.Span) (more bool, err error) {
	if level < 0 {
		return c.scan(s, 0, nil)
	}
	it := c.open(level, s)
	defer it.Close()
	return c.walk(level, s, it)
}

// open begins to read the partials of a level.
func (c *Cover) open(level int, s index.Span) kv.RangeIterator {
	return c.S.R.GetRange(s.At(c.levels[level]), kv.RangeOptions{Reverse: c.Reverse, Mode: kv.ModeWantAll})
}

// walk is span with the partials of the level.
func (c *Cover) walk(level int, s index.Span, it kv.RangeIterator) (more bool, err error) {
	prefix := c.levels[level]
	rest := s
	var edge []byte // of rest
	for it.Next() {
		var p Partial
		row := it.KeyValue()
		if err := ParsePartial(&p, row.Key[len(prefix):], row.Value); err != nil {
			return false, db.Corrupt("aggregate", err)
		}
		if bytes.Compare(p.Begin, rest.Begin) < 0 || bytes.Compare(p.End, rest.End) > 0 {
			continue
		}
		gap := index.Span{Begin: rest.Begin, End: p.Begin}
		if c.Reverse {
			gap = index.Span{Begin: p.End, End: rest.End}
		}
		if !Empty(gap) {
			if more, err := c.span(level-1, gap); err != nil || !more {
				return more, err
			}
		}
		if more, err := c.offer(level, &p); err != nil || !more {
			return more, err
		}
		if c.Reverse {
			edge = append(edge[:0], p.Begin...)
			rest.End = edge
		} else {
			edge = append(edge[:0], p.End...)
			rest.Begin = edge
		}
	}
	if err := it.Err(); err != nil {
		return false, err
	}
	if Empty(rest) {
		return true, nil
	}
	return c.span(level-1, rest)
}

// offer has a partial taken, whole or in parts.
func (c *Cover) offer(level int, p *Partial) (more bool, err error) {
	serves, err := c.serves(p)
	if err != nil {
		return false, err
	}
	if serves {
		taken, more, err := c.Partial(p)
		if err != nil || !more {
			return more, err
		}
		if taken {
			c.took(p.Span)
			return true, nil
		}
	}
	more, err = c.span(level-1, p.Span)
	if err == nil && more {
		c.took(p.Span)
	}
	return more, err
}

// serves reports whether a partial can be used in spite of its marks, if it has some.
func (c *Cover) serves(p *Partial) (bool, error) {
	if !c.Counts {
		marked, err := c.marks.Any(p.Span)
		return !marked, err
	}
	var fits func([]byte, int64) bool
	if c.Alike != nil {
		if fits = c.Alike(p); fits == nil {
			return false, nil
		}
	}
	n, ok, err := c.marks.Sum(p.Span, fits)
	p.Rows += n
	return ok, err
}

// scan reads rows, n at most where n is not 0, and adds how many to read.
func (c *Cover) scan(s index.Span, n int, read *int) (more bool, err error) {
	it := c.S.R.GetRange(s.At(c.rows), kv.RangeOptions{Limit: n, Reverse: c.Reverse, Mode: kv.ModeWantAll})
	defer it.Close()
	keep := n > 0 || !c.S.Exact() // whether it may have to go on from here
	for it.Next() {
		row := it.KeyValue()
		position := row.Key[len(c.rows):]
		if more, err := c.Row(position, row); err != nil || !more {
			return more, err
		}
		if read != nil {
			*read++
		}
		if keep {
			if c.done = append(c.done[:0], position...); !c.Reverse {
				c.done = append(c.done, 0)
			}
		}
	}
	return true, it.Err()
}
