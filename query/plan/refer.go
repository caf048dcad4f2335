package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
)

// What expressions and queries refer to.

// uses is what an expression or a query refers to.
type uses struct {
	// own is set for columns of its own row, outer for those of the row around it, and far for those of rows further
	// out.
	own, outer, far bool
	// nested is set if a query inside refers to the own row or to the row around it.
	nested bool
	// volatile is set for a function that may return another value each time, and shared for rows that another plan
	// provides: those of a recursive query, or of a WITH query that is computed once.
	volatile, shared bool
	// let is set for the value of a Let around the expression.
	let bool
}

// usesOf returns what expressions refer to.
func usesOf(list ...exec.Expr) uses {
	var u uses
	u.exprs(list, 0)
	return u
}

// usesOfQuery returns what a query refers to outside of it: outer is the row around it.
func usesOfQuery(q *bind.Query) uses {
	var u uses
	u.query(q, 0)
	u.own = false
	return u
}

// column adds a column of depth levels out. level is the number of queries between the expression and the one that is
// looked at.
func (u *uses) column(depth, level int) {
	switch d := depth - level; {
	case d == 0:
		u.own = true
	case d == 1:
		u.outer = true
	case d > 1:
		u.far = true
	}
	u.nested = u.nested || level > 0 && (depth == level || depth == level+1)
}

func (u *uses) exprs(list []exec.Expr, level int) {
	for _, e := range list {
		if e == nil {
			continue
		}
		u.let = u.let || freeLet(e, 0)
		exec.Walk(e, func(x exec.Expr) {
			switch n := x.(type) {
			case *exec.Col:
				u.column(n.Depth, level)
			case *exec.Call:
				u.volatile = u.volatile || n.Func.Volatility == exec.Volatile
			case *exec.Subquery:
				if q, ok := n.Query.(*bind.Query); ok {
					u.query(q, level+1)
				}
			}
		})
	}
}

// query adds what q refers to. Its own row is level levels below the one that is looked at.
func (u *uses) query(q *bind.Query, level int) {
	u.exprs(slices.Concat(q.Where, q.Keys, q.Having, q.Targets, []exec.Expr{q.Limit, q.Skip}), level)
	for _, row := range q.Values {
		u.exprs(row, level)
	}
	for _, c := range q.Aggs {
		u.exprs(slices.Concat(c.Args, c.Direct, c.Order, []exec.Expr{c.Filter}), level)
	}
	for _, w := range q.Windows {
		u.exprs(slices.Concat(w.Args, w.Partition, w.Order), level)
		if w.Agg != nil {
			u.exprs(append(slices.Clone(w.Agg.Args), w.Agg.Filter), level)
		}
		if w.Frame != nil {
			u.exprs([]exec.Expr{w.Frame.Start.Offset, w.Frame.End.Offset}, level)
		}
	}
	for _, s := range slices.Concat(q.SetFuncs, q.GroupFuncs) {
		u.exprs(s.Args, level)
		u.volatile = true // nothing says whether they are
	}
	for _, in := range []*bind.Query{q.Left, q.Right} {
		if in != nil {
			u.query(in, level)
		}
	}
	u.shared = u.shared || q.Work != nil
	for _, c := range q.Ctes {
		if c.ComputedOnce() {
			u.query(c.Query, level)
		}
	}
	u.from(q.From, level)
}

func (u *uses) from(f bind.From, level int) {
	switch n := f.(type) {
	case *bind.Join:
		u.exprs(n.On, level)
		u.from(n.Left, level)
		u.from(n.Right, level)
	case *bind.DerivedScan:
		switch {
		case n.Cte != nil && n.Cte.ComputedOnce():
			u.shared = true
		case n.Lateral:
			u.query(n.Query, level+1)
		default:
			u.query(n.Query, level) // it sees the rows that the query around it sees
		}
	case *bind.FuncScan:
		for _, c := range n.Calls {
			u.exprs(append(slices.Clone(c.Args), c.Scalar), level)
		}
	case *bind.WorkScan:
		u.shared = true
	}
}

// freeLet reports whether e refers to the value of a Let around it. depth is the number of Lets inside.
func freeLet(e exec.Expr, depth int) bool {
	switch n := e.(type) {
	case *exec.It:
		return n.Depth >= depth
	case *exec.Let:
		return freeLet(n.X, depth) || freeLet(n.Body, depth+1)
	case *exec.Subquery:
		if n.Match != nil {
			return freeLet(n.Match, depth+1)
		}
	}
	found := false
	exec.RewriteChildren(e, func(x exec.Expr) exec.Expr {
		found = found || freeLet(x, depth)
		return x
	})
	return found
}
