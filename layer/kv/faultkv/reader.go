package faultkv

import (
	"bytes"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// reader is a kv.Reader that calls check before each call to the reader below, and before each wait and row.
type reader struct {
	below kv.Reader
	check func() error
}

// newReader returns a reader with GetRanges if the one below has it.
func newReader(below kv.Reader, check func() error) kv.Reader {
	r := reader{below, check}
	if _, ok := below.(kv.RangesReader); ok {
		return rangesReader{r}
	}
	return r
}

// rangesReader is a reader with GetRanges.
type rangesReader struct{ reader }

func (r rangesReader) GetRanges(ranges []kv.KeyRange) (kv.RangeIterator, bool) {
	if err := r.check(); err != nil {
		return &iterator{err: err}, true
	}
	below, ok := kv.GetRanges(r.below, ranges)
	if !ok {
		return nil, false
	}
	return &iterator{below: below, check: r.check, kept: true}, true
}

func (r reader) Get(key []byte) kv.Future[[]byte] {
	if err := r.check(); err != nil {
		return failed[[]byte]{err}
	}
	return &future[[]byte]{below: r.below.Get(key), check: r.check}
}

func (r reader) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := r.check(); err != nil {
		return failed[[]byte]{err}
	}
	return &future[[]byte]{below: r.below.GetKey(sel), check: r.check}
}

func (r reader) ReadVersion() kv.Future[int64] {
	if err := r.check(); err != nil {
		return failed[int64]{err}
	}
	return &future[int64]{below: r.below.ReadVersion(), check: r.check}
}

func (r reader) GetRange(kr kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := r.check(); err != nil {
		return &iterator{err: err}
	}
	return &iterator{below: r.below.GetRange(kr, o), check: r.check}
}

type failed[T any] struct{ err error }

func (f failed[T]) Wait() (v T, err error) { return v, f.err }

// future runs the check when it is first waited for.
type future[T any] struct {
	below kv.Future[T]
	check func() error
	once  sync.Once
	err   error
}

func (f *future[T]) Wait() (v T, err error) {
	f.once.Do(func() { f.err = f.check() })
	if f.err != nil {
		return v, f.err
	}
	return f.below.Wait()
}

// iterator may fail between any two rows. A row does not outlive the next one: whoever keeps it must have copied it.
type iterator struct {
	below kv.RangeIterator // nil if the read failed at once
	check func() error
	rows  int
	err   error
	kept  bool // rows may be kept
	row   kv.KeyValue
}

// rowsPerCheck is the number of rows between two checks, since the rows of a batch arrive together.
const rowsPerCheck = 16

func (it *iterator) Next() bool {
	if it.spoil(); it.err != nil || it.below == nil {
		return false
	}
	if it.rows%rowsPerCheck == 0 {
		if it.err = it.check(); it.err != nil {
			return false
		}
	}
	it.rows++
	if !it.below.Next() {
		return false
	}
	if it.row = it.below.KeyValue(); !it.kept {
		it.row = kv.KeyValue{Key: bytes.Clone(it.row.Key), Value: bytes.Clone(it.row.Value)}
	}
	return true
}

// spoil overwrites the row, as an engine may that reuses its memory.
func (it *iterator) spoil() {
	if it.kept {
		return
	}
	for _, b := range [][]byte{it.row.Key, it.row.Value} {
		for i := range b {
			b[i] = 0xdb
		}
	}
}

func (it *iterator) KeyValue() kv.KeyValue {
	if it.err != nil || it.below == nil {
		return kv.KeyValue{}
	}
	return it.row
}

func (it *iterator) Err() error {
	if it.err != nil || it.below == nil {
		return it.err
	}
	return it.below.Err()
}

func (it *iterator) Close() {
	it.spoil()
	if it.below != nil {
		it.below.Close()
	}
}
