package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/groups"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/types"
)

// Aggregates and DISTINCT are computed without reading all rows, if possible: min and max of the column that a relation
// is sorted by from an end of it, counts from what the store has counted, and groups of keys from reductions.

// shortcut plans the grouping of q over f without reading all rows. It returns nil if that is not possible.
func (p *planning) shortcut(q *bind.Query, f *bind.UserScan, where []exec.Expr) (exec.Source, error) {
	if len(q.Keys) == 0 && q.Sets == nil && slices.ContainsFunc(q.Aggs, func(c exec.AggCall) bool {
		return c.Agg.Name != "count" || f.Rel.Kind == exec.ReadAllDocs
	}) {
		before := p.st.Reads
		if s, err := p.apart(q, f, where); s != nil || err != nil {
			return s, err
		}
		p.st.Reads = before
	}
	if s, err := p.reduce(q, f, where); s != nil || err != nil {
		return s, err
	}
	return p.coveredGroups(q, f, where)
}

// apart plans each aggregate by a read of its own. It returns nil if one of them needs all rows, or none is computed
// from an end or by counting documents.
func (p *planning) apart(q *bind.Query, f *bind.UserScan, where []exec.Expr) (exec.Source, error) {
	var inputs []exec.Source
	some := false
	for i := range q.Aggs {
		in, err := p.fromEnd(q, &q.Aggs[i], f, where)
		if in == nil && err == nil {
			in = p.counted(q, &q.Aggs[i], f, where)
		}
		if some = some || in != nil; in == nil && err == nil {
			one := *q
			one.Aggs = q.Aggs[i : i+1]
			in, err = p.reduce(&one, f, where)
		}
		if in == nil || err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	switch {
	case !some:
		return nil, nil
	case len(inputs) == 1:
		return inputs[0], nil
	}
	return &shortcut.Apart{Inputs: inputs}, nil
}

// fromEnd plans min or max of the column that a relation is sorted by, nil for anything else. All conditions must be
// ranges: with others, a read from an end might take as long as one of all rows.
func (p *planning) fromEnd(q *bind.Query, c *exec.AggCall, f *bind.UserScan, where []exec.Expr) (exec.Source, error) {
	name := c.Agg.Name
	if name != "min" && name != "max" || c.Filter != nil || f.Raw || f.Rel.Follow ||
		f.Partitioned && p.partition() == "" {
		return nil, nil
	}
	if index, _ := sortedColumn(f); !isColumn(c.Args[0], index) {
		return nil, nil
	}
	if where, err := p.sequences(f, where); err != nil {
		return nil, err
	} else if _, rest := p.ranges(f, orderColumn(f.Rel.Kind), where, false); len(rest) > 0 {
		return nil, nil
	}
	src, got, err := p.scan(f, where, scanRequest{order: &scanDirection{name == "max"}, limit: 1})
	if err != nil || !got.ordered {
		return nil, err
	}
	one := *q
	one.Aggs = []exec.AggCall{*c}
	return p.grouping(&one, &shortcut.First{Input: src}), nil
}

// counted plans the number of all documents, nil for anything else.
func (p *planning) counted(q *bind.Query, c *exec.AggCall, f *bind.UserScan, where []exec.Expr) exec.Source {
	if _, ok := p.db.(exec.Counter); !ok || len(where) > 0 || f.Rel.Kind != exec.ReadAllDocs || f.Rel.IDPrefix != "" ||
		c.Agg.Name != "count" || c.Distinct && !isColumn(c.Args[0], f.Base) || c.Filter != nil {
		return nil
	}
	if len(c.Args) == 1 { // no column is ever NULL
		if col, ok := c.Args[0].(*exec.Col); !ok || col.Depth != 0 {
			return nil
		}
	}
	s := p.newScan(f)
	s.Targets = []exec.Target{{Field: exec.FieldCount, Index: q.Width}}
	s.Accesses = []exec.Access{{Kind: exec.ReadCount, Docs: exec.DocsRead{NoDesigns: f.Rel.NoDesigns}}}
	p.reads(f, several) // the counter and the design documents
	count := &exec.Col{Index: q.Width, Typ: types.Int8, Name: "count"}
	return &groups.Grouping{Input: s, Width: q.Width + 1,
		Calls: []exec.AggCall{{Agg: aggregates.Counted(), Args: []exec.Expr{count}, Text: c.Text}}}
}

// distinct plans the rows of SELECT DISTINCT by groups of a view's keys. It returns nil if the select list needs more
// than keys.
func (p *planning) distinct(q *bind.Query, f *bind.UserScan, where []exec.Expr, order *scanDirection) exec.Source {
	if !q.Distinct || !p.reducible(f) || order != nil && order.desc {
		return nil
	}
	return p.groups(p.newReducing(q, f), p.foldAll(q.Targets), where, false)
}

// coveredDistinct plans the rows of SELECT DISTINCT over documents as groups of the rows of a view. It returns nil if
// no view has what they need.
func (p *planning) coveredDistinct(q *bind.Query, f *bind.UserScan, where []exec.Expr,
	limit, skip int64) (exec.Plan, error) {
	groups := *q
	groups.Group, groups.Keys, groups.Aggs = true, q.Targets, nil
	src, err := p.coveredGroups(&groups, f, where)
	if src == nil || err != nil {
		return nil, err
	}
	out := *q
	out.Distinct, out.Targets = false, make([]exec.Expr, len(q.Targets))
	for i, e := range q.Targets {
		out.Targets[i] = &exec.Col{Index: i, Typ: e.Type(), Name: e.String()}
	}
	return p.output(&out, src, len(q.Targets), false, limit, skip)
}
