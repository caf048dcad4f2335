package plan

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/plan/flat"
	"github.com/divandb/divan/query/types"
)

// Conditions of WHERE with sub-queries become semi-joins and anti-joins: IN, = ANY, EXISTS and their negations, and
// other comparisons with ANY or ALL of a sub-query that refers to the row around it by an equality.

// sublink is such a condition. Its columns from base on are those of the right side of its join; they follow all other
// columns of the row.
type sublink struct {
	exec.Expr // the condition itself, for places where there is no join
	kind      string
	// conds say which rows of the right side are partners.
	conds []exec.Expr
	inner *bind.Query
	base  int
	// aware is set for NOT IN: a NULL on either side decides against a row, unless the right side has no rows.
	aware bool
	// few is set if the right side is likely to have fewer rows than the left side.
	few bool
}

// sees reports whether all columns of the row around the sub-query satisfy in.
func (s *sublink) sees(in func(column int) bool) bool {
	ok := true
	for _, c := range s.conds {
		exec.Walk(c, func(x exec.Expr) {
			if n, is := x.(*exec.Col); is && n.Depth == 0 && n.Index < s.base {
				ok = ok && in(n.Index)
			}
		})
	}
	return ok
}

// sublinks replaces conditions of a query by sublinks. It returns the number of columns that they add to the row.
func (p *planning) sublinks(q *bind.Query, where []exec.Expr) ([]exec.Expr, int) {
	from := q.Width
	sets := q.GroupFuncs
	if !q.Group {
		from += len(q.Windows)
		sets = q.SetFuncs
	}
	for _, s := range sets {
		from += len(s.Fields)
	}
	base := from
	var out []exec.Expr
	for i, c := range where {
		l := p.sublink(c, base)
		if l == nil {
			continue
		}
		if out == nil {
			out = slices.Clone(where)
		}
		out[i] = l
		base += l.inner.Keep
	}
	if out == nil {
		return where, 0
	}
	return out, base - from
}

// sublink returns the sublink of a condition, nil if it has none.
func (p *planning) sublink(c exec.Expr, base int) *sublink {
	if p.avoid.hash {
		return nil
	}
	l := &sublink{Expr: c, kind: "semi", base: base}
	sub, ok := c.(*exec.Subquery)
	if n, not := c.(*exec.Logic); not && n.Op == "not" {
		sub, ok = n.Args[0].(*exec.Subquery)
		l.kind = "anti"
	}
	if !ok {
		return nil
	}
	q, ok := sub.Query.(*bind.Query)
	if !ok {
		return nil
	}
	q = flat.Query(q)
	lift := &lifting{p: p, base: base}
	var match []exec.Expr
	u := p.usesOfQuery(q)
	switch {
	case u.volatile:
		return nil
	case sub.Kind == "exists":
		if !u.outer {
			return nil // it is computed once
		}
	case sub.Kind != "any":
		return nil
	default:
		if match = p.match(sub, l, base); match == nil {
			return nil
		}
		l.few = !u.outer
	}
	if !u.outer {
		l.inner, l.conds = q, match
		return l.keyed()
	}
	if l.aware {
		// Which rows are compared differs for each row of the left side.
		match, l.aware = []exec.Expr{&exec.Is{What: "false", Not: true, X: exec.And(match)}}, false
	}
	if !plainInner(q, sub.Kind == "exists") {
		return nil
	}
	inner := *q
	inner.Where, inner.Order, inner.OrderNames, inner.Distinct, inner.Limit = nil, nil, nil, false, nil
	for _, w := range p.foldAll(q.Where) {
		u := p.usesOf(w)
		switch {
		case !u.outer:
			inner.Where = append(inner.Where, w)
		case u.nested || u.let || holdsSubquery(w):
			return nil
		default:
			l.conds = append(l.conds, lift.expr(w))
		}
	}
	rest := inner
	rest.Targets = nil
	if p.usesOfQuery(&rest).outer {
		return nil // FROM refers to the row around the query
	}
	targets := q.Targets[:q.Keep]
	for _, m := range match {
		m, ok := lift.targets(m, targets)
		if !ok {
			return nil
		}
		l.conds = append(l.conds, m)
	}
	if inner.Targets = lift.out; len(inner.Targets) == 0 {
		inner.Targets = []exec.Expr{&exec.Const{D: types.NewBool(true), Typ: types.Bool}}
	}
	inner.Keep, inner.Columns = len(inner.Targets), make([]exec.Column, len(inner.Targets))
	inner.Correlated = true // it is planned one level below the query
	l.inner = &inner
	return l.keyed()
}

// keyed returns l if one of its conditions is an equality that a hash table can use.
func (l *sublink) keyed() *sublink {
	for _, c := range l.conds {
		if x, _ := l.equality(c); x != nil {
			return l
		}
	}
	return nil
}

// equality splits "left = right" into a side of the row around the sub-query and one of the right side of the join.
func (l *sublink) equality(e exec.Expr) (left, right exec.Expr) {
	x, y := hashed(e)
	if x == nil {
		return nil, nil
	}
	inner := func(e exec.Expr) (any, all bool) {
		all = true
		exec.Walk(e, func(x exec.Expr) {
			if n, is := x.(*exec.Col); is && n.Depth == 0 {
				any, all = any || n.Index >= l.base, all && n.Index >= l.base
			}
			if n, is := x.(*exec.Subquery); is && n.Correlated {
				any, all = true, false
			}
		})
		return any, any && all
	}
	xAny, xAll := inner(x)
	yAny, yAll := inner(y)
	switch {
	case !xAny && yAll:
		return x, y
	case !yAny && xAll:
		return y, x
	}
	return nil, nil
}

// match returns the comparisons of ANY or ALL, with columns from base on for those of the sub-query's rows. It returns
// nil if they cannot become a join.
func (p *planning) match(sub *exec.Subquery, l *sublink, base int) []exec.Expr {
	if sub.Any.All {
		if l.kind == "anti" {
			return nil // NOT (x op ALL (...))
		}
		l.kind = "anti"
	}
	var out []exec.Expr
	if sub.Match == nil {
		x := p.fold(sub.X)
		q := sub.Query.(*bind.Query)
		y := &exec.Col{Index: base, Typ: q.Columns[0].Type, Name: shownTarget(q, 0)}
		op, fn := sub.Any.Symbol, sub.Any.Op
		switch {
		case sub.Any.All && sub.Lookup: // x <> ALL: there is no row for which x = y
			l.aware, op, fn = true, "=", funcs.Comparison("=")
		case sub.Any.All:
			l.aware = true
		case l.kind == "anti":
			l.aware = true
		}
		c := &exec.Call{Func: fn, Args: []exec.Expr{x, y}, Typ: types.Bool, Op: op, Off: sub.Off}
		out = []exec.Expr{c}
		if sub.Any.All && !sub.Lookup {
			out = []exec.Expr{&exec.Logic{Op: "not", Args: []exec.Expr{c}}}
		}
	} else {
		if l.kind == "anti" {
			return nil
		}
		ok := true
		q := sub.Query.(*bind.Query)
		m := exec.Rewrite(p.fold(sub.Match), func(x exec.Expr) exec.Expr {
			switch n := x.(type) {
			case *exec.Let:
				ok = false
			case *exec.Call:
				if n.Func == exec.RecordField {
					if it, is := n.Args[0].(*exec.It); is && it.Depth == 0 {
						i := int(n.Args[1].(*exec.Const).D.I)
						return &exec.Col{Index: base + i, Typ: n.Typ, Name: shownTarget(q, i)}
					}
				}
			}
			return x
		})
		if !ok || freeLet(m, 0) {
			return nil
		}
		out = exec.Conjuncts(m)
	}
	if u := p.usesOf(out...); u.volatile || u.nested {
		return nil
	}
	for _, e := range out {
		if holdsSubquery(e) {
			return nil
		}
	}
	return out
}

// shownTarget returns how EXPLAIN shows a column of a sub-query.
func shownTarget(q *bind.Query, i int) string {
	if i < len(q.Targets) {
		return q.Targets[i].String()
	}
	return q.Columns[i].Name
}

func holdsSubquery(e exec.Expr) bool {
	found := false
	exec.Walk(e, func(x exec.Expr) {
		_, is := x.(*exec.Subquery)
		found = found || is
	})
	return found
}

// plainInner reports whether the rows of a query are those of its FROM and WHERE.
func plainInner(q *bind.Query, exists bool) bool {
	if c, ok := q.Limit.(*exec.Const); exists && ok && (c.D.IsNull() || c.D.I > 0) {
		without := *q
		without.Limit = nil
		q = &without
	}
	return q.From != nil && q.Left == nil && q.Values == nil && q.Work == nil && len(q.Ctes) == 0 && !q.Group &&
		len(q.Windows) == 0 && q.SetFuncs == nil && q.DistinctOn == nil && q.Limit == nil && q.Skip == nil
}

// lifting moves expressions out of a query to the query around it. What they need of the query's rows becomes a target.
type lifting struct {
	p    *planning
	base int
	out  []exec.Expr
	keys map[string]int
}

// expr returns e for the query around.
func (l *lifting) expr(e exec.Expr) exec.Expr {
	if u := l.p.usesOf(e); u.own && !u.outer && !u.let {
		return l.target(e)
	}
	if c, ok := e.(*exec.Col); ok {
		up := *c
		up.Depth--
		return &up
	}
	return exec.RewriteChildren(e, l.expr)
}

// target returns the column of a value of the query's row.
func (l *lifting) target(e exec.Expr) exec.Expr {
	key := exec.Key(e)
	i, known := l.keys[key]
	if !known {
		if l.keys == nil {
			l.keys = map[string]int{}
		}
		i = len(l.out)
		l.keys[key] = i
		l.out = append(l.out, e)
	}
	return &exec.Col{Index: l.base + i, Typ: e.Type(), Name: e.String()}
}

// targets replaces the columns from base on, which stand for the query's targets, in an expression of the query around.
// It returns false if that cannot be done.
func (l *lifting) targets(e exec.Expr, targets []exec.Expr) (exec.Expr, bool) {
	ok := true
	e = exec.Rewrite(e, func(x exec.Expr) exec.Expr {
		c, is := x.(*exec.Col)
		if !is || c.Depth > 0 || c.Index < l.base {
			return x
		}
		t := targets[c.Index-l.base]
		if u := l.p.usesOf(t); u.nested || u.let || u.outer && holdsSubquery(t) {
			ok = false
			return x
		}
		return l.expr(t)
	})
	return e, ok
}

func isLink(c exec.Expr) bool {
	_, ok := c.(*sublink)
	return ok
}

// plainConds divides conditions into those that are evaluated and those that become joins.
func plainConds(conds []exec.Expr) (plain, links []exec.Expr) {
	for _, c := range conds {
		if isLink(c) {
			links = append(links, c)
		} else {
			plain = append(plain, c)
		}
	}
	return plain, links
}

// filtered applies conditions to a source with those columns.
func (p *planning) filtered(src exec.Source, f bind.From, columns []exec.Range,
	conds []exec.Expr) (exec.Source, error) {
	plain, links := plainConds(conds)
	// Conditions that look for rows elsewhere come last.
	wants := p.wants(plain)
	if len(wants) > 0 {
		slices.SortStableFunc(plain, func(a, b exec.Expr) int {
			return cmp.Compare(len(p.wants([]exec.Expr{a})), len(p.wants([]exec.Expr{b})))
		})
		cheap := slices.IndexFunc(plain, func(e exec.Expr) bool { return len(p.wants([]exec.Expr{e})) > 0 })
		if c := exec.And(plain[:cheap]); c != nil {
			src = &exec.Filter{Input: src, Cond: c}
		}
		src, plain = &joins.Ahead{Input: src, Columns: columns, Wants: wants}, plain[cheap:]
	}
	if c := exec.And(plain); c != nil {
		src = &exec.Filter{Input: src, Cond: c}
	}
	return p.linked(src, f, columns, links)
}

// linked joins a source with the sub-queries of conditions. f is nil if it is not one item of FROM.
func (p *planning) linked(src exec.Source, f bind.From, columns []exec.Range, links []exec.Expr) (exec.Source, error) {
	for _, c := range links {
		l := c.(*sublink)
		inner, err := p.build(l.inner)
		if err != nil {
			return nil, err
		}
		right := &exec.Derived{Plan: inner, Base: l.base, Width: l.inner.Keep, Lateral: true}
		j := &joins.Join{Kind: l.kind, Left: src, Right: right, LeftColumns: columns, RightFrom: l.base,
			RightTo: l.base + l.inner.Keep, NullAware: l.aware}
		var rest []exec.Expr
		for _, c := range l.conds {
			if x, y := l.equality(c); x != nil {
				j.LeftKeys, j.RightKeys = append(j.LeftKeys, x), append(j.RightKeys, y)
			} else {
				rest = append(rest, c)
			}
		}
		j.On = exec.And(rest)
		p.narrowLink(j, l, f, inner)
		src, f = j, nil
	}
	return src, nil
}

// narrowLink lets one side of the join be read by the keys of the other.
func (p *planning) narrowLink(j *joins.Join, l *sublink, f bind.From, inner exec.Plan) {
	if p.st.Reads.Follow || p.avoid.keys {
		return
	}
	if l.kind == "semi" {
		j.NarrowLeft = p.narrowing(j.Left, f, j.LeftKeys)
	}
	if l.aware || l.few && j.NarrowLeft != nil {
		return // it matters whether the right side has any rows
	}
	project, ok := inner.(*exec.Project)
	if !ok {
		return
	}
	keys := make([]exec.Expr, len(j.RightKeys))
	for i, k := range j.RightKeys {
		keys[i] = exec.NullOf(k.Type())
		if c, ok := k.(*exec.Col); ok {
			keys[i] = project.Exprs[c.Index-l.base]
		}
	}
	q := flat.Query(l.inner)
	if j.NarrowRight = p.narrowing(project.Input, q.From, keys); j.NarrowRight != nil {
		j.NarrowLeft = nil
	}
}
