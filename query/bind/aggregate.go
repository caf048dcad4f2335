package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// onlyWindow reports whether a name is an aggregate only with WITHIN GROUP, and a window function otherwise.
func onlyWindow(name string) bool { return window.Funcs[name] != nil }

// aggregate binds an aggregate over the rows of this query, or of the one that its arguments refer to.
func (b *binder) aggregate(n *ast.Call, sc *scope) (exec.Expr, error) {
	start := len(b.outers)
	inner := *sc
	inner.inAggregate = true
	c, typ, err := b.aggCall(n, &inner)
	if err == nil {
		if depth := b.levelOf(c, sc); depth > 0 {
			b.outers = b.outers[:start]
			return b.outerAggregate(n, sc, depth)
		}
	}
	switch {
	case sc.inAggregate:
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate function calls cannot be nested").At(n.Pos())
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in %s",
			sc.noAggregates).At(n.Pos())
	case err != nil:
		return nil, err
	}
	coll, err := collation.Merge(n.Pos(), c.Args...)
	if err != nil {
		return nil, err
	}
	if q := sc.query; len(q.Aggs) == 0 || n.Pos() < q.firstAgg {
		q.firstAgg = n.Pos()
	}
	key := refs.AggKey(c)
	if i, known := sc.query.aggKeys[key]; known && i < len(sc.query.Aggs) {
		return &refs.Agg{Index: i, Typ: typ, Text: c.Text, Off: n.Pos(), Coll: coll}, nil
	}
	if sc.query.aggKeys == nil {
		sc.query.aggKeys = map[string]int{}
	}
	sc.query.aggKeys[key] = len(sc.query.Aggs)
	sc.query.Aggs = append(sc.query.Aggs, *c)
	return &refs.Agg{Index: len(sc.query.Aggs) - 1, Typ: typ, Text: c.Text, Off: n.Pos(), Coll: coll}, nil
}

// aggCall resolves an aggregate's overload, arguments, filter and order. sc is the scope of the arguments.
func (b *binder) aggCall(n *ast.Call, sc *scope) (*exec.AggCall, types.OID, error) {
	name := n.Name[len(n.Name)-1]
	c := &exec.AggCall{Distinct: n.Distinct}
	var err error
	if n.Within {
		err = b.orderedSet(n, c, sc)
	} else {
		err = b.plainAggregate(n, c, sc)
	}
	if err != nil {
		return nil, 0, err
	}
	typ, err := typing.AggregateType(n, c)
	if err != nil {
		return nil, 0, err
	}
	if n.Filter != nil {
		within := *sc
		within.inAggregate, within.noAggregates = false, "FILTER"
		if c.Filter, err = b.condition(n.Filter, &within, "FILTER"); err != nil {
			return nil, 0, err
		}
	}
	if !n.Within {
		if err := b.aggregateOrder(n, c, sc); err != nil {
			return nil, 0, err
		}
	}
	c.Text = refs.AggText(name, n, c)
	return c, typ, nil
}

// plainAggregate resolves an aggregate without WITHIN GROUP.
func (b *binder) plainAggregate(n *ast.Call, c *exec.AggCall, sc *scope) error {
	name := n.Name[len(n.Name)-1]
	candidates := funcs.Aggregates[name]
	var args []exec.Expr
	var err error
	switch {
	case !n.Star:
		if args, err = b.exprs(n.Args, sc); err != nil {
			return err
		}
		if len(args) == 0 && slices.ContainsFunc(candidates, func(a *exec.Aggregate) bool { return len(a.Args) == 0 }) {
			return sqlstate.New(sqlstate.WrongObjectType,
				"%s(*) must be used to call a parameterless aggregate function",
				name).
				At(n.Pos())
		}
	case name != "count":
		return sqlstate.New(sqlstate.UndefinedFunction, "function %s() does not exist", name).At(n.Pos()).
			WithHint("No function matches the given name and argument types. You might need to add explicit " +
				"type casts.")
	}
	c.Agg, c.Args, err = typing.Aggregate(&b.Open, n.Name, args, n.Pos())
	return err
}

// aggregateOrder binds ORDER BY in the parentheses of an aggregate. DISTINCT sorts too, by the arguments.
func (b *binder) aggregateOrder(n *ast.Call, c *exec.AggCall, sc *scope) error {
	var keys []string
	for _, it := range n.Order {
		e, err := b.expr(it.Expr, sc)
		if err != nil {
			return err
		}
		if typing.Untyped(e) {
			if e, err = b.Coerce(e, types.Text, types.Implicit, it.Expr.Pos()); err != nil {
				return err
			}
		}
		if err := b.addOrder(c, e, it); err != nil {
			return err
		}
		keys = append(keys, exec.Key(e))
	}
	if !n.Distinct {
		return nil
	}
	var args []string
	for i, a := range c.Args {
		switch t := a.Type(); {
		case !typing.Equatable(t):
			return typing.NoEquality(t, ast.Start(n.Args[i]))
		case !typing.Sortable(t):
			return typing.NoOrder(t, ast.Start(n.Args[i]))
		}
		if cast, ok := a.(*exec.CastExpr); ok && cast.Hidden {
			a = cast.X // as it is written
		}
		args = append(args, exec.Key(a))
	}
	for i, k := range keys {
		if !slices.Contains(args, k) {
			return sqlstate.New(
				sqlstate.InvalidColumnReference,
				"in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
			).At(n.Order[i].Expr.Pos())
		}
	}
	for i, k := range args {
		if _, constant := c.Args[i].(*exec.Const); !constant && c.Agg.Sorted && !slices.Contains(keys, k) {
			if err := b.addOrder(c, c.Args[i], ast.OrderItem{Expr: n.Args[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addOrder sorts the input of an aggregate by an expression.
func (b *binder) addOrder(c *exec.AggCall, e exec.Expr, it ast.OrderItem) error {
	coll, err := b.sortCollation(e, it)
	if err != nil {
		return err
	}
	if !typing.Sortable(e.Type()) {
		return typing.NoOrder(e.Type(), ast.Start(it.Expr))
	}
	c.OrderKeys = append(c.OrderKeys, exec.SortKey{Index: len(c.Args) + len(c.Order), Desc: it.Desc,
		NullsFirst: it.NullsFirst, Collation: coll})
	c.Order = append(c.Order, e)
	return nil
}

// orderedSet resolves an aggregate with WITHIN GROUP. It has direct arguments and sorted ones.
func (b *binder) orderedSet(n *ast.Call, c *exec.AggCall, sc *scope) error {
	name := n.Name[len(n.Name)-1]
	candidates := funcs.Aggregates[name]
	if !candidates[0].Ordered {
		return b.notOrderedSet(n, sc)
	}
	direct, err := b.exprs(n.Args, sc)
	if err != nil {
		return err
	}
	var sorted []exec.Expr
	for _, it := range n.Order {
		e, err := b.expr(it.Expr, sc)
		if err != nil {
			return err
		}
		sorted = append(sorted, e)
	}
	if c.Agg, err = typing.OrderedSet(&b.Open, n, direct, sorted); err != nil {
		return err
	}
	c.Direct, c.Args = direct, sorted
	for i, e := range sorted {
		if err := b.addOrder(c, e, n.Order[i]); err != nil {
			return err
		}
	}
	return nil
}

// notOrderedSet returns the error for WITHIN GROUP after a function that is no ordered-set aggregate. PostgreSQL looks
// for a function of the direct and the sorted arguments together.
func (b *binder) notOrderedSet(n *ast.Call, sc *scope) error {
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return err
	}
	for _, it := range n.Order {
		e, err := b.expr(it.Expr, sc)
		if err != nil {
			return err
		}
		args = append(args, e)
	}
	return typing.NotOrderedSet(n, args)
}

// direct rewrites the direct arguments of ordered-set aggregates for the output of the grouping.
func (g *grouper) direct() error {
	for i := range g.q.Aggs {
		list := g.q.Aggs[i].Direct
		for j := range list {
			var err error
			if list[j], err = g.after(list[j]); err != nil {
				return sqlstate.From(err).WithDetail(
					"Direct arguments of an ordered-set aggregate must use only grouped columns.")
			}
		}
	}
	return nil
}
