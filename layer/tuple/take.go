package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// takeMagnitude decodes an integer of at most 8 bytes.
func takeMagnitude(b []byte) (magnitude uint64, negative bool, rest []byte, err error) {
	if len(b) == 0 {
		return 0, false, nil, ErrTruncated
	}
	size := int(b[0]) - codeZero
	if size < -8 || size > 8 {
		if b[0] == codeNegativeBig || b[0] == codePositiveBig {
			return 0, false, nil, ErrRange
		}
		return 0, false, nil, wrongType(b, "an integer")
	}
	if negative = size < 0; negative {
		size = -size
	}
	if len(b) < 1+size {
		return 0, false, nil, ErrTruncated
	}
	for _, c := range b[1 : 1+size] {
		if negative {
			c = ^c
		}
		magnitude = magnitude<<8 | uint64(c)
	}
	return magnitude, negative, b[1+size:], nil
}

// TakeInt decodes an integer. The error is ErrRange if it does not fit into an int64.
func TakeInt(b []byte) (n int64, rest []byte, err error) {
	magnitude, negative, rest, err := takeMagnitude(b)
	switch {
	case err != nil:
		return 0, nil, err
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), rest, nil
	case negative || magnitude > math.MaxInt64:
		return 0, nil, ErrRange
	}
	return int64(magnitude), rest, nil
}

// TakeUint decodes an integer. The error is ErrRange if it does not fit into a uint64.
func TakeUint(b []byte) (n uint64, rest []byte, err error) {
	magnitude, negative, rest, err := takeMagnitude(b)
	if err != nil {
		return 0, nil, err
	}
	if negative && magnitude != 0 {
		return 0, nil, ErrRange
	}
	return magnitude, rest, nil
}

// TakeBig decodes an integer of any size.
func TakeBig(b []byte) (n *big.Int, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, ErrTruncated
	}
	n = new(big.Int)
	if b[0] != codeNegativeBig && b[0] != codePositiveBig {
		magnitude, negative, rest, err := takeMagnitude(b)
		if err != nil {
			return nil, nil, err
		}
		if n.SetUint64(magnitude); negative {
			n.Neg(n)
		}
		return n, rest, nil
	}
	if len(b) < 2 {
		return nil, nil, ErrTruncated
	}
	negative := b[0] == codeNegativeBig
	size := int(b[1])
	if negative {
		size = int(^b[1])
	}
	if len(b) < 2+size {
		return nil, nil, ErrTruncated
	}
	magnitude, rest := b[2:2+size], b[2+size:]
	if !negative {
		return n.SetBytes(magnitude), rest, nil
	}
	flipped := make([]byte, size)
	for i, c := range magnitude {
		flipped[i] = ^c
	}
	return n.Neg(n.SetBytes(flipped)), rest, nil
}

// TakeNil consumes a null outside of a nested tuple, if there is one. Otherwise rest is b.
func TakeNil(b []byte) (isNil bool, rest []byte) {
	if len(b) > 0 && b[0] == codeNil {
		return true, b[1:]
	}
	return false, b
}

// TakeBytes decodes a byte string. v shares b's memory if it contains no escapes.
func TakeBytes(b []byte) (v, rest []byte, err error) {
	if err := expect(b, codeBytes, 0, "a byte string"); err != nil {
		return nil, nil, err
	}
	return takeEscaped(b[1:])
}

// TakeString decodes a Unicode string.
func TakeString(b []byte) (s string, rest []byte, err error) {
	v, rest, err := TakeStringBytes(b)
	return string(v), rest, err
}

// TakeStringBytes decodes a Unicode string without converting it. v shares b's memory if it contains no escapes.
func TakeStringBytes(b []byte) (v, rest []byte, err error) {
	if err := expect(b, codeString, 0, "a string"); err != nil {
		return nil, nil, err
	}
	return takeEscaped(b[1:])
}

func takeEscaped(b []byte) (v, rest []byte, err error) {
	end := bytes.IndexByte(b, 0)
	switch {
	case end < 0:
		return nil, nil, ErrTruncated
	case end+1 == len(b) || b[end+1] != escape:
		return b[:end:end], b[end+1:], nil
	}
	v = append(make([]byte, 0, end+16), b[:end]...) // not len(b), because the rest of b may be long
	for {
		v = append(v, 0)
		b = b[end+2:]
		if end = bytes.IndexByte(b, 0); end < 0 {
			return nil, nil, ErrTruncated
		}
		v = append(v, b[:end]...)
		if end+1 == len(b) || b[end+1] != escape {
			return v, b[end+1:], nil
		}
	}
}

// TakeFloat32 decodes a 32-bit floating point number.
func TakeFloat32(b []byte) (f float32, rest []byte, err error) {
	if err := expect(b, codeFloat32, 4, "a 32-bit float"); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n>>31 != 0 {
		n &^= 1 << 31
	} else {
		n = ^n
	}
	return math.Float32frombits(n), b[5:], nil
}

// TakeFloat64 decodes a 64-bit floating point number.
func TakeFloat64(b []byte) (f float64, rest []byte, err error) {
	if err := expect(b, codeFloat64, 8, "a 64-bit float"); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint64(b[1:])
	if n>>63 != 0 {
		n &^= 1 << 63
	} else {
		n = ^n
	}
	return math.Float64frombits(n), b[9:], nil
}

// TakeBool decodes a boolean.
func TakeBool(b []byte) (v bool, rest []byte, err error) {
	if len(b) == 0 {
		return false, nil, ErrTruncated
	}
	if b[0] != codeFalse && b[0] != codeTrue {
		return false, nil, wrongType(b, "a boolean")
	}
	return b[0] == codeTrue, b[1:], nil
}

// TakeUUID decodes a UUID.
func TakeUUID(b []byte) (u UUID, rest []byte, err error) {
	if err := expect(b, codeUUID, len(u), "a UUID"); err != nil {
		return u, nil, err
	}
	return UUID(b[1:17]), b[17:], nil
}

// TakeVersionstamp decodes a versionstamp, complete or incomplete.
func TakeVersionstamp(b []byte) (v Versionstamp, rest []byte, err error) {
	if err := expect(b, codeVersionstamp, 12, "a versionstamp"); err != nil {
		return v, nil, err
	}
	v.Transaction = [10]byte(b[1:11])
	v.User = binary.BigEndian.Uint16(b[11:13])
	return v, b[13:], nil
}

// TakeNested returns the encoded elements of a nested tuple, sharing b's memory. Decode them with the Take functions
// and TakeNestedNil.
func TakeNested(b []byte) (elements, rest []byte, err error) {
	if err := expect(b, codeNested, 0, "a nested tuple"); err != nil {
		return nil, nil, err
	}
	rest, err = skipNested(b[1:], 1)
	if err != nil {
		return nil, nil, err
	}
	end := len(b) - len(rest) - 1
	return b[1:end:end], rest, nil
}

// TakeNestedNil is TakeNil inside a nested tuple.
func TakeNestedNil(b []byte) (isNil bool, rest []byte) {
	if len(b) > 1 && b[0] == codeNil && b[1] == escape {
		return true, b[2:]
	}
	return false, b
}

// expect checks that b begins with code, followed by at least size bytes.
func expect(b []byte, code byte, size int, want string) error {
	if len(b) == 0 {
		return ErrTruncated
	}
	if b[0] != code {
		return wrongType(b, want)
	}
	if len(b) < 1+size {
		return ErrTruncated
	}
	return nil
}

func wrongType(b []byte, want string) error {
	return fmt.Errorf("%w: type code 0x%02x instead of %s", ErrType, b[0], want)
}
