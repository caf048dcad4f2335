package collate

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Numbers sort by value, integers and doubles together. Integers are exact however long; a text with a fraction or
// exponent is the nearest double, as in CouchDB's decoder. A number beyond the doubles (1e400), which CouchDB
// refuses, also sorts by its exact value, so that no accepted number sorts wrongly.
//
// The magnitude is written as
//
//	groups(bits of the double, rounded towards zero) [ rest ]
//
// rest is written if the double is at least 2^53 and so may stand for several integers: a length byte and the bytes
// that rounding dropped. Beyond the largest double it is the number of decimal digits and the digits. A negative
// number is the complement of its magnitude under a lower tag; zero is positive.
func appendNumber(dst, text []byte, integer bool, negative, positive byte) ([]byte, error) {
	minus := text[0] == '-'
	if minus {
		text = text[1:]
	}
	if integer && len(text) <= 15 { // exact as a double
		var n uint64
		for _, c := range text {
			n = n*10 + uint64(c-'0')
		}
		return appendSmall(dst, float64(n), minus, negative, positive), nil
	}
	if !integer {
		f, err := strconv.ParseFloat(string(text), 64)
		if err == nil && f < 1<<53 {
			return appendSmall(dst, f, minus, negative, positive), nil
		}
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return dst, ErrSyntax
		}
		if !math.IsInf(f, 0) {
			return appendSigned(dst, appendLarge(nil, f, nil), minus, negative, positive), nil
		}
	} else if len(text) <= 310 {
		n, _ := new(big.Int).SetString(string(text), 10)
		f, rest := truncate(n)
		if f < math.MaxFloat64 || len(rest) == 0 {
			if f < 1<<53 {
				return appendSmall(dst, f, minus, negative, positive), nil
			}
			return appendSigned(dst, appendLarge(nil, f, rest), minus, negative, positive), nil
		}
	}
	huge, err := appendHuge(nil, string(text))
	if err != nil {
		return dst, err
	}
	return appendSigned(dst, huge, minus, negative, positive), nil
}

// truncate returns the largest double that is at most n, and the difference.
func truncate(n *big.Int) (float64, []byte) {
	if n.BitLen() > 1024 {
		return math.MaxFloat64, []byte{1}
	}
	bf := new(big.Float).SetPrec(53).SetMode(big.ToZero).SetInt(n)
	f, _ := bf.Float64()
	whole, _ := bf.Int(nil)
	return f, new(big.Int).Sub(n, whole).Bytes()
}

func appendSmall(dst []byte, f float64, minus bool, negative, positive byte) []byte {
	if f == 0 || !minus {
		return appendGroups(append(dst, positive), math.Float64bits(f), 0)
	}
	return appendGroups(append(dst, negative), math.Float64bits(f), 0xFF)
}

func appendSigned(dst, magnitude []byte, minus bool, negative, positive byte) []byte {
	if !minus {
		return append(append(dst, positive), magnitude...)
	}
	dst = append(dst, negative)
	for _, c := range magnitude {
		dst = append(dst, ^c)
	}
	return dst
}

// appendGroups writes bits from the highest, seven per byte, where the lowest bit says that more follow, and stops
// when only zeros remain: small integers take two to four bytes instead of eight, and the order is preserved. Each
// byte is xored with flip.
func appendGroups(dst []byte, bits uint64, flip byte) []byte {
	bits <<= 1 // the sign is not part of the magnitude
	for {
		b := byte(bits>>56) &^ 1
		bits <<= 7
		if bits == 0 {
			return append(dst, b^flip)
		}
		dst = append(dst, (b|1)^flip)
	}
}

// appendLarge writes a magnitude of at least 2^53 that is within the doubles. rest has at most 122 bytes.
func appendLarge(dst []byte, f float64, rest []byte) []byte {
	dst = appendGroups(dst, math.Float64bits(f), 0)
	return append(append(dst, byte(len(rest))), rest...)
}

// MaxExponent bounds the exponent of a number beyond the doubles; larger ones are refused with ErrRange.
const MaxExponent = 100_000

// appendHuge writes a magnitude beyond the doubles: the bits of +Inf, the number of digits before the point in six
// bytes, and the digits without trailing zeros, ended by a zero byte.
func appendHuge(dst []byte, text string) ([]byte, error) {
	mantissa, exponent := text, int64(0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.ParseInt(strings.TrimPrefix(text[i+1:], "+"), 10, 64)
		if err != nil || n > MaxExponent {
			return dst, ErrRange
		}
		mantissa, exponent = text[:i], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	count := int64(len(all)-len(fraction)) + exponent
	dst = appendGroups(dst, math.Float64bits(math.Inf(1)), 0)
	dst = append(dst, byte(count>>40), byte(count>>32), byte(count>>24), byte(count>>16), byte(count>>8), byte(count))
	return append(append(dst, strings.TrimRight(all, "0")...), 0), nil
}

// The bits of two doubles: a magnitude of at least twoTo53 has a rest, and infinity stands for all beyond the
// doubles.
const (
	twoTo53  = 0x4340000000000000
	infinity = 0x7FF0000000000000
)
