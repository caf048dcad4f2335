//go:build fdb

package fdb

import (
	"encoding/binary"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// What the client counts for a mutation and for a conflict range, beside their keys and values.
const (
	mutationOverhead = 40
	rangeOverhead    = 32
)

// write counts a write, with bytes in the mutation and conflict bytes in its conflict range, as the client does. It
// returns false if the transaction cannot take any writes.
func (t *txWrites) write(bytes, conflict int) bool {
	if t.err() != nil {
		return false
	}
	t.wrote.Store(true)
	t.conflicting.Store(true)
	t.size.Add(int64(mutationOverhead + rangeOverhead + bytes + conflict))
	return true
}

// point returns the size of the conflict range of one key.
func point(key []byte) int { return 2*len(key) + 1 }

func (t *txWrites) Set(key, value []byte) {
	if t.write(len(key)+len(value), point(key)) {
		t.tr.Set(fdb.Key(key), value)
	}
}

// Clear refuses an overlong key. The client ignores it, because no such key can exist.
func (t *txWrites) Clear(key []byte) {
	if len(key) > kv.MaxKeySize {
		t.fail(errKeyTooLarge)
	} else if t.write(point(key), point(key)) {
		t.tr.Clear(fdb.Key(key))
	}
}

func (t *txWrites) ClearRange(r kv.KeyRange) {
	if n := len(r.Begin) + len(r.End); t.write(n, n) {
		t.tr.ClearRange(keyRange(r))
	}
}

func (t *txWrites) Atomic(op kv.AtomicOp, key, operand []byte) {
	do := atomics(t.tr, op)
	if do == nil {
		t.fail(kv.NewError(kv.CodeClientInvalid, "no such atomic operation", nil))
	} else if t.write(len(key)+len(operand), point(key)) {
		do(fdb.Key(key), operand)
	}
}

func atomics(tr fdb.Transaction, op kv.AtomicOp) func(fdb.KeyConvertible, []byte) {
	switch op {
	case kv.AtomicAdd:
		return tr.Add
	case kv.AtomicMin:
		return tr.Min
	case kv.AtomicMax:
		return tr.Max
	case kv.AtomicByteMin:
		return tr.ByteMin
	case kv.AtomicByteMax:
		return tr.ByteMax
	case kv.AtomicAnd:
		return tr.BitAnd
	case kv.AtomicOr:
		return tr.BitOr
	case kv.AtomicXor:
		return tr.BitXor
	case kv.AtomicAppendIfFits:
		return tr.AppendIfFits
	case kv.AtomicCompareAndClear:
		return tr.CompareAndClear
	}
	return nil
}

func (t *txWrites) SetVersionstampedKey(key []byte, offset int, value []byte) {
	if t.stampFits(key, offset) && t.write(len(key)+len(value), point(key)) {
		t.tr.SetVersionstampedKey(fdb.Key(withOffset(key, offset)), value)
	}
}

func (t *txWrites) SetVersionstampedValue(key, value []byte, offset int) {
	if t.stampFits(value, offset) && t.write(len(key)+len(value), point(key)) {
		t.tr.SetVersionstampedValue(fdb.Key(key), withOffset(value, offset))
	}
}

// stampFits fails the transaction if the stamp does not fit: the client would truncate the offset to 32 bits.
func (t *txWrites) stampFits(b []byte, offset int) bool {
	if offset >= 0 && offset <= len(b)-len(kv.Versionstamp{}) {
		return true
	}
	t.fail(kv.NewError(kv.CodeClientInvalid, "the versionstamp's offset is outside the key or value", nil))
	return false
}

// withOffset appends the versionstamp's offset, in the client's format.
func withOffset(b []byte, offset int) []byte {
	return binary.LittleEndian.AppendUint32(b[:len(b):len(b)], uint32(offset))
}
