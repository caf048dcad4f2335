package bind

import (
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// with binds the WITH list of a query. Each item sees those before it: their scopes are a chain, as a map for each
// would take quadratic room. The items of WITH RECURSIVE see all: one is bound when it is first named, or else in its
// turn.
func (b *binder) with(s *ast.Select, sc *scope) error {
	sc.ctes = make(map[string]*CTE, len(s.With))
	before := &scope{parent: sc.parent}
	all := &scope{parent: sc.parent, ctes: sc.ctes}
	list := make([]*CTE, len(s.With))
	for i := range s.With {
		c := &s.With[i]
		if sc.ctes[c.Name] != nil {
			return sqlstate.New(sqlstate.DuplicateAlias, "WITH query name %q specified more than once",
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
			bound.recursive = q.Op == ast.Union && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil &&
				len(q.With) == 0
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
	owner := c.owner.query
	owner.Correlated = owner.Correlated || q.Correlated || c.InStep
	owner.Ctes = append(owner.Ctes, c)
	return nil
}

// recursiveRef is the error for naming an item of WITH RECURSIVE while it is bound, other than in the part of a UNION
// that may name it.
func (b *binder) recursiveRef(n *ast.Table, c *CTE) error {
	s := c.sel
	clause, at := "", n.Pos()
	switch {
	case b.cte != c:
		return sqlstate.Unsupported(c.at, "Write one of them into the other.",
			"mutual recursion between WITH items is not implemented")
	case c.recursive:
		return recursionError(c.name, "must not appear within its non-recursive term").At(n.Pos())
	case s.Op != ast.Union:
		return sqlstate.New(sqlstate.InvalidRecursion, "recursive query %q does not have the form non-recursive-term "+
			"UNION [ALL] recursive-term", c.name).At(c.at)
	case len(s.OrderBy) > 0:
		clause, at = "ORDER BY", startOf(s.OrderBy[0].Expr)
	case s.Offset != nil:
		clause, at = "OFFSET", startOf(s.Offset)
	case s.Limit != nil:
		clause, at = "LIMIT", startOf(s.Limit)
	default:
		clause = "WITH"
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

// cteRef names a common table expression. Inside of itself a recursive one is the rows of its last round.
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
		volatile := b.volatile // what names it is not volatile for that
		if err := b.bindCTE(c); err != nil {
			return nil, err
		}
		b.volatile = volatile
	}
	if c.work != nil {
		if b.sublinks > c.sublinks {
			return nil, recursionError(c.name, "must not appear within a subquery").At(n.Pos())
		}
		if c.refs++; c.refs > 1 {
			return nil, recursionError(c.name, "must not appear more than once").At(n.Pos())
		}
		w := &WorkScan{Work: c.work, Base: sc.width, Width: len(c.result), Off: n.Pos()}
		return w, b.addRelation(sc, &relation{alias: alias}, c.result, names, n.Pos())
	}
	c.refs++
	if in != sc {
		c.deep++
	}
	if c.Query.Correlated || c.InStep {
		// What looks at its rows looks at the rows around its WITH.
		for s := sc; s != nil && s != in; s = s.parent {
			if s.query != nil {
				s.query.Correlated = true
			}
		}
	}
	d := &DerivedScan{Query: c.Query, Cte: c, Name: alias, Base: sc.width}
	return d, b.addRelation(sc, &relation{alias: alias}, c.Query.Columns, names, n.Pos())
}

// recursionError is the error for a query that names itself where it may not.
func recursionError(name, what string) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidRecursion, "recursive reference to query %q %s", name, what)
}

// ownRows finds the rows of a recursive query's last round among the items of a join.
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

// cteQuery binds the query of a common table expression; of a recursive one first the part that does not name itself.
func (b *binder) cteQuery(c *CTE) (*Query, error) {
	if !c.recursive {
		return b.query(c.sel, c.scope)
	}
	s := c.sel
	first, err := b.query(s.Left, c.scope)
	if err != nil {
		return nil, err
	}
	self := *c
	self.work, self.result, self.refs, self.sublinks = &exec.WorkTable{Name: c.name}, first.Columns, 0, b.sublinks
	inner := &scope{parent: c.scope, ctes: map[string]*CTE{c.name: &self}}
	b.steps++
	step, err := b.query(s.Right, inner)
	b.steps--
	if err != nil {
		return nil, err
	}
	if self.refs == 0 {
		// It is a UNION as any other, whose rows would be the same in every round for ever.
		c.recursive = false
		return b.query(c.sel, c.scope)
	}
	if len(step.Aggs) > 0 {
		return nil, sqlstate.New(sqlstate.InvalidRecursion,
			"aggregate functions are not allowed in a recursive query's recursive term").At(s.Right.Pos())
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
			return nil, sqlstate.New(sqlstate.DatatypeMismatch, "UNION types %s and %s cannot be matched",
				types.NameOf(col.Type), types.NameOf(overall)).At(setOpPlace(s.Right, i))
		default:
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				"recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall", c.name, i+1,
				types.NameOf(col.Type), types.NameOf(t)).At(setOpPlace(s.Left, i)).
				WithHint("Cast the output of the non-recursive term to the correct type.")
		}
		if c := step.Columns[i].Collation; c != col.Collation {
			return nil, collation.Unsupported(s.Right.Pos(), "a column of a recursive query that changes it")
		}
		if err := b.retype(step, i, col.Type, s.Right.Pos()); err != nil {
			return nil, err
		}
	}
	return &Query{Left: first, Right: step, UnionAll: s.All, Work: self.work, Columns: first.Columns,
		Keep: len(first.Columns), user: first.user || step.user, Correlated: first.Correlated || step.Correlated}, nil
}
