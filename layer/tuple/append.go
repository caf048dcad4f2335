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

// AppendNil appends a null outside of a nested tuple.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// BeginNested opens a nested tuple. Append its elements, using AppendNestedNil for nulls, then call EndNested.
func BeginNested(dst []byte) []byte { return append(dst, codeNested) }

// AppendNestedNil appends a null inside a nested tuple, which a plain null would end.
func AppendNestedNil(dst []byte) []byte { return append(dst, codeNil, escape) }

// EndNested closes the innermost open nested tuple.
func EndNested(dst []byte) []byte { return append(dst, codeNil) }

// AppendBytes appends a byte string. nil is encoded as an empty string, not as null.
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

// AppendString appends a Unicode string. Invalid UTF-8 is not rejected, and is decoded unchanged.
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

// AppendInt appends an integer in as few bytes as possible.
func AppendInt(dst []byte, n int64) []byte {
	if n >= 0 {
		return AppendUint(dst, uint64(n))
	}
	return appendNegative(dst, -uint64(n))
}

// AppendUint appends an integer in as few bytes as possible. The encoding is the same as that of AppendInt.
func AppendUint(dst []byte, n uint64) []byte {
	size := (bits.Len64(n) + 7) / 8
	dst = append(dst, byte(codeZero+size))
	return appendLow(dst, n, size)
}

// appendNegative appends -magnitude, as one's complement, so that larger magnitudes sort first.
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

// AppendBig appends an integer of at most MaxBigBytes bytes, and panics if it is longer. Integers that fit AppendInt or
// AppendUint have the same encoding.
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
		panic(fmt.Sprintf("tuple: integer of %d bytes exceeds the limit of %d", size, MaxBigBytes))
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

// AppendFloat32 appends f so that encodings sort in IEEE total order: -0 before 0, and NaNs at the ends according to
// their sign.
func AppendFloat32(dst []byte, f float32) []byte {
	n := math.Float32bits(f)
	if n>>31 != 0 {
		n = ^n
	} else {
		n |= 1 << 31
	}
	return binary.BigEndian.AppendUint32(append(dst, codeFloat32), n)
}

// AppendFloat64 appends f so that encodings sort in IEEE total order: -0 before 0, and NaNs at the ends according to
// their sign.
func AppendFloat64(dst []byte, f float64) []byte {
	n := math.Float64bits(f)
	if n>>63 != 0 {
		n = ^n
	} else {
		n |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(dst, codeFloat64), n)
}

// AppendBool appends b. false sorts before true.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendUUID appends a UUID.
func AppendUUID(dst []byte, u UUID) []byte { return append(append(dst, codeUUID), u[:]...) }

// AppendVersionstamp appends a versionstamp. In an incomplete one, the 10 bytes that the commit fills in begin one byte
// after the original end of dst.
func AppendVersionstamp(dst []byte, v Versionstamp) []byte {
	dst = append(dst, codeVersionstamp)
	dst = append(dst, v.Transaction[:]...)
	return binary.BigEndian.AppendUint16(dst, v.User)
}
