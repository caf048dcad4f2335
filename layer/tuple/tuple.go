// Package tuple implements FoundationDB's tuple encoding: typed values are encoded as bytes that sort like the values,
// element by element. It does not depend on FoundationDB's client.
//
// The specification is design/tuple.md of apple/foundationdb. All its standard types are supported, including the big
// integers of Java and Python (0x0b, 0x1d) and 96-bit versionstamps (0x33). Deprecated and reserved types are rejected.
// Types that Divan does not store are supported for reading what other programs have written to FoundationDB (clause
// S3).
//
// There are two interfaces. A Tuple is convenient and boxes its elements. The Append and Take functions handle one
// element without boxing it; use them where they run once for each row.
package tuple

import (
	"errors"
	"fmt"
	"math/big"
)

// Type codes of the specification.
const (
	codeNil          = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeNested       = 0x05
	codeNegativeBig  = 0x0b
	codeZero         = 0x14 // 0x0c to 0x1c: the distance from codeZero is the number of bytes; lower codes are negative
	codePositiveBig  = 0x1d
	codeFloat32      = 0x20
	codeFloat64      = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeUUID         = 0x30
	codeVersionstamp = 0x33

	// escape follows a zero byte inside an element.
	escape = 0xff
)

const (
	// MaxBigBytes is the maximum magnitude of an integer in bytes, because the encoding has one byte for the length.
	MaxBigBytes = 255

	// maxDepth limits the nesting that Unpack accepts, so that malicious input cannot exhaust the stack. A key of
	// kv.MaxKeySize bytes does not nest deeper in any sensible layout.
	maxDepth = 1000
)

// Errors of decoding, to be used with errors.Is.
var (
	ErrTruncated = errors.New("tuple: truncated")
	ErrType      = errors.New("tuple: unexpected type")
	ErrRange     = errors.New("tuple: integer out of range")
	ErrDepth     = errors.New("tuple: nested too deep")
)

// Tuple is a sequence of elements. Elements may be nil, []byte, string, Tuple, int, int8 to int64, uint, uint8 to
// uint64, *big.Int, float32, float64, bool, UUID, [16]byte and Versionstamp. Packing panics for other types, which are
// a programming error, and for integers of more than MaxBigBytes bytes.
//
// A decoded integer is an int64 if it fits, otherwise a uint64 if it fits, otherwise a *big.Int.
type Tuple []any

// UUID is encoded as its 16 bytes (RFC 4122 order).
type UUID [16]byte

// Versionstamp is a position in the order of all commits: 10 bytes that the commit fills in, and 2 bytes to order keys
// within one transaction.
type Versionstamp struct {
	Transaction [10]byte
	User        uint16
}

var incomplete = [10]byte{escape, escape, escape, escape, escape, escape, escape, escape, escape, escape}

// IncompleteVersionstamp returns a versionstamp that the commit completes.
func IncompleteVersionstamp(user uint16) Versionstamp {
	return Versionstamp{Transaction: incomplete, User: user}
}

// Incomplete reports whether v has yet to be completed by a commit.
func (v Versionstamp) Incomplete() bool { return v.Transaction == incomplete }

// Pack returns the encoding of t in a new slice. See Append.
func (t Tuple) Pack() []byte { return t.Append(nil) }

// Append appends the encoding of t to dst, which is often a subspace's prefix. It encodes incomplete versionstamps as
// they are; use PackWithVersionstamp to find their offset.
func (t Tuple) Append(dst []byte) []byte {
	for _, e := range t {
		dst = appendElement(dst, e, false)
	}
	return dst
}

// PackWithVersionstamp appends the encoding of t to dst. It also returns the offset, from the start of dst, of the 10
// bytes that the commit replaces, as kv's SetVersionstampedKey and SetVersionstampedValue need it. t must contain
// exactly one incomplete versionstamp, at any depth.
func (t Tuple) PackWithVersionstamp(dst []byte) (packed []byte, offset int, err error) {
	n := t.incompletes()
	if n != 1 {
		return nil, 0, fmt.Errorf("tuple: %d incomplete versionstamps, want 1", n)
	}
	// The offset is computed while encoding. Searching the encoding for ten 0xff bytes could find a string.
	packed, offset = t.appendFindingStamp(dst, false)
	return packed, offset, nil
}

func (t Tuple) incompletes() int {
	n := 0
	for _, e := range t {
		switch e := e.(type) {
		case Versionstamp:
			if e.Incomplete() {
				n++
			}
		case Tuple:
			n += e.incompletes()
		}
	}
	return n
}

// appendFindingStamp encodes t and returns the offset of its incomplete versionstamp's 10 bytes, or -1.
func (t Tuple) appendFindingStamp(dst []byte, nested bool) (packed []byte, offset int) {
	offset = -1
	for _, e := range t {
		at := len(dst)
		inner, ok := e.(Tuple)
		if ok {
			var o int
			dst, o = inner.appendFindingStamp(BeginNested(dst), true)
			dst = EndNested(dst)
			offset = max(offset, o)
			continue
		}
		if v, ok := e.(Versionstamp); ok && v.Incomplete() {
			offset = at + 1
		}
		dst = appendElement(dst, e, nested)
	}
	return dst, offset
}

func appendElement(dst []byte, e any, nested bool) []byte {
	switch e := e.(type) {
	case nil:
		if nested {
			return AppendNestedNil(dst)
		}
		return AppendNil(dst)
	case []byte:
		return AppendBytes(dst, e)
	case string:
		return AppendString(dst, e)
	case Tuple:
		dst = BeginNested(dst)
		for _, inner := range e {
			dst = appendElement(dst, inner, true)
		}
		return EndNested(dst)
	case int:
		return AppendInt(dst, int64(e))
	case int8:
		return AppendInt(dst, int64(e))
	case int16:
		return AppendInt(dst, int64(e))
	case int32:
		return AppendInt(dst, int64(e))
	case int64:
		return AppendInt(dst, e)
	case uint:
		return AppendUint(dst, uint64(e))
	case uint8:
		return AppendUint(dst, uint64(e))
	case uint16:
		return AppendUint(dst, uint64(e))
	case uint32:
		return AppendUint(dst, uint64(e))
	case uint64:
		return AppendUint(dst, e)
	case *big.Int:
		return AppendBig(dst, e)
	case float32:
		return AppendFloat32(dst, e)
	case float64:
		return AppendFloat64(dst, e)
	case bool:
		return AppendBool(dst, e)
	case UUID:
		return AppendUUID(dst, e)
	case [16]byte:
		return AppendUUID(dst, e)
	case Versionstamp:
		return AppendVersionstamp(dst, e)
	}
	panic(fmt.Sprintf("tuple: no encoding for %T", e))
}
