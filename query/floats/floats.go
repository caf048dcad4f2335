// Package floats writes floating-point numbers as PostgreSQL 15 does. It does not read them: that is in query/types.
package floats

import (
	"bytes"
	"math"
	"strconv"
)

// Append appends the shortest text that reads as the same float (extra_float_digits 1). size is 32 for float4 and 64
// for float8.
func Append(dst []byte, f float64, size int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	limit := 15
	if size == 32 {
		limit = 6
	}
	if f != 0 {
		// The exponent determines the form.
		var room [32]byte
		e := appendShortest(room[:0], f, size)
		exp, _ := strconv.Atoi(string(e[bytes.IndexByte(e, 'e')+1:]))
		if exp < -4 || exp >= limit {
			return append(dst, e...)
		}
		return appendFixed(dst, e[:bytes.IndexByte(e, 'e')], exp)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, size)
}

// appendFixed appends a number without an exponent. text is d.ddd with an optional sign.
func appendFixed(dst, text []byte, exp int) []byte {
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	whole, rest := text[:1], text[min(2, len(text)):]
	switch {
	case exp < 0:
		dst = append(append(dst, "0.0000"[:1-exp]...), whole...)
		return append(dst, rest...)
	case exp >= len(rest):
		dst = append(append(dst, whole...), rest...)
		return append(dst, "00000000000000"[:exp-len(rest)]...)
	}
	dst = append(append(dst, whole...), rest[:exp]...)
	return append(append(dst, '.'), rest[exp:]...)
}

// appendShortest appends the fewest digits that lie between the bounds of f, in scientific form. The bounds are
// half-way to the neighbours. They are not taken themselves, as strconv does if f has an even mantissa, because
// PostgreSQL does not rely on how a reader rounds (acceptBounds in its d2s.c).
func appendShortest(dst []byte, f float64, size int) []byte {
	text := strconv.AppendFloat(dst, f, 'e', -1, size)
	if size == 32 && math.Float32bits(float32(f))&(1<<23-1) == 0 {
		text = evenTie(text, dst, f)
	}
	b, ok := boundsOf(math.Abs(f), size)
	if !ok {
		return text
	}
	d := parseDecimal(text[len(dst):])
	if !b.has(d) {
		return text
	}
	for places := d.places; ; places++ {
		text = strconv.AppendFloat(dst, f, 'e', places+1, size)
		if d = parseDecimal(text[len(dst):]); !b.has(d) {
			return text
		}
	}
}

// evenTie returns the other text of as few digits if f is half-way between them and its last digit is even. Only
// powers of two of float4 can be: 2^-12 is 0.000244140625.
func evenTie(text, dst []byte, f float64) []byte {
	places := parseDecimal(text[len(dst):]).places
	even := strconv.FormatFloat(f, 'e', places, 32)
	if g, err := strconv.ParseFloat(even, 32); err != nil || g != f {
		return text
	}
	return append(text[:len(dst)], even...)
}

// bounds are the numbers half-way to the neighbours of a float: odd numbers times a power of two.
type bounds struct {
	low, high uint64
	exp       int
}

// boundsOf returns the bounds of a positive float. It reports false if none of them can be the shortest text: if f has
// an odd mantissa, for which strconv does not take them, if they are no integers, whose digits are too many then, and
// if f is a power of two, by trial of all.
func boundsOf(f float64, size int) (bounds, bool) {
	mantissa, exp, implicit := math.Float64bits(f)&(1<<52-1), int(math.Float64bits(f)>>52)-1075, uint64(1<<52)
	if size == 32 {
		u := math.Float32bits(float32(f))
		mantissa, exp, implicit = uint64(u&(1<<23-1)), int(u>>23)-150, 1<<23
	}
	if mantissa == 0 || mantissa&1 == 1 || exp < 1 {
		return bounds{}, false
	}
	m := mantissa | implicit
	return bounds{low: 2*m - 1, high: 2*m + 1, exp: exp - 1}, true
}

// has reports whether d is one of the bounds.
func (b bounds) has(d decimal) bool {
	odd, exp, ok := d.binary()
	return ok && exp == b.exp && (odd == b.low || odd == b.high)
}
