package bind

import (
	"strconv"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// computesOrder says that ORDER BY has more than names and numbers of columns.
func computesOrder(s *ast.Select) bool {
	for _, it := range s.OrderBy {
		switch n := it.Expr.(type) {
		case *ast.Column:
			if len(n.Parts) != 1 {
				return true
			}
		case *ast.Literal:
		default:
			return true
		}
	}
	return false
}

// values binds VALUES: every column has the type that its items agree on.
func (b *binder) values(s *ast.Select, sc *scope) (*Query, error) {
	if computesOrder(s) {
		rows := *s
		rows.With, rows.OrderBy, rows.Limit, rows.Offset = nil, nil, nil, nil
		return b.sel(&ast.Select{At: s.At, Targets: []ast.Target{{Expr: &ast.Column{At: s.At, Star: true}}},
			From:    []ast.FromItem{&ast.Derived{At: s.At, Query: &rows, Alias: ast.Alias{Name: "*VALUES*"}}},
			OrderBy: s.OrderBy, Limit: s.Limit, Offset: s.Offset}, sc)
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
		column, typ, err := b.Unify(column, "VALUES", s.Pos())
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
			exec.Column{Name: "column" + strconv.Itoa(i+1), Type: typ, Mod: -1, Collation: coll.Column()})
	}
	if err := b.orderByColumns(s, q, sc); err != nil {
		return nil, err
	}
	var err error
	q.Limit, q.Skip, err = b.limits(s, sc)
	return q, err
}

// setOpPlace is where PostgreSQL reports that a column of a side does not fit: at its expression.
func setOpPlace(s *ast.Select, i int) int {
	for s.Op != "" {
		s = s.Left
	}
	switch {
	case len(s.Values) > 0:
		return s.Values[0][min(i, len(s.Values[0])-1)].Pos()
	case len(s.Targets) > 0:
		return s.Targets[min(i, len(s.Targets)-1)].Expr.Pos()
	}
	return s.Pos()
}

// union binds both sides of UNION, INTERSECT or EXCEPT and brings their columns to common types.
func (b *binder) union(s *ast.Select, sc *scope) (*Query, error) {
	// The sides see the WITH list of the whole, which is no level of its own at run time.
	around := &scope{parent: sc.parent, ctes: sc.ctes}
	left, err := b.query(s.Left, around)
	if err != nil {
		return nil, err
	}
	right, err := b.query(s.Right, around)
	if err != nil {
		return nil, err
	}
	q := sc.query
	q.Left, q.Right, q.Op, q.UnionAll = left, right, s.Op, s.All
	q.user, q.Correlated = left.user || right.user, left.Correlated || right.Correlated
	if len(left.Columns) != len(right.Columns) {
		return nil, refuse.Syntax(setOpPlace(s.Right, 0), "each %s query must have the same number of columns", s.Op)
	}
	for i := range left.Columns {
		l, r := left.Columns[i], right.Columns[i]
		// A column of literals alone has no type yet.
		lt, rt := l.Type, r.Type
		if left.open(i) {
			lt = types.Unknown
		}
		if right.open(i) {
			rt = types.Unknown
		}
		t := typing.CommonType(lt, rt)
		if t == 0 {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch, "%s types %s and %s cannot be matched", s.Op,
				types.NameOf(l.Type), types.NameOf(r.Type)).At(setOpPlace(s.Right, i))
		}
		if t == types.Unknown {
			t = types.Text
		}
		if err := b.retype(left, i, t, setOpPlace(s.Left, i)); err != nil {
			return nil, err
		}
		if err := b.retype(right, i, t, setOpPlace(s.Right, i)); err != nil {
			return nil, err
		}
		q.Columns = append(q.Columns,
			exec.Column{Name: l.Name, Type: t, Mod: sharedMod(l, r),
				Collation: collation.Union(l.Collation, r.Collation)})
	}
	q.Keep = len(q.Columns)
	if err := b.orderByColumns(s, q, sc); err != nil {
		return nil, err
	}
	q.Limit, q.Skip, err = b.limits(s, sc)
	return q, err
}

// sharedMod is the modifier of a column that two columns make: that of both, -1 where they differ.
func sharedMod(l, r exec.Column) int32 {
	if l.Type == r.Type && l.Mod == r.Mod {
		return l.Mod
	}
	return -1
}

// open says that a column has only literals that were made text for want of anything better.
func (q *Query) open(i int) bool {
	all := func(e exec.Expr) bool {
		c, ok := e.(*exec.Const)
		return ok && !c.Typed && (c.Typ == types.Unknown || c.Typ == types.Text)
	}
	switch {
	case q.Left != nil:
		return false
	case q.Values != nil:
		for _, row := range q.Values {
			if !all(row[i]) {
				return false
			}
		}
		return true
	}
	return all(q.Targets[i])
}

// retype casts a column of a union's side.
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
