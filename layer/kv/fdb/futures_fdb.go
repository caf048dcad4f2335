//go:build fdb

package fdb

import (
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// Futures hold their transaction, since the client's futures do not outlive it, and its age when the read was issued.

type failure[T any] struct{ err error }

func (f failure[T]) Wait() (v T, err error) { return v, f.err }

type value struct {
	t   *txReads
	f   fdb.FutureByteSlice
	age time.Duration
}

func (f value) Wait() ([]byte, error) {
	v, err := f.f.Get()
	if err == nil && v != nil && len(v) == 0 {
		v = []byte{} // an empty value is not nil, which means no value
	}
	return v, f.t.convert(err, f.age)
}

type key struct {
	t   *txReads
	f   fdb.FutureKey
	age time.Duration
}

func (f key) Wait() ([]byte, error) {
	k, err := f.f.Get()
	return k, f.t.convert(err, f.age)
}

type version struct {
	t   *txReads
	f   fdb.FutureInt64
	age time.Duration
}

func (f version) Wait() (int64, error) {
	v, err := f.f.Get()
	return v, f.t.convert(err, f.age)
}

// iterator adapts the binding's iterator, which requests the first batch when the read is issued and the next when a
// batch is used up.
type iterator struct {
	t   *txReads
	it  *fdb.RangeIterator
	row kv.KeyValue
	err error
}

// rangeReader is a transaction or its snapshot.
type rangeReader interface {
	GetRange(r fdb.Range, options fdb.RangeOptions) fdb.RangeResult
}

func newIterator(t *txReads, from rangeReader, r kv.Range, o kv.RangeOptions) *iterator {
	begin, end := r.Selectors()
	for _, key := range [][]byte{begin.Key, end.Key} {
		if err := t.readable(key); err != nil {
			return &iterator{err: err}
		}
	}
	mode := fdb.StreamingModeIterator
	switch {
	case o.Mode == kv.ModeWantAll:
		mode = fdb.StreamingModeWantAll
	case o.Mode == kv.ModeExact && o.Limit > 0:
		mode = fdb.StreamingModeExact
	}
	result := from.GetRange(fdb.SelectorRange{Begin: selector(begin), End: selector(end)},
		fdb.RangeOptions{Limit: o.Limit, Mode: mode, Reverse: o.Reverse})
	return &iterator{t: t, it: result.Iterator()}
}

func (it *iterator) Next() bool {
	if it.err != nil || it.it == nil {
		return false
	}
	age := it.t.age()
	if !it.it.Advance() {
		return false
	}
	row, err := it.it.Get()
	if err != nil {
		it.err = it.t.convert(err, age)
		return false
	}
	it.row = kv.KeyValue{Key: row.Key, Value: row.Value}
	return true
}

func (it *iterator) KeyValue() kv.KeyValue { return it.row }

func (it *iterator) Err() error { return it.err }

func (it *iterator) Close() { it.it = nil }
