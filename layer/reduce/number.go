package reduce

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// number is a JSON number in CouchDB's arithmetic: an integer of any size, or a double as soon as one operand was a
// double.
type number struct {
	float bool
	i     int64
	big   *big.Int // instead of i, if it does not fit
	f     float64
}

// parseNumber parses a JSON number. A number with a fraction or an exponent, such as 1e+22 written by JavaScript, is a
// double; others are integers.
func parseNumber(text string) (number, bool) {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number{i: i}, true
		}
		if b, ok := new(big.Int).SetString(text, 10); ok {
			return number{big: b}, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	return number{float: true, f: f}, err == nil
}

func (n number) float64() float64 {
	switch {
	case n.float:
		return n.f
	case n.big != nil:
		f, _ := new(big.Float).SetInt(n.big).Float64()
		return f
	}
	return float64(n.i)
}

func (n number) finite() bool { return !n.float || !math.IsInf(n.f, 0) && !math.IsNaN(n.f) }

func (n number) bigInt() *big.Int {
	if n.big != nil {
		return n.big
	}
	return big.NewInt(n.i)
}

func (n number) add(m number) number {
	if n.float || m.float {
		return number{float: true, f: n.float64() + m.float64()}
	}
	if n.big == nil && m.big == nil {
		if s := n.i + m.i; (s > n.i) == (m.i > 0) {
			return number{i: s}
		}
	}
	return fit(new(big.Int).Add(n.bigInt(), m.bigInt()))
}

func (n number) square() number {
	if n.float {
		return number{float: true, f: n.f * n.f}
	}
	if n.big == nil && n.i > -3_000_000_000 && n.i < 3_000_000_000 {
		return number{i: n.i * n.i}
	}
	return fit(new(big.Int).Mul(n.bigInt(), n.bigInt()))
}

func (n number) less(m number) bool {
	switch {
	case n.float || m.float:
		return n.float64() < m.float64()
	case n.big != nil || m.big != nil:
		return n.bigInt().Cmp(m.bigInt()) < 0
	}
	return n.i < m.i
}

func fit(b *big.Int) number {
	if b.IsInt64() {
		return number{i: b.Int64()}
	}
	return number{big: b}
}

// appendJSON writes doubles as CouchDB does: the shortest digits, always with a fraction, and with an exponent from
// 1e21 on and below 1e-6. Since JSON has no infinity, overflows are written as null.
func (n number) appendJSON(dst []byte) []byte {
	switch {
	case n.big != nil:
		return n.big.Append(dst, 10)
	case !n.float:
		return strconv.AppendInt(dst, n.i, 10)
	case math.IsInf(n.f, 0) || math.IsNaN(n.f):
		return append(dst, "null"...)
	}
	if a := math.Abs(n.f); a != 0 && (a < 1e-6 || a >= 1e21) {
		s := strconv.FormatFloat(n.f, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		dst = append(append(dst, mantissa...), 'e', exponent[0])
		return append(dst, strings.TrimLeft(exponent[1:], "0")...)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, n.f, 'f', -1, 64)
	if !strings.Contains(string(dst[from:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}
