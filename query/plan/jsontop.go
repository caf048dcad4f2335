package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// jsonTop is coveredTop for a first sort key that is a member as jsonb, whose order is that of views. The documents
// found are more than the first n: the view may not know the order of all.
func (p *planning) jsonTop(q *bind.Query, f *bind.UserScan, where []exec.Expr, key exec.Expr,
	n int64) (exec.Plan, error) {
	doc, ok := p.documents(f)
	if !ok {
		return nil, nil
	}
	path, text, ok := facts.MemberOf(key, doc)
	if !ok || text || len(path) == 0 {
		return nil, nil
	}
	first, whole := q.Order[0], true
	order := func(c *cover, _ *exec.IndexState) *viewOrder {
		o := &viewOrder{}
		if o.before, o.values, ok = c.known.Leading(c.shape, path); !ok {
			return nil
		}
		return o
	}
	c, err := p.covered(q, f, where, nil, order)
	if (c == nil || c.order == nil) && err == nil && !first.NullsFirst {
		whole = false
		known := &exec.Is{What: "null", Not: true, X: key}
		c, err = p.covered(q, f, append(slices.Clip(where), known), nil, order)
	}
	if c == nil || c.order == nil || err != nil {
		return nil, err
	}
	null := ranges.PointOf("null")
	l := &shortcut.Leading{N: n, Most: maxFetched, Whole: whole}
	var nulls *shortcut.Nulls
	l.Nulls, _ = p.inOrder(q, f, c, c.order.values.Intersect(ranges.Intervals{null}), false)
	if l.Rows, nulls = p.inOrder(q, f, c, c.order.values.Without(null), first.Desc); nulls != nil {
		l.Settle = nulls.Settle
	}
	p.st.Reads.Count = max(p.st.Reads.Count, several)
	return l, nil
}

// inOrder returns the ids and values of a view's rows that have some values, in the order of the view; nil if there are
// no such values. It also returns what checks the rows; nil if there is nothing to check.
func (p *planning) inOrder(q *bind.Query, f *bind.UserScan, c *cover, set ranges.Intervals,
	desc bool) (exec.Plan, *shortcut.Nulls) {
	if len(set) == 0 {
		return nil, nil
	}
	key := &exec.Col{Index: c.at + 1, Typ: types.JSONB, Name: "key"}
	value := &shortcut.Member{Column: key.Index, Part: -1, Was: key}
	if c.shape.Array {
		value.Part = len(c.order.before)
		set = ranges.Compound(append(slices.Clip(c.order.before), set), false)
	}
	rows, scan, nulls := p.coveringRows(f, c, c.conds)
	scan.Accesses = severalRanges(p.viewAccesses(c.relation(), set, desc))
	return &exec.Project{Input: rows, Width: q.Width + 3,
		Exprs: []exec.Expr{&exec.Col{Index: c.at, Typ: types.Text, Name: "id"}, value}}, nulls
}
