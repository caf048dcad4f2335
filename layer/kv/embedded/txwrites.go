package embedded

import (
	"bytes"
	"encoding/binary"

	"github.com/divandb/divan/layer/kv"
)

// txWrites is what a transaction will write.
type txWrites struct {
	txVersion

	// Guarded by mu.

	writes    writeSet
	conflicts []span            // of AddWriteConflict
	small     *smallTransaction // nil before the first write
	wrote     bool
	// makesRoom is set where the commit is let in on a disk that is nearly full.
	makesRoom bool
	scratch   []byte
}

// change carries out one write under the lock, or remembers why it is illegal.
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

// smallTransaction is the memory of a transaction that writes little, in one piece: most write a few keys.
type smallTransaction struct {
	writes  smallWrites
	request commitRequest
	written [4]span
}

// begin makes room before the first write.
func (t *txWrites) begin() {
	if t.small == nil {
		t.small = new(smallTransaction)
		t.writes.begin(&t.small.writes)
	}
}

// writeOverhead is what a write counts against the limit beside its key, value and conflict range.
const writeOverhead = 12

func (t *txWrites) Set(key, value []byte) {
	t.change(legalPair(key, value), writeOverhead+2*len(key)+len(value), func() { t.writes.set(key, value) })
}

func (t *txWrites) Clear(key []byte) {
	t.change(legalKey(key), writeOverhead+2*len(key), func() { t.writes.clear(key) })
}

func (t *txWrites) ClearRange(r kv.KeyRange) {
	t.change(legalRange(r), writeOverhead+2*(len(r.Begin)+len(r.End)), func() {
		if s := spanOf(r); !s.empty() {
			t.writes.clearRange(s)
		}
	})
}

func (t *txWrites) Atomic(op kv.AtomicOp, key, operand []byte) {
	illegal := legalPair(key, operand)
	if !validAtomic(op) {
		illegal = errAtomic
	}
	t.change(illegal, writeOverhead+2*len(key)+len(operand), func() { t.writes.atomic(op, key, operand) })
}

func (t *txWrites) SetVersionstampedKey(key []byte, offset int, value []byte) {
	illegal := legalPair(key, value)
	if illegal == nil && (!stampFits(key, offset) || offset == 0) {
		illegal = errOffset // a key that begins with a versionstamp could leave the legal range
	}
	t.change(illegal, writeOverhead+3*len(key)+len(value), func() {
		t.writes.stampKey(key, offset, value, t.possibleKeys(key, offset))
	})
}

// possibleKeys are the keys that key may become with a versionstamp: those of versions after the read version. Older entries stay readable. The span
// is valid until the next call.
func (t *txWrites) possibleKeys(key []byte, offset int) span {
	first := int64(0)
	if t.view != nil {
		first = t.view.version + 1
	}
	buf := append(t.scratch[:0], key[:offset]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(first))
	mid := len(buf)
	buf = append(append(buf, key[:offset]...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	t.scratch = buf
	return span{begin: buf[:mid:mid], end: buf[mid:]}
}

func (t *txWrites) SetVersionstampedValue(key, value []byte, offset int) {
	illegal := legalPair(key, value)
	switch {
	case illegal == nil && !stampFits(value, offset):
		illegal = errOffset
	case string(key) == kv.MetadataVersionKey && offset == 0 && string(value) == string(make([]byte, len(kv.Versionstamp{}))):
		illegal = nil // kv.ChangeMetadataVersion
	}
	t.change(illegal, writeOverhead+2*len(key)+len(value), func() { t.writes.stampValue(key, value, offset) })
}

func (t *txWrites) AddWriteConflict(r kv.KeyRange) {
	illegal := legalRange(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if illegal != nil {
		t.refuse(illegal)
		return
	}
	if s := spanOf(r); !s.empty() && t.writable(s.size()) {
		t.conflicts = append(t.conflicts, span{begin: bytes.Clone(s.begin), end: bytes.Clone(s.end)})
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
