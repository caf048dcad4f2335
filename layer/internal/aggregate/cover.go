package aggregate

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Cover reads a range of a view by the largest usable partials, and by rows where there are none. A Cover reads one
// range. If the stream needs a new transaction, it continues after the last row or partial taken.
type Cover struct {
	S       *rev.Stream
	View    int
	Reverse bool
	// Counts permits partials with marks: their Rows are current, but no other field may be used.
	Counts bool
	// Alike, which requires Counts, returns a function that checks the marks in a partial. The partial can be used if
	// it accepts all of them. Alike returns nil if the partial cannot be used at all.
	Alike func(p *Partial) func(position []byte, delta int64) bool
	// Large reports that the range is probably large, so that partials are used at once. Total, unless 0, is the number
	// of rows in the view; it tells which levels exist.
	Large bool
	Total int64
	// lowest permits only partials of the lowest level.
	lowest bool
	// Partial is called with the next partial. It returns taken=false to get it in smaller parts.
	Partial func(p *Partial) (taken, more bool, err error)
	// Row is called with the next row. position is its key without the view's prefix.
	Row func(position []byte, row kv.KeyValue) (more bool, err error)
	// Renewed, unless nil, is called when the stream has begun a new transaction. Its error ends the read.
	Renewed func() error

	rows   []byte // key prefixes
	levels [keyspace.ViewLevels][]byte
	marks  markCursors
	left   index.Span // what the current attempt reads
	done   []byte     // position reached, if anything has been taken
	marked int        // how many partials of the lowest level in a row could not be used
	unseen int        // how many of the next ones are not looked at
}

// DirectRows is how many rows are read before partials are used, since most ranges are short.
func DirectRows(s *rev.Stream) int { return StateOf(s.D.Store).PartialRows / 2 }

// Run reads a range, by rows alone unless partials is set. more is false if one of the functions has ended the read.
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
		if c.Renewed == nil {
			continue
		}
		if err := c.Renewed(); err != nil {
			return false, err
		}
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
	it := c.open(level, c.left) // started together with the read of marked
	defer it.Close()
	now, err := marked()
	if err != nil {
		return false, err
	}
	if !now.On {
		return c.scan(c.left, 0, nil)
	}
	c.marks = NewMarkCursors(c.S.R, MarkPrefixes(k, c.View, now), c.left, c.Reverse)
	// Partials and their marks include the rows that the build has written.
	if c.S.Overlaid {
		c.marks = append(c.marks,
			&markCursor{r: c.S.R, prefix: k.BeforePrefix(c.View), all: c.left, reverse: c.Reverse, before: true})
	}
	defer c.marks.Close()
	return c.walk(level, c.left, it)
}

// top returns the highest level that should have partials.
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

// advance removes what was taken from c.left.
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

// took records that the range has been read up to the far end of s.
func (c *Cover) took(s index.Span) {
	if c.Reverse {
		c.done = append(c.done[:0], s.Begin...)
	} else {
		c.done = append(c.done[:0], s.End...)
	}
}

// Empty reports whether the span is empty.
func Empty(s index.Span) bool { return bytes.Compare(s.Begin, s.End) >= 0 }

// span reads a span by partials of the level and below.
func (c *Cover) span(level int, s index.Span) (more bool, err error) {
	if level < 0 {
		return c.scan(s, 0, nil)
	}
	it := c.open(level, s)
	defer it.Close()
	return c.walk(level, s, it)
}

// open starts reading the partials of a level.
func (c *Cover) open(level int, s index.Span) kv.RangeIterator {
	return c.S.R.GetRange(s.At(c.levels[level]), kv.RangeOptions{Reverse: c.Reverse, Mode: kv.ModeWantAll})
}

// walk is span, given the iterator over the partials of the level.
func (c *Cover) walk(level int, s index.Span, it kv.RangeIterator) (more bool, err error) {
	prefix := c.levels[level]
	rest := s
	var edge []byte // memory for an end of rest
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
		if level == 0 {
			serves, err := c.looked(&p)
			if err != nil {
				return false, err
			}
			if !serves {
				continue // its rows are read together with those of its neighbours
			}
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

// offer reads a partial, whole or in parts. One of the lowest level has been looked at.
func (c *Cover) offer(level int, p *Partial) (more bool, err error) {
	serves := level == 0
	if !serves {
		if serves, err = c.serves(p); err != nil {
			return false, err
		}
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

// maxUnseen is the maximum number of partials that are not looked at after many that could not be used.
const maxUnseen = 32

// looked is serves for a partial of the lowest level. To look for marks costs as much as to read the rows of such a
// partial, so where many of them have marks, not all are looked at.
func (c *Cover) looked(p *Partial) (bool, error) {
	if c.unseen > 0 {
		c.unseen--
		return false, nil
	}
	serves, err := c.serves(p)
	if serves {
		c.marked = 0
	} else {
		c.marked++
		c.unseen = min(c.marked/2, maxUnseen)
	}
	return serves, err
}

// serves reports whether a partial can be used although it may have marks.
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

// scan reads rows, at most n unless n is 0, and adds their number to *read.
func (c *Cover) scan(s index.Span, n int, read *int) (more bool, err error) {
	it := c.S.R.GetRange(s.At(c.rows), kv.RangeOptions{Limit: n, Reverse: c.Reverse, Mode: kv.ModeWantAll})
	defer it.Close()
	keep := n > 0 || !c.S.Exact() // the scan may have to be continued
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
