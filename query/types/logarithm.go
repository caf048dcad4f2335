package types

import (
	"fmt"
	"math"
	"math/big"

	"github.com/divandb/divan/query/sqlstate"
)

// The number of digits of results is the same as in PostgreSQL 15 (numeric.c), which derives it from the digits in base
// 10000.
const (
	maxResultScale = 2000
	log10E         = 0.434294481903252
	ln10           = 2.302585092994046
	moreBits       = 192
)

func bitsFor(digits float64) uint { return uint(3.33*max(digits, 0)) + moreBits }

// Sqrt returns the square root of d.
func (d *Decimal) Sqrt() (*Decimal, error) {
	switch {
	case d.special == nan || d.special == posInf:
		return d, nil
	case d.sign() < 0:
		return nil, sqlstate.New(sqlstate.InvalidPower, "cannot take square root of a negative number")
	}
	weight, _ := d.base10000()
	var digits int32
	if weight >= 0 {
		digits = weight*4/2 + 1
	} else {
		digits = 1 - (1-weight*4)/2
	}
	return d.sqrt(powScale(minSigDigits-digits, d.scale)), nil
}

// sqrt returns the square root of a finite number with scale digits after the decimal point.
func (d *Decimal) sqrt(scale int32) *Decimal {
	// Compute one digit more and round: the integer square root truncates.
	n := 2*(scale+1) - d.scale
	x := new(big.Int).Set(&d.coef)
	if n >= 0 {
		x.Mul(x, pow10(n))
	} else {
		x.Quo(x, pow10(-n))
	}
	r := &Decimal{scale: scale + 1}
	r.coef.Sqrt(x)
	return r.Round(scale)
}

// logarithmOf checks the argument of a logarithm. If done is set, the result is r.
func logarithmOf(d *Decimal) (r *Decimal, done bool, err error) {
	switch {
	case d.special == nan || d.special == posInf:
		return d, true, nil
	case d.sign() < 0:
		return nil, true, sqlstate.New(sqlstate.InvalidLogarithm, "cannot take logarithm of a negative number")
	case d.sign() == 0:
		return nil, true, sqlstate.New(sqlstate.InvalidLogarithm, "cannot take logarithm of zero")
	}
	return nil, false, nil
}

// Ln returns the natural logarithm of d.
func (d *Decimal) Ln() (*Decimal, error) {
	if r, done, err := logarithmOf(d); done {
		return r, err
	}
	scale := powScale(minSigDigits-d.lnWeight(), d.scale)
	return decimalOfFloat(ln(d.float(bitsFor(float64(scale))), bitsFor(float64(scale))), scale), nil
}

// Log returns the logarithm of d to a base.
func (d *Decimal) Log(base *Decimal) (*Decimal, error) {
	if d.special == nan || base.special == nan {
		return &Decimal{special: nan}, nil
	}
	for _, x := range []*Decimal{base, d} {
		if _, _, err := logarithmOf(x); err != nil {
			return nil, err
		}
	}
	switch {
	case base.special == posInf && d.special == posInf:
		return &Decimal{special: nan}, nil
	case base.special == posInf:
		return DecimalFromInt(0), nil
	case d.special == posInf:
		return d, nil
	}
	weight := d.lnWeight() - base.lnWeight()
	scale := powScale(minSigDigits-weight, d.scale, base.scale)
	// If the base is near one, its logarithm has leading zeros, so more digits are needed.
	bits := bitsFor(float64(scale) + math.Abs(float64(weight)) + 2*math.Abs(float64(base.lnWeight())))
	down := ln(base.float(bits), bits)
	if base.Cmp(DecimalFromInt(1)) == 0 {
		return nil, errDivisionByZero
	}
	return decimalOfFloat(new(big.Float).SetPrec(bits).Quo(ln(d.float(bits), bits), down), scale), nil
}

// Exp returns e to the power of d.
func (d *Decimal) Exp() (*Decimal, error) {
	switch d.special {
	case nan, posInf:
		return d, nil
	case negInf:
		return DecimalFromInt(0), nil
	}
	f := d.Float64()
	weight := min(max(f*log10E, -maxResultScale), maxResultScale)
	scale := powScale(minSigDigits-int32(weight), d.scale)
	switch {
	case f >= maxResultScale*3:
		return nil, errNumericOverflow
	case f <= -maxResultScale*3:
		return DecimalOf(0, scale), nil
	}
	bits := bitsFor(float64(scale) + max(weight, 0))
	return decimalOfFloat(exp(d.float(bits), bits), scale), nil
}

// lnWeight estimates the decimal weight of the natural logarithm of a positive number (estimate_ln_dweight in
// numeric.c).
func (d *Decimal) lnWeight() int32 {
	if d.Cmp(DecimalOf(9, 1)) >= 0 && d.Cmp(DecimalOf(11, 1)) <= 0 {
		x := d.Sub(DecimalFromInt(1))
		if x.coef.Sign() == 0 {
			return 0
		}
		weight, first := x.base10000()
		return weight*4 + int32(math.Log10(float64(first)))
	}
	weight, digits := d.base10000()
	at := weight * 4
	number := int64(digits)
	// Add the second digit if there is one.
	if rest := d.Sub(decimalPower(int64(digits), at)); rest.coef.Sign() != 0 {
		second := rest.Trunc(-(at - 4))
		q, _ := second.Div(decimalPower(1, at-4))
		n, _ := q.Int64()
		number, at = number*10000+n, at-4
	}
	return int32(math.Log10(math.Abs(math.Log(float64(number)) + float64(at)*ln10)))
}

// decimalPower returns n * 10^e.
func decimalPower(n int64, e int32) *Decimal {
	if e <= 0 {
		return DecimalOf(n, -e)
	}
	d := DecimalFromInt(n)
	d.coef.Mul(&d.coef, pow10(e))
	return d
}

// Variance returns the variance of n numbers, given their sum and the sum of their squares: of a sample or of the
// population. If root is set it returns its square root (numeric_stddev_internal in numeric.c).
func Variance(n int64, sum, squares *Decimal, sample, root bool) (*Decimal, error) {
	if sum.special != finite || squares.special != finite {
		return &Decimal{special: nan}, nil
	}
	count := DecimalFromInt(n)
	scale := sum.scale * 2
	a, err := sum.Mul(sum)
	if err != nil {
		return nil, err
	}
	b, err := count.Mul(squares)
	if err != nil {
		return nil, err
	}
	num := b.Round(scale).Sub(a.Round(scale))
	if num.Sign() <= 0 {
		return DecimalFromInt(0), nil
	}
	den := count
	if sample {
		den = DecimalFromInt(n - 1)
	}
	if den, err = count.Mul(den); err != nil {
		return nil, err
	}
	r, err := num.Div(den)
	if err != nil || !root {
		return r, err
	}
	return r.sqrt(r.scale), nil
}

// DecimalPower returns n * 10^e.
func DecimalPower(n int64, e int32) *Decimal { return decimalPower(n, e) }

// Scientific returns a finite number with one digit before the decimal point, digits after it, and an exponent. As in
// PostgreSQL, rounding may add a digit: 9.995 is 10.00e+00.
func (d *Decimal) Scientific(digits int) string {
	exponent := 0
	if d.coef.Sign() != 0 {
		exponent = len(new(big.Int).Abs(&d.coef).String()) - 1 - int(d.scale)
	}
	m := &Decimal{}
	m.coef.Set(&d.coef)
	if s := int(d.scale) + exponent; s >= 0 {
		m.scale = int32(s)
	} else {
		m.coef.Mul(&m.coef, pow10(int32(-s)))
	}
	return fmt.Sprintf("%se%+03d", m.Round(int32(digits)).String(), exponent)
}
