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
			types.NameOf(t)).At(ast.Start(e))
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
		return b.Literal(n)
	case *ast.Param:
		return b.Param(n), nil
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
					strings.ToUpper(n.Op)).At(ast.Start(a))
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
