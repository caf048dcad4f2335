//go:build fdb

package fdb

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/divandb/divan/layer/kv"
)

// transaction wraps the client's. Where it could not be made, failed answers everything.
type transaction struct {
	engine *engine
	ctx    context.Context
	tr     fdb.Transaction
	failed error
	unhook []func() bool
	wrote  atomic.Bool
	size   atomic.Int64
	stamp  fdb.FutureKey // asked for before the commit, as the client wants it
}

func (t *transaction) Get(key []byte) kv.Future[[]byte] {
	if err := t.checkKey(key); err != nil {
		return failure[[]byte]{err}
	}
	return value{t, t.tr.Get(fdb.Key(key))}
}

func (t *transaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := t.checkKey(sel.Key); err != nil {
		return failure[[]byte]{err}
	}
	return key{t, t.tr.GetKey(selector(sel))}
}

func (t *transaction) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if t.failed != nil {
		return &iterator{err: t.failed}
	}
	return newIterator(t, t.tr, r, o)
}

func (t *transaction) ReadVersion() kv.Future[int64] {
	if t.failed != nil {
		return failure[int64]{t.failed}
	}
	return version{t, t.tr.GetReadVersion()}
}

func (t *transaction) Snapshot() kv.Reader { return snapshot{t} }

// snapshot reads without conflicts, and sees the transaction's own writes: the client's default since API version 300.
type snapshot struct{ t *transaction }

func (s snapshot) Get(key []byte) kv.Future[[]byte] {
	if err := s.t.checkKey(key); err != nil {
		return failure[[]byte]{err}
	}
	return value{s.t, s.t.tr.Snapshot().Get(fdb.Key(key))}
}

func (s snapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	if err := s.t.checkKey(sel.Key); err != nil {
		return failure[[]byte]{err}
	}
	return key{s.t, s.t.tr.Snapshot().GetKey(selector(sel))}
}

func (s snapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if s.t.failed != nil {
		return &iterator{err: s.t.failed}
	}
	return newIterator(s.t, s.t.tr.Snapshot(), r, o)
}

func (s snapshot) ReadVersion() kv.Future[int64] { return s.t.ReadVersion() }

// checkKey refuses an overlong key on a read, which the client would cut short in silence.
func (t *transaction) checkKey(key []byte) error {
	if t.failed == nil && len(key) > kv.MaxKeySize {
		return kv.NewError(kv.CodeKeyTooLarge, "key too large", nil)
	}
	return t.failed
}

// write counts a write; false where the transaction cannot take any.
func (t *transaction) write(bytes int) bool {
	if t.failed != nil {
		return false
	}
	t.wrote.Store(true)
	t.size.Add(int64(bytes))
	return true
}

func (t *transaction) Set(key, value []byte) {
	if t.write(len(key) + len(value)) {
		t.tr.Set(fdb.Key(key), value)
	}
}

func (t *transaction) Clear(key []byte) {
	if t.write(len(key)) {
		t.tr.Clear(fdb.Key(key))
	}
}

func (t *transaction) ClearRange(r kv.KeyRange) {
	if t.write(len(r.Begin) + len(r.End)) {
		t.tr.ClearRange(keyRange(r))
	}
}

func (t *transaction) Atomic(op kv.AtomicOp, k, operand []byte) {
	if !t.write(len(k) + len(operand)) {
		return
	}
	key := fdb.Key(k)
	switch op {
	case kv.AtomicAdd:
		t.tr.Add(key, operand)
	case kv.AtomicMin:
		t.tr.Min(key, operand)
	case kv.AtomicMax:
		t.tr.Max(key, operand)
	case kv.AtomicByteMin:
		t.tr.ByteMin(key, operand)
	case kv.AtomicByteMax:
		t.tr.ByteMax(key, operand)
	case kv.AtomicAnd:
		t.tr.BitAnd(key, operand)
	case kv.AtomicOr:
		t.tr.BitOr(key, operand)
	case kv.AtomicXor:
		t.tr.BitXor(key, operand)
	case kv.AtomicAppendIfFits:
		t.tr.AppendIfFits(key, operand)
	case kv.AtomicCompareAndClear:
		t.tr.CompareAndClear(key, operand)
	default:
		t.failed = kv.NewError(kv.CodeClientInvalid, "unknown atomic operation", nil)
	}
}

func (t *transaction) SetVersionstampedKey(key []byte, offset int, value []byte) {
	if t.write(len(key) + len(value)) {
		t.tr.SetVersionstampedKey(fdb.Key(withOffset(key, offset)), value)
	}
}

func (t *transaction) SetVersionstampedValue(key, value []byte, offset int) {
	if t.write(len(key) + len(value)) {
		t.tr.SetVersionstampedValue(fdb.Key(key), withOffset(value, offset))
	}
}

// withOffset appends where the stamp goes, as the client expects it.
func withOffset(b []byte, offset int) []byte {
	return binary.LittleEndian.AppendUint32(b[:len(b):len(b)], uint32(offset))
}

func (t *transaction) AddReadConflict(r kv.KeyRange) {
	if t.failed == nil {
		t.note(t.tr.AddReadConflictRange(keyRange(r)))
	}
}

func (t *transaction) AddWriteConflict(r kv.KeyRange) {
	if t.failed == nil {
		t.note(t.tr.AddWriteConflictRange(keyRange(r)))
	}
}

func (t *transaction) note(err error) {
	if err != nil {
		t.failed = convert(t.ctx, err)
	}
}

func (t *transaction) SetReadVersion(version int64) {
	if t.failed == nil {
		t.tr.SetReadVersion(version)
	}
}

func (t *transaction) Commit() error {
	if t.failed != nil {
		return t.failed
	}
	if t.wrote.Load() {
		t.stamp = t.tr.GetVersionstamp()
	}
	return convert(t.ctx, t.tr.Commit().Get())
}

func (t *transaction) CommittedVersion() (int64, error) {
	if t.failed != nil {
		return -1, t.failed
	}
	v, err := t.tr.GetCommittedVersion()
	return v, convert(t.ctx, err)
}

func (t *transaction) Versionstamp() (v kv.Versionstamp, err error) {
	if t.failed != nil {
		return v, t.failed
	}
	if t.stamp == nil {
		return v, kv.NewError(kv.CodeClientInvalid, "no versionstamp: nothing was committed", nil)
	}
	stamp, err := t.stamp.Get()
	copy(v[:], stamp)
	return v, convert(t.ctx, err)
}

func (t *transaction) Wrote() bool { return t.wrote.Load() }

func (t *transaction) Size() int { return int(t.size.Load()) }

func (t *transaction) Cancel() {
	if t.failed != nil && t.unhook == nil {
		return
	}
	for _, stop := range t.unhook {
		stop()
	}
	t.tr.Cancel()
}

func selector(s kv.KeySelector) fdb.KeySelector {
	return fdb.KeySelector{Key: fdb.Key(s.Key), OrEqual: s.OrEqual, Offset: s.Offset}
}

func keyRange(r kv.KeyRange) fdb.KeyRange {
	return fdb.KeyRange{Begin: fdb.Key(r.Begin), End: fdb.Key(r.End)}
}
