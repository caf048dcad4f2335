package bind

import (
	"fmt"
	"slices"
	"sync"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *binder) subquery(n *ast.Subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(n, sc)
	if err != nil {
		return nil, err
	}
	out := b.sub(string(n.Kind), q, n, sc)
	if n.Kind == "exists" {
		out.Typ, out.Text = types.Bool, "EXISTS (SubPlan)"
		return out, nil
	}
	if len(q.Columns) != 1 {
		return nil, refuse.Syntax(n.Pos(), "subquery must return only one column")
	}
	out.Typ, out.Mod, out.Collation = q.Columns[0].Type, q.Columns[0].Mod+1, q.Columns[0].Collation
	if n.Kind == "array" {
		if out.Typ = types.ArrayOf(out.Typ); out.Typ == 0 {
			return nil, typing.NoArray(q.Columns[0].Type, n.Pos())
		}
		out.Text = "ARRAY (SubPlan)"
	}
	return out, nil
}

// subplan binds the query of a sub-query. It refuses one that reads a feed without end.
func (b *binder) subplan(n *ast.Subquery, sc *scope) (*Query, error) {
	b.sublinks++
	start := len(b.outers)
	q, err := b.query(n.Query, sc)
	b.sublinks--
	if err != nil {
		return nil, err
	}
	q.outers = slices.Clip(b.outers[start:])
	if q.follow {
		return nil, sqlstate.Unsupported(n.Pos(), "Use changes, which ends at the present.",
			"sub-queries over changes_follow are not supported in expressions")
	}
	b.nested = b.nested || q.user
	return q, nil
}

// rowQuery binds (a, b) op (SELECT c, d), where the query returns at most one row.
func (b *binder) rowQuery(n *ast.Operator, row *ast.Row, s *ast.Subquery, sc *scope) (exec.Expr, error) {
	x, err := b.row(row, sc)
	if err != nil {
		return nil, err
	}
	q, err := b.subplan(s, sc)
	if err != nil {
		return nil, err
	}
	body, err := typing.MatchRow(&b.Open, n.Op, x.(*exec.RowExpr), q.Columns, n.Pos())
	out := b.sub("row", q, s, sc)
	out.Typ = types.Record
	return &exec.Let{X: out, Body: body}, err
}

// anyRow binds (a, b) op ANY|ALL (SELECT c, d). A row that differs from all is one that is not IN them, which is looked
// up.
func (b *binder) anyRow(n *ast.Quantified, x *exec.RowExpr, s *ast.Subquery, sc *scope) (exec.Expr, error) {
	if n.All && n.Op == "<>" {
		in := *n
		in.All, in.Op = false, "="
		if found, err := b.anyRow(&in, x, s, sc); err == nil {
			return &exec.Logic{Op: "not", Args: []exec.Expr{found}}, nil
		} // else the error is one of <>, below
	}
	q, err := b.subplan(s, sc)
	if err != nil {
		return nil, err
	}
	match, err := typing.MatchRow(&b.Open, n.Op, x, q.Columns, n.Pos())
	out := b.sub("any", q, n, sc)
	out.Typ, out.Match, out.Any = types.Bool, match, &exec.Any{Symbol: n.Op, All: n.All}
	out.Lookup = !n.All && typing.Hashed(match)
	out.Text = "(" + x.String() + " " + n.Op + " ANY (SubPlan))"
	return out, err
}

// sub returns an expression with a sub-query, which is planned when it is first run. n is the expression in the
// statement: it means the same as another one with the same text in the same query.
func (b *binder) sub(kind string, q *Query, n ast.Expr, sc *scope) *exec.Subquery {
	return &exec.Subquery{Kind: kind, Query: q, Correlated: q.Correlated, Off: n.Pos(), Text: "(SubPlan)",
		Identity: sync.OnceValue(func() string {
			return fmt.Sprintf("%p %d %s", sc.up(0).query, len(sc.rels), ast.Digest(n))
		}),
		Plan: func(st *exec.State) (exec.Plan, error) { return b.plan(q, st) }}
}

// quantified binds x op ANY|ALL (array or query).
func (b *binder) quantified(n *ast.Quantified, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	if s, ok := n.Y.(*ast.Subquery); ok && s.Kind == ast.Scalar {
		if _, row := n.X.(*ast.Row); row {
			return b.anyRow(n, x.(*exec.RowExpr), s, sc)
		}
		return b.anyQuery(n, x, s, sc)
	}
	y, err := b.anyArray(n, x, sc)
	if err != nil {
		return nil, err
	}
	elem := types.ElemOf(y.Type())
	if typing.Untyped(y) {
		// An open array gets the type of the other side.
		elem = x.Type()
		if elem == types.Unknown {
			elem = types.Text
		}
		switch {
		case elem == types.Name && funcs.Comparison(n.Op) == nil, elem == types.VarChar:
			elem = types.Text
		case types.IsReg(elem):
			elem = types.Oid
		}
		if y, err = b.Coerce(y, types.ArrayOf(elem), types.Implicit, n.Y.Pos()); err != nil {
			return nil, err
		}
	}
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.WrongObjectType,
			"op ANY/ALL (array) requires array on right side").At(n.Pos())
	}
	any, err := typing.AnyOp(&b.Open, n, x, elem)
	if err != nil {
		return nil, err
	}
	if err := any.Collate(n, y); err != nil {
		return nil, err
	}
	if want := any.Elem; want != elem {
		y = &exec.CastExpr{X: y, To: types.ArrayOf(want), Mod: -1, Off: n.Pos(), Hidden: true}
	}
	return &exec.Any{X: any.X, Array: y, Op: any.Func, Symbol: n.Op, All: n.All}, nil
}

// anyArray binds the array of x op ANY (array). In a comparison with jsonb its literals and parameters are read as
// jsonb.
func (b *binder) anyArray(n *ast.Quantified, x exec.Expr, sc *scope) (exec.Expr, error) {
	json := x.Type() == types.JSONB && funcs.Comparison(n.Op) != nil
	if a, ok := n.Y.(*ast.Array); ok && json && len(a.Items) > 0 {
		items, err := b.exprs(a.Items, sc)
		if err != nil {
			return nil, err
		}
		for i := range items {
			if items[i], err = b.AsJSON(items[i], n.Op, types.JSONB, a.Items[i].Pos()); err != nil {
				return nil, err
			}
		}
		return &exec.Array{Elem: types.JSONB, Items: items}, nil
	}
	y, err := b.expr(n.Y, sc)
	if err != nil || !json {
		return y, err
	}
	switch c := y.(type) {
	case *exec.Const:
		if c.Typ == types.Unknown {
			y, err = typing.LooseConst(c, types.JSONBArray)
			return y, sqlstate.Locate(err, n.Y.Pos())
		}
	case *exec.Param:
		if c.Typ == types.Unknown {
			return c, b.LooseParam(c, types.JSONBArray)
		}
	}
	return y, nil
}

func (b *binder) anyQuery(n *ast.Quantified, x exec.Expr, s *ast.Subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(s, sc)
	if err != nil {
		return nil, err
	}
	if len(q.Columns) != 1 {
		return nil, refuse.Syntax(n.Pos(), "subquery has too many columns")
	}
	any, err := typing.AnyOp(&b.Open, n, x, q.Columns[0].Type)
	if err != nil {
		return nil, err
	}
	if err := any.Collate(n, &exec.Col{Typ: q.Columns[0].Type, Collation: q.Columns[0].Collation}); err != nil {
		return nil, err
	}
	if any.Elem != q.Columns[0].Type {
		if err := b.retype(q, 0, any.Elem, s.Pos()); err != nil {
			return nil, err
		}
	}
	out := b.sub("any", q, n, sc)
	out.Typ, out.X = types.Bool, any.X
	out.Any = &exec.Any{Op: any.Func, Symbol: n.Op, All: n.All, Same: any.X.Type() == any.Elem}
	out.Lookup = any.Func == funcs.Comparison(n.Op) && (n.Op == "=" && !n.All || n.Op == "<>" && n.All)
	out.Text = "(" + any.X.String() + " " + n.Op + map[bool]string{false: " ANY", true: " ALL"}[n.All] + " (SubPlan))"
	return out, nil
}
