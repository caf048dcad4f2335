package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// boundOrder is an item of ORDER BY: an index into the select list, or an expression.
type boundOrder struct {
	index     int
	expr      exec.Expr
	item      ast.OrderItem
	collation *types.Collation
}

// orderBy binds ORDER BY. A number or an alias refers to a column of the result; anything else is an expression over
// FROM.
func (b *binder) orderBy(s *ast.Select, sc *scope, targets []exec.Expr, names []exec.Column) ([]boundOrder, error) {
	var out []boundOrder
	var keys map[string]int
	defer sc.withSets()()
	for _, it := range s.OrderBy {
		if err := b.work.Spend(len(names)); err != nil {
			return nil, err
		}
		i, err := naming.OutputColumn(it.Expr, targets, names, "ORDER BY")
		if err != nil {
			return nil, err
		}
		o := boundOrder{index: i, item: it}
		if i < 0 {
			if o.expr, err = b.expr(it.Expr, sc); err != nil {
				return nil, err
			}
			if typing.Untyped(o.expr) {
				if o.expr, err = b.Coerce(o.expr, types.Text, types.Implicit, it.Expr.Pos()); err != nil {
					return nil, err
				}
			}
			if o.collation, err = b.sortCollation(o.expr, it); err != nil {
				return nil, err
			}
			o.expr = collation.WithoutBytes(o.expr)
			if keys == nil {
				keys = typing.KeysOf(targets)
			}
			if j, ok := keys[exec.Key(o.expr)]; ok {
				o.index = j
				drop(o.expr)
			}
		} else if o.collation, err = b.sortCollation(targets[i], it); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// sortCollation returns the collation of an item of ORDER BY, nil for byte order, and checks the operator of USING.
func (b *binder) sortCollation(e exec.Expr, it ast.OrderItem) (*types.Collation, error) {
	if it.Using == "" {
		return collation.Sort(e, it.Expr.Pos())
	}
	operand := &exec.Col{Typ: e.Type()}
	if err := b.operatorSchema(it.Using, it.UsingAt.Pos()); err != nil {
		return nil, err
	}
	if _, err := b.Operator(it.Using, []exec.Expr{operand, operand}, it.UsingAt.Pos()); err != nil {
		return nil, err
	}
	switch it.Using {
	case "<", ">":
		return collation.Sort(e, it.Expr.Pos())
	case "~<~", "~>~":
		return nil, nil
	}
	return nil, sqlstate.New(sqlstate.WrongObjectType, "operator %s is not a valid ordering operator", it.Using).
		At(it.UsingAt.Pos()).WithHint(`Ordering operators must be "<" or ">" members of btree operator families.`)
}

// distinctOn binds DISTINCT ON. Its expressions must be the first ones of ORDER BY.
func (b *binder) distinctOn(s *ast.Select, sc *scope, g *grouper) error {
	q := sc.query
	if s.Distinct && s.DistinctOn == nil {
		for i, c := range q.Columns {
			if !typing.Equatable(c.Type) {
				return typing.NoEqualityIn(s, i, c.Type)
			}
		}
	}
	var keys map[string]int
	for _, e := range s.DistinctOn {
		if err := b.work.Spend(q.Keep); err != nil {
			return err
		}
		i, err := naming.OutputColumn(e, q.Targets[:q.Keep], q.Columns, "DISTINCT ON")
		if err != nil {
			return err
		}
		if i < 0 {
			x, err := b.distinctKey(e, sc, g)
			if err != nil {
				return err
			}
			if keys == nil {
				keys = typing.KeysOf(q.Targets)
			}
			var known bool
			key := exec.Key(x)
			if i, known = keys[key]; !known {
				i = len(q.Targets)
				q.Targets = append(q.Targets, x)
				keys[key] = i
			} else {
				drop(x)
			}
		}
		if t := q.Targets[i].Type(); !typing.Equatable(t) {
			return typing.NoEquality(t, ast.Start(e))
		}
		q.DistinctOn = append(q.DistinctOn, i)
	}
	for i := range min(len(q.Order), len(q.DistinctOn)) {
		if !slices.Contains(q.DistinctOn, q.Order[i].Index) {
			return sqlstate.New(sqlstate.InvalidColumnReference,
				"SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(ast.Start(s.DistinctOn[0]))
		}
	}
	return nil
}

// distinctKey binds an expression of DISTINCT ON that is not a column of the result. Functions that return rows in it
// must also be in the select list.
func (b *binder) distinctKey(e ast.Expr, sc *scope, g *grouper) (exec.Expr, error) {
	defer sc.withSets()()
	sets := len(g.q.SetFuncs)
	x, err := b.expr(e, sc)
	if err != nil {
		return nil, err
	}
	fresh := len(g.q.SetFuncs) > sets || typing.Holds(x, func(x exec.Expr) bool {
		ref, ok := x.(*refs.Set)
		return ok && (ref.Index >= len(g.moved) || g.moved[ref.Index] < 0)
	})
	if fresh {
		g.q.SetFuncs = g.q.SetFuncs[:sets]
		return nil, sqlstate.Unsupported(e.Pos(), "Call it in the select list too.",
			"a set-returning function in DISTINCT ON that is not in the select list is not supported")
	}
	if g.q.Group {
		if x, err = g.after(x); err != nil {
			return nil, err
		}
	}
	return g.place(x), nil
}

// limits binds LIMIT and OFFSET, which must not refer to rows.
func (b *binder) limits(s *ast.Select, q *Query, sc *scope) (err error) {
	if n, ok := s.Limit.(*ast.Literal); ok && s.WithTies && n.Kind == ast.Null {
		return sqlstate.New(sqlstate.InvalidRowCountInLimit,
			"row count cannot be null in FETCH FIRST ... WITH TIES clause").At(n.Pos())
	}
	bindOne := func(e ast.Expr, what string) (exec.Expr, error) {
		if e == nil {
			return nil, nil
		}
		alone := &scope{parent: sc.parent, rels: sc.rels, query: &Query{}, noAggregates: what}
		x, err := b.expr(e, alone)
		if err != nil {
			return nil, err
		}
		q.Correlated = q.Correlated || alone.query.Correlated
		if x, err = typing.RowsOffset(&b.Open, x, what, ast.Start(e)); err != nil {
			return nil, err
		}
		return x, typing.NoVariables(x, what, b.columns, e.Pos())
	}
	if q.Limit, err = bindOne(s.Limit, "LIMIT"); err == nil {
		q.Skip, err = bindOne(s.Offset, "OFFSET")
	}
	q.WithTies = s.WithTies
	return err
}

// orderByColumns binds the ORDER BY of a set operation or VALUES, which may only refer to columns of the result.
func (b *binder) orderByColumns(s *ast.Select, q *Query, sc *scope) error {
	for _, it := range s.OrderBy {
		i, err := naming.OutputColumn(it.Expr, make([]exec.Expr, q.Keep), nil, "ORDER BY")
		if err != nil {
			return err
		}
		if c, ok := it.Expr.(*ast.Column); ok && i < 0 && len(c.Parts) == 1 {
			i = slices.IndexFunc(q.Columns, func(col exec.Column) bool { return col.Name == c.Parts[0] })
		}
		if i < 0 {
			// The columns it refers to must exist all the same.
			over := &scope{parent: sc.parent, query: &Query{}}
			if err := b.addRelation(over, &relation{}, q.Columns, nil, it.Expr.Pos()); err != nil {
				return err
			}
			if _, err := b.expr(it.Expr, over); err != nil {
				return err
			}
			return sqlstate.Unsupported(ast.Start(it.Expr),
				"Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
				"invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
				WithDetail("Only result column names can be used, not expressions or functions.")
		}
		col := &exec.Col{Index: i, Typ: q.Columns[i].Type, Name: q.Columns[i].Name, Collation: q.Columns[i].Collation}
		coll, err := b.sortCollation(col, it)
		if err != nil {
			return err
		}
		k := exec.SortKey{Index: i, Desc: it.Desc, NullsFirst: it.NullsFirst, Collation: coll}
		q.Order, q.OrderNames = append(q.Order, k), append(q.OrderNames, k.Text(col))
	}
	return nil
}
