package typing

import (
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
)

// Mod returns the type modifier of an expression, such as the 10 and the 2 of a numeric(10,2), or -1 if it has none.
// Results are described with it (exprTypmod in PostgreSQL's nodeFuncs.c). column returns that of a column.
func Mod(e exec.Expr, column func(*exec.Col) int32) int32 {
	one := func(x exec.Expr) int32 { return Mod(x, column) }
	switch n := e.(type) {
	case *exec.Col:
		return column(n)
	case *exec.CastExpr:
		return n.Mod
	case *exec.Const:
		return n.Mod - 1
	case *exec.Collate:
		return one(n.X)
	case *exec.Let:
		return one(n.Body)
	case *exec.Subquery:
		return n.Mod - 1
	case *exec.Coalesce:
		return sharedMod(n.Args, one)
	case *exec.Array:
		return sharedMod(n.Items, one)
	case *exec.Case:
		if n.Else == nil {
			return -1
		}
		results := []exec.Expr{n.Else}
		for _, w := range n.Whens {
			results = append(results, w.Result)
		}
		return sharedMod(results, one)
	case *exec.Call:
		if f := n.Func; f == funcs.ArrayItem || f == funcs.ArraySlice {
			return one(n.Args[0])
		}
	}
	return -1
}

// sharedMod returns the modifier that all of list have, or -1 if they differ.
func sharedMod(list []exec.Expr, of func(exec.Expr) int32) int32 {
	if len(list) == 0 {
		return -1
	}
	mod := of(list[0])
	if slices.ContainsFunc(list[1:], func(e exec.Expr) bool { return of(e) != mod }) {
		return -1
	}
	return mod
}

// SharedMod returns the common modifier of two columns, -1 if they differ.
func SharedMod(l, r exec.Column) int32 {
	if l.Type == r.Type && l.Mod == r.Mod {
		return l.Mod
	}
	return -1
}
