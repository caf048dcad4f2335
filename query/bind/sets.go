package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// PostgreSQL's limits of grouping sets.
const (
	maxSets     = 4096
	maxCube     = 12
	maxGrouping = 31
)

var errGrouping = sqlstate.New(sqlstate.GroupingError,
	"arguments to GROUPING must be grouping expressions of the associated query level")

// GroupWidth is how many columns the grouping gives: keys, aggregates, and the number of the grouping set.
func (q *Query) GroupWidth() int {
	n := len(q.Keys) + len(q.Aggs)
	if q.Sets != nil {
		n++
	}
	return n
}

// keys binds GROUP BY: its expressions and its grouping sets, which are multiplied with each other.
func (g *grouper) keys(s *ast.Select, targets []exec.Expr, names []exec.Column) error {
	g.keyText = map[string]int{}
	g.targets, g.names = targets, names
	all := [][]int{nil}
	plain := true
	for _, e := range s.GroupBy {
		sets, err := g.sets(e)
		if err != nil {
			return err
		}
		if _, ok := e.(*ast.GroupingSet); ok {
			plain = false
		}
		if len(all)*len(sets) > maxSets {
			return tooManySets(e)
		}
		var product [][]int
		for _, a := range all {
			for _, b := range sets {
				product = append(product, union(a, b))
			}
			if err := g.b.work.Spend(len(sets)); err != nil {
				return err
			}
		}
		all = product
	}
	g.unfoldKeys()
	if plain || len(all) == 1 && len(all[0]) == len(g.q.Keys) {
		return nil
	}
	if s.GroupDistinct {
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(set []int) bool {
			key := setKey(set)
			dup := seen[key]
			seen[key] = true
			return dup
		})
	}
	g.q.Sets = all
	return nil
}

func tooManySets(e ast.Expr) error {
	return sqlstate.New(sqlstate.StatementTooComplex, "too many grouping sets present (maximum %d)", maxSets).
		At(e.Pos())
}

// union is a set of the keys of both.
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

// sets are the grouping sets that an item of GROUP BY means. A plain expression is one set of one key.
func (g *grouper) sets(e ast.Expr) ([][]int, error) {
	set, ok := e.(*ast.GroupingSet)
	if !ok {
		keys, err := g.keysOf(e)
		return [][]int{keys}, err
	}
	if set.Kind == "grouping sets" {
		var out [][]int
		for _, it := range set.Items {
			inner, err := g.sets(it)
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
		if items[i], err = g.keysOf(it); err != nil {
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

// keysOf are the keys of an expression, several for (a, b).
func (g *grouper) keysOf(e ast.Expr) ([]int, error) {
	items := []ast.Expr{e}
	if row, ok := e.(*ast.Row); ok {
		items = row.Items
	}
	var out []int
	for _, it := range items {
		if row, ok := it.(*ast.Row); ok && it != e {
			inner, err := g.keysOf(row)
			if err != nil {
				return nil, err
			}
			out = union(out, inner)
			continue
		}
		k, err := g.key(it)
		if err != nil {
			return nil, err
		}
		out = union(out, []int{k})
	}
	return out, nil
}

// key binds an expression of GROUP BY: a number or an alias means an item of the select list; a column of FROM goes
// before an alias.
func (g *grouper) key(e ast.Expr) (int, error) {
	key, err := g.keyExpr(e)
	if err != nil {
		return 0, err
	}
	var bad error
	exec.Walk(key, func(x exec.Expr) {
		switch n := x.(type) {
		case *aggRef:
			bad = sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in GROUP BY").At(n.off)
		case *winRef:
			bad = sqlstate.New(sqlstate.WindowingError, "window functions are not allowed in GROUP BY").At(n.off)
		}
	})
	if bad != nil {
		return 0, bad
	}
	if untyped(key) {
		if key, err = g.b.coerce(key, types.Text, types.Implicit, e.Pos()); err != nil {
			return 0, err
		}
	}
	if key.Type() == types.JSON {
		return 0, sqlstate.New(sqlstate.UndefinedFunction, "could not identify an equality operator for type json").
			At(e.Pos())
	}
	k := exec.Key(key)
	i, known := g.keyText[k]
	if !known {
		i = len(g.q.Keys)
		g.keyText[k] = i
		g.q.Keys = append(g.q.Keys, key)
	}
	return i, nil
}

func (g *grouper) keyExpr(e ast.Expr) (exec.Expr, error) {
	if c, ok := e.(*ast.Column); ok && len(c.Parts) == 1 && !c.Star {
		if x, err := g.b.columnIn(c, g.sc); x != nil || err != nil {
			return x, err
		}
	}
	i, err := outputColumn(e, g.targets, g.names, "GROUP BY")
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		return g.targets[i], nil
	}
	before := len(g.q.Aggs)
	saved := g.sc.noAggregates
	g.sc.noAggregates = "GROUP BY"
	defer g.sc.withSets()()
	key, err := g.b.expr(e, g.sc)
	g.sc.noAggregates = saved
	g.q.Aggs = g.q.Aggs[:before]
	return key, err
}

// groupingRef stands for GROUPING() until the keys are known.
type groupingRef struct {
	args []exec.Expr
	at   []int
	off  int
}

func (r *groupingRef) Type() types.OID { return types.Int4 }
func (r *groupingRef) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "GROUPING outside of a grouping")
}

func (r *groupingRef) String() string {
	parts := make([]string, len(r.args))
	for i, a := range r.args {
		parts[i] = exec.Key(a)
	}
	return "GROUPING(" + strings.Join(parts, ", ") + ")"
}

// groupingCall binds GROUPING(keys).
func (b *binder) groupingCall(n *ast.Call, sc *scope) (exec.Expr, error) {
	switch {
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.GroupingError, "grouping operations are not allowed in %s", sc.noAggregates).
			At(n.Pos())
	case sc.inAggregate && !sc.inWindow:
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate function calls cannot be nested").At(n.Pos())
	case len(n.Args) > maxGrouping:
		return nil, sqlstate.New(sqlstate.TooManyArguments, "GROUPING must have fewer than 32 arguments").At(n.Pos())
	case len(n.Args) == 0:
		return nil, syntaxError(n.Pos(), "syntax error: GROUPING needs an argument")
	}
	r := &groupingRef{off: n.Pos()}
	for _, a := range n.Args {
		e, err := b.expr(a, sc)
		if err != nil {
			return nil, err
		}
		r.args, r.at = append(r.args, e), append(r.at, a.Pos())
	}
	sc.query.grouping = n
	return r, nil
}

// grouping makes GROUPING() an expression over the number of the set: a bit for each argument, which is set where the
// set does not have it.
func (g *grouper) grouping(r *groupingRef, bad *error) exec.Expr {
	keys := make([]int, len(r.args))
	for i, a := range r.args {
		k, ok := g.keyText[exec.Key(a)]
		if !ok {
			if *bad == nil {
				*bad = sqlstate.Locate(errGrouping, r.at[i])
			}
			return r
		}
		keys[i] = k
	}
	if g.q.Sets == nil {
		return &exec.Const{D: types.NewInt(0), Typ: types.Int4}
	}
	masks := make([]int64, len(g.q.Sets))
	for s, set := range g.q.Sets {
		for i, k := range keys {
			if !slices.Contains(set, k) {
				masks[s] |= 1 << (len(keys) - 1 - i)
			}
		}
	}
	number := &exec.Col{Index: g.q.GroupWidth() - 1, Typ: types.Int4, Name: "grouping set"}
	return &exec.Call{Func: &exec.Func{Name: "grouping", Args: []types.OID{types.Int4}, Ret: types.Int4,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) { return types.NewInt(masks[a[0].I]), nil }},
		Args: []exec.Expr{number}, Typ: types.Int4, Off: r.off}
}
