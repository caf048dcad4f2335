package layer

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
)

// offset is how many rows come before the first one of a query, as CouchDB counts them: those before its range, or before the first of its keys that there is,
// and those it skips. -1 where finding out would take reading too many rows.
func (r *indexReading) offset(view int, q *ViewQuery, ranges []span, total int64) (int64, error) {
	if len(ranges) == 0 {
		return min(int64(q.Skip), total), nil
	}
	first := ranges[0]
	if len(ranges) > 1 {
		var err error
		if first, err = r.firstFound(view, ranges); err != nil {
			return 0, err
		}
	}
	n, err := r.countBefore(view, first, q.Descending, total)
	if n < 0 || err != nil {
		return n, err
	}
	return min(n+int64(q.Skip), total), nil
}

// countBefore is how many rows come before a span, in the direction of the query; -1 where that would take reading too many.
func (r *indexReading) countBefore(view int, s span, reverse bool, total int64) (int64, error) {
	position := s.begin
	if reverse {
		position = s.end
	}
	n, ok, err := r.rank(view, position, total)
	switch {
	case err != nil:
		return 0, err
	case ok && reverse:
		return total - n, nil
	case ok:
		return n, nil
	case reverse:
		return r.count(view, span{position, whole.end}, total)
	}
	return r.count(view, span{whole.begin, position}, total)
}

// firstFound is the first range that has rows, or the last one.
func (r *indexReading) firstFound(view int, ranges []span) (s span, err error) {
	prefix := r.keys.rowPrefix(view)
	for _, s = range ranges {
		found := false
		err = r.rows.scan(s.at(prefix), kv.RangeOptions{Limit: 1}, func(kv.KeyValue) (bool, error) {
			found = true
			return false, nil
		})
		if found || err != nil {
			break
		}
	}
	return s, err
}

// count is how many of a view's rows there are in a span; -1 where that would take reading too many.
func (r *indexReading) count(view int, s span, total int64) (int64, error) {
	if s.empty() {
		return 0, nil
	}
	var n, read int64
	c := cover{s: r.rows, view: view, counts: true, large: true, total: total,
		partial: func(p *partial) (taken, more bool, err error) {
			n += p.rows
			return true, true, nil
		},
		row: func([]byte, kv.KeyValue) (bool, error) {
			n++
			read++
			return read <= countedRows, nil
		},
	}
	more, err := c.run(&r.keys, s, true)
	if !more {
		n = -1
	}
	return n, err
}

// skip leaves out the first n rows of a span, in the direction of the query, and returns how many it lacked.
func (r *indexReading) skip(view int, s span, reverse bool, n int) (left span, lacking int, err error) {
	if n <= r.rows.directRows() {
		return s, n, nil // these are stepped over
	}
	passed, to := int64(n), []byte(nil)
	c := cover{s: r.rows, view: view, reverse: reverse, counts: true,
		partial: func(p *partial) (taken, more bool, err error) {
			if p.rows > passed {
				return false, true, nil
			}
			passed -= p.rows
			return true, true, nil
		},
		row: func(position []byte, _ kv.KeyValue) (bool, error) {
			if passed == 0 {
				to = bytes.Clone(position)
				return false, nil
			}
			passed--
			return true, nil
		},
	}
	more, err := c.run(&r.keys, s, true)
	switch {
	case more || err != nil:
		return span{s.end, s.end}, int(passed), err
	case reverse:
		return span{s.begin, append(to, 0)}, 0, nil
	}
	return span{to, s.end}, 0, nil
}
