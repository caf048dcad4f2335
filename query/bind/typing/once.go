package typing

import (
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
)

// smallExpr is the most nodes that an expression may have to be duplicated.
const smallExpr = 12

// Once returns x for a body that uses it several times. A small x that is not volatile is used several times. Any other
// x is computed once, and wrap puts its computation around the body. Planning still sees all columns that it can make
// use of.
func (o *Open) Once(x exec.Expr, off int) (it exec.Expr, wrap func(exec.Expr) exec.Expr, err error) {
	if Repeatable(x) {
		return x, func(body exec.Expr) exec.Expr { return body }, nil
	}
	coll, err := collation.Of(x, off)
	if err != nil {
		return nil, nil, err
	}
	it = &exec.It{Typ: x.Type(), Collation: coll.Column(), Explicit: coll.Strength == collation.Explicit}
	return it, func(body exec.Expr) exec.Expr { return &exec.Let{X: x, Body: body} }, nil
}

// Repeatable reports whether x is small and always has the same value.
func Repeatable(x exec.Expr) bool {
	nodes := 0
	return !Holds(x, func(e exec.Expr) bool {
		nodes++
		switch n := e.(type) {
		case *exec.Call:
			return n.Func.Volatility == exec.Volatile || nodes > smallExpr
		case *exec.Subquery, *exec.Let:
			return true
		}
		return nodes > smallExpr
	})
}

// Holds reports whether f is true for a node of e.
func Holds(e exec.Expr, f func(exec.Expr) bool) bool {
	found := false
	exec.Walk(e, func(x exec.Expr) { found = found || f(x) })
	return found
}
