package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/groups"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/exec/sets"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/types"
)

// finish adds everything after FROM and WHERE to a source.
func (p *planning) finish(q *bind.Query, src exec.Source, sorted bool, limit, skip int64) (exec.Plan, error) {
	if q.Group {
		return p.afterGrouping(q, p.grouping(q, src), limit, skip)
	}
	return p.output(q, src, q.Width, sorted, limit, skip)
}

// grouping plans the groups and aggregates of the rows of a source.
func (p *planning) grouping(q *bind.Query, src exec.Source) *groups.Grouping {
	calls := slices.Clone(q.Aggs)
	for i := range calls {
		c := &calls[i]
		c.Args, c.Filter, c.Order = p.foldAll(c.Args), p.fold(c.Filter), p.foldAll(c.Order)
		c.Direct = p.foldAll(c.Direct)
	}
	src, width := p.unfold(q.GroupFuncs, src, q.Width)
	return &groups.Grouping{Input: src, Width: width + p.spare[q], Keys: p.foldAll(q.Keys), Sets: q.Sets, Calls: calls}
}

// afterGrouping is finish for the steps after the grouping.
func (p *planning) afterGrouping(q *bind.Query, src exec.Source, limit, skip int64) (exec.Plan, error) {
	return p.output(q, src, q.GroupWidth(), false, limit, skip)
}

// output adds HAVING, windows, the select list, DISTINCT, ORDER BY and LIMIT to a source whose rows have a width.
func (p *planning) output(q *bind.Query, src exec.Source, width int, sorted bool,
	limit, skip int64) (exec.Plan, error) {
	if having := exec.And(p.foldAll(q.Having)); having != nil {
		src = &exec.Filter{Input: src, Cond: having}
	}
	if len(q.Windows) > 0 {
		src = &window.Window{Input: src, Width: width, Calls: slices.Clone(q.Windows)}
		width += len(q.Windows)
	}
	if p.setsAfterDistinctOn(q, width) {
		return limited(p.distinctOnFirst(q, src, width), limit, skip), nil
	}
	plan := p.project(q, src, width)
	if q.Distinct {
		plan = &sets.Unique{Input: plan, Width: q.Keep}
	}
	order, names := q.Order, q.OrderNames
	if q.DistinctOn != nil && len(order) > 0 {
		// Equal rows must follow each other: the columns that ORDER BY does not name come last.
		for _, k := range q.DistinctOn {
			// The order of a view has equal keys that are not equal jsonb.
			sorted = sorted && q.Targets[k].Type() != types.JSONB
			if !slices.ContainsFunc(order, func(o exec.SortKey) bool { return o.Index == k }) {
				order, sorted = append(slices.Clip(order), exec.SortKey{Index: k}), false
				names = append(slices.Clip(names), q.Targets[k].String())
			}
		}
	}
	if len(order) > 0 && !sorted {
		b := bound(limit, skip)
		if q.DistinctOn != nil {
			b = -1
		}
		plan = &exec.Sort{Input: plan, Keys: order, Names: names, Bound: b}
	}
	if q.DistinctOn != nil {
		plan = &sets.Unique{Input: plan, Keys: q.DistinctOn, Sorted: len(order) > 0}
	}
	if q.Keep < len(q.Targets) {
		plan = &sets.Strip{Plan: plan, Keep: q.Keep}
	}
	return limited(plan, limit, skip), nil
}

// setsAfterDistinctOn reports whether functions of the select list that return rows are called only for the rows that
// DISTINCT ON keeps. As in PostgreSQL, that is so if ORDER BY is given, and neither clause has such a function.
func (p *planning) setsAfterDistinctOn(q *bind.Query, width int) bool {
	if q.DistinctOn == nil || len(q.Order) == 0 || q.SetFuncs == nil {
		return false
	}
	keys := slices.Clone(q.DistinctOn)
	for _, o := range q.Order {
		keys = append(keys, o.Index)
	}
	return !slices.ContainsFunc(keys, func(k int) bool {
		computed := false
		exec.Walk(q.Targets[k], func(e exec.Expr) {
			c, ok := e.(*exec.Col)
			computed = computed || ok && c.Index >= width
		})
		return computed
	})
}

// distinctOnFirst plans DISTINCT ON and ORDER BY over the rows of a source, and the select list over what is kept.
func (p *planning) distinctOnFirst(q *bind.Query, src exec.Source, width int) exec.Plan {
	var exprs []exec.Expr
	for i := range width {
		exprs = append(exprs, &exec.Col{Index: i})
	}
	var order []exec.SortKey
	var names []string
	at := map[int]int{} // by the target of a key
	add := func(o exec.SortKey) {
		target := o.Index
		o.Index = len(exprs)
		at[target] = o.Index
		order, names = append(order, o), append(names, q.Targets[target].String())
		exprs = append(exprs, p.fold(q.Targets[target]))
	}
	for _, o := range q.Order {
		add(o)
	}
	var keys []int
	for _, k := range q.DistinctOn {
		if _, ok := at[k]; !ok {
			add(exec.SortKey{Index: k})
		}
		keys = append(keys, at[k])
	}
	var plan exec.Plan = &exec.Project{Input: src, Width: width + p.spare[q], Exprs: exprs}
	plan = &sets.Unique{Input: &exec.Sort{Input: plan, Keys: order, Names: names, Bound: -1}, Keys: keys, Sorted: true}
	kept := &exec.Derived{Plan: &sets.Strip{Plan: plan, Keep: width}, Name: "distinct", Width: width}
	plan = p.project(q, kept, width)
	if q.Keep < len(q.Targets) {
		plan = &sets.Strip{Plan: plan, Keep: q.Keep}
	}
	return plan
}

func (p *planning) project(q *bind.Query, src exec.Source, width int) exec.Plan {
	exprs := p.foldAll(q.Targets)
	if wants := p.wants(exprs); len(wants) > 0 {
		src = &joins.Ahead{Input: src, Columns: []exec.Range{{To: width}}, Wants: wants}
	}
	src, width = p.unfold(q.SetFuncs, src, width)
	return &exec.Project{Input: src, Width: width + p.spare[q], Exprs: exprs}
}

// unfold adds functions that return rows. Those whose rows are arguments of others come first. It also returns the new
// width of the rows.
func (p *planning) unfold(list []*bind.SetFunc, src exec.Source, width int) (exec.Source, int) {
	all := width
	for level, done := 0, 0; done < len(list); level++ {
		u := &exec.Unfold{Input: src}
		for _, s := range list {
			if s.Level == level {
				u.Sets = append(u.Sets, &exec.SetCall{Func: s.Fn, Args: p.foldAll(s.Args), Fields: s.Fields,
					At: width + s.At})
				all += len(s.Fields)
				done++
			}
		}
		if len(u.Sets) > 0 {
			src = u
		}
	}
	return src, all
}
