package embedded

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Rows are copied out of the store in batches: the iterator's lock is then taken once a batch and not once a row, and a reader that stops early has not
// read far. Batches grow so that long reads are cheap.
const (
	firstBatchRows = 32
	maxBatchRows   = 1024
	// firstBatchBytes is the room that a batch begins with, where it may be of many rows.
	firstBatchBytes = 8 << 10
	maxBatchBytes   = 64 << 10
)

// readOwner is whom a range read asks before each batch: a transaction or a long snapshot.
type readOwner interface {
	// BeginRead locks the owner for a batch, or reports why there is none.
	BeginRead() error
	EndRead()
	// Covered tells the owner that the batch ended: the read has covered s so far. Between BeginRead and EndRead.
	Covered(it *rangeIterator, s span)
	// Stopped tells it that the caller stopped after s.
	Stopped(it *rangeIterator, s span)
}

// rangeIterator implements kv.RangeIterator. Only its user's goroutine calls it, but the engine may close its cursor at any time.
type rangeIterator struct {
	owner    readOwner
	open     *iterators
	r        span
	reverse  bool
	left     int // rows that the limit leaves, -1 for no limit
	conflict int // index of the transaction's read conflict, -1 for none
	expires  time.Time
	ended    *atomic.Bool // the transaction's, nil for a long snapshot

	rows      []rowAt
	data      []byte
	pos       int // rows given out
	batchRows int
	finished  bool // no batch follows this one
	closed    bool
	err       error

	mu struct {
		sync.Mutex
		cursor *cursor // nil once closed
	}
}

// rowAt says where in data a row is.
type rowAt struct{ key, value, end int }

// startRange makes an iterator and reads its first batch. Between BeginRead and EndRead. share, where not nil, is called
// if the read goes on after it: what it returns is read through from then on in place of writes, and does not change.
func startRange(it *rangeIterator, v *view, writes *writeSet, o kv.RangeOptions, share func() *writeSet) {
	it.left, it.reverse, it.batchRows = -1, o.Reverse, firstBatchRows
	if o.Limit > 0 {
		it.left = o.Limit
	}
	if o.Mode != kv.ModeIterator {
		it.batchRows = maxBatchRows
	}
	if most := it.batchRows; it.left < 0 || it.left > firstBatchRows {
		it.rows, it.data = make([]rowAt, 0, min(most, 2*firstBatchRows)), make([]byte, 0, firstBatchBytes)
	}
	c, err := v.open(it.r, o.Reverse, writes)
	if err != nil {
		it.err, it.finished = err, true
		return
	}
	it.mu.cursor = c
	it.fill()
	if !it.finished {
		if share != nil {
			c.lay(share())
		}
		it.open.add(it)
	}
}

// fill reads the next batch. Between BeginRead and EndRead.
func (it *rangeIterator) fill() {
	it.mu.Lock()
	defer it.mu.Unlock()
	c := it.mu.cursor
	it.rows, it.data, it.pos = it.rows[:0], it.data[:0], 0
	if c == nil {
		it.err, it.finished = errTooOld, true
		return
	}
	most := it.batchRows
	if it.left >= 0 {
		most = min(most, it.left)
	}
	it.batchRows = min(4*it.batchRows, maxBatchRows)
	for len(it.rows) < most && len(it.data) < maxBatchBytes {
		if !c.next() {
			it.err, it.finished = c.err, true
			break
		}
		k := len(it.data)
		it.data = append(it.data, c.key...)
		v := len(it.data)
		it.data = append(it.data, c.value...)
		it.rows = append(it.rows, rowAt{k, v, len(it.data)})
	}
	if it.left >= 0 {
		it.left -= len(it.rows)
	}
	covered := it.r
	if it.left == 0 || !it.finished {
		covered = it.upTo(len(it.rows))
	}
	if it.left == 0 {
		it.finished = true
	}
	it.owner.Covered(it, covered)
	if it.finished {
		it.mu.cursor = nil
		if err := c.close(); err != nil && it.err == nil {
			it.err = err
		}
	}
}

// upTo is what the first n rows of the batch, and all before it, cover of the range.
func (it *rangeIterator) upTo(n int) span {
	if n == 0 {
		return span{begin: it.r.begin, end: it.r.begin}
	}
	key := it.data[it.rows[n-1].key:it.rows[n-1].value]
	if it.reverse {
		return span{begin: key, end: it.r.end}
	}
	return span{begin: it.r.begin, end: keyAfter(key)}
}

func (it *rangeIterator) Next() bool {
	ended := it.ended != nil && it.ended.Load()
	if it.pos < len(it.rows) && !it.closed && !ended {
		it.pos++
		return true
	}
	if it.closed || it.finished && !ended {
		it.pos = len(it.rows) + 1
		return false
	}
	if err := it.owner.BeginRead(); err != nil {
		it.err = err
		it.rows, it.pos = it.rows[:0], 1
		it.Close()
		return false
	}
	it.fill()
	it.owner.EndRead()
	if it.finished {
		it.open.remove(it)
	}
	it.pos++
	return it.pos <= len(it.rows)
}

func (it *rangeIterator) KeyValue() kv.KeyValue {
	if it.pos == 0 || it.pos > len(it.rows) {
		return kv.KeyValue{}
	}
	r := it.rows[it.pos-1]
	return kv.KeyValue{Key: it.data[r.key:r.value:r.value], Value: it.data[r.value:r.end:r.end]}
}

// Err implements kv.RangeIterator: an error counts once the rows before it are read.
func (it *rangeIterator) Err() error {
	if it.pos <= len(it.rows) && len(it.rows) > 0 {
		return nil
	}
	return it.err
}

func (it *rangeIterator) Close() {
	if it.closed {
		return
	}
	it.closed = true
	if it.pos < len(it.rows) {
		it.owner.Stopped(it, it.upTo(it.pos))
	}
	if !it.finished {
		it.finished = true
		it.open.remove(it)
		it.release()
	}
}

// release closes the cursor. From any goroutine.
func (it *rangeIterator) release() {
	it.mu.Lock()
	c := it.mu.cursor
	it.mu.cursor = nil
	it.mu.Unlock()
	if c != nil {
		_ = c.close() // its rows were delivered; what it has left to say is of no use to anyone
	}
}

// iterators are the range reads with an open cursor.
type iterators struct {
	mu struct {
		sync.Mutex
		open map[*rangeIterator]struct{}
	}
}

func (is *iterators) add(it *rangeIterator) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.mu.open == nil {
		is.mu.open = make(map[*rangeIterator]struct{})
	}
	is.mu.open[it] = struct{}{}
}

func (is *iterators) remove(it *rangeIterator) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.mu.open, it)
}

// sweep closes the cursors of forgotten reads whose time is over: they keep files and memtables from being freed.
func (is *iterators) sweep(now time.Time) {
	is.take(func(it *rangeIterator) bool { return !it.expires.IsZero() && now.After(it.expires) })
}

// close closes all cursors.
func (is *iterators) close() {
	is.take(func(*rangeIterator) bool { return true })
}

func (is *iterators) take(which func(*rangeIterator) bool) {
	var taken []*rangeIterator
	is.mu.Lock()
	for it := range is.mu.open {
		if which(it) {
			taken = append(taken, it)
			delete(is.mu.open, it)
		}
	}
	is.mu.Unlock()
	for _, it := range taken {
		it.release()
	}
}

// failedRange is a range read that could not begin.
type failedRange struct{ err error }

// failed is a range read that could not begin, nil where it is empty.
func failed(err error) kv.RangeIterator { return failedRange{err} }

func (f failedRange) Next() bool            { return false }
func (f failedRange) KeyValue() kv.KeyValue { return kv.KeyValue{} }
func (f failedRange) Err() error            { return f.err }
func (f failedRange) Close()                {}

// boundsOf resolves a range's selectors to copies of keys. The usual ones name their key themselves; others ask.
func boundsOf(begin, end kv.KeySelector, ask func(kv.KeySelector) ([]byte, error)) (s span, err error) {
	for i, sel := range [2]kv.KeySelector{begin, end} {
		if err := legalBound(sel.Key); err != nil {
			return span{}, err
		}
		var key []byte
		switch {
		case sel.Offset == 1 && !sel.OrEqual:
			key = append([]byte{}, sel.Key...)
		case sel.Offset == 1:
			key = keyAfter(sel.Key)
		default:
			if key, err = ask(sel); err != nil {
				return span{}, err
			}
		}
		if i == 0 {
			s.begin = key
		} else {
			s.end = key
		}
	}
	if bytes.Compare(s.end, endOfKeys) > 0 {
		s.end = endOfKeys
	}
	return s, nil
}
