package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
)

// What expressions and queries refer to.

// reach is what an expression or a query refers to.
type reach struct {
	// rows has bit n for the row n levels out: 0 is the own row, 1 the row of the query around.
	rows uint64
	// volatile is set for a function that may return another value each time, and shared for rows that another plan
	// provides: those of a recursive query, or of a WITH query that is computed once.
	volatile, shared bool
}

// uses is what expressions refer to.
type uses struct {
	// own is set for columns of the own row, outer for those of the row around it, and far for those of rows further
	// out.
	own, outer, far bool
	// nested is set if a query inside refers to the own row or to the row around it.
	nested           bool
	volatile, shared bool
	// let is set for the value of a Let around the expression.
	let bool
}

// usesOf returns what expressions refer to.
func (p *planning) usesOf(list ...exec.Expr) uses {
	r, nested, let := p.exprs(list)
	return uses{own: r.rows&1 != 0, outer: r.rows&2 != 0, far: r.rows>>2 != 0, nested: nested, volatile: r.volatile,
		shared: r.shared, let: let}
}

// usesOfQuery returns what a query refers to outside of it: outer is the row around it.
func (p *planning) usesOfQuery(q *bind.Query) uses {
	r := p.query(q)
	return uses{outer: r.rows&2 != 0, far: r.rows>>2 != 0, volatile: r.volatile, shared: r.shared}
}

// with adds up two reaches.
func (r reach) with(o reach) reach {
	return reach{rows: r.rows | o.rows, volatile: r.volatile || o.volatile, shared: r.shared || o.shared}
}

// beside returns the reach of a query for the query that has it in FROM, where it sees the same rows.
func (r reach) beside() reach {
	r.rows &^= 1
	return r
}

// inside returns the reach of a query for an expression that contains it.
func (r reach) inside() reach {
	r.rows >>= 1
	return r
}

// exprs adds up what expressions refer to. If the statement is too complex, nothing is known.
func (p *planning) exprs(list []exec.Expr) (r reach, nested, let bool) {
	for _, e := range list {
		if e == nil {
			continue
		}
		let = let || freeLet(e, 0)
		n := 0
		exec.Walk(e, func(x exec.Expr) {
			n++
			switch n := x.(type) {
			case *exec.Col:
				r.rows |= 1 << min(n.Depth, 63)
			case *exec.Call:
				r.volatile = r.volatile || n.Func.Volatility == exec.Volatile
			case *exec.Subquery:
				if q, ok := n.Query.(*bind.Query); ok {
					in := p.query(q).inside()
					nested = nested || in.rows&3 != 0
					r = r.with(in)
				}
			}
		})
		if p.st.Spend(n) != nil {
			r.volatile = true
		}
	}
	return r, nested, let
}

// query returns what q refers to.
func (p *planning) query(q *bind.Query) reach {
	if r, known := p.reached[q]; known {
		return r
	}
	lists := [][]exec.Expr{q.Where, q.Keys, q.Having, q.Targets, {q.Limit, q.Skip}}
	lists = append(lists, q.Values...)
	for _, c := range q.Aggs {
		lists = append(lists, c.Args, c.Direct, c.Order, []exec.Expr{c.Filter})
	}
	for _, w := range q.Windows {
		lists = append(lists, w.Args, w.Partition, w.Order)
		if w.Agg != nil {
			lists = append(lists, w.Agg.Args, []exec.Expr{w.Agg.Filter})
		}
		if w.Frame != nil {
			lists = append(lists, []exec.Expr{w.Frame.Start.Offset, w.Frame.End.Offset})
		}
	}
	for _, s := range slices.Concat(q.SetFuncs, q.GroupFuncs) {
		lists = append(lists, s.Args)
	}
	r := p.from(q.From)
	for _, l := range lists {
		in, _, _ := p.exprs(l)
		r = r.with(in)
	}
	// Nothing says whether functions that return rows are volatile.
	r.volatile = r.volatile || len(q.SetFuncs)+len(q.GroupFuncs) > 0
	r.shared = r.shared || q.Work != nil
	for _, in := range []*bind.Query{q.Left, q.Right} {
		if in != nil {
			r = r.with(p.query(in).beside())
		}
	}
	for _, c := range q.Ctes {
		if c.ComputedOnce() {
			r = r.with(p.query(c.Query).beside())
		}
	}
	p.reached[q] = r
	return r
}

func (p *planning) from(f bind.From) (r reach) {
	switch n := f.(type) {
	case *bind.Join:
		r, _, _ = p.exprs(n.On)
		r = r.with(p.from(n.Left))
		r = r.with(p.from(n.Right))
	case *bind.DerivedScan:
		switch {
		case n.Cte != nil && n.Cte.ComputedOnce():
			r.shared = true
		case n.Lateral:
			r = p.query(n.Query).inside()
		default:
			r = p.query(n.Query).beside()
		}
	case *bind.FuncScan:
		for _, c := range n.Calls {
			in, _, _ := p.exprs(append(slices.Clone(c.Args), c.Scalar))
			r = r.with(in)
		}
	case *bind.WorkScan:
		r.shared = true
	}
	return r
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
