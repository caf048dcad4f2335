package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// onlyWindow reports whether a name is an aggregate only with WITHIN GROUP, and a window function otherwise.
func onlyWindow(name string) bool { return window.Funcs[name] != nil }

// aggregate binds an aggregate over the rows of this query.
func (b *binder) aggregate(n *ast.Call, sc *scope) (exec.Expr, error) {
	switch {
	case sc.inAggregate:
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate function calls cannot be nested").At(n.Pos())
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in %s",
			sc.noAggregates).At(n.Pos())
	}
	inner := *sc
	inner.inAggregate = true
	c, typ, err := b.aggCall(n, &inner)
	if err != nil {
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
	oids := typing.TypesOf(c.Args)
	if name == "min" || name == "max" {
		switch oids[0] {
		case types.Bool, types.JSON, types.Record, types.UUID, types.Bytea:
			return nil, 0, typing.NoFunction(strings.Join(n.Name, "."), c.Args, n.Pos())
		}
		coll, err := collation.Comparison("<", n.Pos(), c.Args...)
		if err != nil {
			return nil, 0, err
		}
		if !coll.Bytes() {
			c.Agg = aggregates.Collated(c.Agg, coll)
		}
	}
	typ := c.Agg.Ret
	if c.Agg.RetOf != nil {
		typ = c.Agg.RetOf(append(typing.TypesOf(c.Direct), oids...))
	}
	if typ == 0 {
		return nil, 0, typing.NoArray(oids[0], n.Pos())
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
	if len(args) == 1 && typing.Untyped(args[0]) && slices.Contains(severalKinds, name) {
		return typing.Ambiguous(strings.Join(n.Name, "."), args, n.Pos())
	}
	if c.Agg = typing.ChooseAggregate(candidates, args); c.Agg == nil {
		return typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
	}
	if c.Agg.Ordered {
		return sqlstate.New(sqlstate.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", name).
			At(n.Pos())
	}
	c.Args, err = b.CoerceArgs(args, c.Agg.Args, false, n.Pos())
	return err
}

// severalKinds lists the aggregates with overloads for numbers and other values, or for arrays and items. A literal
// does not choose between them.
var severalKinds = []string{"sum", "avg", "bit_and", "bit_or", "bit_xor", "array_agg"}

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
		if a.Type() == types.JSON {
			return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an equality operator for type json").
				At(ast.Start(n.Args[i]))
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
	if e.Type() == types.JSON {
		return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an ordering operator for type json").
			At(ast.Start(it.Expr)).WithHint("Use an explicit ordering operator or modify the query.")
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
	all := append(slices.Clone(direct), sorted...)
	if candidates[0].Hypothetical {
		if len(direct) != len(sorted) {
			e := sqlstate.From(typing.NoFunction(strings.Join(n.Name, "."), all, n.Pos()))
			return e.WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments "+
				"(here %d) must match the number of ordering columns (here %d).", name, len(direct), len(sorted))
		}
		for i := range direct {
			both, _, err := b.Unify([]exec.Expr{sorted[i], direct[i]}, "WITHIN GROUP", n.Args[i].Pos())
			if err != nil {
				return err
			}
			direct[i], sorted[i] = both[1], both[0]
		}
		c.Agg = candidates[0]
	} else {
		if c.Agg = typing.ChooseAggregate(candidates, all); c.Agg == nil ||
			len(c.Agg.Args)-len(sorted) != len(direct) ||
			len(sorted) != 1 {
			return typing.NoFunction(strings.Join(n.Name, "."), all, n.Pos())
		}
		if all, err = b.CoerceArgs(all, c.Agg.Args, false, n.Pos()); err != nil {
			return err
		}
		direct, sorted = all[:len(direct)], all[len(direct):]
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
	name := n.Name[len(n.Name)-1]
	if typing.ChooseAggregate(funcs.Aggregates[name], args) != nil {
		return sqlstate.New(sqlstate.WrongObjectType,
			"%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", name).At(n.Pos())
	}
	if fn, _ := typing.Choose(funcs.Functions[name], args); fn != nil {
		return sqlstate.New(sqlstate.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function",
			name).At(n.Pos())
	}
	return typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
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
