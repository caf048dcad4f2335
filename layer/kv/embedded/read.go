package embedded

import (
	"github.com/divandb/divan/layer/kv"
)

// future is a read that is already done.
type future[T any] struct {
	value T
	err   error
}

func (f *future[T]) Wait() (T, error) { return f.value, f.err }

func (t *transaction) Get(key []byte) kv.Future[[]byte]            { return t.get(key, false) }
func (t *transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return t.getKey(sel, false) }
func (t *transaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return t.getRange(r, o, false)
}

func (t *transaction) ReadVersion() kv.Future[int64] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readable(); err != nil {
		return &future[int64]{err: err}
	}
	return &future[int64]{value: t.mu.view.version}
}

func (t *transaction) Snapshot() kv.Reader { return snapshotReads{t} }

// snapshotReads are a transaction's reads without read conflicts.
type snapshotReads struct{ t *transaction }

func (s snapshotReads) Get(key []byte) kv.Future[[]byte]            { return s.t.get(key, true) }
func (s snapshotReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return s.t.getKey(sel, true) }
func (s snapshotReads) ReadVersion() kv.Future[int64]               { return s.t.ReadVersion() }
func (s snapshotReads) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return s.t.getRange(r, o, true)
}

func (t *transaction) get(key []byte, snapshot bool) *future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := new(future[[]byte])
	if f.err = t.readable(); f.err == nil {
		f.value, f.err = t.getLocked(key, snapshot)
	}
	return f
}

// getLocked reads one key: from the transaction's own writes where they decide it, without a conflict; else from the store.
func (t *transaction) getLocked(key []byte, snapshot bool) ([]byte, error) {
	if err := legalRead(key); err != nil {
		return nil, err
	}
	var ops []atomicWrite
	if own := t.mu.writes.get(key); own != nil {
		switch own.kind {
		case kindSet:
			return own.value, nil
		case kindClear:
			return nil, nil
		case kindStamped:
			return nil, errUnreadable
		}
		ops = own.ops
	} else if _, may := t.mu.writes.unreadable.find(key); may {
		return nil, errUnreadable
	} else if t.mu.writes.isCleared(key) {
		return nil, nil
	}
	if !snapshot {
		t.noteRead(pointSpan(key))
	}
	stored, err := t.mu.view.get(key)
	if err != nil || ops == nil {
		return stored, err
	}
	value, exists := fold(ops, stored, stored != nil)
	if !exists {
		return nil, nil
	}
	return value, nil
}

// get reads one key at the view's version.
func (v *view) get(key []byte) ([]byte, error) {
	if !v.enter() {
		return nil, errTooOld
	}
	defer v.leave()
	if value, known := v.rows.get(key, v.version); known {
		return value, nil
	}
	value, err := readCopy(v.snap, key)
	if err == nil {
		v.rows.fill(key, value, v.version)
	}
	return value, err
}

func (t *transaction) getKey(sel kv.KeySelector, snapshot bool) *future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := new(future[[]byte])
	if f.err = t.readable(); f.err == nil {
		f.value, f.err = t.selectKey(sel, snapshot)
	}
	return f
}

// selectKey resolves a selector. The conflict it adds is what it walked over: from the selector's key to the one it found. Called with mu locked.
func (t *transaction) selectKey(sel kv.KeySelector, snapshot bool) ([]byte, error) {
	key, read, err := t.mu.view.selectKey(sel, &t.mu.writes)
	if err != nil {
		return nil, err
	}
	if !snapshot {
		t.noteReadRange(read)
	}
	return key, nil
}

// noteReadRange adds the parts of a read range that the transaction did not itself clear. Called with mu locked.
func (t *transaction) noteReadRange(s span) {
	for _, own := range t.mu.writes.cleared.spans {
		if !s.startsBefore(own) || !own.startsBefore(s) {
			continue
		}
		if before := (span{begin: s.begin, end: own.begin}); !before.empty() {
			t.noteRead(before)
		}
		if compareEnds(s, own) <= 0 {
			return
		}
		s = span{begin: own.endKey(), end: s.endKey()}
	}
	t.noteRead(s)
}

// selectKey resolves a selector at v, through writes. read is what it walked over.
func (v *view) selectKey(sel kv.KeySelector, writes *writeSet) (key []byte, read span, err error) {
	if err := legalBound(sel.Key); err != nil {
		return nil, span{}, err
	}
	from := sel.Key
	if sel.OrEqual {
		from = keyAfter(from)
	}
	forward := sel.Offset > 0
	r, steps := span{begin: []byte{}, end: from}, 1-sel.Offset
	if forward {
		r, steps = span{begin: from, end: endOfKeys}, sel.Offset
	}
	if !r.empty() {
		c, err := v.open(r, !forward, writes)
		if err != nil {
			return nil, span{}, err
		}
		defer c.close()
		for ; steps > 0; steps-- {
			if !c.next() {
				break
			}
		}
		if c.err != nil {
			return nil, span{}, c.err
		}
		if steps == 0 {
			key = append([]byte{}, c.key...)
		}
	}
	switch {
	case key == nil && forward:
		return endOfKeys, r, nil
	case key == nil:
		return []byte{}, r, nil
	case forward:
		return key, span{begin: from, end: keyAfter(key)}, nil
	}
	return key, span{begin: key, end: from}, nil
}
