package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
)

// narrowed returns the query of a declared relation in a join: columns that are not used are not computed, and the
// conditions that can be applied to the documents are part of the query. It returns the other conditions.
func narrowed(d *bind.DerivedScan, conds []exec.Expr) (q *bind.Query, rest []exec.Expr) {
	out := *d.Query
	out.Targets = slices.Clone(out.Targets)
	for i, used := range d.Used {
		if !used {
			out.Targets[i] = exec.NullOf(out.Targets[i].Type())
		}
	}
	out.Where = slices.Clone(out.Where)
	for _, c := range conds {
		inside := true
		exec.Walk(c, func(e exec.Expr) {
			switch n := e.(type) {
			case *exec.Col:
				inside = inside && n.Depth == 0 && n.Index >= d.Base && n.Index < d.Base+len(out.Targets)
			case *exec.Subquery, *exec.It:
				inside = false
			}
		})
		if _, link := c.(*sublink); link || !inside {
			rest = append(rest, c)
			continue
		}
		out.Where = append(out.Where, exec.Rewrite(c, func(e exec.Expr) exec.Expr {
			if col, ok := e.(*exec.Col); ok {
				return d.Query.Targets[col.Index-d.Base]
			}
			return e
		}))
	}
	return &out, rest
}
