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

// Order returns conditions that all must hold, the cheapest first. Conditions of one cost keep their order.
func Order(conds []exec.Expr) []exec.Expr {
	if len(conds) < 2 {
		return conds
	}
	costs := make(map[exec.Expr]float64, len(conds))
	for _, c := range conds {
		costs[c] = cost(c)
	}
	out := slices.Clone(conds)
	slices.SortStableFunc(out, func(a, b exec.Expr) int { return cmp.Compare(costs[a], costs[b]) })
	return out
}

// cost returns how many functions of PostgreSQL a condition calls for a row if no part of it is left out.
func cost(e exec.Expr) float64 {
	sum, rows := 0.0, false
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Call, *exec.Distinct:
			sum++
		case *exec.CastExpr:
			sum += cast(n.X.Type(), n.To, n.Mod)
		case *exec.In:
			sum += items(len(n.List))
		case *exec.Any:
			sum += arrayLen(n.Array) / 2
		case *exec.RowCompare:
			sum++
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

// items is the cost of comparing with a list, of which half is looked at.
func items(n int) float64 {
	if n == 1 {
		return 1 // a plain comparison
	}
	return float64(n) / 2
}

// arrayLen returns the number of items of an array, or what PostgreSQL assumes if it is not known.
func arrayLen(e exec.Expr) float64 {
	switch n := e.(type) {
	case *exec.Array:
		return float64(len(n.Items))
	case *exec.Const:
		if a := n.D.Array(); !n.D.IsNull() && a != nil {
			return float64(len(a.Items))
		}
	}
	return 10
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
