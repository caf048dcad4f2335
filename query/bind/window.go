package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/frames"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// windows resolves the WINDOW clause. A window may extend one that was defined before it.
func (b *binder) windows(list []ast.WindowDef, sc *scope) error {
	for _, d := range list {
		if _, known := sc.windows[d.Name]; known {
			return sqlstate.New(sqlstate.WindowingError, `window "%s" is already defined`, d.Name).At(d.Pos())
		}
		w, err := sc.window(d.Window)
		if err != nil {
			return err
		}
		if sc.windows == nil {
			sc.windows = map[string]*ast.Window{}
		}
		sc.windows[d.Name] = w
	}
	return nil
}

// unusedWindows reports the errors of the WINDOW clause, whose definitions may not be used by any call. It returns the
// expressions of the definitions.
func (b *binder) unusedWindows(list []ast.WindowDef, sc *scope) ([]exec.Expr, error) {
	inner := *sc
	inner.inWindow, inner.noWindows = true, "window definitions"
	var out []exec.Expr
	for _, d := range list {
		over := sc.windows[d.Name]
		keys, err := b.windowKeys(over.Partition, &inner)
		if err != nil {
			return nil, err
		}
		w := &window.Call{}
		if err := b.windowOrder(over, w, &inner); err != nil {
			return nil, err
		}
		if _, err := b.frames(&inner).Frame(over, w.Order); err != nil {
			return nil, err
		}
		out = append(append(out, keys...), w.Order...)
	}
	return out, nil
}

// window returns w with the clauses that it inherits from the window that it names (transformWindowDefinitions in
// parse_clause.c).
func (sc *scope) window(w *ast.Window) (*ast.Window, error) {
	name := w.Name + w.Base
	if name == "" {
		return w, nil
	}
	base := sc.windows[name]
	switch {
	case base == nil:
		return nil, sqlstate.New(sqlstate.UndefinedObject, `window "%s" does not exist`, name).At(w.Pos())
	case w.Name != "":
		return base, nil
	case len(w.Partition) > 0:
		return nil, sqlstate.New(sqlstate.WindowingError, `cannot override PARTITION BY clause of window "%s"`,
			name).At(w.Pos())
	case len(w.Order) > 0 && len(base.Order) > 0:
		return nil, sqlstate.New(sqlstate.WindowingError, `cannot override ORDER BY clause of window "%s"`,
			name).At(w.Pos())
	case base.Frame != nil && len(w.Order) == 0 && w.Frame == nil:
		return nil, sqlstate.New(sqlstate.WindowingError, `cannot copy window "%s" because it has a frame clause`,
			name).At(w.Pos()).
			WithHint("Omit the parentheses in this OVER clause.")
	case base.Frame != nil:
		return nil, sqlstate.New(sqlstate.WindowingError, `cannot copy window "%s" because it has a frame clause`,
			name).At(w.Pos())
	}
	out := *w
	out.Base, out.Partition = "", base.Partition
	if len(w.Order) == 0 {
		out.Order = base.Order
	}
	return &out, nil
}

// windowCall binds f(...) OVER (PARTITION BY ... ORDER BY ... frame).
func (b *binder) windowCall(n *ast.Call, sc *scope) (exec.Expr, error) {
	name := n.Name[len(n.Name)-1]
	switch {
	case sc.noAggregates != "":
		return nil, sqlstate.New(sqlstate.WindowingError, "window functions are not allowed in %s", sc.noAggregates).
			At(n.Pos())
	case sc.noWindows != "":
		return nil, sqlstate.New(sqlstate.WindowingError, "window functions are not allowed in %s", sc.noWindows).
			At(n.Pos())
	case sc.inWindow:
		return nil, sqlstate.New(sqlstate.WindowingError, "window function calls cannot be nested").At(n.Pos())
	case sc.inAggregate:
		return nil, sqlstate.New(sqlstate.GroupingError,
			"aggregate function calls cannot contain window function calls").
			At(n.Pos())
	}
	over, err := sc.window(n.Over)
	if err != nil {
		return nil, err
	}
	inner := *sc
	inner.inWindow = true
	w, typ, err := b.windowFunction(n, name, &inner)
	if err != nil {
		return nil, err
	}
	inner.noWindows = "window definitions"
	if w.Partition, err = b.windowKeys(over.Partition, &inner); err != nil {
		return nil, err
	}
	if err := b.windowOrder(over, w, &inner); err != nil {
		return nil, err
	}
	if w.Frame, err = b.frames(&inner).Frame(over, w.Order); err != nil {
		return nil, err
	}
	coll, err := collation.Merge(n.Pos(), w.Args...)
	if err != nil {
		return nil, err
	}
	w.Text = name + "() OVER (...)"
	q := sc.query
	key := refs.WindowKey(w)
	i, known := q.windowKeys[key]
	if !known {
		if i = len(q.Windows); q.windowKeys == nil {
			q.windowKeys = map[string]int{}
		}
		q.windowKeys[key] = i
		q.Windows = append(q.Windows, *w)
	}
	return &refs.Window{Index: i, Typ: typ, Text: w.Text, Off: n.Pos(), Coll: coll}, nil
}

// windowFunction resolves the function or aggregate and binds its arguments.
func (b *binder) windowFunction(n *ast.Call, name string, sc *scope) (*window.Call, types.OID, error) {
	w := &window.Call{}
	if n.Distinct {
		return nil, 0, sqlstate.Unsupported(n.Pos(), "Compute it in a sub-query.",
			"DISTINCT is not implemented for window functions")
	}
	if _, agg := funcs.Aggregates[name]; agg && (n.Within || !onlyWindow(name)) {
		plain := *n
		plain.Over = nil
		c, typ, err := b.aggCall(&plain, sc)
		if err != nil {
			return nil, 0, err
		}
		if c.Agg.Ordered {
			return nil, 0, sqlstate.Unsupported(n.Pos(), "Compute it in a sub-query.",
				"OVER is not supported for ordered-set aggregate %s", name)
		}
		w.Agg, w.Args = c, c.Args
		return w, typ, nil
	}
	candidates := window.Funcs[name]
	if candidates == nil {
		if len(funcs.Functions[name]) > 0 || len(funcs.TableFuncs[name]) > 0 {
			return nil, 0, sqlstate.New(sqlstate.WrongObjectType,
				"OVER specified, but %s is not a window function nor an aggregate function", name).At(n.Pos())
		}
	}
	args, err := b.args(n, sc)
	if err != nil {
		return nil, 0, err
	}
	var best *window.Func
	for _, f := range candidates {
		if _, ok := typing.Score(f.Args, false, args); ok {
			best = f
		}
	}
	if best == nil {
		if onlyWindow(name) && len(funcs.Aggregates[name]) > 0 && len(args) > 0 {
			return nil, 0, typing.NeedsWithin(name, n.Pos())
		}
		return nil, 0, typing.NoFunction(strings.Join(n.Name, "."), args, n.Pos())
	}
	if n.Filter != nil {
		return nil, 0, sqlstate.Unsupported(n.Pos(), "Use CASE in its argument.",
			"FILTER is not implemented for non-aggregate window functions")
	}
	if typing.Unpolymorphic(args, best.Args) {
		return nil, 0, typing.Polymorphic(n.Pos())
	}
	if w.Args, err = b.CoerceArgs(args, best.Args, false, n.Pos()); err != nil {
		return nil, 0, err
	}
	w.Func = best
	return w, best.RetOf(typing.TypesOf(w.Args)), nil
}

// windowKeys binds PARTITION BY.
func (b *binder) windowKeys(list []ast.Expr, sc *scope) ([]exec.Expr, error) {
	out, err := b.exprs(list, sc)
	for i := range out {
		if err == nil && typing.Untyped(out[i]) {
			out[i], err = b.Coerce(out[i], types.Text, types.Implicit, list[i].Pos())
		}
		if err == nil && !typing.Equatable(out[i].Type()) {
			err = typing.NoEquality(out[i].Type(), ast.Start(list[i]))
		}
	}
	return out, err
}

// windowOrder binds ORDER BY of a window.
func (b *binder) windowOrder(over *ast.Window, w *window.Call, sc *scope) error {
	for _, it := range over.Order {
		e, err := b.expr(it.Expr, sc)
		if err != nil {
			return err
		}
		if typing.Untyped(e) {
			if e, err = b.Coerce(e, types.Text, types.Implicit, it.Expr.Pos()); err != nil {
				return err
			}
		}
		coll, err := b.sortCollation(e, it)
		if err != nil {
			return err
		}
		if !typing.Sortable(e.Type()) {
			return typing.NoOrder(e.Type(), ast.Start(it.Expr))
		}
		if slices.ContainsFunc(w.Order, func(x exec.Expr) bool { return exec.Key(x) == exec.Key(e) }) {
			continue
		}
		w.Order = append(w.Order, e)
		w.Keys = append(w.Keys, exec.SortKey{Desc: it.Desc, NullsFirst: it.NullsFirst, Collation: coll})
	}
	return nil
}

// frames returns what binds the frames of windows in a scope.
func (b *binder) frames(sc *scope) *frames.Binder {
	return &frames.Binder{Open: &b.Open, Place: func(c *exec.Col) int { return b.columns[c] },
		Expr: func(e ast.Expr, clause string) (exec.Expr, error) {
			inner := *sc
			inner.noAggregates = clause
			return b.expr(e, &inner)
		}}
}
