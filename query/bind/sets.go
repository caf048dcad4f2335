package bind

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/query/bind/grouping"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxGrouping is PostgreSQL's limit for the arguments of GROUPING.
const maxGrouping = 31

var errGrouping = sqlstate.New(sqlstate.GroupingError,
	"arguments to GROUPING must be grouping expressions of the associated query level")

// GroupWidth returns the number of columns of the grouping: keys, aggregates, and the number of the grouping set.
func (q *Query) GroupWidth() int {
	n := len(q.Keys) + len(q.Aggs)
	if q.Sets != nil {
		n++
	}
	return n
}

// keys binds GROUP BY: its expressions and its grouping sets.
func (g *grouper) keys(s *ast.Select, targets []exec.Expr, names []exec.Column) error {
	g.keyText = map[string]int{}
	g.targets, g.names = targets, names
	sets, plain, err := grouping.Sets(s, g.key, g.b.work.Spend)
	if err != nil {
		return err
	}
	g.unfoldKeys()
	if plain || len(sets) == 1 && len(sets[0]) == len(g.q.Keys) {
		return nil
	}
	if s.GroupDistinct {
		sets = grouping.Distinct(sets)
	}
	g.q.Sets = sets
	return nil
}

// key binds an expression of GROUP BY. A number or an alias refers to an item of the select list; a column of FROM
// takes precedence over an alias.
func (g *grouper) key(e ast.Expr) (int, error) {
	key, err := g.keyExpr(e)
	if err != nil {
		return 0, err
	}
	var bad error
	exec.Walk(key, func(x exec.Expr) {
		switch n := x.(type) {
		case *refs.Agg:
			bad = sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in GROUP BY").At(n.Off)
		case *refs.Window:
			bad = sqlstate.New(sqlstate.WindowingError, "window functions are not allowed in GROUP BY").At(n.Off)
		}
	})
	if bad != nil {
		return 0, bad
	}
	if typing.Untyped(key) {
		if key, err = g.b.Coerce(key, types.Text, types.Implicit, e.Pos()); err != nil {
			return 0, err
		}
	}
	if !typing.Equatable(key.Type()) {
		return 0, typing.NoEquality(key.Type(), ast.Start(e))
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
	i, err := naming.OutputColumn(e, g.targets, g.names, "GROUP BY")
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

// groupingCall binds GROUPING(keys) of this query, or of the one around it that the keys belong to.
func (b *binder) groupingCall(n *ast.Call, sc *scope) (exec.Expr, error) {
	switch {
	case len(n.Args) > maxGrouping:
		return nil, sqlstate.New(sqlstate.TooManyArguments, "GROUPING must have fewer than 32 arguments").At(n.Pos())
	case len(n.Args) == 0:
		return nil, refuse.Syntax(n.Pos(), "syntax error: GROUPING needs an argument")
	}
	start := len(b.outers)
	r := &refs.Grouping{Off: n.Pos()}
	for _, a := range n.Args {
		e, err := b.expr(a, sc)
		if err != nil {
			return nil, err
		}
		r.Args, r.At = append(r.Args, e), append(r.At, ast.Start(a))
	}
	if depth := b.levelOf(&exec.AggCall{Args: r.Args}, sc); depth > 0 {
		b.outers = b.outers[:start]
		return b.outerGrouping(n, sc, depth)
	}
	switch {
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.GroupingError, "grouping operations are not allowed in %s", sc.noAggregates).
			At(n.Pos())
	case sc.inAggregate && !sc.inWindow:
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate function calls cannot be nested").At(n.Pos())
	}
	sc.query.grouping = n
	return r, nil
}

// grouping turns GROUPING() into an expression over the number of the grouping set.
func (g *grouper) grouping(r *refs.Grouping, bad *error) exec.Expr {
	masks, err := g.masks(r)
	if err != nil {
		*bad = cmp.Or(*bad, err)
		return r
	}
	if g.q.Sets == nil {
		return &exec.Const{D: types.NewInt(0), Typ: types.Int4}
	}
	number := &exec.Col{Index: g.q.GroupWidth() - 1, Typ: types.Int4, Name: "grouping set"}
	return r.Call(number, &masks)
}

// masks returns the value of GROUPING() for each grouping set. It has a bit for each argument, which is 1 if the set
// does not contain the argument. It is nil if there are no sets.
func (g *grouper) masks(r *refs.Grouping) ([]int64, error) {
	keys := make([]int, len(r.Args))
	for i, a := range r.Args {
		k, ok := g.keyText[exec.Key(a)]
		if !ok {
			return nil, sqlstate.Locate(errGrouping, r.At[i])
		}
		keys[i] = k
	}
	masks := make([]int64, len(g.q.Sets))
	for s, set := range g.q.Sets {
		for i, k := range keys {
			if !slices.Contains(set, k) {
				masks[s] |= 1 << (len(keys) - 1 - i)
			}
		}
	}
	return masks, nil
}
