package exec

import (
	"github.com/divandb/divan/query/types"
)

// Collate is x COLLATE "name". Its value is x's; binding has given the collation to what compares.
type Collate struct {
	X         Expr
	Collation *types.Collation
}

func (c *Collate) Type() types.OID                    { return c.X.Type() }
func (c *Collate) Eval(env *Env) (types.Datum, error) { return c.X.Eval(env) }
func (c *Collate) String() string                     { return c.X.String() + collateClause(c.Collation) }

func collateClause(c *types.Collation) string { return " COLLATE " + QuoteIdent(c.Name) }

// SortName is how EXPLAIN shows a sort key that is not in the order of bytes.
func SortName(e Expr, c *types.Collation) string {
	if _, shown := e.(*Collate); shown || c.Bytes() {
		return e.String()
	}
	return e.String() + collateClause(c)
}

// CollatedComparison is Comparison of texts under a collation. Equality is the same under all of them.
func CollatedComparison(op string, c *types.Collation) *Func {
	if c.Bytes() || op == "=" || op == "<>" {
		return Comparison(op)
	}
	test := comparisonTests[op]
	return &Func{Name: op, Ret: types.Bool, Collation: c, Eval: func(_ *CallEnv, a []types.Datum) (types.Datum, error) {
		order, err := types.CompareCollated(a[0], a[1], c)
		return types.NewBool(err == nil && test(order)), err
	}}
}

// Collated is min or max under a collation.
func (a *Aggregate) Collated(c *types.Collation) *Aggregate {
	out := *a
	out.New = func([]types.OID) Accumulator { return &extreme{max: a.Name == "max", collation: c} }
	return &out
}
