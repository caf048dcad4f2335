// Package quals orders the conditions of a WHERE by what they cost for a row. PostgreSQL does so (order_qual_clauses in
// its planner), and statements depend on it: a cast that fails for some documents comes after a cheaper condition that
// leaves these documents out, wherever the two are written.
package quals

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// subquery is the cost of a condition with a sub-query that runs for each row, or that may become a join: more than
// that of any expression. Those conditions keep their order.
const subquery = 1e9

// Order returns conditions that all must hold, the cheapest first. Conditions of one cost keep their order, but
// equalities come after the others, as PostgreSQL collects them in equivalence classes, which it adds at the end.
func Order(conds []exec.Expr) []exec.Expr {
	conds = factored(conds)
	if len(conds) < 2 {
		return conds
	}
	type place struct {
		cost float64
		last int
	}
	places := make(map[exec.Expr]place, len(conds))
	for _, c := range conds {
		at := place{cost: cost(c)}
		if equality(c) {
			at.last = 1
		}
		places[c] = at
	}
	out := slices.Clone(conds)
	slices.SortStableFunc(out, func(x, y exec.Expr) int {
		a, b := places[x], places[y]
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.last, b.last))
	})
	return out
}

// equality reports whether a condition is an equality of values that can be sorted and are the same each time.
func equality(e exec.Expr) bool {
	n, ok := e.(*exec.Call)
	if !ok || n.Op != "=" || len(n.Args) != 2 {
		return false
	}
	for _, a := range n.Args {
		switch a.Type() {
		case types.Xid, types.Cid, types.AclItem:
			return false
		}
	}
	stable := true
	exec.Walk(e, func(x exec.Expr) {
		if c, ok := x.(*exec.Call); ok && c.Func.Volatility == exec.Volatile {
			stable = false
		}
	})
	return stable
}

// cost returns how many functions of PostgreSQL a condition calls for a row if no part of it is left out
// (cost_qual_eval_walker in its costsize.c). Subscripts are none.
func cost(e exec.Expr) float64 {
	sum, rows := 0.0, false
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Call:
			if !n.Subscript {
				sum++
			}
		case *exec.Const:
			if n.Of != nil {
				sum += cost(n.Of)
			}
		case *exec.Distinct:
			if k, ok := n.Y.(*exec.Const); !ok || !k.D.IsNull() {
				sum++ // else it is IS NOT NULL
			}
		case *exec.CastExpr:
			sum += castOf(n)
		case *exec.In:
			sum += in(n)
		case *exec.Any:
			_, constant := n.Array.(*exec.Const)
			sum += items(arrayLen(n.Array), constant && (n.Symbol == "=" && !n.All || n.Symbol == "<>" && n.All))
		case *exec.RowCompare:
			sum += float64(len(n.X))
		case *exec.Case:
			sum -= repeated(n)
		case *exec.Coalesce:
			if n.Op != "coalesce" {
				sum++
			}
		case *exec.Subquery:
			if n.Correlated || n.Kind == "any" {
				rows = true
			}
		}
	})
	if rows {
		return subquery
	}
	return sum
}

// repeated is the cost of what a CASE computes twice because it is NULLIF, which is one function.
func repeated(n *exec.Case) float64 {
	if len(n.Whens) != 1 || n.Else == nil {
		return 0
	}
	eq, ok := n.Whens[0].Cond.(*exec.Call)
	null, is := n.Whens[0].Result.(*exec.Const)
	if !ok || !is || !null.D.IsNull() || eq.Op != "=" || exec.Key(eq.Args[0]) != exec.Key(n.Else) {
		return 0
	}
	return cost(n.Else)
}

// in is the cost of comparing with a list, beside those of the list and of one computation of the value. PostgreSQL
// makes an array of several items that do not depend on the row, and compares with each other item separately.
func in(n *exec.In) float64 {
	fixed, constants := 0, 0
	for _, item := range n.List {
		varies := false
		exec.Walk(item, func(x exec.Expr) {
			c, ok := x.(*exec.Col)
			varies = varies || ok && c.Depth == 0
		})
		if _, ok := item.(*exec.Const); ok {
			constants++
		}
		if !varies {
			fixed++
		}
	}
	if fixed < 2 {
		return float64(len(n.List)) + float64(len(n.List)-1)*cost(n.X)
	}
	others := float64(len(n.List) - fixed)
	return items(float64(fixed), constants == fixed) + others + others*cost(n.X)
}

// minHashed is the length from which on PostgreSQL looks up a constant array by hashes: one for the value, and one
// comparison.
const minHashed = 9

// items is the cost of comparing with an array, of which half is looked at.
func items(n float64, hashed bool) float64 {
	if hashed && n >= minHashed {
		return 2
	}
	return n / 2
}

// arrayLen returns the number of items of an array, or what PostgreSQL assumes if it is not known.
func arrayLen(e exec.Expr) float64 {
	switch n := e.(type) {
	case *exec.Array:
		return float64(len(n.Items))
	case *exec.CastExpr:
		if types.ElemOf(n.X.Type()) != 0 {
			return arrayLen(n.X)
		}
	case *exec.Const:
		if n.D.IsNull() {
			return 0
		}
		if a := n.D.Array(); a != nil {
			return float64(len(a.Items))
		}
	}
	return 10
}

// castOf is the cost of a cast; that of an array casts each item.
func castOf(n *exec.CastExpr) float64 {
	if from, to := types.ElemOf(n.X.Type()), types.ElemOf(n.To); from != 0 && to != 0 {
		return arrayLen(n.X) * cast(from, to, n.Mod)
	}
	return cast(n.X.Type(), n.To, n.Mod)
}

// cast is 0 for types with the same form, 2 for a cast by the text of a value, and 1 for others, which have a function.
func cast(from, to types.OID, mod int32) float64 {
	plain := func(t types.OID) bool { return t == types.Text || t == types.VarChar }
	switch {
	case from == to || plain(from) && plain(to):
		if mod > 0 {
			return 1
		}
		return 0
	case types.IsString(from) && types.IsString(to):
		return 1
	case types.IsString(from) || types.IsString(to):
		return 2
	}
	return 1
}
