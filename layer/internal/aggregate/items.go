package aggregate

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// collect reads items, and returns the span that they fill. This is only a part of s if s is too large or the level
// below is incomplete.
func (a *aggregation) collect(t *db.Txn, s index.Span) (done index.Span, err error) {
	if a.level == 0 {
		return s, a.collectRows(t, s)
	}
	return a.collectPartials(t, s)
}

func (a *aggregation) collectRows(t *db.Txn, s index.Span) error {
	prefix := a.k.RowPrefix(a.view)
	it := t.GetRange(s.At(prefix), kv.RangeOptions{Limit: a.most, Mode: kv.ModeWantAll})
	defer it.Close()
	from := len(a.items)
	a.complete = true
	for it.Next() {
		row := it.KeyValue()
		t.Spent += len(row.Key) + len(row.Value)
		i := item{position: a.keep(row.Key[len(prefix):]), rows: 1}
		rest := i.position
		var err error
		if a.ix.Design().Partitioned {
			if rest, err = tuple.Skip(rest); err != nil {
				return db.Corrupt("view row", err)
			}
			i.head = i.position[:len(i.position)-len(rest)]
		}
		if i.first.Sort, _, err = tuple.TakeBytes(rest); err != nil {
			return db.Corrupt("view row", err)
		}
		rest = row.Value
		if i.first.Json, rest, err = tuple.TakeBytes(rest); err != nil {
			return db.Corrupt("view row", err)
		}
		i.first.Json = a.keep(i.first.Json)
		if a.function != nil {
			if i.value, _, err = tuple.TakeBytes(rest); err != nil {
				return db.Corrupt("view row", err)
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

// filled reports whether a range read has enough items: a.most, or more than one partial needs if the transaction has
// reached its byte limit.
func (a *aggregation) filled(t *db.Txn, items int) bool {
	return items >= a.most || t.Spent >= aggregateBytes && items > a.size
}

// keep copies memory that belongs to an iterator.
func (a *aggregation) keep(b []byte) []byte {
	from := len(a.arena)
	a.arena = append(a.arena, b...)
	return a.arena[from:len(a.arena):len(a.arena)]
}

func (a *aggregation) collectPartials(t *db.Txn, s index.Span) (index.Span, error) {
	prefix := PartialPrefix(a.k, a.view, a.level-1)
	it := t.GetRange(s.At(prefix), kv.RangeOptions{Limit: a.most, Mode: kv.ModeWantAll})
	defer it.Close()
	a.complete = true
	done := index.Span{Begin: s.Begin, End: s.Begin}
	from := len(a.items)
	for it.Next() {
		row := it.KeyValue()
		t.Spent += len(row.Key) + len(row.Value)
		kept := a.keep(row.Key[len(prefix):])
		var p Partial
		if err := ParsePartial(&p, kept, a.keep(row.Value)); err != nil {
			return done, err
		}
		if !bytes.Equal(p.Begin, done.End) {
			if len(a.items) > from {
				break
			}
			done.Begin = p.Begin
		}
		a.items = append(a.items, item{position: p.Begin, end: p.End, rows: p.Rows, first: p.First, last: p.Last,
			value: p.State})
		done.End = p.End
		if a.filled(t, len(a.items)-from) {
			a.complete = bytes.Equal(done.End, s.End)
			break
		}
	}
	return done, it.Err()
}
