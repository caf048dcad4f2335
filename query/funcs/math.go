package funcs

import (
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Mathematical functions (PostgreSQL 15, section 9.3).
func init() {
	for name, f := range map[string]func(*types.Decimal) *types.Decimal{
		"ceil": (*types.Decimal).Ceil, "ceiling": (*types.Decimal).Ceil, "floor": (*types.Decimal).Floor,
		"round": func(d *types.Decimal) *types.Decimal { return d.Round(0) },
		"trunc": func(d *types.Decimal) *types.Decimal { return d.Trunc(0) }} {
		mathFamily.Function(name, types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewNumeric(f(a[0].Decimal())), nil
		}, types.Numeric)
	}
	for name, f := range map[string]func(float64) float64{"ceil": math.Ceil, "ceiling": math.Ceil, "floor": math.Floor,
		"round": math.RoundToEven,
		"trunc": math.Trunc, "atan": math.Atan, "cbrt": math.Cbrt} {
		mathFamily.Function(name, types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewFloat(f(a[0].Float())), nil
		}, types.Float8)
	}
	for name, f := range map[string]func(*types.Decimal, int32) *types.Decimal{"round": (*types.Decimal).Round,
		"trunc": (*types.Decimal).Trunc} {
		mathFamily.Function(name, types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			// What a numeric can have in front of its point, and behind it.
			return types.NewNumeric(f(a[0].Decimal(), int32(min(max(a[1].I, -131073), 16383)))), nil
		}, types.Numeric, types.Int4)
	}
	for name, f := range map[string]func(float64) float64{
		"degrees": func(x float64) float64 { return x / radiansPerDegree },
		"radians": func(x float64) float64 { return x * radiansPerDegree },
	} {
		mathFamily.Function(name, types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			x := a[0].Float()
			r := f(x)
			switch {
			case math.IsInf(r, 0) && !math.IsInf(x, 0):
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
			case r == 0 && x != 0:
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: underflow")
			}
			return types.NewFloat(r), nil
		}, types.Float8)
	}
	signs()
	logs()
	mathFamily.Function("pi", types.Float8, func(*exec.CallEnv, []types.Datum) (types.Datum, error) {
		return types.NewFloat(math.Pi), nil
	})
	mathFamily.Function("atan2", types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewFloat(math.Atan2(a[0].Float(), a[1].Float())), nil
	}, types.Float8, types.Float8)
	for _, name := range []string{"power", "pow"} {
		mathFamily.Function(name, types.Float8, power, types.Float8, types.Float8)
		mathFamily.Function(name, types.Numeric, numericPower, types.Numeric, types.Numeric)
	}
}

// radiansPerDegree is PostgreSQL's constant.
const radiansPerDegree = 0.0174532925199432957692

func signs() {
	for _, t := range []types.OID{types.Int2, types.Int4, types.Int8} {
		mathFamily.Function("abs", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if a[0].I < 0 {
				return intOp("-", 0, a[0].I, t)
			}
			return a[0], nil
		}, t)
		mathFamily.Function("mod", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return intOp("%", a[0].I, a[1].I, t)
		}, t, t)
	}
	mathFamily.Function("abs", types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewFloat(math.Abs(a[0].Float())), nil
	}, types.Float8)
	mathFamily.Function("abs", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[0].Decimal().Sign() < 0 {
			return types.NewNumeric(a[0].Decimal().Neg()), nil
		}
		return a[0], nil
	}, types.Numeric)
	mathFamily.Function("mod", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		d, err := a[0].Decimal().Mod(a[1].Decimal())
		return types.NewNumeric(d), err
	}, types.Numeric, types.Numeric)
	mathFamily.Function("sign", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[0].Decimal().IsNaN() {
			return a[0], nil
		}
		return types.NewNumeric(types.DecimalFromInt(int64(a[0].Decimal().Sign()))), nil
	}, types.Numeric)
	mathFamily.Function("sign", types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		switch f := a[0].Float(); {
		case f > 0:
			return types.NewFloat(1), nil
		case f < 0:
			return types.NewFloat(-1), nil
		}
		return types.NewFloat(0), nil
	}, types.Float8)
	mathFamily.Function("div", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if !a[0].Decimal().IsFinite() || !a[1].Decimal().IsFinite() {
			d, err := a[0].Decimal().Div(a[1].Decimal())
			return types.NewNumeric(d), err
		}
		r, err := a[0].Decimal().Mod(a[1].Decimal())
		if err != nil {
			return types.Null, err
		}
		d, err := a[0].Decimal().Sub(r).Div(a[1].Decimal())
		if err != nil {
			return types.Null, err
		}
		return types.NewNumeric(d.Round(0)), nil
	}, types.Numeric, types.Numeric)
}

// Logarithms of two in two parts: a product of the first and an exponent is exact. They are fdlibm's.
const (
	ln2High, ln2Low   = 6.93147180369123816490e-01, 1.90821492927058770002e-10
	log2High, log2Low = 3.01029995663611771306e-01, 3.69423907715893078616e-13
)

// denormal reports whether x is too small for the logarithms of package math, which on some machines are wrong then.
func denormal(x float64) bool { return x < 0x1p-1022 }

// ln is math.Log, for denormal numbers too.
func ln(x float64) float64 {
	if denormal(x) {
		frac, exp := math.Frexp(x)
		return float64(exp)*ln2High + (float64(exp)*ln2Low + math.Log(frac))
	}
	return math.Log(x)
}

// log10 is math.Log10, which misses some powers of ten, for denormal numbers too.
func log10(x float64) float64 {
	if denormal(x) {
		frac, exp := math.Frexp(x)
		return float64(exp)*log2High + (float64(exp)*log2Low + math.Log10(frac))
	}
	y := math.Log10(x)
	if n := math.Round(y); math.Pow10(int(n)) == x {
		return n
	}
	return y
}

// logs adds the functions that are undefined for some arguments.
func logs() {
	domain := func(name string, f func(float64) float64, ok func(float64) bool, code sqlstate.Code, message string) {
		mathFamily.Function(name, types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			x := a[0].Float()
			if !ok(x) {
				return types.Null, sqlstate.New(code, "%s", message)
			}
			r := f(x)
			if math.IsInf(r, 0) && !math.IsInf(x, 0) {
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
			}
			if name == "exp" && r == 0 && !math.IsInf(x, 0) {
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: underflow")
			}
			return types.NewFloat(r), nil
		}, types.Float8)
	}
	for name, f := range map[string]func(float64) float64{"ln": ln, "log": log10, "log10": log10} {
		mathFamily.Function(name, types.Float8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			switch x := a[0].Float(); {
			case x == 0:
				return types.Null, sqlstate.New(sqlstate.InvalidLogarithm, "cannot take logarithm of zero")
			case x < 0:
				return types.Null, sqlstate.New(sqlstate.InvalidLogarithm, "cannot take logarithm of a negative number")
			}
			return types.NewFloat(f(a[0].Float())), nil
		}, types.Float8)
	}
	ten := types.DecimalFromInt(10)
	common := func(d *types.Decimal) (*types.Decimal, error) { return d.Log(ten) }
	for name, f := range map[string]func(*types.Decimal) (*types.Decimal, error){"sqrt": (*types.Decimal).Sqrt,
		"ln": (*types.Decimal).Ln, "exp": (*types.Decimal).Exp, "log": common, "log10": common} {
		mathFamily.Function(name, types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := f(a[0].Decimal())
			return types.NewNumeric(d), err
		}, types.Numeric)
	}
	mathFamily.Function("log", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		d, err := a[1].Decimal().Log(a[0].Decimal())
		return types.NewNumeric(d), err
	}, types.Numeric, types.Numeric)
	domain("sqrt", math.Sqrt, func(x float64) bool {
		return !(x < 0)
	}, sqlstate.InvalidPower, "cannot take square root of a negative number")
	domain("exp", math.Exp, func(float64) bool { return true }, sqlstate.NumericOutOfRange, "")
	inUnit := func(x float64) bool { return !(x < -1 || x > 1) }
	domain("asin", math.Asin, inUnit, sqlstate.NumericOutOfRange, "input is out of range")
	domain("acos", math.Acos, inUnit, sqlstate.NumericOutOfRange, "input is out of range")
}
