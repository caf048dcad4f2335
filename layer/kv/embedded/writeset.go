package embedded

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
)

// writeKind is what a transaction knows of a key that it wrote.
type writeKind uint8

const (
	// kindOps: the stored value, whatever it is at commit, after the atomic operations in ops.
	kindOps writeKind = iota
	// kindSet: the value.
	kindSet
	// kindClear: nothing.
	kindClear
	// kindStamped: the value with the commit's versionstamp at offset, and then ops. Unreadable until then.
	kindStamped
)

// write is the net effect of a transaction on one key. Immutable once it is in a write set, since range reads share it.
type write struct {
	key, value []byte
	ops        []atomicWrite
	offset     int
	kind       writeKind
}

type atomicWrite struct {
	op      kv.AtomicOp
	operand []byte
}

// fold is the value after ops on a stored value.
func fold(ops []atomicWrite, value []byte, present bool) ([]byte, bool) {
	for _, o := range ops {
		value, present = applyAtomic(o.op, value, present, o.operand)
	}
	return value, present
}

// stampedKey is a write to a key that only the commit will know.
type stampedKey struct {
	key      []byte // with the placeholder
	offset   int
	value    []byte
	possible span // where the key can be
	// cleared are ranges that were cleared after the write and may hold the key.
	cleared []span
}

// writeSet is what a transaction has written: the net effect for each key, in key order. Cleared ranges and single keys are apart: a key in the
// table was written after every cleared range that holds it.
type writeSet struct {
	table   writeTable
	cleared spanSet
	stamped []stampedKey
	// unreadable are the keys that a stamped key may become.
	unreadable spanSet

	slab []write
	mem  arena
}

// get is the write to exactly key, or nil.
func (w *writeSet) get(key []byte) *write { return w.table.get(key) }

// smallWrites is memory for a few writes, in one piece.
type smallWrites struct {
	table [4]*write
	slab  [4]write
	mem   [320]byte
}

// put keeps the net effect of a key, whose memory the set owns.
func (w *writeSet) put(v write) {
	if len(w.slab) == cap(w.slab) {
		w.slab = make([]write, 0, min(max(4, 2*cap(w.slab)), 128))
	}
	w.slab = append(w.slab, v)
	w.table.put(&w.slab[len(w.slab)-1])
}

// begin gives memory to the set for its first writes.
func (w *writeSet) begin(small *smallWrites) {
	w.slab, w.mem.free, w.table.few = small.slab[:0], small.mem[:0], small.table[:0]
}

func (w *writeSet) set(key, value []byte) {
	w.put(write{key: w.mem.copy(key), value: w.mem.copyValue(value), kind: kindSet})
}

func (w *writeSet) clear(key []byte) {
	w.put(write{key: w.mem.copy(key), kind: kindClear})
}

func (w *writeSet) clearRange(r span) {
	r = span{begin: w.mem.copy(r.begin), end: w.mem.copyValue(r.end)}
	w.table.deleteRange(r)
	w.cleared.add(r)
	if len(w.stamped) == 0 {
		return
	}
	kept := w.stamped[:0]
	for _, s := range w.stamped {
		if !s.possible.startsBefore(r) || !r.startsBefore(s.possible) {
			kept = append(kept, s)
			continue
		}
		inside := bytes.Compare(r.begin, s.possible.begin) <= 0 && compareEnds(s.possible, r) <= 0
		if !inside {
			s.cleared = append(s.cleared, r)
			kept = append(kept, s)
		}
	}
	clear(w.stamped[len(kept):])
	w.stamped = kept
	w.unreadable.remove(r)
}

// atomic adds an operation to what is known of key, carrying it out where the value is.
func (w *writeSet) atomic(op kv.AtomicOp, key, operand []byte) {
	operand = w.mem.copyValue(operand)
	known := w.get(key)
	next := write{kind: kindSet}
	switch {
	case known == nil && !w.isCleared(key):
		next.kind, next.ops = kindOps, []atomicWrite{{op, operand}}
	case known == nil:
		next.settle(applyAtomic(op, nil, false, operand))
	case known.kind == kindSet || known.kind == kindClear:
		next.settle(applyAtomic(op, known.value, known.kind == kindSet, operand))
	default:
		next = *known
		// A full slice expression, so that the write before this one, which a range read may share, keeps its operations.
		next.ops = append(known.ops[:len(known.ops):len(known.ops)], atomicWrite{op, operand})
	}
	if next.key = w.mem.copy(key); known != nil {
		next.key = known.key
	}
	w.put(next)
}

func (v *write) settle(value []byte, exists bool) {
	if v.value, v.kind = value, kindSet; !exists {
		v.kind = kindClear
	}
}

func (w *writeSet) isCleared(key []byte) bool {
	_, in := w.cleared.find(key)
	return in
}

func (w *writeSet) stampValue(key, value []byte, offset int) {
	w.put(write{key: w.mem.copy(key), value: w.mem.copyValue(value), offset: offset, kind: kindStamped})
}

// stampKey adds a write to the key that the commit will make, which will be in the span possible.
func (w *writeSet) stampKey(key []byte, offset int, value []byte, possible span) {
	if known, ok := w.unreadable.find(possible.begin); !ok || compareEnds(known, possible) < 0 {
		possible = span{begin: bytes.Clone(possible.begin), end: bytes.Clone(possible.end)}
		w.unreadable.add(possible)
	} else {
		possible = known
	}
	w.stamped = append(w.stamped, stampedKey{key: w.mem.copy(key), offset: offset, value: w.mem.copyValue(value), possible: possible})
}

// share returns the set as it is now for a range read that outlives this call. Later writes do not change it.
func (w *writeSet) share() *writeSet {
	return &writeSet{table: w.table.share(), cleared: w.cleared.share(), unreadable: w.unreadable.share()}
}
