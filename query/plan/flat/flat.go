// Package flat merges queries in FROM into the queries around them, before package plan looks for the reads that answer
// them. Other queries in FROM stay as they are, and package plan plans them.
package flat

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
)

// Query merges a plain sub-query in FROM into the outer query: SELECT ... FROM (SELECT id, doc FROM docs) q WHERE
// q.id = 'x', as dashboards generate it, becomes a query over docs, so that its conditions, order and limit can be
// applied by the read.
func Query(q *bind.Query) *bind.Query {
	for {
		d, ok := q.From.(*bind.DerivedScan)
		if !ok || !mergeable(q, d) {
			return q
		}
		q = merge(q, d)
	}
}

// mergeable reports whether the inner query only filters and computes columns, and nothing in the outer one depends on
// the layout of its row except what merge rewrites.
func mergeable(q *bind.Query, d *bind.DerivedScan) bool {
	in := d.Query
	switch {
	case d.Cte != nil && d.Cte.ComputedOnce(), len(in.Ctes) > 0, d.Lateral, in.From == nil, in.Left != nil,
		in.Values != nil, in.Work != nil, in.Group, len(in.Windows) > 0, in.SetFuncs != nil,
		in.Distinct, in.DistinctOn != nil, len(in.Order) > 0, in.Limit != nil, in.Skip != nil, len(q.Windows) > 0 &&
			!q.Group:
		return false
	}
	outer := slices.Concat(q.Where, q.Keys)
	if !q.Group {
		outer = slices.Concat(outer, q.Targets, q.Having)
	}
	for _, c := range q.Aggs {
		outer = append(slices.Concat(outer, c.Args, c.Order), c.Filter)
	}
	for _, s := range calledOverFrom(q) {
		outer = slices.Concat(outer, s.Args)
	}
	uses, grown := make([]int, len(in.Targets)), 0
	for _, e := range outer {
		if e != nil && typing.Holds(e, func(x exec.Expr) bool {
			if c, ok := x.(*exec.Col); ok && c.Depth == 0 && c.Index < q.Width {
				uses[c.Index-d.Base]++
			}
			s, ok := x.(*exec.Subquery)
			return ok && s.Correlated
		}) {
			return false
		}
	}
	for i, e := range in.Targets {
		// An expression that is duplicated at each level would grow without limit.
		if uses[i] > 1 {
			grown += (uses[i] - 1) * nodes(e)
		}
		if uses[i] > 1 && !typing.Repeatable(e) || grown > maxGrown {
			return false
		}
		if typing.Holds(e, func(x exec.Expr) bool {
			c, ok := x.(*exec.Call)
			return ok && c.Func.Volatility == exec.Volatile
		}) {
			return false // it must be computed once
		}
	}
	return true
}

// maxGrown is the number of nodes by which the expressions of a query may grow when a query in its FROM is merged.
const maxGrown = 1000

func nodes(e exec.Expr) int {
	n := 0
	exec.Walk(e, func(exec.Expr) { n++ })
	return n
}

// merge replaces references to the inner query's columns by their expressions.
func merge(q *bind.Query, d *bind.DerivedScan) *bind.Query {
	in := d.Query
	one := func(e exec.Expr) exec.Expr {
		return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
			c, ok := x.(*exec.Col)
			if !ok || c.Depth > 0 {
				return x
			}
			if c.Index < q.Width {
				return in.Targets[c.Index-d.Base]
			}
			moved := *c // a value of a function that returns rows
			moved.Index += in.Width - q.Width
			return &moved
		})
	}
	all := func(list []exec.Expr) []exec.Expr {
		out := make([]exec.Expr, len(list))
		for i, e := range list {
			out[i] = one(e)
		}
		return out
	}
	out := *q
	out.From, out.Width = in.From, in.Width
	out.Where = append(slices.Clone(in.Where), all(q.Where)...)
	out.Where = append(out.Where, in.Having...)
	out.Keys = all(q.Keys)
	out.Aggs = slices.Clone(q.Aggs)
	for i := range out.Aggs {
		c := &out.Aggs[i]
		c.Args, c.Order, c.Filter = all(c.Args), all(c.Order), one(c.Filter)
	}
	if !q.Group {
		out.Targets, out.Having = all(q.Targets), all(q.Having)
	}
	sets := func(list []*bind.SetFunc) []*bind.SetFunc {
		list = slices.Clone(list)
		for i, s := range list {
			c := *s
			c.Args = all(c.Args)
			list[i] = &c
		}
		return list
	}
	out.GroupFuncs = sets(q.GroupFuncs)
	if !q.Group {
		out.SetFuncs = sets(q.SetFuncs)
	}
	return &out
}

// calledOverFrom returns the functions that return rows and whose arguments refer to rows of FROM.
func calledOverFrom(q *bind.Query) []*bind.SetFunc {
	if q.Group {
		return q.GroupFuncs
	}
	return q.SetFuncs
}
