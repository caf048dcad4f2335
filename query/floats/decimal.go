package floats

import (
	"bytes"
	"math/bits"
	"strconv"
)

// decimal is digits times ten to the power of exp. places is the number of digits behind the first one.
type decimal struct {
	digits      uint64
	exp, places int
}

// parseDecimal reads the scientific form of strconv without its sign.
func parseDecimal(text []byte) decimal {
	var d decimal
	e := bytes.IndexByte(text, 'e')
	for _, c := range bytes.TrimPrefix(text[:e], []byte("-")) {
		if c != '.' {
			d.digits = d.digits*10 + uint64(c-'0')
			d.places++
		}
	}
	d.places--
	exp, _ := strconv.Atoi(string(text[e+1:]))
	d.exp = exp - d.places
	return d
}

// binary returns d as an odd number times a power of two. It reports false if d is not an integer or the odd number
// does not fit.
func (d decimal) binary() (odd uint64, exp int, ok bool) {
	if d.digits == 0 {
		return 0, 0, false
	}
	twos := bits.TrailingZeros64(d.digits)
	odd = d.digits >> twos
	exp = twos + d.exp
	fives := d.exp
	for ; fives < 0 && odd%5 == 0; fives++ {
		odd /= 5
	}
	for ; fives > 0; fives-- {
		high, low := bits.Mul64(odd, 5)
		if high != 0 {
			return 0, 0, false
		}
		odd = low
	}
	return odd, exp, fives == 0 && exp >= 0
}
