package bind

import (
	"slices"
	"strconv"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// values binds VALUES. Every column has the common type of its items.
func (b *binder) values(s *ast.Select, sc *scope) (*Query, error) {
	if naming.ComputesOrder(s) {
		rows := *s
		rows.With, rows.OrderBy, rows.Limit, rows.WithTies, rows.Offset = nil, nil, nil, false, nil
		return b.sel(&ast.Select{At: s.At, Targets: []ast.Target{{Expr: &ast.Column{At: s.At, Star: true}}},
			From:    []ast.FromItem{&ast.Derived{At: s.At, Query: &rows, Alias: ast.Alias{Name: "*VALUES*"}}},
			OrderBy: s.OrderBy, Limit: s.Limit, WithTies: s.WithTies,
			Offset: s.Offset}, sc)
	}
	q := sc.query
	sc.noAggregates = "VALUES"
	for _, row := range s.Values {
		items, err := b.exprs(row, sc)
		if err != nil {
			return nil, err
		}
		q.Values = append(q.Values, items)
	}
	q.Keep = len(q.Values[0])
	for i := range q.Values[0] {
		column := make([]exec.Expr, len(q.Values))
		for j, row := range q.Values {
			column[j] = row[i]
		}
		off := s.Pos()
		if j := typing.Misfit(column); j >= 0 {
			off = ast.Start(s.Values[j][i])
		}
		column, typ, err := b.Unify(column, "VALUES", off)
		if err != nil {
			return nil, err
		}
		for j := range q.Values {
			q.Values[j][i] = column[j]
		}
		coll, err := collation.Merge(s.Pos(), column...)
		if err != nil {
			return nil, err
		}
		q.Columns = append(q.Columns,
			exec.Column{Name: "column" + strconv.Itoa(i+1), Type: typ, Mod: modOf(&exec.Array{Items: column}, sc),
				Collation: coll.Column()})
	}
	if err := b.orderByColumns(s, q, sc); err != nil {
		return nil, err
	}
	return q, b.limits(s, q, sc)
}

// union binds both sides of UNION, INTERSECT or EXCEPT and casts their columns to common types.
func (b *binder) union(s *ast.Select, sc *scope) (*Query, error) {
	// The sides see the WITH list of the whole. This scope is not a level at run time.
	around := &scope{parent: sc.parent, ctes: sc.ctes}
	b.side = true
	left, err := b.query(s.Left, around)
	if err != nil {
		return nil, err
	}
	b.side = true
	right, err := b.query(s.Right, around)
	if err != nil {
		return nil, err
	}
	q := sc.query
	q.Left, q.Right, q.Op, q.UnionAll = left, right, s.Op, s.All
	q.user, q.follow = left.user || right.user, left.follow || right.follow
	q.Correlated = left.Correlated || right.Correlated
	if len(left.Columns) != len(right.Columns) {
		return nil, refuse.Syntax(naming.SetOpPlace(s.Right, 0),
			"each %s query must have the same number of columns", s.Op)
	}
	for i := range left.Columns {
		l, r := left.Columns[i], right.Columns[i]
		// A column that has only literals has no type yet.
		lt, rt := l.Type, r.Type
		if left.open(i) {
			lt = types.Unknown
		}
		if right.open(i) {
			rt = types.Unknown
		}
		t := typing.CommonType(lt, rt)
		switch {
		case t == 0, types.CastContext(rt, t) != types.Implicit:
			return nil, typing.Unmatched(string(s.Op), l.Type, r.Type).At(naming.SetOpPlace(s.Right, i))
		case types.CastContext(lt, t) != types.Implicit:
			return nil, typing.Unmatched(string(s.Op), t, l.Type).At(naming.SetOpPlace(s.Left, i))
		}
		if t == types.Unknown {
			t = types.Text
		}
		if !typing.Equatable(t) && !(s.All && s.Op == ast.Union) {
			return nil, typing.NoEquality(t, naming.SetOpPlace(s.Left, i))
		}
		if err := b.retype(left, i, t, naming.SetOpPlace(s.Left, i)); err != nil {
			return nil, err
		}
		if err := b.retype(right, i, t, naming.SetOpPlace(s.Right, i)); err != nil {
			return nil, err
		}
		q.Columns = append(q.Columns,
			exec.Column{Name: l.Name, Type: t, Mod: typing.SharedMod(l, r), Fields: l.Fields,
				Collation: collation.Union(l.Collation, r.Collation)})
	}
	q.Keep = len(q.Columns)
	if err := b.orderByColumns(s, q, sc); err != nil {
		return nil, err
	}
	return q, b.limits(s, q, sc)
}

// open reports whether a column has only literals that are text by default, or a parameter without a type.
func (q *Query) open(i int) bool {
	if q.Left != nil || q.Values != nil || q.Distinct || slices.Contains(q.DistinctOn, i) ||
		slices.ContainsFunc(q.Order, func(k exec.SortKey) bool { return k.Index == i }) {
		return false // VALUES, DISTINCT and ORDER BY have made them texts
	}
	return typing.TextByDefault(q.Targets[i])
}

// retype casts a column of one side of a set operation.
func (b *binder) retype(q *Query, i int, t types.OID, off int) error {
	change := func(e exec.Expr) (exec.Expr, error) {
		if c, ok := e.(*exec.Const); ok && c.Typ == types.Text && !c.Typed {
			e = &exec.Const{D: c.D, Typ: types.Unknown}
		}
		return b.Coerce(e, t, types.Implicit, off)
	}
	var err error
	switch {
	case q.Columns[i].Type == t && (q.Left != nil || q.Values != nil || q.Targets[i].Type() == t):
		return nil
	case q.Left != nil:
		if err = b.retype(q.Left, i, t, off); err == nil {
			err = b.retype(q.Right, i, t, off)
		}
	case q.Values != nil:
		for _, row := range q.Values {
			if row[i], err = change(row[i]); err != nil {
				break
			}
		}
	default:
		q.Targets[i], err = change(q.Targets[i])
	}
	q.Columns[i].Type = t
	return err
}
