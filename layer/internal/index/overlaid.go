package index

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// overlaidRows reads the rows of an index that is being built as they were before: what the build has left in
// ViewBefore is laid over them. Ranges of rows have to be in one view; every other key reads as it is.
type overlaidRows struct {
	kv.Reader
	rows, before []byte // prefixes of ViewRows and ViewBefore
}

// LayOver has the stream read an index's rows as they were before the build under way.
func LayOver(s *rev.Stream, k *Keys) { s.R, s.Overlaid = k.overlaid(s.R), true }

// overlaid is a reader of the index's rows as they were before the build under way.
func (k *Keys) overlaid(r kv.Reader) kv.Reader {
	return overlaidRows{Reader: r, rows: k.AppendRange(nil, keyspace.ViewRows),
		before: k.AppendRange(nil, keyspace.ViewBefore)}
}

func (o overlaidRows) GetRange(r kv.Range, options kv.RangeOptions) kv.RangeIterator {
	in, ok := r.(kv.KeyRange)
	if !ok || !bytes.HasPrefix(in.Begin, o.rows) || !bytes.HasPrefix(in.End, o.rows) {
		return o.Reader.GetRange(r, options)
	}
	moved := func(key []byte) []byte { return append(o.before[:len(o.before):len(o.before)], key[len(o.rows):]...) }
	all := kv.RangeOptions{Reverse: options.Reverse, Mode: options.Mode} // a limit of rows that may be hidden is none
	if all.Mode == kv.ModeExact {
		all.Mode = kv.ModeIterator
	}
	it := &overlaidIterator{o: o, options: options, left: options.Limit}
	it.rows.it = o.Reader.GetRange(in, all)
	it.before.it = o.Reader.GetRange(kv.KeyRange{Begin: moved(in.Begin), End: moved(in.End)}, all)
	return it
}

// aheadRow is an iterator with the row that it has come to.
type aheadRow struct {
	it   kv.RangeIterator
	key  []byte // behind the prefix
	row  kv.KeyValue
	have bool
	done bool
}

func (a *aheadRow) fill(prefix int) {
	if a.have || a.done {
		return
	}
	if a.have = a.it.Next(); !a.have {
		a.done = true
		return
	}
	a.row = a.it.KeyValue()
	a.key = a.row.Key[prefix:]
}

// overlaidIterator merges rows with those that were there before.
type overlaidIterator struct {
	o            overlaidRows
	options      kv.RangeOptions
	left         int // rows that may still be given, where there is a limit
	rows, before aheadRow
	key          []byte
	at           kv.KeyValue
	err          error
}

func (it *overlaidIterator) Next() bool {
	if it.err != nil || it.options.Limit > 0 && it.left == 0 {
		return false
	}
	for {
		if !it.fill() {
			return false
		}
		take, over := it.order()
		if over {
			b, err := ParseBeforeRow(it.before.row.Value)
			if err != nil {
				it.err = err
				return false
			}
			it.before.have = false
			if take {
				it.rows.have = false // it came with the build, or has another value since
			}
			if !b.was {
				continue
			}
			it.key = append(append(it.key[:0], it.o.rows...), it.before.key...)
			it.at = kv.KeyValue{Key: it.key, Value: b.value}
		} else {
			it.rows.have = false
			it.at = it.rows.row
		}
		it.left--
		return true
	}
}

// fill has both iterators stand on their next rows; false at the end.
func (it *overlaidIterator) fill() bool {
	it.rows.fill(len(it.o.rows))
	it.before.fill(len(it.o.before))
	for _, a := range []*aheadRow{&it.rows, &it.before} {
		if a.done && it.err == nil {
			it.err = a.it.Err()
		}
	}
	return it.err == nil && (it.rows.have || it.before.have)
}

// order says which of the two rows comes next: take the store's, over the one that was there before. Both where they
// are at one position.
func (it *overlaidIterator) order() (take, over bool) {
	switch {
	case !it.before.have:
		return true, false
	case !it.rows.have:
		return false, true
	}
	c := bytes.Compare(it.rows.key, it.before.key)
	if it.options.Reverse {
		c = -c
	}
	return c <= 0, c >= 0
}

func (it *overlaidIterator) KeyValue() kv.KeyValue { return it.at }

func (it *overlaidIterator) Err() error { return it.err }

func (it *overlaidIterator) Close() {
	it.rows.it.Close()
	it.before.it.Close()
}
