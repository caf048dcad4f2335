package index

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// overlaidRows reads the rows of an index as they were before the running build, by merging the rows that the build has
// kept in ViewBefore. A range of rows must lie in one view. All other keys read as they are.
type overlaidRows struct {
	kv.Reader
	rows, before []byte // key prefixes of ViewRows and ViewBefore
}

// LayOver makes the stream read an index's rows as they were before the running build.
func LayOver(s *rev.Stream, k *Keys) { s.R, s.Overlaid = k.overlaid(s.R), true }

// overlaid returns a reader of the index's rows as they were before the running build.
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
	// No limit here: some of the rows may be hidden.
	all := kv.RangeOptions{Reverse: options.Reverse, Mode: options.Mode}
	if all.Mode == kv.ModeExact {
		all.Mode = kv.ModeIterator
	}
	it := &overlaidIterator{o: o, options: options, left: options.Limit}
	it.rows.it = o.Reader.GetRange(in, all)
	it.before.it = o.Reader.GetRange(kv.KeyRange{Begin: moved(in.Begin), End: moved(in.End)}, all)
	return it
}

// aheadRow is an iterator with its next row.
type aheadRow struct {
	it   kv.RangeIterator
	key  []byte // without the prefix
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

// overlaidIterator merges current rows with those that were there before the build.
type overlaidIterator struct {
	o            overlaidRows
	options      kv.RangeOptions
	left         int // rows left to return, if there is a limit
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
				it.rows.have = false // the build added or changed this row
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

// fill moves both iterators to their next rows. It returns false at the end.
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

// order reports which row comes next: the current one (take), the one kept from before the build (over), or both if
// they are at the same position.
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
