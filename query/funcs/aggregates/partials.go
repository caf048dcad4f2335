package aggregates

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Aggregates over the rows of a reduce read. Each row is the reduction of a group of keys; the rows of one SQL group
// are combined here.

// Partial returns the aggregate that combines results of a built-in reduce into name(value) or count(*), or nil if that
// reduce does not provide it. Its argument is the value of the reduce.
func Partial(name, reduce string) *exec.Aggregate {
	member := ""
	switch {
	case name == reduceName && reduce != "":
		return &exec.Aggregate{Name: name, Args: []types.OID{types.JSONB}, Ret: types.JSONB,
			New: func([]types.OID) exec.Accumulator { return &whole{} }}
	case reduce == "_count" && name == "count", reduce == "_sum" && name == "sum":
	case reduce == "_stats" && (name == "count" || name == "sum" || name == "min" || name == "max"):
		member = name
	case reduce == "_stats" && name == "avg":
		return &exec.Aggregate{Name: name, Args: []types.OID{types.JSONB}, Ret: types.Numeric,
			New: func([]types.OID) exec.Accumulator { return &partialAvg{} }}
	default:
		return nil
	}
	agg := &exec.Aggregate{Name: name, Args: []types.OID{types.JSONB}, Ret: types.Numeric}
	switch name {
	case "count":
		agg.Ret = types.Int8
		agg.New = func([]types.OID) exec.Accumulator { return &partialCount{member: member} }
	case "sum":
		agg.New = func([]types.OID) exec.Accumulator { return &partial{member, &sumOf{typ: types.JSONB}} }
	default:
		agg.Ret = types.JSONB
		agg.New = func([]types.OID) exec.Accumulator { return &partial{member, &extreme{max: name == "max"}} }
	}
	return agg
}

// Counted returns the aggregate that adds up the numbers of rows of groups.
func Counted() *exec.Aggregate {
	return &exec.Aggregate{Name: "count", Args: []types.OID{types.Int8}, Ret: types.Int8,
		New: func([]types.OID) exec.Accumulator { return &counted{} }}
}

type counted struct{ n int64 }

func (c *counted) Add(_ *exec.Env, args []types.Datum) error {
	c.n += args[0].I
	return nil
}

func (c *counted) Result(*exec.Env) (types.Datum, error) { return types.NewInt(c.n), nil }

// PartialOf is Partial for an aggregate of numbers of a type, of which the reduced values are exact integers. Its
// result has the type ret.
func PartialOf(name, reduce string, typ, ret types.OID) *exec.Aggregate {
	of := Partial(name, reduce)
	if of == nil {
		return nil
	}
	out := *of
	out.Ret = ret
	out.New = func(args []types.OID) exec.Accumulator {
		return &typed{of.New(args), typ == types.Float8 && name == "avg", of.Ret, ret}
	}
	return &out
}

// typed gives the result of another accumulator a type. An average of floating point numbers is divided as they are.
type typed struct {
	exec.Accumulator
	float    bool
	from, to types.OID
}

func (t *typed) Result(env *exec.Env) (types.Datum, error) {
	if avg, ok := t.Accumulator.(*partialAvg); ok && t.float && avg.count.n > 0 {
		sum, err := avg.sum.Result(env)
		if err != nil || sum.IsNull() {
			return sum, err
		}
		return types.NewFloat(sum.Decimal().Float64() / float64(avg.count.n)), nil
	}
	d, err := t.Accumulator.Result(env)
	if err != nil || d.IsNull() || t.from == t.to {
		return d, err
	}
	return types.Cast(d, t.from, t.to, -1, env.Types)
}

// reduceName is the aggregate divan.reduce. It returns the view's own reduction, such as that of a JavaScript function
// or of _approx_count_distinct, which only the view can compute.
const reduceName = "reduce"

// IsWhole reports whether an aggregate is divan.reduce.
func IsWhole(a *exec.Aggregate) bool { return a.Name == reduceName }

func init() {
	funcs.SessionFamily.Aggregate(&exec.Aggregate{Name: reduceName, Args: []types.OID{types.JSONB}, Ret: types.JSONB,
		New: func([]types.OID) exec.Accumulator { return &whole{err: errNoReduction} }})
}

var (
	errNoReduction = sqlstate.New(sqlstate.FeatureNotSupported,
		"a view's reduction cannot answer this use of divan.reduce()").
		WithHint("Use divan.reduce(value) over a view with a reduce function, with conditions on key, and " +
			"GROUP BY key or " +
			"its leading parts: key->0, key->1.")
	errSeveralReductions = sqlstate.New(sqlstate.FeatureNotSupported, "several reductions fall into one group").
				WithHint("Only the view can put reductions together: group by key, or by key->0 and not key->>0.")
)

// whole returns one reduction unchanged.
type whole struct {
	value types.Datum
	err   error
}

func (w *whole) Add(env *exec.Env, args []types.Datum) error {
	switch {
	case w.err != nil:
		return w.err
	case !w.value.IsNull():
		return errSeveralReductions
	}
	w.value = args[0].Own()
	return env.Hold(args[0].Large())
}

func (w *whole) Result(*exec.Env) (types.Datum, error) { return w.value, w.err }

// reducedPart returns a member of a reduction, or the reduction itself.
func reducedPart(d types.Datum, member string) (types.Datum, error) {
	if member == "" {
		return d, nil
	}
	v, ok := types.JSONField(d.S, member)
	if !ok {
		return types.Null, sqlstate.New(sqlstate.InternalError, `the reduction has no member "%s"`, member)
	}
	return types.NewJSONText(v), nil
}

// partial passes a member of each reduction to another accumulator.
type partial struct {
	member string
	exec.Accumulator
}

func (p *partial) Add(env *exec.Env, args []types.Datum) error {
	d, err := reducedPart(args[0], p.member)
	if err != nil {
		return err
	}
	return p.Accumulator.Add(env, []types.Datum{d})
}

type partialCount struct {
	member string
	n      int64
}

func (c *partialCount) Add(env *exec.Env, args []types.Datum) error {
	d, err := reducedPart(args[0], c.member)
	if err == nil {
		d, err = types.Cast(d, types.JSONB, types.Int8, -1, env.Types)
	}
	c.n += d.I
	return err
}

func (c *partialCount) Result(*exec.Env) (types.Datum, error) { return types.NewInt(c.n), nil }

type partialAvg struct {
	sum   partial
	count partialCount
}

func (a *partialAvg) Add(env *exec.Env, args []types.Datum) error {
	if a.sum.Accumulator == nil {
		a.sum = partial{"sum", &sumOf{typ: types.JSONB}}
		a.count.member = "count"
	}
	if err := a.sum.Add(env, args); err != nil {
		return err
	}
	return a.count.Add(env, args)
}

func (a *partialAvg) Result(env *exec.Env) (types.Datum, error) {
	if a.count.n == 0 {
		return types.Null, nil
	}
	d, err := a.sum.Result(env)
	if err != nil || d.IsNull() {
		return d, err
	}
	q, err := d.Decimal().Div(types.DecimalFromInt(a.count.n))
	return types.NewNumeric(q), err
}
