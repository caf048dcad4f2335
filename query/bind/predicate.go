package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *binder) isTest(n *ast.IsTest, sc *scope) (exec.Expr, error) {
	if n.What == "normalized" {
		call := &ast.Call{At: n.At, Name: []string{"pg_catalog", "is_normalized"}, Args: []ast.Expr{n.X}}
		if n.Y != nil {
			call.Args = append(call.Args, n.Y)
		}
		x, err := b.call(call, sc)
		if n.Not && err == nil {
			x = &exec.Logic{Op: "not", Args: []exec.Expr{x}}
		}
		return x, err
	}
	if n.What == "document" {
		return nil, sqlstate.Unsupported(n.Pos(), "Use IS NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM.",
			"IS %s is not supported", strings.ToUpper(n.What))
	}
	if n.What != "distinct" {
		if n.What == "null" {
			x, err := b.expr(n.X, sc)
			if err == nil && typing.Untyped(x) {
				x, err = b.Coerce(x, types.Text, types.Implicit, n.Pos())
			}
			return &exec.Is{What: n.What, Not: n.Not, X: x}, err
		}
		x, err := b.condition(n.X, sc, "IS "+strings.ToUpper(n.What))
		return &exec.Is{What: n.What, Not: n.Not, X: x}, err
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	y, err := b.expr(n.Y, sc)
	if err != nil {
		return nil, err
	}
	l, isRow := x.(*exec.RowExpr)
	if r, both := y.(*exec.RowExpr); isRow && both {
		return b.DistinctRows(n.Not, l, r, n.Pos())
	}
	return typing.Distinct(&b.Open, n.Not, x, y, n.Pos())
}

func (b *binder) inList(n *ast.InList, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	list, err := b.exprs(n.List, sc)
	if err != nil {
		return nil, err
	}
	if row, ok := x.(*exec.RowExpr); ok && !slices.ContainsFunc(list, func(e exec.Expr) bool {
		_, ok := e.(*exec.RowExpr)
		return !ok
	}) {
		return b.RowsIn(n.Not, row, list, n.Pos())
	}
	json := x.Type() == types.JSONB
	for _, e := range list {
		json = json || e.Type() == types.JSONB
	}
	if json {
		if x, err = b.AsJSON(x, "=", types.JSONB, n.Pos()); err != nil {
			return nil, err
		}
		for i := range list {
			if list[i], err = b.AsJSON(list[i], "=", types.JSONB, n.List[i].Pos()); err != nil {
				return nil, err
			}
		}
		return exec.NewIn(n.Not, x, list)
	}
	all := append([]exec.Expr{x}, list...)
	t, misfit := typing.Common(all)
	if misfit >= 0 || typing.ComparedType("=", x.Type(), t) != t ||
		len(list) == 1 && typing.ComparedType("=", x.Type(), list[0].Type()) != t {
		return typing.InEach(&b.Open, n.Not, x, list, n.Pos())
	}
	if all, _, err = b.Unify(all, "IN", n.Pos()); err != nil {
		return nil, err
	}
	if _, err := collation.Comparison("=", n.Pos(), all...); err != nil {
		return nil, err
	}
	all = collation.Withouts(all)
	return exec.NewIn(n.Not, all[0], all[1:])
}

func (b *binder) between(n *ast.Between, sc *scope) (exec.Expr, error) {
	parts, err := b.exprs([]ast.Expr{n.X, n.Low, n.High}, sc)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(parts, hasSets) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of AND must not return a set").At(ast.Start(n.X))
	}
	// Compute once what is used twice: the operand, and the bounds if they are symmetric.
	twice := 1
	if n.Symmetric {
		twice = 3
	}
	var wraps []func(exec.Expr) exec.Expr
	for i := range parts[:twice] {
		it, wrap, err := b.Once(parts[i], n.Pos())
		if err != nil {
			return nil, err
		}
		if _, wrapped := it.(*exec.It); wrapped {
			for _, outer := range parts[:i] {
				if o, ok := outer.(*exec.It); ok {
					o.Depth++
				}
			}
		}
		parts[i], wraps = it, append(wraps, wrap)
	}
	within := func(low, high exec.Expr) (exec.Expr, error) {
		ge, err := b.Compare(">=", parts[0], low, n.Pos())
		if err != nil {
			return nil, err
		}
		le, err := b.Compare("<=", parts[0], high, n.Pos())
		return &exec.Logic{Op: "and", Args: []exec.Expr{ge, le}}, err
	}
	e, err := within(parts[1], parts[2])
	if err == nil && n.Symmetric {
		var other exec.Expr
		other, err = within(parts[2], parts[1])
		e = &exec.Logic{Op: "or", Args: []exec.Expr{e, other}}
	}
	if err != nil {
		return nil, err
	}
	if n.Not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	for _, wrap := range slices.Backward(wraps) {
		e = wrap(e)
	}
	return e, nil
}

func (b *binder) like(n *ast.Like, sc *scope) (exec.Expr, error) {
	list := []ast.Expr{n.X, n.Pattern}
	if n.Escape != nil {
		list = append(list, n.Escape)
	}
	args, err := b.exprs(list, sc)
	if err != nil {
		return nil, err
	}
	return typing.Like(&b.Open, n, args)
}

// row binds ROW(...). relation.* expands to all columns.
func (b *binder) row(n *ast.Row, sc *scope) (exec.Expr, error) {
	out := &exec.RowExpr{}
	for _, it := range n.Items {
		x, err := b.expr(it, sc)
		if err != nil {
			return nil, err
		}
		if c, ok := it.(*ast.Column); ok && c.Star {
			if row, ok := x.(*exec.RowExpr); ok {
				out.Items = append(out.Items, row.Items...)
				continue
			}
		}
		// A parameter stays open for what the row is compared with.
		if c, ok := x.(*exec.Const); ok && c.Typ == types.Unknown {
			at := b.LiteralOffset(c, n.Pos())
			out.Literals = append(out.Literals, len(out.Items))
			if x, err = b.Coerce(x, types.Text, types.Implicit, n.Pos()); err != nil {
				return nil, err
			}
			if c, ok := x.(*exec.Const); ok {
				b.Literals[c] = at
			}
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}
