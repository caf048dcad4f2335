package jstext

import (
	"bytes"
	"math"
	"strconv"
)

// AppendFloat writes a number as JavaScript does.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if f == 0 {
		return append(dst, '0')
	}
	abs := math.Abs(f)
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 is e-7 in JavaScript
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendStringified appends output of JSON.stringify. Lone surrogates, which it writes as \ud800 to \udfff, become
// U+FFFD, since other JSON readers refuse them.
func AppendStringified(dst, s []byte) []byte {
	from := len(dst)
	dst = append(dst, s...)
	out := dst[from:]
	for {
		i := bytes.Index(out, []byte(`\ud`))
		if i < 0 {
			return dst
		}
		back := i
		for back > 0 && out[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 && i+6 <= len(out) && bytes.IndexByte([]byte("89abcdef"), out[i+3]) >= 0 {
			copy(out[i:], `\ufffd`)
		}
		out = out[i+3:]
	}
}

// SmallInt parses up to nine digits with an optional sign; not -0, which is a double in JavaScript.
func SmallInt(text []byte) (int32, bool) {
	digits, minus := text, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, minus = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	var n int32
	for _, c := range digits {
		if c-'0' >= 10 {
			return 0, false
		}
		n = n*10 + int32(c-'0')
	}
	if minus {
		return -n, n != 0
	}
	return n, true
}
