package txn

import (
	"bytes"
	"encoding/binary"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/commit"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// txWrites are a transaction's buffered writes.
type txWrites struct {
	txVersion

	// Guarded by mu.

	writes    writes.Set
	conflicts []keys.Span       // from AddWriteConflict
	small     *smallTransaction // nil before the first write
	wrote     bool
	// makesRoom lets the commit proceed on a disk that is nearly full.
	makesRoom bool
	scratch   []byte
}

// change runs write under the lock, or records why it is illegal.
func (t *txWrites) change(illegal error, size int, write func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if t.writable(size) {
		t.wrote = true
		t.begin()
		write()
	}
}

// smallTransaction is memory for a transaction with few writes, as most are, allocated as one block.
type smallTransaction struct {
	writes  writes.Small
	request commit.Request
	written [4]keys.Span
}

// begin allocates memory before the first write.
func (t *txWrites) begin() {
	if t.small == nil {
		t.small = new(smallTransaction)
		t.writes.Begin(&t.small.writes)
	}
}

// writeOverhead counts against the size limit for each write, beside its key, value and conflict range.
const writeOverhead = 12

func (t *txWrites) Set(key, value []byte) {
	t.change(keys.LegalPair(key, value), writeOverhead+2*len(key)+len(value), func() { t.writes.Set(key, value) })
}

func (t *txWrites) Clear(key []byte) {
	t.change(keys.LegalKey(key), writeOverhead+2*len(key), func() { t.writes.Clear(key) })
}

func (t *txWrites) ClearRange(r kv.KeyRange) {
	t.change(keys.LegalRange(r), writeOverhead+2*(len(r.Begin)+len(r.End)), func() {
		if s := keys.Of(r); !s.Empty() {
			t.writes.ClearRange(s)
		}
	})
}

func (t *txWrites) Atomic(op kv.AtomicOp, key, operand []byte) {
	illegal := keys.LegalPair(key, operand)
	if !writes.ValidAtomic(op) {
		illegal = errAtomic
	}
	t.change(illegal, writeOverhead+2*len(key)+len(operand), func() { t.writes.Atomic(op, key, operand) })
}

func (t *txWrites) SetVersionstampedKey(key []byte, offset int, value []byte) {
	illegal := keys.LegalPair(key, value)
	if illegal == nil && (!keys.StampFits(key, offset) || offset == 0) {
		illegal = errOffset // a key that begins with a versionstamp could leave the legal range
	}
	t.change(illegal, writeOverhead+3*len(key)+len(value), func() {
		t.writes.StampKey(key, offset, value, t.possibleKeys(key, offset))
	})
}

// possibleKeys returns the keys that key may become with a versionstamp: those with versions after the read version.
// Older entries stay readable. The span is valid until the next call.
func (t *txWrites) possibleKeys(key []byte, offset int) keys.Span {
	first := int64(0)
	if t.view != nil {
		first = t.view.Version + 1
	}
	buf := append(t.scratch[:0], key[:offset]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(first))
	mid := len(buf)
	buf = append(append(buf, key[:offset]...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	t.scratch = buf
	return keys.Span{Begin: buf[:mid:mid], End: buf[mid:]}
}

func (t *txWrites) SetVersionstampedValue(key, value []byte, offset int) {
	illegal := keys.LegalPair(key, value)
	switch {
	case illegal == nil && !keys.StampFits(value, offset):
		illegal = errOffset
	case string(key) == kv.MetadataVersionKey && offset == 0 &&
		string(value) == string(make([]byte, len(kv.Versionstamp{}))):
		illegal = nil // kv.ChangeMetadataVersion
	}
	t.change(illegal, writeOverhead+2*len(key)+len(value), func() { t.writes.StampValue(key, value, offset) })
}

func (t *txWrites) AddWriteConflict(r kv.KeyRange) {
	illegal := keys.LegalRange(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if s := keys.Of(r); !s.Empty() && t.writable(s.Size()) {
		t.conflicts = append(t.conflicts, keys.Span{Begin: bytes.Clone(s.Begin), End: bytes.Clone(s.End)})
	}
}

// MakesRoom implements kv.Transaction.
func (t *txWrites) MakesRoom() {
	t.mu.Lock()
	t.makesRoom = true
	t.mu.Unlock()
}

func (t *txWrites) Wrote() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrote
}
