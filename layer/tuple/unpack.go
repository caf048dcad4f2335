package tuple

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
)

// Unpack decodes all of b. Byte strings are copied.
func Unpack(b []byte) (Tuple, error) {
	t := Tuple{}
	for len(b) > 0 {
		var e any
		var err error
		if e, b, err = takeElement(b, 0); err != nil {
			return nil, err
		}
		t = append(t, e)
	}
	return t, nil
}

// Take decodes the first element of b, like Unpack, and returns the bytes after it.
func Take(b []byte) (element any, rest []byte, err error) { return takeElement(b, 0) }

func takeElement(b []byte, depth int) (any, []byte, error) {
	if len(b) == 0 {
		return nil, nil, ErrTruncated
	}
	switch code := b[0]; {
	case code == codeNil:
		return nil, b[1:], nil
	case code == codeBytes:
		v, rest, err := TakeBytes(b)
		return bytes.Clone(v), rest, err
	case code == codeString:
		return boxed(TakeString(b))
	case code == codeNested:
		return takeNested(b[1:], depth+1)
	case code >= codeZero-8 && code <= codeZero+8, code == codeNegativeBig, code == codePositiveBig:
		return takeInteger(b)
	case code == codeFloat32:
		return boxed(TakeFloat32(b))
	case code == codeFloat64:
		return boxed(TakeFloat64(b))
	case code == codeFalse || code == codeTrue:
		return boxed(TakeBool(b))
	case code == codeUUID:
		return boxed(TakeUUID(b))
	case code == codeVersionstamp:
		return boxed(TakeVersionstamp(b))
	}
	return nil, nil, fmt.Errorf("%w: type code 0x%02x is not supported", ErrType, b[0])
}

func boxed[T any](v T, rest []byte, err error) (any, []byte, error) {
	if err != nil {
		return nil, nil, err
	}
	return v, rest, nil
}

// takeNested decodes the elements of a nested tuple, after its type code, up to its end.
func takeNested(b []byte, depth int) (any, []byte, error) {
	if depth > maxDepth {
		return nil, nil, ErrDepth
	}
	t := Tuple{}
	for {
		if len(b) == 0 {
			return nil, nil, ErrTruncated
		}
		if b[0] == codeNil {
			if len(b) == 1 || b[1] != escape {
				return t, b[1:], nil
			}
			t = append(t, nil)
			b = b[2:]
			continue
		}
		var e any
		var err error
		if e, b, err = takeElement(b, depth); err != nil {
			return nil, nil, err
		}
		t = append(t, e)
	}
}

func takeInteger(b []byte) (any, []byte, error) {
	if b[0] == codeNegativeBig || b[0] == codePositiveBig {
		n, rest, err := TakeBig(b)
		switch {
		case err != nil:
			return nil, nil, err
		case n.IsInt64(): // not the shortest encoding, but the same number
			return n.Int64(), rest, nil
		case n.IsUint64():
			return n.Uint64(), rest, nil
		}
		return n, rest, nil
	}
	magnitude, negative, rest, err := takeMagnitude(b)
	switch {
	case err != nil:
		return nil, nil, err
	case !negative && magnitude <= math.MaxInt64:
		return int64(magnitude), rest, nil
	case !negative:
		return magnitude, rest, nil
	case magnitude <= 1<<63:
		return -int64(magnitude), rest, nil
	}
	n := new(big.Int).SetUint64(magnitude)
	return n.Neg(n), rest, nil
}
