package funcs

import (
	"math"
	"math/rand/v2"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions for operators, random numbers, series of numerics, and counts of NULL arguments.
func init() {
	mathFamily.Function("abs", types.Float4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewFloat(math.Abs(a[0].Float())), nil
	}, types.Float4)
	for symbol, name := range map[string]string{"|/": "sqrt", "||/": "cbrt", "@": "abs"} {
		for _, f := range Functions[name] {
			if symbol == "@" || f.Args[0] == types.Float8 {
				mathFamily.Operator(symbol, f.Ret, f.Eval, f.Args...)
			}
		}
	}
	for name, null := range map[string]bool{"num_nulls": true, "num_nonnulls": false} {
		mathFamily.Add(&exec.Func{Name: name, Args: []types.OID{exec.AnyValue}, Variadic: true, Ret: types.Int4,
			NullArgs: true, Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				n := int64(0)
				for _, d := range a {
					if d.IsNull() == null {
						n++
					}
				}
				return types.NewInt(n), nil
			}})
	}
	mathFamily.Function("random", types.Float8, func(env *exec.CallEnv, _ []types.Datum) (types.Datum, error) {
		if s, ok := env.Session.(seeded); ok && *s.Seed() != nil {
			return types.NewFloat((*s.Seed()).next()), nil
		}
		return types.NewFloat(rand.Float64()), nil
	}).Volatility = exec.Volatile
	mathFamily.Function("setseed", types.Void, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		f := a[0].Float()
		if !(f >= -1 && f <= 1) {
			return types.Null, sqlstate.New(sqlstate.InvalidParameterValue,
				"setseed parameter %s is out of allowed range [-1,1]", types.AppendText(nil, a[0], types.Float8,
					env.Types))
		}
		s, ok := env.Session.(seeded)
		if !ok {
			return types.Null, sqlstate.New(sqlstate.FeatureNotSupported, "setseed needs a session")
		}
		*s.Seed() = newSeed(f)
		return types.NewText(""), nil
	}, types.Float8).Volatility = exec.Volatile
	cols := func([]types.OID) []exec.Column {
		return []exec.Column{{Name: "generate_series", Type: types.Numeric, Mod: -1}}
	}
	for n := 2; n <= 3; n++ {
		ArrayFamily.AddTable(&exec.TableFunc{Name: "generate_series", Columns: cols, Stream: numericSeries,
			Args: []types.OID{types.Numeric, types.Numeric, types.Numeric}[:n:n]})
	}
}

func numericSeries(a []types.Datum) (func() []types.Datum, error) {
	step := types.DecimalFromInt(1)
	if len(a) > 2 {
		step = a[2].Decimal()
	}
	for i, what := range []string{"start", "stop", "step size"} {
		if i < len(a) && !a[i].Decimal().IsFinite() {
			value := "infinity"
			if a[i].Decimal().IsNaN() {
				value = "NaN"
			}
			suffix := " value"
			if i == 2 {
				suffix = ""
			}
			return nil, sqlstate.New(sqlstate.InvalidParameterValue, "%s%s cannot be %s", what, suffix, value)
		}
	}
	if step.Sign() == 0 {
		return nil, sqlstate.New(sqlstate.InvalidParameterValue, "step size cannot equal zero")
	}
	at, end := a[0].Decimal(), a[1].Decimal()
	return func() []types.Datum {
		if c := at.Cmp(end); c != 0 && c > 0 == (step.Sign() > 0) {
			return nil
		}
		row := []types.Datum{types.NewNumeric(at)}
		at = at.Add(step)
		return row
	}, nil
}

// seeded is a session that keeps the state set by setseed.
type seeded interface{ Seed() **Seed }

// Seed is the state of PostgreSQL's random number generator, xoroshiro128**, so that a seed gives the same numbers.
type Seed struct{ a, b uint64 }

func newSeed(f float64) *Seed {
	state := uint64(int64(float64(uint64(1)<<52-1) * f))
	split := func() uint64 {
		state += 0x9e3779b97f4a7c15
		v := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		v = (v ^ v>>27) * 0x94d049bb133111eb
		return v ^ v>>31
	}
	s := &Seed{}
	s.a, s.b = split(), split()
	return s
}

// next returns the next number in [0, 1).
func (s *Seed) next() float64 {
	left := func(x uint64, n uint) uint64 { return x<<n | x>>(64-n) }
	x := s.b ^ s.a
	v := left(s.a*5, 7) * 9
	s.a, s.b = left(s.a, 24)^x^x<<16, left(x, 37)
	return math.Ldexp(float64(v>>12), -52)
}
