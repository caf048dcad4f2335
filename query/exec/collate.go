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

// Text returns a sort key by e for EXPLAIN, with what differs from ascending byte order.
func (k SortKey) Text(e Expr) string {
	out := e.String()
	if _, shown := e.(*Collate); !shown && !k.Collation.Bytes() {
		out += collateClause(k.Collation)
	}
	if k.Desc {
		out += " DESC"
	}
	switch {
	case k.NullsFirst && !k.Desc:
		out += " NULLS FIRST"
	case k.Desc && !k.NullsFirst:
		out += " NULLS LAST"
	}
	return out
}
