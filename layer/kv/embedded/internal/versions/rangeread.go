package versions

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// Rows are copied out of the store in batches: the iterator's lock is then taken once per batch instead of once per
// row, and a reader that stops early has not read far. Batches grow so that long reads are cheap.
const (
	firstBatchRows = 32
	maxBatchRows   = 1024
	// firstBatchBytes is the initial buffer of a batch that may have many rows. Most such reads have few.
	firstBatchBytes = 2 << 10
	maxBatchBytes   = 64 << 10
	// keptBatchBytes is the buffer of a batch that is kept. The last row usually fits into it too.
	keptBatchBytes = maxBatchBytes + maxBatchBytes/8
)

// readOwner is a transaction or a long snapshot, which a range read asks before each batch.
type readOwner interface {
	// BeginRead locks the owner for a batch, or returns why it cannot be read.
	BeginRead() error
	EndRead()
	// Covered reports the end of a batch: the read has covered s so far. Called between BeginRead and EndRead.
	Covered(it *RangeIterator, s keys.Span)
	// Stopped reports that the caller stopped after s.
	Stopped(it *RangeIterator, s keys.Span)
}

// RangeIterator implements kv.RangeIterator. Only its user's goroutine calls it, but the engine may close its cursor
// at any time.
type RangeIterator struct {
	Owner    readOwner
	Open     *Iterators
	R        keys.Span
	Reverse  bool
	left     int // rows left of the limit, -1 for no limit
	Conflict int // index of the transaction's read conflict, -1 for none
	Expires  time.Time
	Ended    *atomic.Bool // the transaction's, nil for a long snapshot

	rows      []rowAt
	data      []byte
	pos       int // rows returned
	batchRows int
	kept      bool // the user may keep rows, so that their memory is not used again
	finished  bool // no batch follows this one
	closed    bool
	err       error

	mu struct {
		sync.Mutex
		cursor *cursor // nil once closed
	}
}

// rowAt locates a row in data.
type rowAt struct{ key, value, end int }

// StartRange initialises it and reads its first batch. Call it between BeginRead and EndRead. share, if not nil, is
// called if the read continues after the first batch: its result then replaces writes, and must not change.
func StartRange(it *RangeIterator, v *View, writes *writes.Set, o kv.RangeOptions, share func() *writes.Set) {
	it.left, it.Reverse, it.batchRows = -1, o.Reverse, firstBatchRows
	if o.Limit > 0 {
		it.left = o.Limit
	}
	if o.Mode != kv.ModeIterator {
		it.batchRows = maxBatchRows
	}
	if most := it.batchRows; it.left < 0 || it.left > firstBatchRows {
		it.rows, it.data = make([]rowAt, 0, min(most, 2*firstBatchRows)), make([]byte, 0, firstBatchBytes)
	}
	c, err := v.open(it.R, o.Reverse, writes)
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
		it.Open.add(it)
	}
}

// fill reads the next batch. Called between BeginRead and EndRead.
func (it *RangeIterator) fill() {
	it.mu.Lock()
	defer it.mu.Unlock()
	c := it.mu.cursor
	if it.kept && len(it.data) > 0 {
		it.data = make([]byte, 0, keptBatchBytes)
	}
	it.rows, it.data, it.pos = it.rows[:0], it.data[:0], 0
	if c == nil {
		it.err, it.finished = failure.ErrTooOld, true
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
	covered := it.R
	if it.left == 0 || !it.finished {
		covered = it.upTo(len(it.rows))
	}
	if it.left == 0 {
		it.finished = true
	}
	it.Owner.Covered(it, covered)
	if it.finished {
		it.mu.cursor = nil
		if err := c.close(); err != nil && it.err == nil {
			it.err = err
		}
	}
}

// upTo returns the part of the range that the first n rows of the batch, and all before it, cover.
func (it *RangeIterator) upTo(n int) keys.Span {
	if n == 0 {
		return keys.Span{Begin: it.R.Begin, End: it.R.Begin}
	}
	key := it.data[it.rows[n-1].key:it.rows[n-1].value]
	if it.Reverse {
		return keys.Span{Begin: key, End: it.R.End}
	}
	return keys.Span{Begin: it.R.Begin, End: keys.After(key)}
}

func (it *RangeIterator) Next() bool {
	ended := it.Ended != nil && it.Ended.Load()
	if it.pos < len(it.rows) && !it.closed && !ended {
		it.pos++
		return true
	}
	if it.closed || it.finished && !ended {
		it.pos = len(it.rows) + 1
		return false
	}
	if err := it.Owner.BeginRead(); err != nil {
		it.err = err
		it.rows, it.pos = it.rows[:0], 1
		it.Close()
		return false
	}
	it.fill()
	it.Owner.EndRead()
	if it.finished {
		it.Open.remove(it)
	}
	it.pos++
	return it.pos <= len(it.rows)
}

func (it *RangeIterator) KeyValue() kv.KeyValue {
	if it.pos == 0 || it.pos > len(it.rows) {
		return kv.KeyValue{}
	}
	r := it.rows[it.pos-1]
	return kv.KeyValue{Key: it.data[r.key:r.value:r.value], Value: it.data[r.value:r.end:r.end]}
}

// Err implements kv.RangeIterator. An error is reported only after the rows before it were read.
func (it *RangeIterator) Err() error {
	if it.pos <= len(it.rows) && len(it.rows) > 0 {
		return nil
	}
	return it.err
}

func (it *RangeIterator) Close() {
	if it.closed {
		return
	}
	it.closed = true
	if it.pos < len(it.rows) {
		it.Owner.Stopped(it, it.upTo(it.pos))
	}
	if !it.finished {
		it.finished = true
		it.Open.remove(it)
		it.release()
	}
}

// release closes the cursor. Any goroutine may call it.
func (it *RangeIterator) release() {
	it.mu.Lock()
	c := it.mu.cursor
	it.mu.cursor = nil
	it.mu.Unlock()
	if c != nil {
		_ = c.close() // its rows were delivered; nobody needs its error
	}
}

// Iterators are the range reads with an open cursor.
type Iterators struct {
	mu struct {
		sync.Mutex
		open map[*RangeIterator]struct{}
	}
}

func (is *Iterators) add(it *RangeIterator) {
	is.mu.Lock()
	defer is.mu.Unlock()
	if is.mu.open == nil {
		is.mu.open = make(map[*RangeIterator]struct{})
	}
	is.mu.open[it] = struct{}{}
}

func (is *Iterators) remove(it *RangeIterator) {
	is.mu.Lock()
	defer is.mu.Unlock()
	delete(is.mu.open, it)
}

// Sweep closes the cursors of abandoned reads past the time limit: they keep files and memtables from being freed.
func (is *Iterators) Sweep(now time.Time) {
	is.take(func(it *RangeIterator) bool { return !it.Expires.IsZero() && now.After(it.Expires) })
}

// Close closes all cursors.
func (is *Iterators) Close() {
	is.take(func(*RangeIterator) bool { return true })
}

func (is *Iterators) take(which func(*RangeIterator) bool) {
	var taken []*RangeIterator
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

// Failed returns a range read that could not begin because of err, or an empty one if err is nil.
func Failed(err error) kv.RangeIterator { return failedRange{err} }

func (f failedRange) Next() bool            { return false }
func (f failedRange) KeyValue() kv.KeyValue { return kv.KeyValue{} }
func (f failedRange) Err() error            { return f.err }
func (f failedRange) Close()                {}

// BoundsOf resolves a range's selectors to copies of keys. FirstGreaterOrEqual needs no read; other selectors call
// ask.
func BoundsOf(begin, end kv.KeySelector, ask func(kv.KeySelector) ([]byte, error)) (s keys.Span, err error) {
	for i, sel := range [2]kv.KeySelector{begin, end} {
		if err := keys.LegalBound(sel.Key); err != nil {
			return keys.Span{}, err
		}
		var key []byte
		switch {
		case sel.Offset == 1 && !sel.OrEqual:
			key = append([]byte{}, sel.Key...)
		case sel.Offset == 1:
			key = keys.After(sel.Key)
		default:
			if key, err = ask(sel); err != nil {
				return keys.Span{}, err
			}
		}
		if i == 0 {
			s.Begin = key
		} else {
			s.End = key
		}
	}
	if bytes.Compare(s.End, keys.EndOfKeys) > 0 {
		s.End = keys.EndOfKeys
	}
	return s, nil
}
