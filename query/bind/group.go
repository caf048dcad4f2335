package bind

import (
	"strings"

	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/sqlstate"
)

// grouper rewrites expressions over the input of a grouping to expressions over its output.
type grouper struct {
	b       *binder
	sc      *scope
	q       *Query
	keyText map[string]int
	// targets and names are the select list.
	targets []exec.Expr
	names   []exec.Column
	// windowKeys are the expressions of the WINDOW clause. Each must be valid after grouping, even if no call uses it.
	windowKeys []exec.Expr
	// moved maps the index of each function that returns rows to its index after unused ones have been removed.
	moved []int
}

// qualified returns the name of a column with its relation.
func (sc *scope) qualified(c *exec.Col) string {
	for _, r := range sc.rels {
		for _, rc := range r.cols {
			if rc.index == c.Index {
				return strings.TrimPrefix(r.alias+"."+rc.name, ".")
			}
		}
	}
	return c.Name
}

// after rewrites an expression for the output of the grouping, whose columns are first the keys, then the aggregates.
func (g *grouper) after(e exec.Expr) (exec.Expr, error) {
	var bad error
	out := g.rewrite(e, &bad)
	return out, bad
}

// rewrite descends from the outside, so that the largest subexpression that is a key is replaced as a whole.
func (g *grouper) rewrite(e exec.Expr, bad *error) exec.Expr {
	if e == nil {
		return nil
	}
	if i, ok := g.keyText[exec.Key(e)]; ok {
		return &exec.Col{Index: i, Typ: e.Type(), Name: e.String()}
	}
	switch n := e.(type) {
	case *refs.Grouping:
		return g.grouping(n, bad)
	case *refs.Agg:
		return &exec.Col{Index: len(g.q.Keys) + n.Index, Typ: n.Typ, Name: n.Text}
	case *refs.Window, *refs.Set, *exec.Const, *exec.Param:
		return e
	case *exec.Col:
		if n.Depth == 0 && *bad == nil {
			*bad = sqlstate.New(sqlstate.GroupingError,
				`column "%s" must appear in the GROUP BY clause or be used in an aggregate function`, g.sc.qualified(n))
			if off, ok := g.b.columns[n]; ok {
				*bad = sqlstate.Locate(*bad, off)
			}
		}
		return e
	case *exec.Subquery:
		if *bad == nil {
			*bad = g.inside(n)
		}
	}
	return exec.RewriteChildren(e, func(x exec.Expr) exec.Expr { return g.rewrite(x, bad) })
}

// dependent makes columns keys that depend on one: those of a relation whose primary key is in GROUP BY.
func (g *grouper) dependent(targets []exec.Expr, order []boundOrder, having exec.Expr) {
	if g.q.Sets != nil {
		return
	}
	var add func(x exec.Expr)
	add = func(x exec.Expr) {
		for _, o := range outersOf(x) {
			if o.query == g.q && !o.aggregate && o.col.Depth > 0 {
				add(o.own())
			}
		}
		c, ok := x.(*exec.Col)
		if !ok || c.Depth > 0 {
			return
		}
		for _, r := range g.sc.rels {
			u := r.user
			if u == nil || !u.Rel.Keyed() || u.Design != "" || c.Index < u.Base || c.Index >= u.Base+len(r.cols) {
				continue
			}
			id := &exec.Col{Index: u.Base, Typ: r.cols[0].typ}
			_, grouped := g.keyText[exec.Key(id)]
			key := exec.Key(c)
			if _, known := g.keyText[key]; grouped && !known {
				g.keyText[key] = len(g.q.Keys)
				g.q.Keys = append(g.q.Keys, c)
			}
		}
	}
	each := func(list []exec.Expr) {
		for _, e := range list {
			exec.Walk(e, add)
		}
	}
	each(targets)
	for _, o := range order {
		exec.Walk(o.expr, add)
	}
	exec.Walk(having, add)
	each(g.windowKeys)
	for _, w := range g.q.Windows {
		each(w.Args)
		each(w.Partition)
		each(w.Order)
	}
	for _, s := range g.q.SetFuncs {
		each(s.Args)
	}
}

// window rewrites a window function's expressions for the output of the grouping.
func (g *grouper) window(w *window.Call) error {
	var err error
	for _, list := range [][]exec.Expr{w.Args, w.Partition, w.Order} {
		for i := range list {
			if list[i], err = g.after(list[i]); err != nil {
				return err
			}
		}
	}
	if w.Agg != nil && w.Agg.Filter != nil {
		w.Agg.Filter, err = g.after(w.Agg.Filter)
	}
	return err
}

// place replaces the window functions of an expression by their columns, which follow those of FROM or of the grouping,
// and functions that return rows by theirs, which come after them.
func (g *grouper) place(e exec.Expr) exec.Expr {
	base := g.sc.width
	if g.q.Group {
		base = g.q.GroupWidth()
	}
	return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
		switch n := x.(type) {
		case *refs.Window:
			return &exec.Col{Index: base + n.Index, Typ: n.Typ, Name: n.Text}
		case *refs.Set:
			return &exec.Col{Index: base + len(g.q.Windows) + g.q.SetFuncs[g.moved[n.Index]].slot(n.Field), Typ: n.Typ,
				Name: n.Text}
		}
		return x
	})
}
