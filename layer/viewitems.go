package layer

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// collect reads items, and the span that they fill: less than was asked for where that is too much, or where the level
// below is not complete.
func (a *aggregation) collect(t *txn, s span) (done span, err error) {
	if a.level == 0 {
		return s, a.collectRows(t, s)
	}
	return a.collectPartials(t, s)
}

func (a *aggregation) collectRows(t *txn, s span) error {
	prefix := a.k.rowPrefix(a.view)
	it := t.GetRange(s.at(prefix), kv.RangeOptions{Limit: a.most, Mode: kv.ModeWantAll})
	defer it.Close()
	from := len(a.items)
	a.complete = true
	for it.Next() {
		row := it.KeyValue()
		t.spent += len(row.Key) + len(row.Value)
		i := item{position: a.keep(row.Key[len(prefix):]), rows: 1}
		rest := i.position
		var err error
		if a.ix.design.Partitioned {
			if rest, err = tuple.Skip(rest); err != nil {
				return corrupt("view row", err)
			}
			i.head = i.position[:len(i.position)-len(rest)]
		}
		if i.first.sort, _, err = tuple.TakeBytes(rest); err != nil {
			return corrupt("view row", err)
		}
		rest = row.Value
		if i.first.json, rest, err = tuple.TakeBytes(rest); err != nil {
			return corrupt("view row", err)
		}
		i.first.json = a.keep(i.first.json)
		if a.function != nil {
			if i.value, _, err = tuple.TakeBytes(rest); err != nil {
				return corrupt("view row", err)
			}
			i.value = a.keep(i.value)
		}
		i.last = i.first
		a.items = append(a.items, i)
		if a.filled(t, len(a.items)-from) {
			a.complete = false
			break
		}
	}
	return it.Err()
}

// filled reports whether a range read has brought enough: as many items as it may, or more than a partial has where the
// transaction has read as many bytes as it may.
func (a *aggregation) filled(t *txn, items int) bool {
	return items >= a.most || t.spent >= aggregateBytes && items > a.size
}

// keep copies what belongs to an iterator.
func (a *aggregation) keep(b []byte) []byte {
	from := len(a.arena)
	a.arena = append(a.arena, b...)
	return a.arena[from:len(a.arena):len(a.arena)]
}

func (a *aggregation) collectPartials(t *txn, s span) (span, error) {
	prefix := a.k.partialPrefix(a.view, a.level-1)
	it := t.GetRange(s.at(prefix), kv.RangeOptions{Limit: a.most, Mode: kv.ModeWantAll})
	defer it.Close()
	a.complete = true
	done := span{s.begin, s.begin}
	from := len(a.items)
	for it.Next() {
		row := it.KeyValue()
		t.spent += len(row.Key) + len(row.Value)
		kept := a.keep(row.Key[len(prefix):])
		var p partial
		if err := parsePartial(&p, kept, a.keep(row.Value)); err != nil {
			return done, err
		}
		if !bytes.Equal(p.begin, done.end) {
			if len(a.items) > from {
				break
			}
			done.begin = p.begin
		}
		a.items = append(a.items, item{position: p.begin, end: p.end, rows: p.rows, first: p.first, last: p.last,
			value: p.state})
		done.end = p.end
		if a.filled(t, len(a.items)-from) {
			a.complete = bytes.Equal(done.end, s.end)
			break
		}
	}
	return done, it.Err()
}
