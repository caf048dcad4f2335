package writes

import (
	"bytes"

	"github.com/divandb/divan/layer/kv"
)

// applyAtomic returns the value after op, and whether the key still exists. present tells an empty value from a
// missing one. The result may share memory with operand or old; neither is changed.
//
// Source: FoundationDB's fdbclient/Atomic.h, with the behaviour since API version 510, where Min and And of a missing
// value give the operand.
func applyAtomic(op kv.AtomicOp, old []byte, present bool, operand []byte) (value []byte, exists bool) {
	if !present && op != kv.AtomicCompareAndClear {
		// other operations on zero bytes as long as the operand give the operand, some by definition
		return operand, true
	}
	switch op {
	case kv.AtomicAdd:
		return add(old, operand), true
	case kv.AtomicMin:
		if w := widen(old, len(operand)); compareLittle(w, operand) < 0 {
			return w, true
		}
		return operand, true
	case kv.AtomicMax:
		if w := widen(old, len(operand)); compareLittle(w, operand) > 0 {
			return w, true
		}
		return operand, true
	case kv.AtomicByteMin:
		if bytes.Compare(old, operand) < 0 {
			return old, true
		}
		return operand, true
	case kv.AtomicByteMax:
		if bytes.Compare(old, operand) > 0 {
			return old, true
		}
		return operand, true
	case kv.AtomicAnd:
		return bitwise(old, operand, func(a, b byte) byte { return a & b }), true
	case kv.AtomicOr:
		return bitwise(old, operand, func(a, b byte) byte { return a | b }), true
	case kv.AtomicXor:
		return bitwise(old, operand, func(a, b byte) byte { return a ^ b }), true
	case kv.AtomicAppendIfFits:
		if len(old)+len(operand) > kv.MaxValueSize {
			return old, true
		}
		return append(append(make([]byte, 0, len(old)+len(operand)), old...), operand...), true
	case kv.AtomicCompareAndClear:
		if present && bytes.Equal(old, operand) {
			return nil, false
		}
		return old, present
	}
	panic("embedded: an unknown atomic operation passed the check")
}

// ValidAtomic reports whether op is a known operation.
func ValidAtomic(op kv.AtomicOp) bool {
	return op >= kv.AtomicAdd && op <= kv.AtomicCompareAndClear
}

// widen returns b as an integer of n bytes: truncated, or padded with zero bytes at the high end.
func widen(b []byte, n int) []byte {
	if len(b) >= n {
		return b[:n:n]
	}
	return append(append(make([]byte, 0, n), b...), make([]byte, n-len(b))...)
}

func add(old, operand []byte) []byte {
	sum := make([]byte, len(operand))
	carry := 0
	for i, b := range operand {
		n := int(b) + carry
		if i < len(old) {
			n += int(old[i])
		}
		sum[i] = byte(n)
		carry = n >> 8
	}
	return sum
}

// compareLittle compares little-endian integers of equal length.
func compareLittle(a, b []byte) int {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}

func bitwise(old, operand []byte, f func(a, b byte) byte) []byte {
	out := make([]byte, len(operand))
	for i, b := range operand {
		var a byte
		if i < len(old) {
			a = old[i]
		}
		out[i] = f(a, b)
	}
	return out
}
