package typing

import (
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// Like binds x LIKE pattern ESCAPE escape, ILIKE and SIMILAR TO for their operands; ESCAPE may be missing.
func Like(o *Open, n *ast.Like, args []exec.Expr) (exec.Expr, error) {
	op := map[string]string{"like": "~~", "ilike": "~~*", "similar": "similar to"}[n.Kind]
	pattern, bytes := args[1], args[1].Type() == types.Bytea
	if len(args) > 2 {
		bytes = bytes || args[2].Type() == types.Bytea
	} else {
		bytes = bytes || args[0].Type() == types.Bytea
	}
	if op == "~~" && bytes {
		if len(args) > 2 {
			fn, err := Choose(funcs.Functions["like_escape"], args[1:])
			if fn == nil || err != nil {
				return nil, NoFunction("pg_catalog.like_escape", args[1:], n.Pos())
			}
			escaped, err := o.CoerceArgs(args[1:], fn.Args, false, n.Pos())
			if err != nil {
				return nil, err
			}
			pattern = &exec.Call{Func: fn, Args: escaped, Typ: types.Bytea, Off: n.Pos()}
		}
		if n.Not {
			op = "!~~"
		}
		return o.Operator(op, []exec.Expr{args[0], pattern}, n.Pos())
	}
	other, symbol := pattern.Type(), op
	if n.Kind == "similar" && !Untyped(pattern) && !implicit(other, types.Text) {
		return nil, NoFunction("pg_catalog.similar_to_escape", args[1:], n.Pos())
	}
	if len(args) > 2 || n.Kind == "similar" {
		other = types.Text // the result of like_escape and similar_to_escape
	}
	if n.Kind == "similar" {
		symbol = "~"
	}
	if n.Not {
		symbol = "!" + symbol
	}
	x, err := o.TextOperand(args[0], symbol, other, n.Pos())
	if err != nil {
		return nil, err
	}
	if pattern, err = o.Coerce(pattern, types.Text, types.Implicit, n.Pattern.Pos()); err != nil {
		return nil, err
	}
	list := []exec.Expr{x, pattern}
	if len(args) > 2 {
		esc, err := o.Coerce(args[2], types.Text, types.Implicit, n.Escape.Pos())
		if err != nil {
			return nil, err
		}
		list = append(list, esc)
	}
	if err := collation.Casing(op, n.Pos(), list...); err != nil {
		return nil, err
	}
	list = collation.Withouts(list)
	var e exec.Expr = &exec.Call{Func: texts.LikeFunc(op), Args: list, Typ: types.Bool, Off: n.Pos(), Op: op}
	if n.Not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	return e, nil
}
