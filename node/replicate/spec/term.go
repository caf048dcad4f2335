package spec

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/tidwall/gjson"
)

// Replication ids are digests of Erlang's external term format, so that a checkpoint of a CouchDB whose UUID this
// server has is found again. These functions append terms as term_to_binary does with {minor_version, 1}.

const (
	termVersion = 131

	newFloat    = 70
	smallInt    = 97
	anInteger   = 98
	anAtom      = 100
	smallTuple  = 104
	emptyList   = 106
	aString     = 107
	aList       = 108
	aBinary     = 109
	smallBigInt = 110
)

func appendAtom(dst []byte, name string) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, anAtom), uint16(len(name)))
	return append(dst, name...)
}

func appendBinary[T ~string | ~[]byte](dst []byte, b T) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, aBinary), uint32(len(b)))
	return append(dst, b...)
}

// appendString appends a string of Erlang, a list of bytes.
func appendString(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, emptyList)
	}
	if len(s) < 1<<16 {
		dst = binary.BigEndian.AppendUint16(append(dst, aString), uint16(len(s)))
		return append(dst, s...)
	}
	dst = appendListHead(dst, len(s))
	for i := range len(s) {
		dst = append(dst, smallInt, s[i])
	}
	return append(dst, emptyList)
}

// appendListHead begins a list of n elements, n > 0, which emptyList ends.
func appendListHead(dst []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, aList), uint32(n))
}

func appendInt(dst []byte, n int64) []byte {
	switch {
	case n >= 0 && n < 256:
		return append(dst, smallInt, byte(n))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(dst, anInteger), uint32(int32(n)))
	}
	return appendBig(dst, big.NewInt(n))
}

func appendBig(dst []byte, n *big.Int) []byte {
	digits := n.Bytes()
	sign := byte(0)
	if n.Sign() < 0 {
		sign = 1
	}
	dst = append(dst, smallBigInt, byte(len(digits)), sign)
	for i := len(digits) - 1; i >= 0; i-- {
		dst = append(dst, digits[i])
	}
	return dst
}

// appendJSON appends a JSON value as CouchDB has it in memory.
func appendJSON(dst []byte, v gjson.Result) []byte {
	switch {
	case v.IsObject():
		return appendObject(dst, v)
	case v.IsArray():
		n := 0
		v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
		return appendArray(dst, v, n)
	case v.Type == gjson.String:
		return appendBinary(dst, v.Str)
	case v.Type == gjson.Number:
		return appendNumber(dst, v)
	}
	return appendAtom(dst, v.Raw)
}

func appendObject(dst []byte, v gjson.Result) []byte {
	n := 0
	v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	dst = append(dst, smallTuple, 1)
	if n == 0 {
		return append(dst, emptyList)
	}
	dst = appendListHead(dst, n)
	v.ForEach(func(name, value gjson.Result) bool {
		dst = appendJSON(appendBinary(append(dst, smallTuple, 2), name.Str), value)
		return true
	})
	return append(dst, emptyList)
}

// appendArray appends a list. One of small numbers only is what Erlang takes for a string.
func appendArray(dst []byte, v gjson.Result, n int) []byte {
	text := make([]byte, 0, n)
	v.ForEach(func(_, e gjson.Result) bool {
		if b, ok := smallNumber(e); ok {
			text = append(text, b)
			return true
		}
		return false
	})
	if len(text) == n {
		return appendString(dst, string(text))
	}
	dst = appendListHead(dst, n)
	v.ForEach(func(_, e gjson.Result) bool {
		dst = appendJSON(dst, e)
		return true
	})
	return append(dst, emptyList)
}

func smallNumber(v gjson.Result) (byte, bool) {
	n, ok := new(big.Int).SetString(v.Raw, 10)
	if v.Type != gjson.Number || !ok || !n.IsInt64() || n.Int64() < 0 || n.Int64() > 255 {
		return 0, false
	}
	return byte(n.Int64()), true
}

func appendNumber(dst []byte, v gjson.Result) []byte {
	n, ok := new(big.Int).SetString(v.Raw, 10)
	switch {
	case ok && n.IsInt64():
		return appendInt(dst, n.Int64())
	case ok && len(n.Bytes()) < 256:
		return appendBig(dst, n)
	}
	return binary.BigEndian.AppendUint64(append(dst, newFloat), math.Float64bits(v.Num))
}
