package tuple

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// AppendNil appends a null that is not inside a nested tuple.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// BeginNested opens a nested tuple: append its elements, with AppendNestedNil for its own nulls, then EndNested.
func BeginNested(dst []byte) []byte { return append(dst, codeNested) }

// AppendNestedNil appends a null inside a nested tuple, where a plain one would end it.
func AppendNestedNil(dst []byte) []byte { return append(dst, codeNil, escape) }

// EndNested closes what the last open BeginNested opened.
func EndNested(dst []byte) []byte { return append(dst, codeNil) }

// AppendBytes appends a byte string; nil is the empty one, not null.
func AppendBytes(dst, b []byte) []byte {
	dst = append(dst, codeBytes)
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			break
		}
		dst = append(dst, b[:i]...)
		dst = append(dst, 0, escape)
		b = b[i+1:]
	}
	dst = append(dst, b...)
	return append(dst, 0)
}

// AppendString appends a Unicode string. It is not checked: bytes that are not UTF-8 come back as they were.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, codeString)
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0, escape)
		s = s[i+1:]
	}
	dst = append(dst, s...)
	return append(dst, 0)
}

// AppendInt appends an integer in as few bytes as hold it.
func AppendInt(dst []byte, n int64) []byte {
	if n >= 0 {
		return AppendUint(dst, uint64(n))
	}
	return appendNegative(dst, -uint64(n))
}

// AppendUint appends an integer in as few bytes as hold it; the encoding is AppendInt's.
func AppendUint(dst []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	dst = append(dst, byte(codeZero+size))
	return appendLow(dst, n, size)
}

// appendNegative appends -magnitude: the one's complement, so that larger magnitudes sort first.
func appendNegative(dst []byte, magnitude uint64) []byte {
	size := (bits.Len64(magnitude) + 7) / 8
	dst = append(dst, byte(codeZero-size))
	return appendLow(dst, ^magnitude, size)
}

// appendLow appends the low size bytes of n, big-endian.
func appendLow(dst []byte, n uint64, size int) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return append(dst, b[8-size:]...)
}

// AppendBig appends an integer of any size up to MaxBigBytes bytes; a longer one panics. One that fits AppendInt or
// AppendUint is encoded as they do.
func AppendBig(dst []byte, n *big.Int) []byte {
	size := (n.BitLen() + 7) / 8
	if size <= 8 {
		magnitude := new(big.Int).Abs(n).Uint64()
		if n.Sign() < 0 {
			return appendNegative(dst, magnitude)
		}
		return AppendUint(dst, magnitude)
	}
	if size > MaxBigBytes {
		panic(fmt.Sprintf("tuple: integer of %d bytes, at most %d can be encoded", size, MaxBigBytes))
	}
	if n.Sign() > 0 {
		dst = append(dst, codePositiveBig, byte(size))
		return append(dst, n.Bytes()...)
	}
	dst = append(dst, codeNegativeBig, ^byte(size))
	start := len(dst)
	dst = append(dst, n.Bytes()...)
	for i := start; i < len(dst); i++ {
		dst[i] = ^dst[i]
	}
	return dst
}

// AppendFloat32 appends f in IEEE total order: -0 before 0, NaN at the ends by their sign.
func AppendFloat32(dst []byte, f float32) []byte {
	n := math.Float32bits(f)
	if n>>31 != 0 {
		n = ^n
	} else {
		n |= 1 << 31
	}
	return binary.BigEndian.AppendUint32(append(dst, codeFloat32), n)
}

// AppendFloat64 appends f in IEEE total order: -0 before 0, NaN at the ends by their sign.
func AppendFloat64(dst []byte, f float64) []byte {
	n := math.Float64bits(f)
	if n>>63 != 0 {
		n = ^n
	} else {
		n |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(dst, codeFloat64), n)
}

// AppendBool appends b; false sorts before true.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendUUID appends a UUID.
func AppendUUID(dst []byte, u UUID) []byte { return append(append(dst, codeUUID), u[:]...) }

// AppendVersionstamp appends a versionstamp. Where it is incomplete, the 10 bytes for the commit to fill in begin one
// byte after the length that dst had.
func AppendVersionstamp(dst []byte, v Versionstamp) []byte {
	dst = append(dst, codeVersionstamp)
	dst = append(dst, v.Transaction[:]...)
	return binary.BigEndian.AppendUint16(dst, v.User)
}
