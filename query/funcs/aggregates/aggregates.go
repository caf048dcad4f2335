// Package aggregates implements the aggregates of PostgreSQL 15, section 9.21: sums and counts, collections, statistics
// and ordered sets. Package exec groups the rows, and package plan decides which partial results can be read from
// views.
package aggregates

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

type counter struct{ n int64 }

func (c *counter) Add(*exec.Env, []types.Datum) error    { c.n++; return nil }
func (c *counter) Remove([]types.Datum) (bool, error)    { c.n--; return true, nil }
func (c *counter) Result(*exec.Env) (types.Datum, error) { return types.NewInt(c.n), nil }

// sumOf adds numbers: integers and numerics exactly, floats as floats. avg divides at the end.
type sumOf struct {
	avg bool
	typ types.OID
	n   int64
	i   int64 // sum of integers, until it would overflow
	f   float64
	d   *types.Decimal
	// scale is the largest scale of the numerics, with which the sum is displayed; scaled counts the numerics that have
	// it.
	scale  int32
	scaled int64
}

// number returns the value to add, NULL for JSON's null.
func (s *sumOf) number(x types.Datum) (types.Datum, error) {
	if x.K != types.KJSON {
		return x, nil
	}
	if types.JSONKindOf(x.S) == types.JSONNull {
		return types.Null, nil
	}
	d, err := types.Cast(x, types.JSONB, types.Numeric, -1, nil)
	if err != nil {
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, "cannot add a jsonb %s", types.JSONKindOf(x.S)).
			WithHint("Filter with jsonb_typeof(value) = 'number'.")
	}
	return d, nil
}

func (s *sumOf) Add(_ *exec.Env, args []types.Datum) error {
	x, err := s.number(args[0])
	if x.IsNull() || err != nil {
		return err
	}
	s.n++
	switch x.K {
	case types.KFloat:
		if s.n == 1 && !s.avg {
			s.f = x.Float() // -0, which 0 + -0 is not
			return nil
		}
		if s.f += x.Float(); s.typ == types.Float4 && !s.avg {
			s.f = float64(float32(s.f)) // a sum of float4 is rounded after each addition
		}
	case types.KInt:
		if sum := s.i + x.I; (sum > s.i) == (x.I > 0) {
			s.i = sum
			return nil
		}
		s.addDecimal(types.DecimalFromInt(s.i))
		s.i = x.I
	case types.KNumeric:
		s.addDecimal(x.Decimal())
		switch scale := x.Decimal().Scale(); {
		case scale > s.scale:
			s.scale, s.scaled = scale, 1
		case scale == s.scale:
			s.scaled++
		}
	}
	return nil
}

// Remove subtracts a number again. It refuses floats, because the result would differ from the sum of the others, and
// the numeric that determines the displayed digits.
func (s *sumOf) Remove(args []types.Datum) (bool, error) {
	x, err := s.number(args[0])
	if x.IsNull() || err != nil {
		return true, err
	}
	switch x.K {
	case types.KInt:
		if s.d != nil {
			return false, nil
		}
		s.i -= x.I
	case types.KNumeric:
		d := x.Decimal()
		if !d.IsFinite() || s.d == nil || !s.d.IsFinite() || d.Scale() == s.scale && s.scale > 0 && s.scaled == 1 {
			return false, nil
		}
		if d.Scale() == s.scale {
			s.scaled--
		}
		s.d = s.d.Sub(d)
	default:
		return false, nil
	}
	s.n--
	return true, nil
}

func (s *sumOf) addDecimal(d *types.Decimal) {
	if s.d == nil {
		s.d = d
		return
	}
	s.d = s.d.Add(d)
}

func (s *sumOf) Result(*exec.Env) (types.Datum, error) {
	if s.n == 0 {
		return types.Null, nil
	}
	switch s.typ {
	case types.Float4, types.Float8:
		if s.avg {
			return types.NewFloat(s.f / float64(s.n)), nil
		}
		return types.NewFloat(s.f), nil
	case types.Int2, types.Int4:
		if !s.avg {
			if s.d != nil {
				return types.Null, sqlstate.New(sqlstate.NumericOutOfRange, "bigint out of range")
			}
			return types.NewInt(s.i), nil
		}
	}
	total := types.DecimalFromInt(s.i)
	if s.d != nil {
		if s.i == 0 {
			total = s.d
		} else {
			total = s.d.Add(total)
		}
	}
	total, err := total.InRange()
	if err != nil || !s.avg {
		return types.NewNumeric(total), err
	}
	q, err := total.Div(types.DecimalFromInt(s.n))
	return types.NewNumeric(q), err
}

// extreme is min and max. Of equal values it keeps the last one, as PostgreSQL does; 1.0 and 1.00 are such values.
type extreme struct {
	max       bool
	char      bool             // of "char", whose values are compared as texts
	collation *types.Collation // of texts; nil for byte order
	best      types.Datum
}

func (e *extreme) Add(env *exec.Env, args []types.Datum) error {
	if e.char {
		args = []types.Datum{types.NewText(types.TextOf(args[0], types.Char, nil))}
	}
	if !e.best.IsNull() {
		c, err := types.CompareCollated(args[0], e.best, e.collation)
		if err != nil || c != 0 && (c > 0) != e.max {
			return err
		}
	}
	env.Release(e.best.Large())
	e.best = types.Null
	if err := env.Hold(args[0].Large()); err != nil {
		return err
	}
	e.best = args[0].Own()
	return nil
}

// Fold implements exec.Folder.
func (e *extreme) Fold(x, y types.Datum) (types.Datum, error) {
	c, err := types.CompareCollated(y, x, e.collation)
	if err != nil || c != 0 && (c > 0) != e.max {
		return x, err
	}
	return y, nil
}

func (e *extreme) Result(*exec.Env) (types.Datum, error) { return e.best, nil }

// boolOf is bool_and and bool_or.
type boolOf struct {
	or    bool
	value types.Datum
}

func (b *boolOf) Add(_ *exec.Env, args []types.Datum) error {
	if b.value.IsNull() || args[0].True() == b.or {
		b.value = args[0]
	}
	return nil
}

// Fold implements exec.Folder.
func (b *boolOf) Fold(x, y types.Datum) (types.Datum, error) {
	if x.True() == b.or {
		return x, nil
	}
	return y, nil
}

func (b *boolOf) Result(*exec.Env) (types.Datum, error) { return b.value, nil }

func init() {
	add := funcs.AggregateFamily.Aggregate
	add(&exec.Aggregate{Name: "count", Ret: types.Int8, New: func([]types.OID) exec.Accumulator { return &counter{} }})
	add(&exec.Aggregate{Name: "count", Args: []types.OID{exec.AnyValue}, Ret: types.Int8,
		New: func([]types.OID) exec.Accumulator {
			return &counter{}
		}})
	sums := []struct{ arg, sum, avg types.OID }{
		{types.Int2, types.Int8, types.Numeric},
		{types.Int4, types.Int8, types.Numeric},
		{types.Int8, types.Numeric, types.Numeric},
		{types.Numeric, types.Numeric, types.Numeric},
		{types.Float4, types.Float4, types.Float8},
		{types.Float8, types.Float8, types.Float8},
		{types.JSONB, types.Numeric, types.Numeric},
	}
	for _, s := range sums {
		arg := s.arg
		add(&exec.Aggregate{Name: "sum", Args: []types.OID{arg}, Ret: s.sum, New: func([]types.OID) exec.Accumulator {
			return &sumOf{typ: arg}
		}})
		add(&exec.Aggregate{Name: "avg", Args: []types.OID{arg}, Ret: s.avg, New: func([]types.OID) exec.Accumulator {
			return &sumOf{typ: arg, avg: true}
		}})
	}
	for _, name := range []string{"min", "max"} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyElement}, RetOf: extremeType,
			New: func(a []types.OID) exec.Accumulator {
				return &extreme{max: name == "max", char: a[0] == types.Char}
			}})
	}
	for _, name := range []string{"bool_and", "every", "bool_or"} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{types.Bool}, Ret: types.Bool,
			New: func([]types.OID) exec.Accumulator { return &boolOf{or: name == "bool_or"} }})
	}
	add(&exec.Aggregate{Name: "array_agg", Args: []types.OID{exec.AnyElement}, NullArgs: true, Sorted: true,
		RetOf: func(args []types.OID) types.OID { return types.ArrayOf(args[0]) },
		New:   func(a []types.OID) exec.Accumulator { return &collector{kind: "array", types: a} }})
	for _, t := range []types.OID{types.Text, types.Bytea} {
		add(&exec.Aggregate{Name: "string_agg", Args: []types.OID{t, t}, Ret: t, NullArgs: true, Sorted: true,
			New: func(a []types.OID) exec.Accumulator { return &collector{kind: "string", types: a, ret: t} }})
	}
	for name, typ := range map[string]types.OID{"json_agg": types.JSON, "jsonb_agg": types.JSONB} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyElement}, Ret: typ, NullArgs: true, Sorted: true,
			New: func(a []types.OID) exec.Accumulator { return &collector{kind: "list", types: a, ret: typ} }})
	}
	for name, typ := range map[string]types.OID{"json_object_agg": types.JSON, "jsonb_object_agg": types.JSONB} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyValue, exec.AnyValue}, Ret: typ,
			NullArgs: true, Sorted: true,
			New: func(a []types.OID) exec.Accumulator { return &collector{kind: "object", types: a, ret: typ} }})
	}
}

// extremeType returns the type of min and max: that of the values, except that there is none of varchar, name and
// "char".
func extremeType(args []types.OID) types.OID {
	if args[0] == types.VarChar || args[0] == types.Name || args[0] == types.Char {
		return types.Text
	}
	return args[0]
}

// Collated returns min or max under a collation.
func Collated(a *exec.Aggregate, c *types.Collation) *exec.Aggregate {
	out := *a
	out.New = func([]types.OID) exec.Accumulator { return &extreme{max: a.Name == "max", collation: c} }
	return &out
}
