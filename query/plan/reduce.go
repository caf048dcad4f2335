package plan

import (
	"encoding/json"
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/types"
)

// COUNT, SUM, MIN, MAX and AVG over a view, grouped by its key or by leading parts of it, are computed from the view's
// own reduce.

// reduce plans the grouping of q as a reduce read of f. It returns nil if the reduce does not provide the result.
func (p *planning) reduce(q *bind.Query, f *bind.UserScan, where []exec.Expr) exec.Source {
	if _, ok := p.db.(exec.Reducer); !ok || f.Rel.Kind != exec.ReadView || f.Raw || len(q.Aggs) == 0 {
		return nil
	}
	keyAt, valueAt := f.Base+1, f.Base+2 // as in ViewColumns
	value := &exec.Col{Index: valueAt, Typ: types.JSONB, Name: "value"}
	calls := make([]exec.AggCall, len(q.Aggs))
	for i, c := range q.Aggs {
		agg := partialOf(&c, f, valueAt)
		if agg == nil {
			return nil
		}
		calls[i] = exec.AggCall{Agg: agg, Args: []exec.Expr{value}, Text: c.Text}
	}
	set, rest := p.ranges(f, exec.FieldKey, where, true)
	for _, iv := range set {
		if iv.isPoint() && !plain(iv.low.val.S) {
			return nil // a group may contain keys that differ
		}
	}
	if len(set) > 1 && f.Reduce != "_count" && !slices.ContainsFunc(q.Aggs, func(c exec.AggCall) bool {
		return c.Agg.Name != "count"
	}) {
		return nil // _sum and _stats fail for values that are not numbers, which can be counted nevertheless
	}
	for _, iv := range set {
		if iv.low.open || iv.high.open {
			return nil // a reduction cannot be narrowed afterwards
		}
	}
	// The conditions behind these intervals are applied to the groups.
	if set = set.intersect(loose(rest, keyAt).closed()); len(set) > maxReads {
		set = set.hull()
	}
	// Conditions that the ranges do not cover, and the groups, must be computable from the key of a reduction.
	level := 0
	keys := p.foldAll(q.Keys)
	for _, e := range slices.Concat(keys, rest) {
		n, ok := prefixLevel(e, keyAt)
		if !ok {
			return nil
		}
		if n < 0 || level < 0 {
			level = -1
		} else {
			level = max(level, n)
		}
	}
	s := p.newScan(f)
	s.Targets = []exec.Target{{Field: exec.FieldKey, Index: keyAt}, {Field: exec.FieldValue, Index: valueAt}}
	var ranges []exec.KeyRange
	for _, iv := range set {
		var r exec.KeyRange
		if !iv.low.inf {
			r.Low = json.RawMessage(iv.low.val.S)
		}
		if !iv.high.inf {
			r.High = json.RawMessage(iv.high.val.S)
		}
		ranges = append(ranges, r)
	}
	read := exec.ReduceRead{Design: f.Design, View: f.View, GroupLevel: level, Update: p.update}
	if len(ranges) > 1 && slices.ContainsFunc(q.Aggs, func(c exec.AggCall) bool { return aggregates.IsWhole(c.Agg) }) {
		// Only the view can combine the reductions of several ranges.
		read.Ranges = ranges
		s.Accesses = []exec.Access{{Kind: exec.ReadReduce, Reduce: read}}
	} else {
		for _, r := range ranges {
			read.Low, read.High = r.Low, r.High
			s.Accesses = append(s.Accesses, exec.Access{Kind: exec.ReadReduce, Reduce: read})
		}
	}
	p.reads(f, len(s.Accesses))
	var src exec.Source = s
	if cond := exec.And(rest); cond != nil {
		src = &exec.Filter{Input: s, Cond: cond}
	}
	return &exec.Grouping{Input: src, Width: q.Width, Keys: keys, Calls: calls}
}

// partialOf returns the aggregate that combines reductions into c: count(*), count of a column that is never NULL, or
// an aggregate of value.
func partialOf(c *exec.AggCall, f *bind.UserScan, valueAt int) *exec.Aggregate {
	if c.Distinct || c.Filter != nil || len(c.Order) > 0 || len(c.Args) > 1 {
		return nil
	}
	name := c.Agg.Name
	if len(c.Args) == 1 {
		col, ok := c.Args[0].(*exec.Col)
		switch {
		case !ok || col.Depth != 0:
			return nil
		case name == "count" && (f.Rel.Columns[col.Index-f.Base].Field == exec.FieldID ||
			f.Rel.Columns[col.Index-f.Base].Field == exec.FieldKey):
		case name == "count" || col.Index != valueAt:
			return nil
		}
	}
	return aggregates.Partial(name, f.Reduce)
}

// prefixLevel returns how many leading parts of the key e refers to: -1 for the whole key; false if it refers to
// anything else.
func prefixLevel(e exec.Expr, keyAt int) (int, bool) {
	level, ok := 0, true
	var walk func(exec.Expr) exec.Expr
	walk = func(x exec.Expr) exec.Expr {
		switch n := x.(type) {
		case *exec.Subquery, *sublink:
			ok = false
		case *exec.Col:
			if n.Index != keyAt || n.Depth != 0 {
				ok = false
			}
			level = -1
		case *exec.Call:
			if i, part := keyPart(n, keyAt); part {
				if level >= 0 {
					level = max(level, i+1)
				}
				return x
			}
		}
		return exec.RewriteChildren(x, walk)
	}
	walk(e)
	return level, ok
}

// keyPart matches key -> i and key ->> i for a constant i that is not negative.
func keyPart(c *exec.Call, keyAt int) (int, bool) {
	if c.Op != "->" && c.Op != "->>" {
		return 0, false
	}
	col, ok := c.Args[0].(*exec.Col)
	idx, isConst := c.Args[1].(*exec.Const)
	if !ok || !isConst || col.Index != keyAt || col.Depth != 0 || idx.D.K != types.KInt || idx.D.I < 0 ||
		idx.D.I > 100 {
		return 0, false
	}
	return int(idx.D.I), true
}
