package bind

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

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
	if c.work != nil {
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
	if len(s.OrderBy) > 0 || s.Limit != nil || s.Offset != nil || len(s.With) > 0 {
		return nil, sqlstate.Unsupported(s.Pos(), "Put it around the WITH query.",
			"ORDER BY, LIMIT and WITH in a recursive query are not supported")
	}
	first, err := b.query(s.Left, c.scope)
	if err != nil {
		return nil, err
	}
	self := *c
	self.work, self.result = &exec.WorkTable{Name: c.name}, first.Columns
	inner := &scope{parent: c.scope, ctes: map[string]*CTE{c.name: &self}}
	b.steps++
	step, err := b.query(s.Right, inner)
	b.steps--
	if err != nil {
		return nil, err
	}
	if len(step.Aggs) > 0 {
		return nil, sqlstate.New(sqlstate.InvalidRecursion,
			"aggregate functions are not allowed in a recursive query's recursive term").At(s.Right.Pos())
	}
	if len(first.Columns) != len(step.Columns) {
		return nil, syntaxError(s.Right.Pos(), "each UNION query must have the same number of columns")
	}
	for i, col := range first.Columns {
		if commonType(col.Type, step.Columns[i].Type) == 0 {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				"recursive query %q column %d has type %s in non-recursive term but type %s overall",
				c.name, i+1, types.NameOf(col.Type), types.NameOf(step.Columns[i].Type)).At(s.Right.Pos())
		}
		if c := step.Columns[i].Collation; c != col.Collation {
			return nil, unsupportedCollation(s.Right.Pos(), "a column of a recursive query that changes it")
		}
		if err := b.retype(step, i, col.Type, s.Right.Pos()); err != nil {
			return nil, err
		}
	}
	return &Query{Left: first, Right: step, UnionAll: s.All, Work: self.work, Columns: first.Columns,
		Keep: len(first.Columns), user: first.user || step.user, Correlated: first.Correlated || step.Correlated}, nil
}
