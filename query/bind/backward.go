package bind

import "github.com/divandb/divan/query/sql/ast"

// Backward reports whether a cursor over the statement may go back without having been declared SCROLL. As in
// PostgreSQL (ExecSupportsBackwardScan) it may if the rows come from one relation or from a sort; which plan PostgreSQL
// would choose is not known here.
func (b *Bound) Backward() bool { return b.Locks == "" && !b.Query.follow && b.Query.backward() }

func (q *Query) backward() bool {
	switch {
	case q.Distinct, q.DistinctOn != nil:
		return false
	case len(q.Order) > 0:
		return true
	case len(q.SetFuncs) > 0, q.Group, len(q.Aggs) > 0, len(q.Windows) > 0:
		return false
	case q.Op != "":
		return q.UnionAll && q.Op == ast.Union && q.Left.backward() && q.Right.backward()
	case q.Values != nil:
		return len(q.Values) > 1
	}
	switch f := q.From.(type) {
	case *UserScan, *VirtualScan, *FuncScan:
		return true
	case *DerivedScan:
		return f.Cte != nil && f.Cte.recursive || f.Query.backward()
	}
	return false
}
