package versions

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// maxPatience is the most rows that are stepped over before seeking the next range: a step costs a tenth of a seek.
const maxPatience = 4

// manyRanges is the number of ranges that are assumed to be close together until stepping does not reach one.
const manyRanges = 16

// pickedRanges are the ranges to read, in ascending order.
type pickedRanges struct {
	view     *View
	left     []kv.KeyRange
	patience int  // rows to step over; falls when stepping did not reach the range
	placed   bool // the iterator has a row
	used     bool // that row was returned
	near     bool // the iterator is at the last returned row, or after it
	walking  bool // stepping reached the last range, and will probably reach the next one
}

// single reports whether a range contains just one key.
func single(r kv.KeyRange) bool {
	n := len(r.Begin)
	return len(r.End) == n+1 && r.End[n] == 0 && bytes.Equal(r.End[:n], r.Begin)
}

// nextPicked moves to the next wanted row. For a distant single key, a cached row saves the seek.
func (c *cursor) nextPicked() bool {
	p := c.picked
	for len(p.left) > 0 {
		r := p.left[0]
		if p.walking && p.used && p.placed && p.near {
			// The row after the last one is usually the next wanted one.
			if !p.step(c.iter.Next()) {
				return c.end()
			}
			if bytes.Equal(c.iter.Key(), r.Begin) && single(r) {
				p.patience = maxPatience
				return p.take(c, true)
			}
		}
		alone := single(r)
		for steps := max(1, p.patience); p.placed && p.near && steps > 0 && p.before(c.iter, r); steps-- {
			if !p.step(c.iter.Next()) {
				return c.end()
			}
			if p.walking = !p.before(c.iter, r); p.walking {
				p.patience = maxPatience
			}
		}
		if !p.placed || p.before(c.iter, r) {
			// A row from the cache would leave the iterator behind, and the rows after it would have to be sought.
			if alone && !p.walking {
				value, known := p.view.rows.Get(r.Begin, p.view.Version)
				if known {
					p.left, p.near = p.left[1:], false
				}
				if known && value != nil {
					c.key, c.value = r.Begin, value
					return true
				}
				if known {
					continue
				}
			}
			p.patience = max(0, p.patience-1)
			if !p.step(seek(c.iter, r.Begin)) {
				return c.end()
			}
			if alone && !p.remember(c, r.Begin) {
				return false
			}
		}
		if bytes.Compare(c.iter.Key(), r.End) >= 0 {
			p.left = p.left[1:]
			continue
		}
		p.near = true
		return p.take(c, alone)
	}
	return false
}

// take makes the iterator's row the cursor's. With it the first range ends if it has just one key.
func (p *pickedRanges) take(c *cursor, alone bool) bool {
	if p.used = true; alone {
		p.left = p.left[1:]
	}
	return c.take()
}

// seek moves to the first row at or after key. Pebble's own checks reject an empty key.
func seek(iter *pebble.Iterator, key []byte) bool {
	if len(key) == 0 {
		return iter.First()
	}
	return iter.SeekGE(key)
}

// before reports whether the iterator's row is before r, or was already returned.
func (p *pickedRanges) before(iter *pebble.Iterator, r kv.KeyRange) bool {
	return p.used || bytes.Compare(iter.Key(), r.Begin) < 0
}

// step records that the iterator has moved.
func (p *pickedRanges) step(valid bool) bool {
	p.placed, p.used, p.near = valid, false, true
	return valid
}

// remember caches the row that was sought. It returns false after an error.
func (p *pickedRanges) remember(c *cursor, key []byte) bool {
	var value []byte
	if bytes.Equal(c.iter.Key(), key) {
		if !c.take() {
			return false
		}
		if value = c.value; value == nil {
			value = []byte{}
		}
	}
	p.view.rows.Fill(key, value, p.view.Version)
	return true
}

// StartRanges is StartRange for several ranges: one Pebble iterator goes through all of them, since making an
// iterator costs more than moving one. Call it between BeginRead and EndRead.
func StartRanges(it *RangeIterator, v *View, ranges []kv.KeyRange) kv.RangeIterator {
	all, err := BoundsOf(kv.FirstGreaterOrEqual(ranges[0].Begin), kv.FirstGreaterOrEqual(ranges[len(ranges)-1].End),
		nil)
	if err != nil || all.Empty() {
		return Failed(err)
	}
	it.R, it.left, it.batchRows = all, -1, maxBatchRows
	it.rows = make([]rowAt, 0, min(len(ranges), maxBatchRows))
	// A range is often a single row, of a document or of a branch.
	const rowBytes = 256
	it.kept, it.data = true, make([]byte, 0, min(rowBytes*len(ranges), keptBatchBytes))
	c, err := v.open(all, false, nil)
	if err != nil {
		return Failed(err)
	}
	c.picked = &pickedRanges{view: v, left: ranges, patience: maxPatience, walking: len(ranges) >= manyRanges}
	it.mu.cursor = c
	if it.fill(); !it.finished {
		it.Open.add(it)
	}
	return it
}
