package bind

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// aggRef stands for an aggregate until the expressions are moved behind the grouping; winRef for a window function.
type aggRef struct {
	index int
	typ   types.OID
	text  string
	off   int
	coll  collState
}

func (a *aggRef) Type() types.OID { return a.typ }
func (a *aggRef) String() string  { return a.text }
func (a *aggRef) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "aggregate outside of a grouping")
}

type winRef struct {
	index int
	typ   types.OID
	text  string
	coll  collState
}

func (w *winRef) Type() types.OID { return w.typ }
func (w *winRef) String() string  { return w.text }
func (w *winRef) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "window function outside of a window")
}

// aggregate binds an aggregate over the rows of this query.
func (b *binder) aggregate(n *ast.Call, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	switch {
	case sc.inAggregate:
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate function calls cannot be nested").At(n.Pos())
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in %s",
			sc.noAggregates).At(n.Pos())
	}
	c, typ, err := b.aggCall(n, sc)
	if err != nil {
		return nil, err
	}
	coll, err := mergeCollations(n.Pos(), c.Args...)
	if err != nil {
		return nil, err
	}
	key := aggKey(c)
	if i, known := sc.query.aggKeys[key]; known && i < len(sc.query.Aggs) {
		return &aggRef{i, typ, c.Text, n.Pos(), coll}, nil
	}
	if name == "count" && n.Star {
		c.Text = "count(*)"
	}
	if sc.query.aggKeys == nil {
		sc.query.aggKeys = map[string]int{}
	}
	sc.query.aggKeys[key] = len(sc.query.Aggs)
	sc.query.Aggs = append(sc.query.Aggs, *c)
	return &aggRef{len(sc.query.Aggs) - 1, typ, c.Text, n.Pos(), coll}, nil
}

// aggCall resolves an aggregate's overload, arguments, filter and order.
func (b *binder) aggCall(n *ast.Call, sc *scope) (*exec.AggCall, types.OID, error) {
	name := n.Name[len(n.Name)-1]
	inner := *sc
	inner.inAggregate = true
	var args []exec.Expr
	var err error
	if !n.Star {
		if args, err = b.exprs(n.Args, &inner); err != nil {
			return nil, 0, err
		}
		if len(args) == 0 {
			return nil, 0, sqlstate.New("42809", "%s(*) must be used to call a parameterless aggregate function", name).
				At(n.Pos())
		}
	} else if name != "count" {
		return nil, 0, sqlstate.New(sqlstate.UndefinedFunction, "function %s() does not exist", name).At(n.Pos())
	}
	var best *exec.Aggregate
	bestScore := -1
	for _, a := range funcs.Aggregates[name] {
		if s, ok := score(a.Args, false, args); ok && s > bestScore {
			best, bestScore = a, s
		}
	}
	if best == nil {
		oids := make([]string, len(args))
		for i, a := range args {
			oids[i] = types.NameOf(a.Type())
		}
		e := sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", name,
			strings.Join(oids, ", ")).At(n.Pos()).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
		return nil, 0, e
	}
	if args, err = b.coerceArgs(args, best.Args, false, n.Pos()); err != nil {
		return nil, 0, err
	}
	oids := make([]types.OID, len(args))
	for i, a := range args {
		oids[i] = a.Type()
	}
	if name == "min" || name == "max" {
		switch oids[0] {
		case types.Bool, types.JSON, types.Record:
			return nil, 0, sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", name,
				types.NameOf(oids[0])).At(n.Pos())
		}
		coll, err := comparisonCollation("<", n.Pos(), args...)
		if err != nil {
			return nil, 0, err
		}
		if !coll.Bytes() {
			best = funcs.Collated(best, coll)
		}
	}
	typ := best.Ret
	if best.RetOf != nil {
		typ = best.RetOf(oids)
	}
	c := &exec.AggCall{Agg: best, Args: args, Distinct: n.Distinct}
	c.Text = name + "("
	if n.Distinct {
		c.Text += "DISTINCT "
	}
	if n.Star {
		c.Text += "*"
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.String()
	}
	c.Text += strings.Join(parts, ", ") + ")"
	if n.Filter != nil {
		if c.Filter, err = b.condition(n.Filter, &inner, "FILTER"); err != nil {
			return nil, 0, err
		}
		c.Text += " FILTER (WHERE " + c.Filter.String() + ")"
	}
	for i, it := range n.Order {
		e, err := b.expr(it.Expr, &inner)
		if err != nil {
			return nil, 0, err
		}
		coll, err := sortCollation(e, it.Expr.Pos())
		if err != nil {
			return nil, 0, err
		}
		c.Order = append(c.Order, e)
		c.OrderKeys = append(c.OrderKeys,
			exec.SortKey{Index: len(args) + i, Desc: it.Desc, NullsFirst: it.NullsFirst, Collation: coll})
	}
	return c, typ, nil
}

// aggKey is the same for two aggregates that compute the same.
func aggKey(c *exec.AggCall) string {
	var b strings.Builder
	b.WriteString(c.Agg.Name)
	if c.Distinct {
		b.WriteString(" distinct")
	}
	for _, a := range c.Args {
		b.WriteString("|" + exec.Key(a))
	}
	if c.Filter != nil {
		b.WriteString("?" + exec.Key(c.Filter))
	}
	for i, o := range c.Order {
		b.WriteString("^" + exec.Key(o))
		if c.OrderKeys[i].Desc {
			b.WriteString("-")
		}
	}
	return b.String()
}

// grouper moves expressions from over the input of a grouping to over its output.
type grouper struct {
	b       *binder
	sc      *scope
	q       *Query
	keyText map[string]int
}

// keys binds GROUP BY: a number or an alias means an item of the select list; a column of FROM goes before an alias.
func (g *grouper) keys(s *ast.Select, targets []exec.Expr, names []exec.Column) error {
	g.keyText = map[string]int{}
	for _, e := range s.GroupBy {
		if _, ok := e.(*ast.GroupingSet); ok {
			continue // (), one group of all rows
		}
		var key exec.Expr
		if c, ok := e.(*ast.Column); ok && len(c.Parts) == 1 && !c.Star {
			x, err := g.b.columnIn(c, g.sc)
			if err != nil {
				return err
			}
			if x != nil {
				key = x
			}
		}
		if key == nil {
			i, err := outputColumn(e, targets, names, "GROUP BY")
			if err != nil {
				return err
			}
			if i >= 0 {
				key = targets[i]
			} else {
				before := len(g.q.Aggs)
				saved := g.sc.noAggregates
				g.sc.noAggregates = "GROUP BY"
				key, err = g.b.expr(e, g.sc)
				g.sc.noAggregates = saved
				if err != nil {
					return err
				}
				g.q.Aggs = g.q.Aggs[:before]
			}
		}
		var bad error
		exec.Walk(key, func(x exec.Expr) {
			if a, ok := x.(*aggRef); ok {
				bad = sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in GROUP BY").At(a.off)
			}
		})
		if bad != nil {
			return bad
		}
		if untyped(key) {
			var err error
			if key, err = g.b.coerce(key, types.Text, types.Implicit, e.Pos()); err != nil {
				return err
			}
		}
		if key.Type() == types.JSON {
			return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an equality operator for type json").At(e.Pos())
		}
		k := exec.Key(key)
		if _, dup := g.keyText[k]; !dup {
			g.keyText[k] = len(g.q.Keys)
			g.q.Keys = append(g.q.Keys, key)
		}
	}
	return nil
}

// after rewrites an expression for the output of the grouping: keys first, then aggregates.
func (g *grouper) after(e exec.Expr) (exec.Expr, error) {
	var bad error
	out := g.rewrite(e, &bad)
	return out, bad
}

// rewrite goes from the outside in, so that the largest expression that is a key is taken whole.
func (g *grouper) rewrite(e exec.Expr, bad *error) exec.Expr {
	if e == nil {
		return nil
	}
	if i, ok := g.keyText[exec.Key(e)]; ok {
		return &exec.Col{Index: i, Typ: e.Type(), Name: e.String()}
	}
	switch n := e.(type) {
	case *aggRef:
		return &exec.Col{Index: len(g.q.Keys) + n.index, Typ: n.typ, Name: n.text}
	case *winRef, *exec.Const, *exec.Param:
		return e
	case *exec.Col:
		if n.Depth == 0 && *bad == nil {
			*bad = sqlstate.New(sqlstate.GroupingError, "column %q must appear in the GROUP BY clause or be used in an aggregate function", n.Name)
			if off, ok := g.b.columns[n]; ok {
				*bad = sqlstate.Locate(*bad, off)
			}
		}
		return e
	case *exec.Subquery:
		if n.Correlated && *bad == nil {
			*bad = sqlstate.Unsupported(n.Off, "Put the grouping into a sub-query in FROM.", "correlated sub-queries together with GROUP BY are not supported")
		}
	}
	return exec.RewriteChildren(e, func(x exec.Expr) exec.Expr { return g.rewrite(x, bad) })
}

// window moves a window function's expressions behind the grouping.
func (g *grouper) window(w *exec.WindowCall) error {
	var err error
	for _, list := range [][]exec.Expr{w.Args, w.Partition, w.Order} {
		for i := range list {
			if list[i], err = g.after(list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeWindows gives the window functions their columns, behind those of FROM or of the grouping.
func (g *grouper) placeWindows(targets []exec.Expr, order []boundOrder) error {
	if len(g.q.Windows) == 0 {
		return nil
	}
	base := g.sc.width
	if g.q.Group {
		base = len(g.q.Keys) + len(g.q.Aggs)
	}
	place := func(e exec.Expr) exec.Expr {
		return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
			if w, ok := x.(*winRef); ok {
				return &exec.Col{Index: base + w.index, Typ: w.typ, Name: w.text}
			}
			return x
		})
	}
	for i := range targets {
		targets[i] = place(targets[i])
	}
	for i := range order {
		order[i].expr = place(order[i].expr)
	}
	return nil
}

// windowCall binds f(...) OVER (PARTITION BY ... ORDER BY ...).
func (b *binder) windowCall(n *ast.Call, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	if sc.noAggregates != "" || sc.inAggregate {
		return nil, sqlstate.New(sqlstate.WindowingError, "window functions are not allowed here").At(n.Pos())
	}
	over, err := sc.window(n.Over)
	if err != nil {
		return nil, err
	}
	if err := refuseWindow(over); err != nil {
		return nil, err
	}
	w := exec.WindowCall{Name: name}
	typ, ok := exec.WindowFuncs[name]
	if !ok {
		if _, agg := funcs.Aggregates[name]; !agg {
			return nil, sqlstate.Unsupported(n.Pos(), "row_number, rank, dense_rank and aggregates have windows.",
				"window function %s is not supported", name)
		}
		if n.Distinct {
			return nil, sqlstate.Unsupported(n.Pos(), "", "DISTINCT is not implemented for window functions")
		}
		plain := *n
		plain.Over = nil
		c, t, err := b.aggCall(&plain, sc)
		if err != nil {
			return nil, err
		}
		w.Agg, w.Args, typ = c, c.Args, t
	} else if len(n.Args) > 0 {
		return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s with arguments does not exist", name).At(n.Pos())
	}
	if w.Partition, err = b.exprs(over.Partition, sc); err != nil {
		return nil, err
	}
	for _, it := range over.Order {
		e, err := b.expr(it.Expr, sc)
		if err != nil {
			return nil, err
		}
		coll, err := sortCollation(e, it.Expr.Pos())
		if err != nil {
			return nil, err
		}
		w.Order = append(w.Order, e)
		w.Keys = append(w.Keys, exec.SortKey{Desc: it.Desc, NullsFirst: it.NullsFirst, Collation: coll})
	}
	coll, err := mergeCollations(n.Pos(), w.Args...)
	if err != nil {
		return nil, err
	}
	sc.query.Windows = append(sc.query.Windows, w)
	return &winRef{len(sc.query.Windows) - 1, typ, name + "() OVER (...)", coll}, nil
}
