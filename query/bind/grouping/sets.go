// Package grouping computes the grouping sets of GROUP BY: GROUPING SETS, ROLLUP and CUBE. Package bind binds their
// expressions, package exec groups the rows.
package grouping

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// PostgreSQL's limits for grouping sets.
const (
	maxSets = 4096
	maxCube = 12
)

// setsOf computes grouping sets.
type setsOf struct {
	key func(ast.Expr) (int, error) // binds an expression and returns the number of its key
}

// Sets returns the grouping sets of GROUP BY: the product of the sets of its items. A set is a list of the numbers that
// key returns for expressions. plain reports that there is no GROUPING SETS, ROLLUP or CUBE. spend counts the steps.
func Sets(s *ast.Select, key func(ast.Expr) (int, error), spend func(int) error) (sets [][]int, plain bool,
	err error) {
	x := &setsOf{key}
	all := [][]int{nil}
	plain = true
	for _, e := range s.GroupBy {
		sets, err := x.of(e)
		if err != nil {
			return nil, false, err
		}
		if _, ok := e.(*ast.GroupingSet); ok {
			plain = false
		}
		if len(all)*len(sets) > maxSets {
			return nil, false, tooManySets(e)
		}
		var product [][]int
		for _, a := range all {
			for _, b := range sets {
				product = append(product, union(a, b))
			}
			if err := spend(len(sets)); err != nil {
				return nil, false, err
			}
		}
		all = product
	}
	return all, plain, nil
}

// Distinct removes duplicate sets.
func Distinct(sets [][]int) [][]int {
	seen := map[string]bool{}
	return slices.DeleteFunc(sets, func(set []int) bool {
		key := setKey(set)
		dup := seen[key]
		seen[key] = true
		return dup
	})
}

func tooManySets(e ast.Expr) error {
	return sqlstate.New(sqlstate.StatementTooComplex, "too many grouping sets present (maximum %d)", maxSets).
		At(e.Pos())
}

// union returns the keys of both sets.
func union(a, b []int) []int {
	out := slices.Clone(a)
	for _, k := range b {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func setKey(set []int) string {
	set = slices.Clone(set)
	slices.Sort(set)
	var b strings.Builder
	for _, k := range set {
		b.WriteRune(rune(k))
	}
	return b.String()
}

// of returns the grouping sets of an item of GROUP BY. A plain expression is one set of one key.
func (x *setsOf) of(e ast.Expr) ([][]int, error) {
	set, ok := e.(*ast.GroupingSet)
	if !ok {
		keys, err := x.keysOf(e)
		return [][]int{keys}, err
	}
	if set.Kind == "grouping sets" {
		var out [][]int
		for _, it := range set.Items {
			inner, err := x.of(it)
			if err != nil {
				return nil, err
			}
			if out = append(out, inner...); len(out) > maxSets {
				return nil, tooManySets(e)
			}
		}
		return out, nil
	}
	items := make([][]int, len(set.Items))
	for i, it := range set.Items {
		var err error
		if items[i], err = x.keysOf(it); err != nil {
			return nil, err
		}
	}
	var out [][]int
	switch set.Kind {
	case "rollup":
		if len(items) >= maxSets {
			return nil, tooManySets(e)
		}
		for n := len(items); n >= 0; n-- {
			var keys []int
			for _, it := range items[:n] {
				keys = union(keys, it)
			}
			out = append(out, keys)
		}
	case "cube":
		if len(items) > maxCube {
			return nil, sqlstate.New(sqlstate.TooManyColumns, "CUBE is limited to %d elements", maxCube).At(e.Pos())
		}
		for mask := 1<<len(items) - 1; mask >= 0; mask-- {
			var keys []int
			for i, it := range items {
				if mask&(1<<i) != 0 {
					keys = union(keys, it)
				}
			}
			out = append(out, keys)
		}
	default:
		out = [][]int{nil}
	}
	return out, nil
}

// keysOf returns the keys of an expression, several for (a, b).
func (x *setsOf) keysOf(e ast.Expr) ([]int, error) {
	items := []ast.Expr{e}
	if row, ok := e.(*ast.Row); ok {
		items = row.Items
	}
	var out []int
	for _, it := range items {
		if row, ok := it.(*ast.Row); ok && it != e {
			inner, err := x.keysOf(row)
			if err != nil {
				return nil, err
			}
			out = union(out, inner)
			continue
		}
		k, err := x.key(it)
		if err != nil {
			return nil, err
		}
		out = union(out, []int{k})
	}
	return out, nil
}
