package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// with binds the WITH list of a query. Each item sees those before it: their scopes are a chain, because a map for each
// would take quadratic memory. The items of WITH RECURSIVE see all items: one is bound when it is first referred to, or
// else in its turn.
func (b *binder) with(s *ast.Select, sc *scope) error {
	sc.ctes = make(map[string]*CTE, len(s.With))
	before := &scope{parent: sc.parent}
	all := &scope{parent: sc.parent, ctes: sc.ctes}
	sc.with = s.With
	list := make([]*CTE, len(s.With))
	for i := range s.With {
		c := &s.With[i]
		if sc.ctes[c.Name] != nil {
			return sqlstate.New(sqlstate.DuplicateAlias, `WITH query name "%s" specified more than once`,
				c.Name).At(c.Pos())
		}
		q, err := refuse.CTE(c)
		if err != nil {
			return err
		}
		bound := &CTE{sel: q, columns: c.Columns, scope: before, name: c.Name, at: c.Pos(), owner: sc, steps: b.steps,
			materialize: c.Materialize, Handle: &exec.CTE{Name: c.Name}, InStep: b.steps > 0}
		list[i] = bound
		if s.Recursive {
			bound.scope, sc.ctes[c.Name] = all, bound
			bound.recursive = q.Op == ast.Union && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil
			continue
		}
		if err := b.bindCTE(bound); err != nil {
			return err
		}
		sc.ctes[c.Name] = bound
		before = &scope{parent: before, ctes: map[string]*CTE{c.Name: bound}}
	}
	for _, c := range list {
		if c.Query == nil {
			if err := b.bindCTE(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindCTE binds an item of a WITH list.
func (b *binder) bindCTE(c *CTE) error {
	steps, volatile, around := b.steps, b.volatile, b.cte
	b.steps, b.cte, c.binding = c.steps, c, true
	q, err := b.cteQuery(c)
	c.Query, c.binding, c.volatile = q, false, b.volatile > volatile
	b.steps, b.cte = steps, around
	if err != nil {
		return err
	}
	if len(c.columns) > len(q.Columns) {
		return sqlstate.New(sqlstate.InvalidColumnReference,
			`WITH query "%s" has %d columns available but %d columns specified`, c.name, len(q.Columns),
			len(c.columns)).At(c.at)
	}
	owner := c.owner.query
	owner.Correlated = owner.Correlated || q.Correlated || c.InStep
	owner.Ctes = append(owner.Ctes, c)
	return nil
}

// recursiveRef returns the error for a reference to an item of WITH RECURSIVE that is being bound, outside the part of
// a UNION where that is allowed.
func (b *binder) recursiveRef(n *ast.Table, c *CTE) error {
	s := c.sel
	var clause string
	var at int
	switch {
	case c.recursive && slices.ContainsFunc(s.With, func(w ast.CTE) bool { return b.cte.name == w.Name }):
		return refuse.Recursion(c.name, "must not appear within a subquery").At(n.Pos())
	case b.cte != c:
		return sqlstate.Unsupported(c.at, "Write one of them into the other.",
			"mutual recursion between WITH items is not implemented")
	case c.recursive:
		return refuse.Recursion(c.name, "must not appear within its non-recursive term").At(n.Pos())
	case s.Op != ast.Union:
		return sqlstate.New(sqlstate.InvalidRecursion,
			`recursive query "%s" does not have the form non-recursive-term `+
				"UNION [ALL] recursive-term", c.name).At(c.at)
	case len(s.OrderBy) > 0:
		clause, at = "ORDER BY", ast.Start(s.OrderBy[0].Expr)
	case s.Offset != nil:
		clause, at = "OFFSET", ast.Start(s.Offset)
	default:
		clause, at = "LIMIT", ast.Start(s.Limit)
	}
	return sqlstate.Unsupported(at, "Put it around the WITH query.", "%s in a recursive query is not implemented",
		clause)
}

func (b *binder) findCTE(sc *scope, name string) (*CTE, *scope, error) {
	for s := sc; s != nil; s = s.parent {
		if c := s.ctes[name]; c != nil {
			return c, s, nil
		}
		if err := b.work.Spend(1); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, nil
}

// cteRef binds a reference to a WITH query. Within a recursive query the reference reads the rows of its last round.
func (b *binder) cteRef(n *ast.Table, c *CTE, in, sc *scope) (From, error) {
	alias := n.Alias.Name
	if alias == "" {
		alias = n.Name[0]
	}
	names := n.Columns
	if len(names) == 0 {
		names = c.columns
	}
	if c.Query == nil && c.work == nil {
		if c.binding {
			return nil, b.recursiveRef(n, c)
		}
		volatile := b.volatile // a reference does not make a query volatile
		if err := b.bindCTE(c); err != nil {
			return nil, err
		}
		b.volatile = volatile
	}
	if c.work != nil {
		if b.sublinks > c.sublinks {
			return nil, refuse.Recursion(c.name, "must not appear within a subquery").At(n.Pos())
		}
		if c.refs++; c.refs > 1 {
			return nil, refuse.Recursion(c.name, "must not appear more than once").At(n.Pos())
		}
		w := &WorkScan{Work: c.work, Base: sc.width, Width: len(c.result), Off: n.Pos()}
		return w, b.addRelation(sc, &relation{alias: alias, table: n.Name[0]}, c.result, names, n.Pos())
	}
	c.refs++
	if in != sc {
		c.deep++
	}
	if c.Query.Correlated || c.InStep {
		// A reference to its rows also refers to the rows around its WITH.
		for s := sc; s != nil && s != in; s = s.parent {
			if s.query != nil {
				s.query.Correlated = true
			}
		}
	}
	d := &DerivedScan{Query: c.Query, Cte: c, Name: alias, Base: sc.width, Off: n.Pos()}
	return d, b.addRelation(sc, &relation{alias: alias, table: n.Name[0]}, c.Query.Columns, names, n.Pos())
}

// ownRows finds the scan of a recursive query's last round among the items of a join.
func ownRows(f From) *WorkScan {
	switch n := f.(type) {
	case *WorkScan:
		return n
	case *Join:
		if w := ownRows(n.Left); w != nil {
			return w
		}
		return ownRows(n.Right)
	}
	return nil
}

// cteQuery binds a WITH query. Of a recursive one it first binds the part that does not refer to itself.
func (b *binder) cteQuery(c *CTE) (*Query, error) {
	if !c.recursive {
		return b.query(c.sel, c.scope)
	}
	s := c.sel
	// The sides see the WITH list of the UNION, which is not a level of its own at run time.
	list := &scope{parent: c.scope, query: &Query{}}
	if len(s.With) > 0 {
		if err := b.with(s, list); err != nil {
			return nil, err
		}
	}
	around := &scope{parent: c.scope, ctes: list.ctes}
	first, err := b.query(s.Left, around)
	if err != nil {
		return nil, err
	}
	self := *c
	self.work, self.result, self.refs, self.sublinks = &exec.WorkTable{Name: c.name}, first.Columns, 0, b.sublinks
	inner := &scope{parent: around}
	if list.ctes[c.name] == nil {
		inner.ctes = map[string]*CTE{c.name: &self}
	}
	b.steps++
	step, err := b.query(s.Right, inner)
	b.steps--
	if err != nil {
		return nil, err
	}
	if self.refs == 0 {
		// It is an ordinary UNION. As a recursive query it would return the same rows in every round and not end.
		c.recursive = false
		return b.query(c.sel, c.scope)
	}
	if len(step.Aggs) > 0 {
		return nil, sqlstate.New(sqlstate.InvalidRecursion,
			"aggregate functions are not allowed in a recursive query's recursive term").At(step.firstAgg)
	}
	if len(first.Columns) != len(step.Columns) {
		return nil, refuse.Syntax(s.Right.Pos(), "each UNION query must have the same number of columns")
	}
	for i, col := range first.Columns {
		overall := step.Columns[i].Type
		if step.open(i) {
			overall = col.Type
		}
		switch t := typing.CommonType(col.Type, overall); t {
		case col.Type:
		case 0:
			return nil, typing.Unmatched("UNION", col.Type, overall).At(naming.SetOpPlace(s.Right, i))
		default:
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				`recursive query "%s" column %d has type %s in non-recursive term but type %s overall`, c.name, i+1,
				types.NameOf(col.Type), types.NameOf(t)).At(naming.SetOpPlace(s.Left, i)).
				WithHint("Cast the output of the non-recursive term to the correct type.")
		}
		if c := step.Columns[i].Collation; c != col.Collation {
			return nil, collation.Unsupported(s.Right.Pos(), "a column of a recursive query that changes it")
		}
		if err := b.retype(step, i, col.Type, s.Right.Pos()); err != nil {
			return nil, err
		}
	}
	columns := slices.Clone(first.Columns)
	for i := range columns {
		columns[i].Origin = exec.Origin{} // its rows are computed
	}
	return &Query{Left: first, Right: step, UnionAll: s.All, Work: self.work, Columns: columns,
		Keep: len(first.Columns), user: first.user || step.user,
		follow: first.follow || step.follow, Ctes: list.query.Ctes,
		Correlated: first.Correlated || step.Correlated || list.query.Correlated}, nil
}
