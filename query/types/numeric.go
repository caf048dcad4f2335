package types

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Decimal is PostgreSQL's numeric: coef / 10^scale, or a special value. Decimals are immutable.
//
// It uses math/big and not cockroachdb/apd, because apd rounds to a number of significant digits. In PostgreSQL sums
// and products are exact, quotients have as many digits after the decimal point as select_div_scale in numeric.c
// chooses, and every value keeps the digits that it was written with.
type Decimal struct {
	coef    big.Int
	scale   int32 // digits after the decimal point, at least 0; also the number displayed
	special special
}

type special uint8

const (
	finite special = iota
	nan
	posInf
	negInf
)

// Limits of numeric in PostgreSQL 15 (8.1.2): digits after and before the decimal point, and digits after it in the
// results of division.
const (
	maxNumericScale  = 16383
	maxNumericDigits = 131072
	maxDivScale      = 1000
	minSigDigits     = 16
)

var errNumericOverflow = sqlstate.New(sqlstate.NumericOutOfRange, "value overflows numeric format")

// InRange returns d, or an error if it has more than 131072 digits before the decimal point, for which PostgreSQL's
// format has no room. Sums and rounded values need the check.
func (d *Decimal) InRange() (*Decimal, error) {
	// 10^131072 has 435412 bits, and each digit after the point adds more than three. Few numbers need a comparison.
	if d.coef.BitLen() > 435411+3*int(d.scale) && d.coef.CmpAbs(pow10(maxNumericDigits+d.scale)) >= 0 {
		return nil, errNumericOverflow
	}
	return d, nil
}

var pow10Table = func() (t [64]*big.Int) {
	for i := range t {
		t[i] = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(i)), nil)
	}
	return t
}()

func pow10(n int32) *big.Int {
	if n < int32(len(pow10Table)) {
		return pow10Table[n]
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// DecimalFromInt returns i as a Decimal.
func DecimalFromInt(i int64) *Decimal {
	d := &Decimal{}
	d.coef.SetInt64(i)
	return d
}

// DecimalFromFloat converts as PostgreSQL does, through 15 significant digits (6 for float4).
func DecimalFromFloat(f float64, digits int) *Decimal {
	switch {
	case math.IsNaN(f):
		return &Decimal{special: nan}
	case math.IsInf(f, 1):
		return &Decimal{special: posInf}
	case math.IsInf(f, -1):
		return &Decimal{special: negInf}
	}
	d, err := ParseDecimal(strconv.FormatFloat(f, 'g', digits, 64))
	if err != nil {
		return &Decimal{special: nan} // unreachable: every finite float fits
	}
	return d
}

// ParseDecimal reads a numeric literal. It accepts exponents, NaN and Infinity.
func ParseDecimal(text string) (*Decimal, error) {
	s := strings.TrimSpace(text)
	bad := func() (*Decimal, error) {
		return nil, sqlstate.New(sqlstate.InvalidTextRepresentation, `invalid input syntax for type numeric: "%s"`,
			text)
	}
	switch strings.ToLower(s) {
	case "nan":
		return &Decimal{special: nan}, nil
	case "infinity", "+infinity", "inf", "+inf":
		return &Decimal{special: posInf}, nil
	case "-infinity", "-inf":
		return &Decimal{special: negInf}, nil
	}
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	mantissa, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return bad()
		}
		if e > math.MaxInt32/2 || e < -math.MaxInt32/2 {
			return nil, errNumericOverflow
		}
		mantissa, exp = s[:i], e
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := whole + frac
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return bad()
	}
	significant := strings.TrimLeft(digits, "0")
	scale := len(frac) - exp
	if scale > maxNumericScale || significant != "" && len(significant)-scale > maxNumericDigits {
		return nil, errNumericOverflow
	}
	d := &Decimal{}
	if significant == "" {
		d.scale = int32(max(scale, 0))
		return d, nil
	}
	if _, ok := d.coef.SetString(significant, 10); !ok {
		return bad()
	}
	if neg {
		d.coef.Neg(&d.coef)
	}
	if scale < 0 {
		d.coef.Mul(&d.coef, pow10(int32(-scale)))
		scale = 0
	}
	d.scale = int32(scale)
	return d, nil
}

// String returns PostgreSQL's text form.
func (d *Decimal) String() string { return string(d.append(nil)) }

func (d *Decimal) append(dst []byte) []byte {
	switch d.special {
	case nan:
		return append(dst, "NaN"...)
	case posInf:
		return append(dst, "Infinity"...)
	case negInf:
		return append(dst, "-Infinity"...)
	}
	if d.scale == 0 {
		return d.coef.Append(dst, 10)
	}
	digits := new(big.Int).Abs(&d.coef).String()
	if d.coef.Sign() < 0 {
		dst = append(dst, '-')
	}
	if pad := int(d.scale) + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	at := len(digits) - int(d.scale)
	dst = append(dst, digits[:at]...)
	dst = append(dst, '.')
	return append(dst, digits[at:]...)
}

// rescaled returns the coefficient at a scale that is not smaller than d's.
func (d *Decimal) rescaled(scale int32) *big.Int {
	if scale == d.scale {
		return &d.coef
	}
	return new(big.Int).Mul(&d.coef, pow10(scale-d.scale))
}

// Cmp compares numerics. NaN is the largest and equals itself.
func (d *Decimal) Cmp(o *Decimal) int {
	if d.special != finite || o.special != finite {
		return d.rank() - o.rank()
	}
	s := max(d.scale, o.scale)
	return d.rescaled(s).Cmp(o.rescaled(s))
}

func (d *Decimal) rank() int {
	switch d.special {
	case negInf:
		return -1
	case posInf:
		return 1
	case nan:
		return 2
	}
	return 0
}

// Sign returns -1, 0 or 1; 1 for NaN.
func (d *Decimal) Sign() int {
	switch d.special {
	case negInf:
		return -1
	case posInf, nan:
		return 1
	}
	return d.coef.Sign()
}

// Neg returns -d.
func (d *Decimal) Neg() *Decimal {
	r := &Decimal{scale: d.scale, special: d.special}
	switch d.special {
	case posInf:
		r.special = negInf
	case negInf:
		r.special = posInf
	}
	r.coef.Neg(&d.coef)
	return r
}

// Add returns d + o.
func (d *Decimal) Add(o *Decimal) *Decimal {
	if d.special != finite || o.special != finite {
		return addSpecial(d, o)
	}
	r := &Decimal{scale: max(d.scale, o.scale)}
	r.coef.Add(d.rescaled(r.scale), o.rescaled(r.scale))
	return r
}

func addSpecial(d, o *Decimal) *Decimal {
	switch {
	case d.special == nan || o.special == nan, d.special != finite && o.special != finite && d.special != o.special:
		return &Decimal{special: nan}
	case d.special != finite:
		return d
	}
	return o
}

// Sub returns d - o.
func (d *Decimal) Sub(o *Decimal) *Decimal { return d.Add(o.Neg()) }

// Mul returns d * o.
func (d *Decimal) Mul(o *Decimal) (*Decimal, error) {
	if d.special != finite || o.special != finite {
		sign := d.Sign() * o.Sign()
		switch {
		case d.special == nan || o.special == nan || sign == 0:
			return &Decimal{special: nan}, nil
		case sign > 0:
			return &Decimal{special: posInf}, nil
		}
		return &Decimal{special: negInf}, nil
	}
	r := &Decimal{scale: d.scale + o.scale}
	r.coef.Mul(&d.coef, &o.coef)
	if r.scale > maxNumericScale {
		r = r.Round(maxNumericScale)
	}
	return r.InRange()
}

var errDivisionByZero = sqlstate.New(sqlstate.DivisionByZero, "division by zero")

// Div returns d / o with the number of digits that PostgreSQL chooses (select_div_scale in numeric.c).
func (d *Decimal) Div(o *Decimal) (*Decimal, error) {
	if r, done, err := divSpecial(d, o); done {
		return r, err
	}
	w1, f1 := d.base10000()
	w2, f2 := o.base10000()
	q := w1 - w2
	if f1 <= f2 {
		q--
	}
	scale := min(max(minSigDigits-q*4, d.scale, o.scale, 0), maxDivScale)
	// (dc / 10^ds) / (oc / 10^os), with one digit more than wanted, then rounded.
	num := new(big.Int).Mul(&d.coef, pow10(scale+1+o.scale))
	den := new(big.Int).Mul(&o.coef, pow10(d.scale))
	r := &Decimal{scale: scale + 1}
	r.coef.Quo(num, den)
	return r.Round(scale).InRange()
}

func divSpecial(d, o *Decimal) (*Decimal, bool, error) {
	switch {
	case d.special == nan || o.special == nan:
		return &Decimal{special: nan}, true, nil
	case o.special == finite && o.coef.Sign() == 0:
		return nil, true, errDivisionByZero
	case d.special != finite && o.special != finite:
		return &Decimal{special: nan}, true, nil
	case d.special != finite:
		if o.Sign() < 0 {
			return d.Neg(), true, nil
		}
		return d, true, nil
	case o.special != finite:
		return &Decimal{}, true, nil
	}
	return nil, false, nil
}

// base10000 returns the weight and the first digit of d in base 10000, as numeric.c stores it.
func (d *Decimal) base10000() (weight, first int32) {
	if d.coef.Sign() == 0 {
		return 0, 0
	}
	digits := new(big.Int).Abs(&d.coef).String()
	// The decimal exponent of the leading digit.
	e := int32(len(digits)) - 1 - d.scale
	weight = e / 4
	if e < 0 && e%4 != 0 {
		weight--
	}
	n := int(e-4*weight) + 1 // decimal digits in the first base-10000 digit
	for len(digits) < n {
		digits += "0"
	}
	v, _ := strconv.Atoi(digits[:n])
	return weight, int32(v)
}

// Mod returns the remainder with the sign of d.
func (d *Decimal) Mod(o *Decimal) (*Decimal, error) {
	switch {
	case d.special == nan || o.special == nan || d.special != finite && o.Sign() != 0:
		return &Decimal{special: nan}, nil
	case o.special == finite && o.coef.Sign() == 0:
		return nil, errDivisionByZero
	case o.special != finite:
		return d, nil
	}
	r := &Decimal{scale: max(d.scale, o.scale)}
	r.coef.Rem(d.rescaled(r.scale), o.rescaled(r.scale))
	return r, nil
}

// Round rounds to a scale, which may be negative. Halves are rounded away from zero.
func (d *Decimal) Round(scale int32) *Decimal { return d.cut(scale, 'r') }

// Trunc truncates towards zero.
func (d *Decimal) Trunc(scale int32) *Decimal { return d.cut(scale, 't') }

// Floor rounds down to an integer.
func (d *Decimal) Floor() *Decimal { return d.cut(0, 'f') }

// Ceil rounds up to an integer.
func (d *Decimal) Ceil() *Decimal { return d.cut(0, 'c') }

func (d *Decimal) cut(scale int32, how byte) *Decimal {
	if d.special != finite {
		return d
	}
	if scale >= d.scale {
		r := &Decimal{scale: scale}
		r.coef.Set(d.rescaled(scale))
		return r
	}
	unit := pow10(d.scale - scale)
	r := &Decimal{scale: max(scale, 0)}
	rem := new(big.Int)
	r.coef.QuoRem(&d.coef, unit, rem)
	up := false
	switch how {
	case 'r':
		up = rem.Abs(rem).Lsh(rem, 1).Cmp(unit) >= 0
	case 'f':
		up = rem.Sign() < 0
	case 'c':
		up = rem.Sign() > 0
	}
	if up {
		r.coef.Add(&r.coef, big.NewInt(int64(d.coef.Sign())))
	}
	if scale < 0 {
		r.coef.Mul(&r.coef, pow10(-scale))
	}
	return r
}

// Int64 rounds to an integer. It returns false if the integer does not fit.
func (d *Decimal) Int64() (int64, bool) {
	if d.special != finite {
		return 0, false
	}
	r := d.Round(0)
	return r.coef.Int64(), r.coef.IsInt64()
}

// Float64 returns the nearest float; infinity if d is too large.
func (d *Decimal) Float64() float64 {
	switch d.special {
	case nan:
		return math.NaN()
	case posInf:
		return math.Inf(1)
	case negInf:
		return math.Inf(-1)
	}
	f, _ := strconv.ParseFloat(d.String(), 64)
	return f
}

// canonical appends a text that is the same for equal numerics, for hashing.
func (d *Decimal) canonical(dst []byte) []byte {
	dst = d.append(dst)
	if d.special == finite && d.scale > 0 {
		dst = []byte(strings.TrimRight(string(dst), "0"))
		dst = []byte(strings.TrimSuffix(string(dst), "."))
	}
	return dst
}

// fits rounds to the scale of numeric(precision, scale) and checks the precision.
func (d *Decimal) fits(precision, scale int32) (*Decimal, error) {
	if d.special == nan {
		return d, nil
	}
	if d.special != finite {
		return nil, sqlstate.New(sqlstate.NumericOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d cannot hold an infinite value.", precision, scale)
	}
	r := d.Round(scale)
	if new(big.Int).Abs(r.rescaledDown(scale)).Cmp(pow10(precision)) >= 0 {
		return nil, sqlstate.New(sqlstate.NumericOutOfRange, "numeric field overflow").
			WithDetail("A field with precision %d, scale %d must round to an absolute value less than 10^%d.",
				precision, scale, precision-scale)
	}
	return r, nil
}

// rescaledDown returns the coefficient in units of 10^-scale; the scale may be negative.
func (d *Decimal) rescaledDown(scale int32) *big.Int {
	if scale >= 0 {
		return d.rescaled(max(scale, d.scale))
	}
	return new(big.Int).Quo(&d.coef, pow10(-scale))
}

// DecimalOf returns n / 10^scale, displayed with scale digits.
func DecimalOf(n int64, scale int32) *Decimal {
	d := DecimalFromInt(n)
	d.scale = scale
	return d
}

// Scale returns the number of digits after the decimal point.
func (d *Decimal) Scale() int32 { return d.scale }

// IsFinite reports whether d is neither NaN nor infinite.
func (d *Decimal) IsFinite() bool { return d.special == finite }

// IsNaN reports whether d is NaN.
func (d *Decimal) IsNaN() bool { return d.special == nan }
