package query

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// offset returns how many rows come before the first row of a query, as CouchDB counts them: the rows before its range,
// or before the first of its keys that exists, and the rows that it skips. It returns -1 if too many rows would have to
// be read.
func offset(r *index.Reading, view int, q *index.ViewQuery, ranges []index.Span, total int64) (int64, error) {
	var first index.Span
	var err error
	switch {
	case total == 0:
		return 0, nil
	case len(ranges) == 1:
		first = ranges[0]
	case len(ranges) > 1:
		first, err = firstFound(r, view, ranges)
	case q.Keys == nil && q.Ranges == nil: // an empty range, which nevertheless has a place
		first, err = r.Keys.RowRange(view, q)
	default:
		return min(int64(q.Skip), total), nil
	}
	if err != nil {
		return 0, err
	}
	n, err := countBefore(r, view, first, q.Descending, total)
	if n < 0 || err != nil {
		return n, err
	}
	return min(n+int64(q.Skip), total), nil
}

// countBefore returns how many rows come before a span, in the direction of the query, or -1 if too many would have to
// be read.
func countBefore(r *index.Reading, view int, s index.Span, reverse bool, total int64) (int64, error) {
	position := s.Begin
	if reverse {
		position = s.End
	}
	n, ok, err := aggregate.Rank(r, view, position, total)
	switch {
	case err != nil:
		return 0, err
	case ok && reverse:
		return total - n, nil
	case ok:
		return n, nil
	case reverse:
		return count(r, view, index.Span{Begin: position, End: index.Whole.End}, total)
	}
	return count(r, view, index.Span{Begin: index.Whole.Begin, End: position}, total)
}

// firstFound returns the first range that contains rows, or else the last range.
func firstFound(r *index.Reading, view int, ranges []index.Span) (s index.Span, err error) {
	prefix := r.Keys.RowPrefix(view)
	for _, s = range ranges {
		found := false
		err = r.Rows.Scan(s.At(prefix), kv.RangeOptions{Limit: 1}, func(kv.KeyValue) (bool, error) {
			found = true
			return false, nil
		})
		if found || err != nil {
			break
		}
	}
	return s, err
}

// count returns how many of a view's rows are in a span, or -1 if too many would have to be read.
func count(r *index.Reading, view int, s index.Span, total int64) (int64, error) {
	if aggregate.Empty(s) {
		return 0, nil
	}
	var n, read int64
	c := aggregate.Cover{S: r.Rows, View: view, Counts: true, Large: true, Total: total,
		Partial: func(p *aggregate.Partial) (taken, more bool, err error) {
			n += p.Rows
			return true, true, nil
		},
		Row: func([]byte, kv.KeyValue) (bool, error) {
			n++
			read++
			return read <= aggregate.CountedRows, nil
		},
	}
	more, err := c.Run(&r.Keys, s, true)
	if !more {
		n = -1
	}
	return n, err
}

// skip removes the first n rows, in the direction of the query, from a span. lacking is how many of the n rows are
// still to be skipped.
func skip(r *index.Reading, view int, s index.Span, reverse bool, n int) (left index.Span, lacking int, err error) {
	if n <= aggregate.DirectRows(r.Rows) {
		return s, n, nil // few enough to be read and skipped by the caller
	}
	passed, to := int64(n), []byte(nil)
	c := aggregate.Cover{S: r.Rows, View: view, Reverse: reverse, Counts: true,
		Partial: func(p *aggregate.Partial) (taken, more bool, err error) {
			if p.Rows > passed {
				return false, true, nil
			}
			passed -= p.Rows
			return true, true, nil
		},
		Row: func(position []byte, _ kv.KeyValue) (bool, error) {
			if passed == 0 {
				to = bytes.Clone(position)
				return false, nil
			}
			passed--
			return true, nil
		},
	}
	more, err := c.Run(&r.Keys, s, true)
	switch {
	case more || err != nil:
		return index.Span{Begin: s.End, End: s.End}, int(passed), err
	case reverse:
		return index.Span{Begin: s.Begin, End: append(to, 0)}, 0, nil
	}
	return index.Span{Begin: to, End: s.End}, 0, nil
}
