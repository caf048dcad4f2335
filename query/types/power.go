package types

import (
	"math"
	"math/big"

	"github.com/divandb/divan/query/sqlstate"
)

var (
	errZeroPower    = sqlstate.New(sqlstate.InvalidPower, "zero raised to a negative power is undefined")
	errComplexPower = sqlstate.New(sqlstate.InvalidPower,
		"a negative number raised to a non-integer power yields a complex result")
)

// maxPowerDigits limits the digits of a power before the decimal point.
const maxPowerDigits = 32768 * 4

// Pow returns d ^ e with as many digits as PostgreSQL 15 gives (numeric.c, numeric_power and power_var).
func (d *Decimal) Pow(e *Decimal) (*Decimal, error) {
	if d.special != finite || e.special != finite {
		return d.powSpecial(e)
	}
	switch {
	case d.coef.Sign() == 0 && e.coef.Sign() < 0:
		return nil, errZeroPower
	case d.coef.Sign() < 0 && !e.integral():
		return nil, errComplexPower
	}
	if n, ok := e.Int64(); ok && e.integral() && n >= math.MinInt32 && n <= math.MaxInt32 {
		return d.powInt(n)
	}
	if d.coef.Sign() == 0 {
		return DecimalOf(0, minSigDigits), nil
	}
	// The size of the result determines how many digits it has, and how precise the logarithm must be.
	base := d.float(64)
	base.Abs(base)
	weight := e.Float64() * approximateLog(base)
	switch {
	case weight > 2000*3.01:
		return nil, errNumericOverflow
	case weight < -2000*3.01:
		return DecimalOf(0, maxDivScale), nil
	}
	weight *= 0.434294481903252 // PostgreSQL's constant; the number of digits depends on it
	scale := powScale(minSigDigits-int32(weight), d.scale, e.scale)
	// The logarithm loses as many digits of precision as e has whole digits. With more of them than this, only powers
	// of numbers very close to 1 are in range.
	const mostWhole = 20_000
	whole := min(max(e.float(64).MantExp(nil), 0), mostWhole)
	bits := uint(3.33*(float64(scale)+max(weight, 0))) + uint(whole) + 192
	base = d.float(bits)
	x := ln(base.Abs(base), bits)
	r := exp(x.Mul(x, e.float(bits)), bits)
	if d.coef.Sign() < 0 && e.odd() {
		r.Neg(r)
	}
	return decimalOfFloat(r, scale).InRange()
}

func powScale(scale int32, others ...int32) int32 {
	for _, s := range others {
		scale = max(scale, s)
	}
	return min(max(scale, 0), maxDivScale)
}

// powInt returns d ^ n.
func (d *Decimal) powInt(n int64) (*Decimal, error) {
	scale := powScale(minSigDigits, d.scale)
	if n == 0 {
		return DecimalOf(1, 0).Round(scale), nil
	}
	if d.coef.Sign() == 0 {
		return DecimalOf(0, scale), nil
	}
	short := d.float(64)
	weight := float64(n) * approximateLog(short.Abs(short)) / math.Ln10
	switch {
	case weight > maxPowerDigits:
		return nil, errNumericOverflow
	case weight+1 < -float64(scale):
		return DecimalOf(0, scale), nil
	}
	bits := uint(3.33*(float64(scale)+max(weight, 0))) + 192
	x, r := d.float(bits), new(big.Float).SetPrec(bits).SetInt64(1)
	for m := max(n, -n); m > 0; m >>= 1 {
		if m&1 == 1 {
			r.Mul(r, x)
		}
		if m > 1 {
			x.Mul(x, x)
		}
	}
	if n < 0 {
		r.Quo(new(big.Float).SetPrec(bits).SetInt64(1), r)
	}
	return decimalOfFloat(r, scale).InRange()
}

// powSpecial is Pow if an operand is NaN or infinite. It follows the rules of POSIX.
func (d *Decimal) powSpecial(e *Decimal) (*Decimal, error) {
	one := DecimalFromInt(1)
	isOne := d.special == finite && d.Cmp(one) == 0
	isZero := e.special == finite && e.coef.Sign() == 0
	switch {
	case isOne || isZero:
		return one, nil
	case d.special == nan || e.special == nan:
		return &Decimal{special: nan}, nil
	}
	signD, signE := d.sign(), e.sign()
	switch {
	case signD == 0 && signE < 0:
		return nil, errZeroPower
	case signD < 0 && e.special == finite && !e.integral():
		return nil, errComplexPower
	case signD == 0:
		return DecimalFromInt(0), nil
	case e.special != finite:
		size := 1
		if d.special == finite {
			size = new(Decimal).abs(d).Cmp(one)
		}
		switch {
		case size == 0:
			return one, nil
		case size > 0 == (signE > 0):
			return &Decimal{special: posInf}, nil
		}
		return DecimalFromInt(0), nil
	case signE < 0:
		return DecimalFromInt(0), nil
	case signD < 0 && e.odd():
		return &Decimal{special: negInf}, nil
	}
	return &Decimal{special: posInf}, nil
}

func (d *Decimal) abs(o *Decimal) *Decimal {
	d.coef.Abs(&o.coef)
	d.scale = o.scale
	return d
}

func (d *Decimal) sign() int {
	switch d.special {
	case posInf:
		return 1
	case negInf:
		return -1
	}
	return d.coef.Sign()
}

// integral reports whether a finite number is an integer.
func (d *Decimal) integral() bool {
	return d.scale == 0 || new(big.Int).Rem(&d.coef, pow10(d.scale)).Sign() == 0
}

// odd reports whether an integer is odd.
func (d *Decimal) odd() bool { return new(big.Int).Quo(&d.coef, pow10(d.scale)).Bit(0) == 1 }

// float returns a finite number with a precision of bits.
func (d *Decimal) float(bits uint) *big.Float {
	f := new(big.Float).SetPrec(bits).SetInt(&d.coef)
	return f.Quo(f, new(big.Float).SetPrec(bits).SetInt(pow10(d.scale)))
}

// decimalOfFloat rounds to scale digits after the decimal point. Halves are rounded away from zero.
func decimalOfFloat(f *big.Float, scale int32) *Decimal {
	x := new(big.Float).SetPrec(f.Prec()).Mul(f, new(big.Float).SetInt(pow10(scale)))
	half := big.NewFloat(0.5)
	if x.Signbit() {
		half.Neg(half)
	}
	d := &Decimal{scale: scale}
	x.Add(x, half).Int(&d.coef)
	return d
}

// approximateLog returns the natural logarithm of a positive number, which may be out of float64's range.
func approximateLog(x *big.Float) float64 {
	m := new(big.Float)
	e := x.MantExp(m)
	f, _ := m.Float64()
	return math.Log(f) + float64(e)*math.Ln2
}

// exp computes e^x as a series for x / 2^k, squared k times.
func exp(x *big.Float, bits uint) *big.Float {
	const halvings = 64
	k := halvings
	if e := x.MantExp(nil); e > 0 {
		k += e
	}
	bits += uint(k) + 64
	y := new(big.Float).SetPrec(bits).SetMantExp(new(big.Float).SetPrec(bits).Set(x), -k)
	sum, term := new(big.Float).SetPrec(bits).SetInt64(1), new(big.Float).SetPrec(bits).SetInt64(1)
	for i := int64(1); ; i++ {
		term.Mul(term, y)
		term.Quo(term, new(big.Float).SetPrec(bits).SetInt64(i))
		if term.Sign() == 0 || sum.MantExp(nil)-term.MantExp(nil) > int(bits) {
			break
		}
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// ln computes the natural logarithm of a positive number by Halley's method: each step triples the correct bits.
func ln(x *big.Float, bits uint) *big.Float {
	work := bits + 64
	y := new(big.Float).SetPrec(work).SetFloat64(approximateLog(x))
	for right := uint(40); ; right *= 3 {
		e := exp(y, work)
		up := new(big.Float).SetPrec(work).Sub(x, e)
		down := new(big.Float).SetPrec(work).Add(x, e)
		up.Quo(up.Add(up, up), down)
		y.Add(y, up)
		if right*3 > work {
			return y
		}
	}
}
