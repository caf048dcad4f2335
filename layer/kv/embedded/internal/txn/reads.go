package txn

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// txReads are a transaction's reads, which see its own writes.
type txReads struct {
	txWrites

	// Guarded by mu.

	reads   []keys.Span
	readMem keys.Arena
	// unread is set when there were too many reads to remember: the transaction can no longer commit writes.
	unread bool
}

// smallReads is memory for a transaction's first reads, allocated as one block.
type smallReads struct {
	spans [4]keys.Span
	mem   [192]byte
}

// future is a read that has already completed.
type future[T any] struct {
	value T
	err   error
}

func (f *future[T]) Wait() (T, error) { return f.value, f.err }

func (t *txReads) Get(key []byte) kv.Future[[]byte]            { return t.get(key, false) }
func (t *txReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return t.getKey(sel, false) }
func (t *txReads) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return t.getRange(r, o, false)
}

func (t *txReads) Snapshot() kv.Reader { return snapshotReads{t} }

// snapshotReads are a transaction's reads without read conflicts.
type snapshotReads struct{ t *txReads }

func (s snapshotReads) Get(key []byte) kv.Future[[]byte]            { return s.t.get(key, true) }
func (s snapshotReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return s.t.getKey(sel, true) }
func (s snapshotReads) ReadVersion() kv.Future[int64]               { return s.t.ReadVersion() }
func (s snapshotReads) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return s.t.getRange(r, o, true)
}

func (t *txReads) get(key []byte, snapshot bool) *future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := new(future[[]byte])
	if f.err = t.readable(); f.err == nil {
		f.value, f.err = t.getLocked(key, snapshot)
	}
	return f
}

// getLocked reads one key. If the transaction's own writes determine the value, there is no conflict; otherwise it
// reads the store.
func (t *txReads) getLocked(key []byte, snapshot bool) ([]byte, error) {
	if err := keys.LegalRead(key); err != nil {
		return nil, err
	}
	var ops []writes.Atomic
	if own := t.writes.Get(key); own != nil {
		switch own.Kind {
		case writes.KindSet:
			return own.Value, nil
		case writes.KindClear:
			return nil, nil
		case writes.KindStamped:
			return nil, failure.ErrUnreadable
		}
		ops = own.Ops
	} else if _, may := t.writes.Unreadable.Find(key); may {
		return nil, failure.ErrUnreadable
	} else if t.writes.IsCleared(key) {
		return nil, nil
	}
	if !snapshot {
		t.noteRead(keys.Point(key))
	}
	stored, err := t.view.Get(key)
	if err != nil || ops == nil {
		return stored, err
	}
	value, exists := writes.Fold(ops, stored, stored != nil)
	if !exists {
		return nil, nil
	}
	return value, nil
}

func (t *txReads) getKey(sel kv.KeySelector, snapshot bool) *future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := new(future[[]byte])
	if f.err = t.readable(); f.err == nil {
		f.value, f.err = t.selectKey(sel, snapshot)
	}
	return f
}

// selectKey resolves a selector. It adds a read conflict for the keys it walked over, from the selector's key to the
// result. Called with mu locked.
func (t *txReads) selectKey(sel kv.KeySelector, snapshot bool) ([]byte, error) {
	key, read, err := t.view.SelectKey(sel, &t.writes)
	if err != nil {
		return nil, err
	}
	if !snapshot {
		t.noteReadRange(read)
	}
	return key, nil
}

// noteReadRange adds read conflicts for the parts of s that the transaction has not itself cleared. Called with mu
// locked.
func (t *txReads) noteReadRange(s keys.Span) {
	for _, own := range t.writes.Cleared.Spans {
		if !s.StartsBefore(own) || !own.StartsBefore(s) {
			continue
		}
		if before := (keys.Span{Begin: s.Begin, End: own.Begin}); !before.Empty() {
			t.noteRead(before)
		}
		if keys.CompareEnds(s, own) <= 0 {
			return
		}
		s = keys.Span{Begin: own.EndKey(), End: s.EndKey()}
	}
	t.noteRead(s)
}

// noteRead adds a read conflict and returns its index in reads, or -1. It copies s's keys. Called with mu locked.
func (t *txReads) noteRead(s keys.Span) int {
	if t.unread || s.Empty() {
		return -1
	}
	size := s.Size()
	if t.size+size > kv.MaxTransactionSize {
		// A read-only transaction may continue. One that writes can no longer commit.
		t.reads, t.unread = nil, true
		return -1
	}
	t.size += size
	if t.reads == nil {
		small := new(smallReads)
		t.reads, t.readMem.Free = small.spans[:0], small.mem[:0]
	}
	c := keys.Span{Begin: t.readMem.Copy(s.Begin)}
	if s.End != nil {
		c.End = t.readMem.CopyValue(s.End)
	}
	t.reads = append(t.reads, c)
	return len(t.reads) - 1
}

func (t *txReads) AddReadConflict(r kv.KeyRange) {
	illegal := keys.LegalRange(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if t.state == txActive {
		t.noteRead(keys.Of(r))
	}
}
