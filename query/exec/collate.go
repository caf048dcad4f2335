package exec

import (
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/types"
)

// Collate is x COLLATE "name". Its value is that of x; binding has passed the collation to the comparisons.
type Collate struct {
	X         Expr
	Collation *types.Collation
}

func (c *Collate) Type() types.OID                    { return c.X.Type() }
func (c *Collate) Eval(env *Env) (types.Datum, error) { return c.X.Eval(env) }
func (c *Collate) String() string                     { return c.X.String() + collateClause(c.Collation) }

func collateClause(c *types.Collation) string { return " COLLATE " + keyword.Quote(c.Name) }

// SortName returns the name of a sort key in EXPLAIN, with its collation unless that is byte order.
func SortName(e Expr, c *types.Collation) string {
	if _, shown := e.(*Collate); shown || c.Bytes() {
		return e.String()
	}
	return e.String() + collateClause(c)
}
