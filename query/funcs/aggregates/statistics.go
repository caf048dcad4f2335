package aggregates

import (
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Aggregates of statistics (PostgreSQL 15, table 9.61).

// exactSpread is the variance and standard deviation of integers and numerics.
type exactSpread struct {
	sample, root bool
	n            int64
	sum, squares *types.Decimal
	// scale is the largest scale of the numbers, with which the result is displayed; scaled counts the numbers that
	// have it.
	scale  int32
	scaled int64
}

func (s *exactSpread) Add(_ *exec.Env, args []types.Datum) error {
	d := decimalOf(args[0])
	square, err := d.Mul(d)
	if err != nil {
		return err
	}
	switch scale := d.Scale(); {
	case scale > s.scale || s.n == 0:
		s.scale, s.scaled = scale, 1
	case scale == s.scale:
		s.scaled++
	}
	if s.n++; s.n == 1 {
		s.sum, s.squares = d, square
		return nil
	}
	s.sum, s.squares = s.sum.Add(d), s.squares.Add(square)
	return nil
}

// Remove implements exec.Remover.
func (s *exactSpread) Remove(args []types.Datum) (bool, error) {
	d := decimalOf(args[0])
	if !s.sum.IsFinite() || !d.IsFinite() || d.Scale() == s.scale && s.scale > 0 && s.scaled == 1 {
		return false, nil
	}
	square, err := d.Mul(d)
	if err != nil {
		return false, err
	}
	if d.Scale() == s.scale {
		s.scaled--
	}
	s.n--
	s.sum, s.squares = s.sum.Sub(d), s.squares.Sub(square)
	return true, nil
}

// decimalOf returns an integer or numeric as a Decimal.
func decimalOf(d types.Datum) *types.Decimal {
	if d.K == types.KInt {
		return types.DecimalFromInt(d.I)
	}
	return d.Decimal()
}

func (s *exactSpread) Result(*exec.Env) (types.Datum, error) {
	if s.n == 0 || s.sample && s.n == 1 {
		return types.Null, nil
	}
	d, err := types.Variance(s.n, s.sum, s.squares, s.sample, s.root)
	return types.NewNumeric(d), err
}

// regression aggregates pairs of floats, Y before X, by the method of Youngs and Cramer as in PostgreSQL's float.c.
// Single floats are X.
type regression struct {
	n, sx, sy, sxx, syy, sxy float64
	result                   func(r *regression) (float64, bool)
}

func (r *regression) Add(_ *exec.Env, args []types.Datum) error {
	x, y := args[0].Float(), 0.0
	if len(args) == 2 {
		x, y = args[1].Float(), args[0].Float()
	}
	before := *r
	r.n++
	r.sx += x
	r.sy += y
	if before.n > 0 {
		dx, dy := x*r.n-r.sx, y*r.n-r.sy
		scale := 1 / (r.n * before.n)
		if len(args) == 1 {
			r.sxx += dx * dx / (r.n * before.n)
		} else {
			r.sxx += dx * dx * scale
		}
		r.syy += dy * dy * scale
		r.sxy += dx * dy * scale
		if infinite(r.sx, r.sxx, r.sy, r.syy, r.sxy) {
			if infinite(r.sx, r.sxx) && !infinite(before.sx, x) || infinite(r.sy, r.syy) && !infinite(before.sy, y) {
				return sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
			}
			spoil(&r.sxx, &r.syy, &r.sxy)
		}
		return nil
	}
	if badFloat(x) {
		r.sxx, r.sxy = math.NaN(), math.NaN()
	}
	if badFloat(y) {
		r.syy, r.sxy = math.NaN(), math.NaN()
	}
	return nil
}

func badFloat(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }

func infinite(list ...float64) bool {
	for _, f := range list {
		if math.IsInf(f, 0) {
			return true
		}
	}
	return false
}

// spoil turns sums that have become infinite into NaN.
func spoil(list ...*float64) {
	for _, f := range list {
		if math.IsInf(*f, 0) {
			*f = math.NaN()
		}
	}
}

func (r *regression) Result(*exec.Env) (types.Datum, error) {
	if r.n == 0 {
		return types.Null, nil
	}
	f, ok := r.result(r)
	if !ok {
		return types.Null, nil
	}
	return types.NewFloat(f), nil
}

// spreads are the names of the variances and standard deviations.
var spreads = map[string]struct{ sample, root bool }{
	"variance": {true, false}, "var_samp": {true, false}, "var_pop": {false, false},
	"stddev": {true, true}, "stddev_samp": {true, true}, "stddev_pop": {false, true},
}

var regressions = map[string]func(r *regression) (float64, bool){
	"regr_sxx":   func(r *regression) (float64, bool) { return r.sxx, true },
	"regr_syy":   func(r *regression) (float64, bool) { return r.syy, true },
	"regr_sxy":   func(r *regression) (float64, bool) { return r.sxy, true },
	"regr_avgx":  func(r *regression) (float64, bool) { return r.sx / r.n, true },
	"regr_avgy":  func(r *regression) (float64, bool) { return r.sy / r.n, true },
	"covar_pop":  func(r *regression) (float64, bool) { return r.sxy / r.n, true },
	"covar_samp": func(r *regression) (float64, bool) { return r.sxy / (r.n - 1), r.n > 1 },
	"regr_slope": func(r *regression) (float64, bool) { return r.sxy / r.sxx, r.sxx != 0 },
	"corr": func(r *regression) (float64, bool) {
		return r.sxy / math.Sqrt(r.sxx*r.syy), r.sxx != 0 && r.syy != 0
	},
	"regr_intercept": func(r *regression) (float64, bool) {
		return (r.sy - r.sx*r.sxy/r.sxx) / r.n, r.sxx != 0
	},
	"regr_r2": func(r *regression) (float64, bool) {
		switch {
		case r.sxx == 0:
			return 0, false
		case r.syy == 0:
			return 1, true
		}
		return r.sxy * r.sxy / (r.sxx * r.syy), true
	},
}

func init() {
	add := funcs.AggregateFamily.Aggregate
	for name, result := range regressions {
		add(&exec.Aggregate{Name: name, Args: []types.OID{types.Float8, types.Float8}, Ret: types.Float8,
			New: func([]types.OID) exec.Accumulator { return &regression{result: result} }})
	}
	add(&exec.Aggregate{Name: "regr_count", Args: []types.OID{types.Float8, types.Float8}, Ret: types.Int8,
		New: func([]types.OID) exec.Accumulator { return &counter{} }})
	for name, s := range spreads {
		for _, t := range []types.OID{types.Int2, types.Int4, types.Int8, types.Numeric} {
			add(&exec.Aggregate{Name: name, Args: []types.OID{t}, Ret: types.Numeric,
				New: func([]types.OID) exec.Accumulator { return &exactSpread{sample: s.sample, root: s.root} }})
		}
		for _, t := range []types.OID{types.Float4, types.Float8} {
			add(&exec.Aggregate{Name: name, Args: []types.OID{t}, Ret: types.Float8,
				New: func([]types.OID) exec.Accumulator {
					return &regression{result: func(r *regression) (float64, bool) {
						n := r.n
						if s.sample {
							n--
						}
						f := r.sxx / n
						if s.root {
							f = math.Sqrt(f)
						}
						return f, n > 0
					}}
				}})
		}
	}
	for _, name := range []string{"bit_and", "bit_or", "bit_xor"} {
		for _, t := range []types.OID{types.Int2, types.Int4, types.Int8} {
			op := map[string]string{"bit_and": "&", "bit_or": "|", "bit_xor": "#"}[name]
			add(&exec.Aggregate{Name: name, Args: []types.OID{t}, Ret: t,
				New: func([]types.OID) exec.Accumulator { return &bits{op: op} }})
		}
	}
	for name, avg := range map[string]bool{"sum": false, "avg": true} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{types.Interval}, Ret: types.Interval,
			New: func([]types.OID) exec.Accumulator { return &spanSum{avg: avg} }})
	}
}

// bits is bit_and, bit_or and bit_xor.
type bits struct {
	op    string
	value types.Datum
}

func (b *bits) Add(_ *exec.Env, args []types.Datum) error {
	switch {
	case b.value.IsNull():
		b.value = args[0]
	case b.op == "&":
		b.value.I &= args[0].I
	case b.op == "|":
		b.value.I |= args[0].I
	default:
		b.value.I ^= args[0].I
	}
	return nil
}

// Fold implements exec.Folder.
func (b *bits) Fold(x, y types.Datum) (types.Datum, error) {
	one := bits{op: b.op, value: x}
	err := one.Add(nil, []types.Datum{y})
	return one.value, err
}

func (b *bits) Result(*exec.Env) (types.Datum, error) { return b.value, nil }

// spanSum is sum and avg of intervals.
type spanSum struct {
	avg bool
	n   int64
	sum types.Span
}

func (s *spanSum) Add(_ *exec.Env, args []types.Datum) error {
	s.n++
	return s.move(args[0].Span())
}

func (s *spanSum) move(by types.Span) error {
	sum, err := s.sum.Add(by)
	s.sum = sum
	return err
}

// Remove implements exec.Remover.
func (s *spanSum) Remove(args []types.Datum) (bool, error) {
	s.n--
	sum, err := s.sum.Sub(args[0].Span())
	s.sum = sum
	return true, err
}

func (s *spanSum) Result(*exec.Env) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	if s.avg {
		avg, err := s.sum.Divide(float64(s.n))
		return types.NewInterval(avg), err
	}
	return types.NewInterval(s.sum), nil
}
