package plan

import (
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
)

// An outer join fills a side with NULLs for rows without a partner. If a condition of WHERE, or of an inner join around
// it, is never true for such rows, it drops them again, and the join can be an inner one, with conditions below it,
// keys, and another order (PostgreSQL's reduce_outer_joins).

// withoutOuterJoins returns a query whose outer joins are inner ones where the conditions of its WHERE allow it.
func withoutOuterJoins(q *bind.Query, where []exec.Expr) *bind.Query {
	if _, ok := q.From.(*bind.Join); !ok {
		return q
	}
	from := innerJoins(q.From, notNull(nil, where))
	if from == q.From {
		return q
	}
	out := *q
	out.From = from
	return &out
}

// innerJoins returns an item of FROM with fewer outer joins, or the same one. The columns in known are not NULL in any
// row that is needed.
func innerJoins(f bind.From, known columns) bind.From {
	j, ok := f.(*bind.Join)
	if !ok {
		return f
	}
	out := *j
	left, right := known.anyOf(j.Left), known.anyOf(j.Right)
	switch {
	case left && (j.Kind == "right" || j.Kind == "full" && right), right && j.Kind == "left":
		out.Kind = "inner"
	case left && j.Kind == "full":
		out.Kind = "left"
	case right && j.Kind == "full":
		out.Kind = "right"
	}
	// What ON needs is not NULL on a side whose rows without a partner are dropped.
	on := notNull(known, j.On)
	switch out.Kind {
	case "inner":
		out.Left, out.Right = innerJoins(j.Left, on), innerJoins(j.Right, on)
	case "left":
		out.Left, out.Right = innerJoins(j.Left, known), innerJoins(j.Right, notNull(nil, j.On))
	case "right":
		out.Left, out.Right = innerJoins(j.Left, notNull(nil, j.On)), innerJoins(j.Right, known)
	default:
		out.Left, out.Right = innerJoins(j.Left, nil), innerJoins(j.Right, nil)
	}
	if out.Kind == j.Kind && out.Left == j.Left && out.Right == j.Right {
		return f
	}
	return &out
}

// columns is a set of columns of a query's row.
type columns map[int]bool

// anyOf reports whether the set has a column of an item of FROM.
func (c columns) anyOf(f bind.From) bool {
	from, to := f.Span()
	for i := range c {
		if from <= i && i < to {
			return true
		}
	}
	return false
}

// notNull returns the columns of known, and those without which one of the conditions is not true.
func notNull(known columns, conds []exec.Expr) columns {
	out := columns{}
	for i := range known {
		out[i] = true
	}
	for _, c := range conds {
		out.needed(c)
	}
	return out
}

// needed adds the columns without which a condition is not true.
func (c columns) needed(cond exec.Expr) {
	switch n := cond.(type) {
	case *exec.Logic:
		switch n.Op {
		case "and":
			for _, a := range n.Args {
				c.needed(a)
			}
		case "or":
			// Those that each alternative needs.
			all := notNull(nil, n.Args[:1])
			for _, a := range n.Args[1:] {
				one := notNull(nil, []exec.Expr{a})
				for i := range all {
					if !one[i] {
						delete(all, i)
					}
				}
			}
			for i := range all {
				c[i] = true
			}
		case "not":
			c.strict(n.Args[0])
		}
	case *exec.Is:
		if n.What == "null" && n.Not {
			c.strict(n.X)
		}
	case *exec.Any:
		if !n.All { // it is false, not NULL, for an array without elements
			c.strict(n.X)
		}
	default:
		c.strict(cond)
	}
}

// strict adds the columns without which an expression is NULL.
func (c columns) strict(e exec.Expr) {
	switch n := e.(type) {
	case *exec.Col:
		if n.Depth == 0 {
			c[n.Index] = true
		}
	case *exec.CastExpr:
		c.strict(n.X)
	case *exec.Call:
		if n.Func != nil && !n.Func.NullArgs {
			for _, a := range n.Args {
				c.strict(a)
			}
		}
	}
}
