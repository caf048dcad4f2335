package funcs

import (
	"cmp"
	"math"
	"strings"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Comparison returns the operator for operands of one type.
func Comparison(op string) *exec.Func { return comparisons[op] }

var comparisons = map[string]*exec.Func{}

var comparisonTests = map[string]func(int) bool{
	"=": func(c int) bool {
		return c == 0
	}, "<>": func(c int) bool { return c != 0 }, "<": func(c int) bool { return c < 0 },
	"<=": func(c int) bool {
		return c <= 0
	}, ">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
}

// CollatedComparison returns the comparison of texts under a collation. Equality is the same under all collations.
func CollatedComparison(op string, c *types.Collation) *exec.Func {
	if c.Bytes() || op == "=" || op == "<>" {
		return Comparison(op)
	}
	test := comparisonTests[op]
	return &exec.Func{Name: op, Ret: types.Bool, Collation: c,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			order, err := types.CompareCollated(a[0], a[1], c)
			return types.NewBool(err == nil && test(order)), err
		}}
}

func init() {
	for op, test := range comparisonTests {
		equality := op == "=" || op == "<>"
		comparisons[op] = &exec.Func{Name: op, Ret: types.Bool,
			Eval: func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				if equality {
					same, err := env.Equal(a[0], a[1])
					return types.NewBool(err == nil && same == (op == "=")), err
				}
				c, err := env.Collates(a[0], a[1])
				return types.NewBool(err == nil && test(c)), err
			},
			Direct: directComparison(op, test)}
	}
	arithmetic()
	dates()
}

// directComparison compares texts and integers, which need neither an environment nor much time.
func directComparison(op string, test func(int) bool) func(*exec.State, types.Datum, types.Datum) (types.Datum, bool) {
	short := func(a, b types.Datum) bool {
		return a.K == types.KText && len(a.S) < exec.DirectLength && a.I == 0 && b.I == 0
	}
	if op == "=" || op == "<>" {
		equal := op == "="
		return func(_ *exec.State, a, b types.Datum) (types.Datum, bool) {
			switch {
			case a.K != b.K:
			case short(a, b):
				return types.NewBool((a.S == b.S) == equal), true
			case a.K == types.KInt && a.S == "" && b.S == "":
				return types.NewBool((a.I == b.I) == equal), true
			}
			return types.Null, false
		}
	}
	return func(_ *exec.State, a, b types.Datum) (types.Datum, bool) {
		switch {
		case a.K != b.K:
		case short(a, b):
			return types.NewBool(test(strings.Compare(a.S, b.S))), true
		case a.K == types.KInt && a.S == "" && b.S == "":
			return types.NewBool(test(cmp.Compare(a.I, b.I))), true
		}
		return types.Null, false
	}
}

var errDivideByZero = sqlstate.New(sqlstate.DivisionByZero, "division by zero")

func arithmetic() {
	for _, t := range []types.OID{types.Int2, types.Int4, types.Int8} {
		for _, op := range []string{"+", "-", "*", "/", "%"} {
			ArithmeticFamily.Operator(op, t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return intOp(op, a[0].I, a[1].I, t)
			}, t, t)
		}
		ArithmeticFamily.Operator("-", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return intOp("-", 0, a[0].I, t)
		}, t)
		ArithmeticFamily.Operator("~", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewInt(^a[0].I), nil
		}, t)
		for op, f := range map[string]func(a, b int64) int64{"&": func(a, b int64) int64 {
			return a & b
		}, "|": func(a, b int64) int64 { return a | b },
			"#": func(a, b int64) int64 { return a ^ b }} {
			ArithmeticFamily.Operator(op, t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return types.NewInt(f(a[0].I, a[1].I)), nil
			}, t, t)
		}
		for _, op := range []string{"<<", ">>"} {
			ArithmeticFamily.Operator(op, t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return types.NewInt(shift(a[0].I, a[1].I, op == "<<", t)), nil
			}, t, types.Int4)
		}
	}
	for _, t := range []types.OID{types.Float4, types.Float8} {
		for _, op := range []string{"+", "-", "*", "/"} {
			ArithmeticFamily.Operator(op, t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return floatOp(op, a[0].Float(), a[1].Float(), t)
			}, t, t)
		}
		ArithmeticFamily.Operator("-", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return types.NewFloat(-a[0].Float()), nil
		}, t)
	}
	for op, f := range map[string]func(a, b *types.Decimal) (*types.Decimal, error){
		"+": func(a, b *types.Decimal) (*types.Decimal, error) { return a.Add(b), nil },
		"-": func(a, b *types.Decimal) (*types.Decimal, error) { return a.Sub(b), nil },
		"*": (*types.Decimal).Mul, "/": (*types.Decimal).Div, "%": (*types.Decimal).Mod} {
		ArithmeticFamily.Operator(op, types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			d, err := f(a[0].Decimal(), a[1].Decimal())
			return types.NewNumeric(d), err
		}, types.Numeric, types.Numeric)
	}
	ArithmeticFamily.Operator("-", types.Numeric, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return types.NewNumeric(a[0].Decimal().Neg()), nil
	}, types.Numeric)
	for _, t := range []types.OID{types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric} {
		ArithmeticFamily.Operator("+", t, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return a[0],
				nil
		}, t)
	}
	ArithmeticFamily.Operator("^", types.Float8, power, types.Float8, types.Float8)
	ArithmeticFamily.Operator("^", types.Numeric, numericPower, types.Numeric, types.Numeric)
}

// powerSteps is the cost of a power of numerics, relative to reading a row.
const powerSteps = 200

func numericPower(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if err := env.Step(powerSteps); err != nil {
		return types.Null, err
	}
	d, err := a[0].Decimal().Pow(a[1].Decimal())
	return types.NewNumeric(d), err
}

func power(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	x, y := a[0].Float(), a[1].Float()
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
	case x == 0 && y < 0:
		return types.Null, sqlstate.New(sqlstate.InvalidPower, "zero raised to a negative power is undefined")
	case x < 0 && !math.IsInf(y, 0) && y != math.Trunc(y):
		return types.Null, sqlstate.New(sqlstate.InvalidPower,
			"a negative number raised to a non-integer power yields a complex result")
	}
	r := math.Pow(x, y)
	switch finite := !math.IsInf(x, 0) && !math.IsInf(y, 0); {
	case math.IsInf(r, 0) && finite:
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
	case r == 0 && x != 0 && finite:
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: underflow")
	}
	return types.NewFloat(r), nil
}

// intOp computes in 64 bits and checks the range of the type.
func intOp(op string, a, b int64, t types.OID) (types.Datum, error) {
	var r int64
	ok := true
	switch op {
	case "+":
		r = a + b
		ok = (r > a) == (b > 0)
	case "-":
		r = a - b
		ok = (r < a) == (b > 0)
	case "*":
		r = a * b
		ok = a == 0 || r/a == b && !(a == -1 && b == math.MinInt64)
	case "/", "%":
		if b == 0 {
			return types.Null, errDivideByZero
		}
		if b == -1 {
			if op == "%" {
				return types.NewInt(0), nil
			}
			r, ok = -a, a != math.MinInt64
			break
		}
		if r = a / b; op == "%" {
			r = a % b
		}
	}
	switch t {
	case types.Int2:
		ok = ok && r >= math.MinInt16 && r <= math.MaxInt16
	case types.Int4:
		ok = ok && r >= math.MinInt32 && r <= math.MaxInt32
	}
	if !ok {
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "%s out of range", types.NameOf(t))
	}
	return types.NewInt(r), nil
}

func floatOp(op string, a, b float64, t types.OID) (types.Datum, error) {
	var r float64
	switch op {
	case "+":
		r = a + b
	case "-":
		r = a - b
	case "*":
		r = a * b
	case "/":
		if b == 0 && !math.IsNaN(a) {
			return types.Null, errDivideByZero
		}
		r = a / b
	}
	if t == types.Float4 {
		r = float64(float32(r))
	}
	if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: overflow")
	}
	if r == 0 && (op == "*" && a != 0 && b != 0 || op == "/" && a != 0 && !math.IsInf(b, 0)) {
		return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "value out of range: underflow")
	}
	return types.NewFloat(r), nil
}

// dates adds the operators of dates, timestamps and intervals.
func dates() {
	add := func(env *exec.CallEnv, moment int64, s types.Span, minus bool, t types.OID) (types.Datum, error) {
		if minus {
			var err error
			if s, err = s.Neg(); err != nil {
				return types.Null, err
			}
		}
		m, err := datetime.AddSpan(moment, s, types.LocationFor(t, env.Types))
		return types.NewTime(m), err
	}
	for _, op := range []string{"+", "-"} {
		minus := op == "-"
		for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
			ArithmeticFamily.Operator(op, t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
				return add(env, a[0].I, a[1].Span(), minus, t)
			}, t, types.Interval)
		}
		ArithmeticFamily.Operator(op, types.Timestamp, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			m, err := types.DateMoment(a[0].I)
			if err != nil {
				return types.Null, err
			}
			return add(env, m, a[1].Span(), minus, types.Timestamp)
		}, types.Date, types.Interval)
		ArithmeticFamily.Operator(op, types.Date, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			n := a[1].I
			if minus {
				n = -n
			}
			return types.AddDays(a[0].I, n)
		}, types.Date, types.Int4)
		ArithmeticFamily.Operator(op, types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			op := types.Span.Add
			if minus {
				op = types.Span.Sub
			}
			s, err := op(a[0].Span(), a[1].Span())
			return types.NewInterval(s), err
		}, types.Interval, types.Interval)
	}
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		ArithmeticFamily.Operator("+", t, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			return add(env, a[1].I, a[0].Span(), false, t)
		}, types.Interval, t)
	}
	ArithmeticFamily.Operator("+", types.Timestamp, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		m, err := types.DateMoment(a[1].I)
		if err != nil {
			return types.Null, err
		}
		return add(env, m, a[0].Span(), false, types.Timestamp)
	}, types.Interval, types.Date)
	ArithmeticFamily.Operator("-", types.Int4, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n, err := datetime.SubtractDates(a[0].I, a[1].I)
		return types.NewInt(n), err
	}, types.Date, types.Date)
	for _, t := range []types.OID{types.Timestamp, types.TimestampTZ} {
		ArithmeticFamily.Operator("-", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			s, err := datetime.SubtractMoments(a[0].I, a[1].I)
			return types.NewInterval(s), err
		}, t, t)
	}
	scale := func(s types.Span, f float64) (types.Datum, error) {
		out, err := s.Scale(f)
		return types.NewInterval(out), err
	}
	ArithmeticFamily.Operator("*", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return scale(a[0].Span(), a[1].Float())
	}, types.Interval, types.Float8)
	ArithmeticFamily.Operator("*", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return scale(a[1].Span(), a[0].Float())
	}, types.Float8, types.Interval)
	ArithmeticFamily.Operator("/", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		if a[1].Float() == 0 {
			return types.Null, errDivideByZero
		}
		out, err := a[0].Span().Divide(a[1].Float())
		return types.NewInterval(out), err
	}, types.Interval, types.Float8)
	ArithmeticFamily.Operator("-", types.Interval, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		s, err := a[0].Span().Neg()
		return types.NewInterval(s), err
	}, types.Interval)
}

// shift shifts bits as PostgreSQL's processors do: by n modulo 32, or modulo 64 for int8.
func shift(x, n int64, left bool, t types.OID) int64 {
	by := uint(n) & 31
	if t == types.Int8 {
		by = uint(n) & 63
	}
	if !left {
		return x >> by
	}
	switch x <<= by; t {
	case types.Int2:
		return int64(int16(x))
	case types.Int4:
		return int64(int32(x))
	}
	return x
}
