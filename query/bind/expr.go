package bind

import (
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// condition binds an expression that must be boolean.
func (b *binder) condition(e ast.Expr, sc *scope, clause string) (exec.Expr, error) {
	x, err := b.expr(e, sc)
	if err != nil {
		return nil, err
	}
	if t := x.Type(); t != types.Bool && t != types.Unknown {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of %s must be type boolean, not type %s", clause,
			types.NameOf(t)).At(e.Pos())
	}
	return b.Coerce(x, types.Bool, types.Implicit, e.Pos())
}

func (b *binder) exprs(list []ast.Expr, sc *scope) ([]exec.Expr, error) {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = b.expr(e, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *binder) expr(e ast.Expr, sc *scope) (exec.Expr, error) {
	if err := b.enter(e.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	switch n := e.(type) {
	case *ast.Literal:
		return b.literal(n)
	case *ast.Param:
		return b.param(n)
	case *ast.Column:
		return b.column(n, sc)
	case *ast.Operator:
		return b.operator(n, sc)
	case *ast.Logic:
		args := make([]exec.Expr, len(n.Args))
		for i, a := range n.Args {
			var err error
			if args[i], err = b.condition(a, sc, strings.ToUpper(n.Op)); err != nil {
				return nil, err
			}
			if hasSets(args[i]) {
				return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of %s must not return a set",
					strings.ToUpper(n.Op)).At(startOf(a))
			}
		}
		return &exec.Logic{Op: n.Op, Args: args}, nil
	case *ast.IsTest:
		return b.isTest(n, sc)
	case *ast.InList:
		return b.inList(n, sc)
	case *ast.Between:
		return b.between(n, sc)
	case *ast.Like:
		return b.like(n, sc)
	case *ast.Quantified:
		return b.quantified(n, sc)
	case *ast.Case:
		return b.caseExpr(n, sc)
	case *ast.Cast:
		return b.cast(n, sc)
	case *ast.Collate:
		return b.collate(n, sc)
	case *ast.Call:
		return b.call(n, sc)
	case *ast.Array:
		return b.array(n, sc)
	case *ast.Row:
		return b.row(n, sc)
	case *ast.Subscript:
		return b.subscript(n, sc)
	case *ast.Field:
		return b.field(n, sc)
	case *ast.Subquery:
		return b.subquery(n, sc)
	case *ast.Default:
		return nil, refuse.Syntax(n.Pos(), "DEFAULT is not allowed in this context")
	}
	return nil, refuse.Syntax(e.Pos(), "syntax error")
}

func (b *binder) literal(n *ast.Literal) (exec.Expr, error) {
	var c *exec.Const
	switch n.Kind {
	case ast.Null:
		c = exec.NullOf(types.Unknown)
	case ast.Boolean:
		c = &exec.Const{D: types.NewBool(n.Text == "true"), Typ: types.Bool}
	case ast.Integer, ast.Number:
		// The type is the narrowest of integer, bigint and numeric.
		if n.Kind == ast.Integer {
			for _, t := range []types.OID{types.Int4, types.Int8} {
				if d, err := types.ParseText(n.Text, t, nil); err == nil {
					return &exec.Const{D: d, Typ: t}, nil
				}
			}
		}
		d, err := types.ParseText(n.Text, types.Numeric, nil)
		if err != nil {
			return nil, sqlstate.Locate(err, n.Pos())
		}
		c = &exec.Const{D: d, Typ: types.Numeric}
	case ast.Bits:
		return nil, sqlstate.Unsupported(n.Pos(), "Use a number or bytea.", "bit strings are not supported")
	default:
		c = &exec.Const{D: types.NewText(n.Text), Typ: types.Unknown}
	}
	b.Literals[c] = n.Pos()
	return c, nil
}

func (b *binder) param(n *ast.Param) (exec.Expr, error) {
	for len(b.Params) < n.Number {
		b.Params = append(b.Params, 0)
	}
	p := &exec.Param{Index: n.Number - 1, Typ: types.Unknown}
	if t := b.Params[n.Number-1]; t != 0 {
		p.Typ = t
	}
	b.ParamNodes[p.Index] = append(b.ParamNodes[p.Index], p)
	return p, nil
}
