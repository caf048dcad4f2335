package funcs

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// The aggregates.

type counter struct{ n int64 }

func (c *counter) Add(*exec.Env, []types.Datum) error    { c.n++; return nil }
func (c *counter) Result(*exec.Env) (types.Datum, error) { return types.NewInt(c.n), nil }

// summer adds numbers: integers exactly, numerics exactly, floats as floats. avg divides at the end.
type summer struct {
	avg bool
	typ types.OID
	n   int64
	i   int64 // of integers, until it would overflow
	f   float64
	d   *types.Decimal
}

func (s *summer) Add(_ *exec.Env, args []types.Datum) error {
	x := args[0]
	if x.K == types.KJSON {
		if types.JSONKindOf(x.S) == types.JSONNull {
			return nil
		}
		var err error
		if x, err = types.Cast(x, types.JSONB, types.Numeric, -1, nil); err != nil {
			return sqlstate.New(sqlstate.InvalidParameterValue, "cannot add a jsonb %s", types.JSONKindOf(args[0].S)).
				WithHint("Filter with jsonb_typeof(value) = 'number'.")
		}
	}
	s.n++
	switch x.K {
	case types.KFloat:
		s.f += x.Float()
	case types.KInt:
		if sum := s.i + x.I; (sum > s.i) == (x.I > 0) {
			s.i = sum
			return nil
		}
		s.addDecimal(types.DecimalFromInt(s.i))
		s.i = x.I
	case types.KNumeric:
		s.addDecimal(x.Decimal())
	}
	return nil
}

func (s *summer) addDecimal(d *types.Decimal) {
	if s.d == nil {
		s.d = d
		return
	}
	s.d = s.d.Add(d)
}

func (s *summer) Result(*exec.Env) (types.Datum, error) {
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
	if !s.avg {
		return types.NewNumeric(total), nil
	}
	q, err := total.Div(types.DecimalFromInt(s.n))
	return types.NewNumeric(q), err
}

type extreme struct {
	max       bool
	collation *types.Collation // of texts; nil for their bytes
	best      types.Datum
}

func (e *extreme) Add(env *exec.Env, args []types.Datum) error {
	if !e.best.IsNull() {
		c, err := types.CompareCollated(args[0], e.best, e.collation)
		if err != nil || c == 0 || (c > 0) != e.max {
			return err
		}
	}
	env.Release(e.best.Large())
	e.best = types.Null
	if err := env.Hold(args[0].Large()); err != nil {
		return err
	}
	e.best = args[0]
	return nil
}

func (e *extreme) Result(*exec.Env) (types.Datum, error) { return e.best, nil }

// booler is bool_and and bool_or.
type booler struct {
	or    bool
	value types.Datum
}

func (b *booler) Add(_ *exec.Env, args []types.Datum) error {
	if b.value.IsNull() || args[0].True() == b.or {
		b.value = args[0]
	}
	return nil
}

func (b *booler) Result(*exec.Env) (types.Datum, error) { return b.value, nil }

// collector keeps what it is given, within the statement's memory: array_agg, string_agg, jsonb_agg, jsonb_object_agg.
type collector struct {
	kind  string
	types []types.OID
	ret   types.OID // json or jsonb
	items []types.Datum
	// The text is full and then buf: a long one is kept in pieces, since growing a slice needs more than twice its
	// room.
	full  [][]byte
	total int // bytes of full
	buf   []byte
	held  int // bytes of both that are counted
	any   bool
}

// piece is how long the pieces of a text are.
const piece = 256 << 10

func (c *collector) Add(env *exec.Env, args []types.Datum) error {
	switch c.kind {
	case "array":
		if err := env.Hold(args[0].Size()); err != nil {
			return err
		}
		c.items = append(c.items, args[0])
		return nil
	case "string":
		if args[0].IsNull() {
			return nil
		}
		n := len(args[0].S)
		if c.any && len(args) > 1 {
			n += len(args[1].S)
		}
		if err := c.grow(env, n); err != nil {
			return err
		}
		if c.any && len(args) > 1 {
			c.buf = append(c.buf, args[1].S...)
		}
		c.any = true
		c.buf = append(c.buf, args[0].S...)
		c.cut()
		return nil
	}
	value := args[len(args)-1]
	n := types.JSONSize(value)
	var name string
	if c.kind == "object" {
		if args[0].IsNull() {
			return sqlstate.New(sqlstate.InvalidParameterValue, "field name must not be null")
		}
		var err error
		if name, err = env.TextOf(args[0], c.types[0]); err != nil {
			return err
		}
		n += types.JSONStringSize(name)
	}
	if err := c.grow(env, int(n)); err != nil {
		return err
	}
	if c.any {
		c.buf = append(c.buf, ", "...)
		if c.kind == "list" && c.ret == types.JSON && (value.K == types.KRecord || value.K == types.KArray) {
			c.buf = append(c.buf, "\n "...)
		}
	}
	c.any = true
	var err error
	if c.kind == "object" {
		c.buf = types.AppendJSONString(c.buf, name)
		c.buf = append(c.buf, colon(c.ret)...)
	}
	c.buf, err = types.ToJSON(c.buf, value, c.types[len(args)-1], c.ret, env.Types)
	if err == nil {
		err = c.grow(env, 0)
	}
	c.cut()
	return err
}

// cut begins a new piece when one is full.
func (c *collector) cut() {
	if len(c.buf) >= piece {
		c.full, c.total = append(c.full, c.buf), c.total+len(c.buf)
		c.buf = make([]byte, 0, piece)
	}
}

// text puts the pieces together.
func (c *collector) text(env *exec.Env, open, shut string) (string, error) {
	n := len(open) + c.total + len(c.buf) + len(shut)
	if err := env.Fits(int64(n)); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(open)
	for _, p := range c.full {
		b.Write(p)
	}
	b.Write(c.buf)
	b.WriteString(shut)
	return b.String(), nil
}

// grow counts the text as it will be with n more bytes.
func (c *collector) grow(env *exec.Env, n int) error {
	want := c.total + len(c.buf) + n
	if want <= c.held {
		return nil
	}
	// Slices grow by a quarter at least.
	want += min(want/4, piece)
	if err := env.Hold(int64(want - c.held)); err != nil {
		return err
	}
	c.held = want
	return nil
}

func (c *collector) Result(env *exec.Env) (types.Datum, error) {
	switch c.kind {
	case "array":
		if len(c.items) == 0 {
			return types.Null, nil
		}
		return types.NewArray(c.types[0], c.items), nil
	case "string":
		if !c.any {
			return types.Null, nil
		}
		s, err := c.text(env, "", "")
		return types.NewText(s), err
	}
	if !c.any {
		return types.Null, nil
	}
	open, shut := "[", "]"
	if c.kind == "object" {
		open, shut = "{", "}"
		if c.ret == types.JSON {
			open, shut = "{ ", " }"
		}
	}
	s, err := c.text(env, open, shut)
	return types.NewJSONText(s), err
}

func init() {
	add := aggregateFamily.aggregate
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
			return &summer{typ: arg}
		}})
		add(&exec.Aggregate{Name: "avg", Args: []types.OID{arg}, Ret: s.avg, New: func([]types.OID) exec.Accumulator {
			return &summer{typ: arg, avg: true}
		}})
	}
	same := func(args []types.OID) types.OID { return args[0] }
	for _, name := range []string{"min", "max"} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyElement}, RetOf: same,
			New: func([]types.OID) exec.Accumulator { return &extreme{max: name == "max"} }})
	}
	for _, name := range []string{"bool_and", "every", "bool_or"} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{types.Bool}, Ret: types.Bool,
			New: func([]types.OID) exec.Accumulator { return &booler{or: name == "bool_or"} }})
	}
	add(&exec.Aggregate{Name: "array_agg", Args: []types.OID{exec.AnyElement}, NullArgs: true,
		RetOf: func(args []types.OID) types.OID { return types.ArrayOf(args[0]) },
		New:   func(a []types.OID) exec.Accumulator { return &collector{kind: "array", types: a} }})
	add(&exec.Aggregate{Name: "string_agg", Args: []types.OID{types.Text, types.Text}, Ret: types.Text, NullArgs: true,
		New: func(a []types.OID) exec.Accumulator { return &collector{kind: "string", types: a} }})
	for name, typ := range map[string]types.OID{"json_agg": types.JSON, "jsonb_agg": types.JSONB} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyValue}, Ret: typ, NullArgs: true,
			New: func(a []types.OID) exec.Accumulator { return &collector{kind: "list", types: a, ret: typ} }})
	}
	for name, typ := range map[string]types.OID{"json_object_agg": types.JSON, "jsonb_object_agg": types.JSONB} {
		add(&exec.Aggregate{Name: name, Args: []types.OID{exec.AnyValue, exec.AnyValue}, Ret: typ, NullArgs: true,
			New: func(a []types.OID) exec.Accumulator { return &collector{kind: "object", types: a, ret: typ} }})
	}
}

// Collated is min or max under a collation.
func Collated(a *exec.Aggregate, c *types.Collation) *exec.Aggregate {
	out := *a
	out.New = func([]types.OID) exec.Accumulator { return &extreme{max: a.Name == "max", collation: c} }
	return &out
}
