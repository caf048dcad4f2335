package writes

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// writeKind is the kind of net effect that a transaction has on a key.
type writeKind uint8

const (
	// KindOps: the atomic operations in ops apply to the stored value, whatever it is at commit.
	KindOps writeKind = iota
	// KindSet: the key gets the value.
	KindSet
	// KindClear: the key is removed.
	KindClear
	// KindStamped: the key gets the value with the commit's versionstamp at offset, then ops apply. Unreadable until
	// the commit.
	KindStamped
)

// Write is the net effect of a transaction on one key. Immutable once it is in a Set, since range reads share it.
type Write struct {
	Key, Value []byte
	Ops        []Atomic
	Offset     int
	Kind       writeKind
}

// Atomic is one atomic operation on a key.
type Atomic struct {
	op      kv.AtomicOp
	operand []byte
}

// Fold applies ops to a stored value and returns the result.
func Fold(ops []Atomic, value []byte, present bool) ([]byte, bool) {
	for _, o := range ops {
		value, present = applyAtomic(o.op, value, present, o.operand)
	}
	return value, present
}

// Stamped is a write to a key that is known only at commit.
type Stamped struct {
	Key      []byte // with the placeholder
	Offset   int
	Value    []byte
	possible keys.Span // the keys that it may become
	// Cleared are ranges that were cleared after the write and may contain the key.
	Cleared []keys.Span
}

// Set holds a transaction's writes: the net effect on each key, in key order. Cleared ranges and single keys are
// separate: a key in the table was written after every cleared range that contains it.
type Set struct {
	Table   Table
	Cleared keys.Set
	Stamped []Stamped
	// Unreadable are the keys that a stamped key may become.
	Unreadable keys.Set

	slab []Write
	mem  keys.Arena
}

// Get returns the write to exactly key, or nil.
func (w *Set) Get(key []byte) *Write { return w.Table.get(key) }

// Small is memory for a few writes, allocated as one block.
type Small struct {
	table [4]*Write
	slab  [4]Write
	mem   [320]byte
}

// put stores the net effect on a key. The set owns the memory of the key.
func (w *Set) put(v Write) {
	if len(w.slab) == cap(w.slab) {
		w.slab = make([]Write, 0, min(max(4, 2*cap(w.slab)), 128))
	}
	w.slab = append(w.slab, v)
	w.Table.put(&w.slab[len(w.slab)-1])
}

// Begin gives the set memory for its first writes.
func (w *Set) Begin(small *Small) {
	w.slab, w.mem.Free, w.Table.few = small.slab[:0], small.mem[:0], small.table[:0]
}

// Set sets a key.
func (w *Set) Set(key, value []byte) {
	w.put(Write{Key: w.mem.Copy(key), Value: w.mem.CopyValue(value), Kind: KindSet})
}

// Clear clears a key.
func (w *Set) Clear(key []byte) {
	w.put(Write{Key: w.mem.Copy(key), Kind: KindClear})
}

// ClearRange clears a span that has an end.
func (w *Set) ClearRange(r keys.Span) {
	r = keys.Span{Begin: w.mem.Copy(r.Begin), End: w.mem.CopyValue(r.End)}
	w.Table.deleteRange(r)
	w.Cleared.Add(r)
	if len(w.Stamped) == 0 {
		return
	}
	kept := w.Stamped[:0]
	for _, s := range w.Stamped {
		if !s.possible.StartsBefore(r) || !r.StartsBefore(s.possible) {
			kept = append(kept, s)
			continue
		}
		inside := bytes.Compare(r.Begin, s.possible.Begin) <= 0 && keys.CompareEnds(s.possible, r) <= 0
		if !inside {
			s.Cleared = append(s.Cleared, r)
			kept = append(kept, s)
		}
	}
	clear(w.Stamped[len(kept):])
	w.Stamped = kept
	w.Unreadable.Remove(r)
}

// Atomic adds an operation on key. If the value is known, the operation is applied at once.
func (w *Set) Atomic(op kv.AtomicOp, key, operand []byte) {
	operand = w.mem.CopyValue(operand)
	known := w.Get(key)
	next := Write{Kind: KindSet}
	switch {
	case known == nil && !w.IsCleared(key):
		next.Kind, next.Ops = KindOps, []Atomic{{op, operand}}
	case known == nil:
		next.settle(applyAtomic(op, nil, false, operand))
	case known.Kind == KindSet || known.Kind == KindClear:
		next.settle(applyAtomic(op, known.Value, known.Kind == KindSet, operand))
	default:
		next = *known
		// The full slice expression keeps the previous write's operations unchanged; a range read may share them.
		next.Ops = append(known.Ops[:len(known.Ops):len(known.Ops)], Atomic{op, operand})
	}
	if next.Key = w.mem.Copy(key); known != nil {
		next.Key = known.Key
	}
	w.put(next)
}

func (v *Write) settle(value []byte, exists bool) {
	if v.Value, v.Kind = value, KindSet; !exists {
		v.Kind = KindClear
	}
}

// IsCleared reports whether key is in a cleared range.
func (w *Set) IsCleared(key []byte) bool {
	_, in := w.Cleared.Find(key)
	return in
}

// StampValue sets a key to a value with the commit's versionstamp at offset.
func (w *Set) StampValue(key, value []byte, offset int) {
	w.put(Write{Key: w.mem.Copy(key), Value: w.mem.CopyValue(value), Offset: offset, Kind: KindStamped})
}

// StampKey adds a write to a key that the commit will complete; the key will be in the span possible.
func (w *Set) StampKey(key []byte, offset int, value []byte, possible keys.Span) {
	if known, ok := w.Unreadable.Find(possible.Begin); !ok || keys.CompareEnds(known, possible) < 0 {
		possible = keys.Span{Begin: bytes.Clone(possible.Begin), End: bytes.Clone(possible.End)}
		w.Unreadable.Add(possible)
	} else {
		possible = known
	}
	w.Stamped = append(w.Stamped, Stamped{Key: w.mem.Copy(key), Offset: offset, Value: w.mem.CopyValue(value),
		possible: possible})
}

// Share returns the current state of the set for a range read that outlives this call. Later writes do not change it.
func (w *Set) Share() *Set {
	return &Set{Table: w.Table.share(), Cleared: w.Cleared.Share(), Unreadable: w.Unreadable.Share()}
}
