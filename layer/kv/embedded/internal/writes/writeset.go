package writes

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// writeKind is what a transaction knows of a key that it wrote.
type writeKind uint8

const (
	// KindOps: the stored value, whatever it is at commit, after the atomic operations in ops.
	KindOps writeKind = iota
	// KindSet: the value.
	KindSet
	// KindClear: nothing.
	KindClear
	// KindStamped: the value with the commit's versionstamp at offset, and then ops. Unreadable until then.
	KindStamped
)

// Write is the net effect of a transaction on one key. Immutable once it is in a write set, since range reads share it.
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

// Fold is the value after ops on a stored value.
func Fold(ops []Atomic, value []byte, present bool) ([]byte, bool) {
	for _, o := range ops {
		value, present = applyAtomic(o.op, value, present, o.operand)
	}
	return value, present
}

// Stamped is a write to a key that only the commit will know.
type Stamped struct {
	Key      []byte // with the placeholder
	Offset   int
	Value    []byte
	possible keys.Span // where the key can be
	// Cleared are ranges that were cleared after the write and may hold the key.
	Cleared []keys.Span
}

// Set is what a transaction has written: the net effect for each key, in key order. Cleared ranges and single keys are
// apart: a key in the table was written after every cleared range that holds it.
type Set struct {
	Table   Table
	Cleared keys.Set
	Stamped []Stamped
	// Unreadable are the keys that a stamped key may become.
	Unreadable keys.Set

	slab []Write
	mem  keys.Arena
}

// Get is the write to exactly key, or nil.
func (w *Set) Get(key []byte) *Write { return w.Table.get(key) }

// Small is memory for a few writes, in one piece.
type Small struct {
	table [4]*Write
	slab  [4]Write
	mem   [320]byte
}

// put keeps the net effect of a key, whose memory the set owns.
func (w *Set) put(v Write) {
	if len(w.slab) == cap(w.slab) {
		w.slab = make([]Write, 0, min(max(4, 2*cap(w.slab)), 128))
	}
	w.slab = append(w.slab, v)
	w.Table.put(&w.slab[len(w.slab)-1])
}

// Begin gives memory to the set for its first writes.
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

// ClearRange clears a span, which has an end.
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

// Atomic adds an operation to what is known of key, carrying it out where the value is.
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
		// A full slice expression, so that the write before this one, which a range read may share, keeps its
		// operations.
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

// IsCleared reports whether a key is in a range that was cleared.
func (w *Set) IsCleared(key []byte) bool {
	_, in := w.Cleared.Find(key)
	return in
}

// StampValue sets a key to a value with the commit's versionstamp at offset.
func (w *Set) StampValue(key, value []byte, offset int) {
	w.put(Write{Key: w.mem.Copy(key), Value: w.mem.CopyValue(value), Offset: offset, Kind: KindStamped})
}

// StampKey adds a write to the key that the commit will make, which will be in the span possible.
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

// Share returns the set as it is now for a range read that outlives this call. Later writes do not change it.
func (w *Set) Share() *Set {
	return &Set{Table: w.Table.share(), Cleared: w.Cleared.Share(), Unreadable: w.Unreadable.Share()}
}
