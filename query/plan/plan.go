// Package plan turns a bound query and the values of its parameters into a plan. It decides which ranges of documents,
// views and changes are read, in which order, and where conditions are applied. It also prints plans for EXPLAIN.
// Package exec runs the plans.
package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/exec/sets"
	"github.com/divandb/divan/query/plan/bodies"
	"github.com/divandb/divan/query/plan/flat"
	"github.com/divandb/divan/query/plan/quals"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// planning plans one execution. Parameters have been replaced by constants.
type planning struct {
	st     *exec.State
	root   *exec.Env
	db     exec.Database
	update exec.UpdateMode
	// spare are the columns that the plan of a query adds to its row.
	spare map[*bind.Query]int
	// reached holds what queries refer to.
	reached map[*bind.Query]reach
	// bodies are the relations of whose documents only members are read.
	bodies []*bind.UserScan
	// avoid says which strategies the session's settings turn off: hash tables, reads by the keys of other rows, and
	// looking rows of repeated queries up together.
	avoid struct{ hash, keys, together bool }
	// supposed, unless nil, is the only view, which does not exist: a suggestion that is being tried.
	supposed *candidate
	// repeated is set in a query that is run once for each row of an enclosing one.
	repeated bool
	// lastSeq is the sequence that 'now' stands for, after it has first been needed.
	lastSeq *string
}

// New plans a bound statement for one run. The State has the values of the parameters.
func New(b *bind.Bound, st *exec.State) (exec.Plan, error) {
	st.Plans(b.Db, b.Update)
	if b.Nested {
		// Nobody knows yet what the sub-queries will read, nor how often.
		st.Reads.Count, st.Reads.Views = several, b.Views()
	}
	if b.Write != nil {
		return newPlanning(st).write(b.Write)
	}
	return newPlanning(st).build(b.Query)
}

// several is a number of reads that must be as of one moment.
const several = 2

func newPlanning(st *exec.State) *planning {
	p := &planning{st: st, root: &exec.Env{State: st}, db: st.DB, update: st.Update,
		spare: map[*bind.Query]int{}, reached: map[*bind.Query]reach{}}
	off := func(name string) bool {
		value, _ := st.Session.Setting(name)
		return value == "off"
	}
	p.avoid.hash, p.avoid.together = off(joins.HashJoinSetting), off(joins.MemoizeSetting)
	p.avoid.keys = off(joins.IndexScanSetting) || off(joins.NestLoopSetting)
	return p
}

// Subquery is New for a query inside an expression. It is a bind.Planner.
func Subquery(q *bind.Query, st *exec.State) (exec.Plan, error) {
	p := newPlanning(st)
	p.repeated = q.Correlated
	return p.build(q)
}

func (p *planning) fold(e exec.Expr) exec.Expr {
	if e == nil {
		return nil
	}
	return exec.Fold(e, p.root)
}

func (p *planning) foldAll(list []exec.Expr) []exec.Expr {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		out[i] = p.fold(e)
	}
	return out
}

func (p *planning) build(q *bind.Query) (exec.Plan, error) {
	if err := p.st.Spend(planSteps); err != nil {
		return nil, err
	}
	if err := p.st.Hold(planSize); err != nil {
		return nil, err
	}
	plan, err := p.body(q)
	if err != nil {
		return nil, err
	}
	with := &exec.With{Input: plan}
	for _, c := range q.Ctes {
		if !c.ComputedOnce() {
			continue
		}
		inner, err := p.build(c.Query)
		if err != nil {
			return nil, err
		}
		with.List = append(with.List, exec.CTEPlan{CTE: c.Handle, Plan: inner, Keep: !c.Query.Correlated && !c.InStep})
	}
	if len(with.List) == 0 {
		return plan, nil
	}
	return with, nil
}

// planSteps is the cost of planning a query, relative to binding one node.
const planSteps = 300

// planSize is the approximate memory of a planned query in bytes.
const planSize = 500

func (p *planning) body(q *bind.Query) (exec.Plan, error) {
	if knownLater(q.Limit) || knownLater(q.Skip) {
		return p.limitedLater(q)
	}
	limit, skip, err := counts(q, p.root)
	if err != nil {
		return nil, err
	}
	if q.WithTies && limit >= 0 {
		return p.ties(q, &sets.Limit{Count: limit, Skip: skip})
	}
	switch {
	case q.Left != nil:
		return p.union(q, limit, skip)
	case q.Values != nil:
		var plan exec.Plan = &exec.Values{Items: q.Values}
		if len(q.Order) > 0 {
			plan = &exec.Sort{Input: plan, Keys: q.Order, Names: q.OrderNames, Bound: bound(limit, skip)}
		}
		return limited(plan, limit, skip), nil
	}
	return p.sel(q, limit, skip)
}

func (p *planning) union(q *bind.Query, limit, skip int64) (exec.Plan, error) {
	left, err := p.build(q.Left)
	if err != nil {
		return nil, err
	}
	right, err := p.build(q.Right)
	if err != nil {
		return nil, err
	}
	if q.Work != nil {
		return &sets.Recursive{First: left, Step: right, Work: q.Work, Distinct: !q.UnionAll}, nil
	}
	var plan exec.Plan
	switch {
	case q.Op == ast.Union && q.UnionAll:
		plan = &sets.Append{Inputs: []exec.Plan{left, right}}
	case q.Op == ast.Union:
		plan = &sets.Unique{Input: &sets.Append{Inputs: []exec.Plan{left, right}}, Width: q.Keep}
	default:
		plan = &sets.SetOp{Left: left, Right: right, Width: q.Keep, Except: q.Op == ast.Except, All: q.UnionAll}
	}
	if len(q.Order) > 0 {
		plan = &exec.Sort{Input: plan, Keys: q.Order, Names: q.OrderNames, Bound: bound(limit, skip)}
	}
	return limited(plan, limit, skip), nil
}

// sel plans one SELECT: FROM, WHERE, GROUP BY, HAVING, windows, the select list, DISTINCT, ORDER BY, LIMIT.
func (p *planning) sel(q *bind.Query, limit, skip int64) (exec.Plan, error) {
	q = flat.Query(q)
	p.bodies = append(p.bodies, bodies.Of(q)...)
	where := p.foldAll(q.Where)
	for _, c := range where {
		if k, ok := c.(*exec.Const); ok && !k.D.True() && !q.Group {
			return limited(p.project(q, &exec.Nothing{Reason: "WHERE is never true"}, q.Width), limit, skip), nil
		}
	}
	where = slices.DeleteFunc(where, func(c exec.Expr) bool {
		k, ok := c.(*exec.Const)
		return ok && k.D.True()
	})
	q = withoutOuterJoins(q, where)
	gates, where := p.gates(q, quals.Order(where))
	plain := !q.Group && len(q.Windows) == 0 && q.SetFuncs == nil
	var look *lookup
	if !q.Follows() {
		look = p.lookup(q.From, where)
	}
	if look != nil {
		where = look.local
	}
	scan, _ := q.From.(*bind.UserScan)
	// A join does not keep the order of a read, and reads all of one side, each time that it is opened.
	ordered := scan != nil && plain && p.scanOrder(q, scan) != nil
	if !ordered && q.From != nil && !q.Follows() && (look != nil || !p.repeated) {
		var n int
		if where, n = p.sublinks(q, where); n > 0 {
			p.spare[q] = n
		}
	}
	var src exec.Source = &exec.One{}
	sorted := false
	var err error
	switch f := q.From.(type) {
	case nil:
		if c := exec.And(where); c != nil {
			src = &exec.Filter{Input: src, Cond: c}
		}
	case *bind.UserScan:
		if q.Group && q.GroupFuncs == nil && look == nil && gates == nil {
			if g, err := p.shortcut(q, f, where); err != nil {
				return nil, err
			} else if g != nil {
				return p.afterGrouping(q, g, limit, skip)
			}
		}
		want := scanRequest{limit: -1}
		if plain {
			want.order = p.scanOrder(q, f)
			if g := p.distinct(q, f, where, want.order); g != nil && look == nil && gates == nil {
				return p.output(q, g, q.Width+1, want.order != nil, limit, skip)
			}
			if q.Distinct && want.order == nil && look == nil && gates == nil && p.spare[q] == 0 &&
				q.SetFuncs == nil {
				if rows, err := p.coveredDistinct(q, f, where, limit, skip); rows != nil || err != nil {
					return rows, err
				}
			}
			// The read itself may stop early only if every row it returns is a row of the result.
			if look == nil && !q.Distinct && q.DistinctOn == nil && (len(q.Order) == 0 || want.order != nil) {
				want.limit, want.skip = limit, skip
			}
		}
		var got scanResult
		if plain && look == nil && want.order == nil && !q.Distinct && q.DistinctOn == nil && p.spare[q] == 0 {
			if src, err = p.coveredTop(q, f, where, limit, skip); err != nil {
				return nil, err
			}
			if src != nil {
				break
			}
		}
		want.query, want.n = q, bound(limit, skip)
		if src, got, err = p.scan(f, where, want); err != nil {
			return nil, err
		}
		if err := followable(f, q, sorted || got.ordered, len(q.Order) > 0); err != nil {
			return nil, err
		}
		sorted = got.ordered
		if got.limited {
			limit, skip = -1, 0
		}
	default:
		if src, err = p.source(f, where); err != nil {
			return nil, err
		}
	}
	if look != nil {
		if src, err = p.filtered(look.over(src), nil, spanOf(q.From), look.rest); err != nil {
			return nil, err
		}
	}
	if gates != nil {
		src = &joins.Gate{Input: src, Cond: exec.And(gates)}
	}
	return p.finish(q, src, sorted, limit, skip)
}

// gates splits off the conditions of a query, run once for each row of an enclosing one, that refer to enclosing rows
// alone. They are evaluated once for each run.
func (p *planning) gates(q *bind.Query, where []exec.Expr) (gates, others []exec.Expr) {
	if !p.repeated || q.From == nil {
		return nil, where
	}
	for _, c := range where {
		u := p.usesOf(c)
		if !u.own && (u.outer || u.far) && !u.volatile && !u.let && !u.shared {
			gates = append(gates, c)
		} else {
			others = append(others, c)
		}
	}
	return gates, others
}

// followable refuses queries that would wait for the end of an endless feed.
func followable(f *bind.UserScan, q *bind.Query, sorted, wantsOrder bool) error {
	if !f.Rel.Follow {
		return nil
	}
	what := ""
	switch {
	case q.Group:
		what = "aggregates and GROUP BY"
	case len(q.Windows) > 0:
		what = "window functions"
	case wantsOrder && !sorted:
		what = "ORDER BY"
	default:
		return nil
	}
	return sqlstate.Unsupported(f.Off, "Use changes, which ends at the present.",
		"%s over changes_follow would never end", what)
}

// source plans an item of FROM with the conditions that apply to it. It applies all of conds.
func (p *planning) source(f bind.From, conds []exec.Expr) (exec.Source, error) {
	var src exec.Source
	if err := p.st.Spend(planSteps); err != nil {
		return nil, err
	}
	if l := p.lookup(f, conds); l != nil {
		p.repeated = false
		src, err := p.source(f, l.local)
		p.repeated = true
		if err != nil {
			return nil, err
		}
		return p.filtered(l.over(src), nil, spanOf(f), l.rest)
	}
	switch n := f.(type) {
	case *bind.Join:
		if n.Kind == "inner" {
			if s, err := p.chain(n, conds); s != nil || err != nil {
				return s, err
			}
		}
		return p.join(n, conds)
	case *bind.UserScan:
		s, _, err := p.scan(n, conds, scanRequest{limit: -1})
		return s, err
	case *bind.VirtualScan:
		src, conds = virtual(n, conds)
	case *bind.WorkScan:
		src = &exec.WorkScan{Work: n.Work, Base: n.Base, Width: n.Width}
	case *bind.DerivedScan:
		if n.Cte != nil && n.Cte.ComputedOnce() {
			src = &exec.CTEScan{CTE: n.Cte.Handle, Alias: n.Name, Base: n.Base, Width: len(n.Query.Columns)}
			break
		}
		repeated := p.repeated
		p.repeated = repeated || n.Lateral
		query := n.Query
		if n.Used != nil {
			query, conds = narrowed(n, conds)
		}
		inner, err := p.build(query)
		p.repeated = repeated
		if err != nil {
			return nil, err
		}
		src = &exec.Derived{Plan: inner, Name: n.Name, Base: n.Base, Width: len(n.Query.Columns), Lateral: n.Lateral}
	case *bind.FuncScan:
		src = &exec.FuncScan{Calls: n.Calls, Name: n.Name, Alias: n.Alias, Base: n.Base, Width: n.Width,
			Ordinality: n.Ordinality}
	}
	return p.filtered(src, f, spanOf(f), conds)
}

func spanOf(f bind.From) []exec.Range {
	from, to := f.Span()
	return []exec.Range{{From: from, To: to}}
}

// columnsIn reports whether e refers only to columns from..to of its row. Sub-queries may refer to any column.
func columnsIn(e exec.Expr, from, to int) bool {
	in := true
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Col:
			if n.Depth == 0 && (n.Index < from || n.Index >= to) {
				in = false
			}
		case *exec.Subquery:
			if n.Correlated {
				in = false
			}
		case *sublink:
			in = in && n.sees(func(column int) bool { return column >= from && column < to })
		}
	})
	return in
}

func (p *planning) join(j *bind.Join, conds []exec.Expr) (exec.Source, error) {
	lf, lt := j.Left.Span()
	rf, rt := j.Right.Span()
	on := p.foldAll(j.On)
	out := &joins.Join{Kind: j.Kind, LeftColumns: spanOf(j.Left), RightFrom: rf, RightTo: rt,
		Lateral: j.Lateral}
	var left, right, above []exec.Expr
	if j.Kind == "inner" {
		on, conds = append(on, conds...), nil
	}
	// A condition of WHERE can be applied below a side that the outer join does not fill with NULLs.
	for _, c := range conds {
		switch {
		case columnsIn(c, lf, lt) && j.Kind == "left":
			left = append(left, c)
		case columnsIn(c, rf, rt) && j.Kind == "right":
			right = append(right, c)
		default:
			above = append(above, c)
		}
	}
	var rest []exec.Expr
	for _, c := range on {
		switch {
		case columnsIn(c, lf, lt) && (j.Kind == "inner" || j.Kind == "right"):
			left = append(left, c)
		case columnsIn(c, rf, rt) && (j.Kind == "inner" || j.Kind == "left"):
			right = append(right, c)
		case isLink(c), j.Kind == "inner" && len(p.wants([]exec.Expr{c})) > 0:
			above = append(above, c)
		default:
			if l, r := equality(c, lf, lt, rf, rt); l != nil && !j.Lateral && !p.avoid.hash {
				out.LeftKeys, out.RightKeys = append(out.LeftKeys, l), append(out.RightKeys, r)
			} else {
				rest = append(rest, c)
			}
		}
	}
	out.On = exec.And(rest)
	var err error
	if out.Left, err = p.source(j.Left, left); err != nil {
		return nil, err
	}
	if out.Right, err = p.source(j.Right, right); err != nil {
		return nil, err
	}
	if d, ok := j.Right.(*bind.DerivedScan); ok && j.Lateral {
		if wants := p.wantsOf(d.Query); len(wants) > 0 {
			out.Left = &joins.Ahead{Input: out.Left, Columns: out.LeftColumns, Wants: wants}
		}
	}
	p.narrow(out, j.Left, j.Right)
	return p.filtered(out, nil, spanOf(j), above)
}

// hashed returns the operands of "x = y" if a hash table finds equal ones. Those of x IS NOT DISTINCT FROM y become
// rows, which are not NULL, and equal if both have NULL.
func hashed(e exec.Expr) (x, y exec.Expr) {
	switch n := e.(type) {
	case *exec.Call:
		if n.Op == "=" && len(n.Args) == 2 && n.Func.Collation == nil &&
			types.KindOf(n.Args[0].Type()) == types.KindOf(n.Args[1].Type()) {
			return n.Args[0], n.Args[1]
		}
	case *exec.Distinct:
		if n.Not && n.X.Type() == n.Y.Type() && n.X.Type() != types.Record {
			return &exec.RowExpr{Items: []exec.Expr{n.X}}, &exec.RowExpr{Items: []exec.Expr{n.Y}}
		}
	}
	return nil, nil
}

// equality splits "left = right" if each operand refers to one side only and equal values have equal hashes.
func equality(e exec.Expr, lf, lt, rf, rt int) (l, r exec.Expr) {
	x, y := hashed(e)
	switch {
	case x == nil:
	case columnsIn(x, lf, lt) && columnsIn(y, rf, rt):
		return x, y
	case columnsIn(y, lf, lt) && columnsIn(x, rf, rt):
		return y, x
	}
	return nil, nil
}
