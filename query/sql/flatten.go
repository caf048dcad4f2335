package sql

import (
	"slices"

	"github.com/divandb/divan/query/exec"
)

// flatten takes a plain sub-query in FROM away: SELECT ... FROM (SELECT id, doc FROM docs) q WHERE q.id = 'x', as dashboards wrap what
// they are given, becomes a query over docs, so that its conditions, order and limit reach the read.
func flatten(q *boundQuery) *boundQuery {
	for {
		d, ok := q.from.(*derivedScan)
		if !ok || !mergeable(q, d) {
			return q
		}
		q = merge(q, d)
	}
}

// mergeable says that the inner query only filters and computes columns, and that nothing in the outer one depends on the layout of
// its row but what merge rewrites.
func mergeable(q *boundQuery, d *derivedScan) bool {
	in := d.query
	switch {
	case d.cte != nil && d.cte.computedOnce(), len(in.ctes) > 0, d.lateral, in.from == nil, in.left != nil, in.values != nil, in.work != nil, in.group, len(in.windows) > 0, in.setReturn != nil,
		in.distinct, in.distinctOn != nil, len(in.order) > 0, in.limit != nil, in.skip != nil, len(q.windows) > 0 && !q.group:
		return false
	}
	outer := slices.Concat(q.where, q.keys)
	if !q.group {
		outer = slices.Concat(outer, q.targets, q.having)
	}
	for _, c := range q.aggs {
		outer = append(slices.Concat(outer, c.Args, c.Order), c.Filter)
	}
	for _, s := range q.setReturn {
		if s != nil {
			outer = slices.Concat(outer, s.args)
		}
	}
	uses, grown := make([]int, len(in.targets)), 0
	for _, e := range outer {
		if e != nil && holds(e, func(x exec.Expr) bool {
			if c, ok := x.(*exec.Col); ok && c.Depth == 0 {
				uses[c.Index-d.base]++
			}
			s, ok := x.(*exec.Subquery)
			return ok && s.Correlated
		}) {
			return false
		}
	}
	for i, e := range in.targets {
		// An expression that is written down twice at each level would grow without a bound.
		if uses[i] > 1 {
			grown += (uses[i] - 1) * nodes(e)
		}
		if uses[i] > 1 && !repeatable(e) || grown > maxGrown {
			return false
		}
		if holds(e, func(x exec.Expr) bool {
			c, ok := x.(*exec.Call)
			return ok && c.Func.Volatile
		}) {
			return false // it must be computed once
		}
	}
	return true
}

// maxGrown is by how many nodes the expressions of a query may grow when a query in its FROM is merged.
const maxGrown = 1000

func nodes(e exec.Expr) int {
	n := 0
	exec.Walk(e, func(exec.Expr) { n++ })
	return n
}

// holds says that f holds for a node of e.
func holds(e exec.Expr, f func(exec.Expr) bool) bool {
	found := false
	exec.Walk(e, func(x exec.Expr) { found = found || f(x) })
	return found
}

// merge puts the inner query's columns where the outer one names them.
func merge(q *boundQuery, d *derivedScan) *boundQuery {
	in := d.query
	one := func(e exec.Expr) exec.Expr {
		return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
			if c, ok := x.(*exec.Col); ok && c.Depth == 0 {
				return in.targets[c.Index-d.base]
			}
			return x
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
	out.from, out.width = in.from, in.width
	out.where = append(slices.Clone(in.where), all(q.where)...)
	out.where = append(out.where, in.having...)
	out.keys = all(q.keys)
	out.aggs = slices.Clone(q.aggs)
	for i := range out.aggs {
		c := &out.aggs[i]
		c.Args, c.Order, c.Filter = all(c.Args), all(c.Order), one(c.Filter)
	}
	if !q.group {
		out.targets, out.having = all(q.targets), all(q.having)
	}
	if q.setReturn != nil {
		out.setReturn = slices.Clone(q.setReturn)
		for i, s := range out.setReturn {
			if s != nil {
				out.setReturn[i] = &boundSetFunc{s.fn, all(s.args), s.field}
			}
		}
	}
	return &out
}
