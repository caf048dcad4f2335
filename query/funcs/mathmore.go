package funcs

import (
	"math/big"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Divisors, factorials, scales, and the functions of angles (PostgreSQL 15, tables 9.5 to 9.8).
func init() {
	for _, t := range []types.OID{types.Int4, types.Int8} {
		mathFamily.Function("gcd", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return narrow(gcd(big.NewInt(a[0].I), big.NewInt(a[1].I)), t)
		}, t, t)
		mathFamily.Function("lcm", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			x, y := big.NewInt(a[0].I), big.NewInt(a[1].I)
			if x.Sign() == 0 || y.Sign() == 0 {
				return types.NewInt(0), nil
			}
			n := new(big.Int).Mul(x.Quo(x, gcd(x, y)), y)
			return narrow(n.Abs(n), t)
		}, t, t)
	}
	mathFamily.Function("gcd", types.Numeric, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		d, err := numericGCD(env, a[0].Decimal(), a[1].Decimal())
		return types.NewNumeric(d), err
	}, types.Numeric, types.Numeric)
	mathFamily.Function("lcm", types.Numeric, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		x, y := a[0].Decimal(), a[1].Decimal()
		if !x.IsFinite() || !y.IsFinite() {
			d, err := types.ParseDecimal("NaN")
			return types.NewNumeric(d), err
		}
		scale := max(x.Scale(), y.Scale())
		if x.Sign() == 0 || y.Sign() == 0 {
			return types.NewNumeric(types.DecimalOf(0, scale)), nil
		}
		g, err := numericGCD(env, x, y)
		if err != nil {
			return types.Null, err
		}
		q, err := x.Div(g)
		if err != nil {
			return types.Null, err
		}
		d, err := q.Round(0).Mul(y)
		if err != nil {
			return types.Null, err
		}
		if d.Sign() < 0 {
			d = d.Neg()
		}
		return types.NewNumeric(d.Round(scale)), nil
	}, types.Numeric, types.Numeric)
	mathFamily.Function("factorial", types.Numeric, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		const most = 32177 // the largest whose factorial fits a numeric
		switch n := a[0].I; {
		case n < 0:
			return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "factorial of a negative number is undefined")
		case n > most:
			return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value overflows numeric format")
		default:
			if err := env.Step(int(1 + n*n/10_000)); err != nil {
				return types.Null, err
			}
			d, err := types.ParseDecimal(new(big.Int).MulRange(1, max(n, 1)).String())
			return types.NewNumeric(d), err
		}
	}, types.Int8)
	whole := func(name string, ret types.OID, f func(d *types.Decimal) types.Datum) {
		mathFamily.Function(name, ret, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if !a[0].Decimal().IsFinite() {
				if ret == types.Numeric {
					return a[0], nil
				}
				return types.Null, nil
			}
			return f(a[0].Decimal()), nil
		}, types.Numeric)
	}
	whole("scale", types.Int4, func(d *types.Decimal) types.Datum { return types.NewInt(int64(d.Scale())) })
	whole("min_scale", types.Int4, func(d *types.Decimal) types.Datum { return types.NewInt(int64(minScale(d))) })
	whole(
		"trim_scale",
		types.Numeric,
		func(d *types.Decimal) types.Datum { return types.NewNumeric(d.Trunc(minScale(d))) },
	)
	angles()
}

func gcd(x, y *big.Int) *big.Int {
	return new(big.Int).GCD(nil, nil, new(big.Int).Abs(x), new(big.Int).Abs(y))
}

func narrow(n *big.Int, t types.OID) (types.Datum, error) {
	if !n.IsInt64() || t == types.Int4 && n.BitLen() > 31 {
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "%s out of range", types.NameOf(t))
	}
	return types.NewInt(n.Int64()), nil
}

func numericGCD(env *exec.CallEnv, x, y *types.Decimal) (*types.Decimal, error) {
	if !x.IsFinite() || !y.IsFinite() {
		return types.ParseDecimal("NaN")
	}
	scale := max(x.Scale(), y.Scale())
	for y.Sign() != 0 {
		if err := env.Step(1); err != nil {
			return nil, err
		}
		r, err := x.Mod(y)
		if err != nil {
			return nil, err
		}
		x, y = y, r
	}
	if x.Sign() < 0 {
		x = x.Neg()
	}
	return x.Round(scale), nil
}

// minScale returns the number of digits needed after the decimal point.
func minScale(d *types.Decimal) int32 {
	n := d.Scale()
	for n > 0 && d.Trunc(n-1).Cmp(d) == 0 {
		n--
	}
	return n
}
