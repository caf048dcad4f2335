package bind

import (
	"strings"

	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/sqlstate"
)

// grouper moves expressions from over the input of a grouping to over its output.
type grouper struct {
	b       *binder
	sc      *scope
	q       *Query
	keyText map[string]int
	// targets and names are the select list.
	targets []exec.Expr
	names   []exec.Column
	// moved is where a function that returns rows stands now that those that nothing needs are gone.
	moved []int
}

// qualified is the name of a column with its relation.
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
	case *refs.Grouping:
		return g.grouping(n, bad)
	case *refs.Agg:
		return &exec.Col{Index: len(g.q.Keys) + n.Index, Typ: n.Typ, Name: n.Text}
	case *refs.Window, *refs.Set, *exec.Const, *exec.Param:
		return e
	case *exec.Col:
		if n.Depth == 0 && *bad == nil {
			*bad = sqlstate.New(sqlstate.GroupingError,
				"column %q must appear in the GROUP BY clause or be used in an aggregate function", g.sc.qualified(n))
			if off, ok := g.b.columns[n]; ok {
				*bad = sqlstate.Locate(*bad, off)
			}
		}
		return e
	case *exec.Subquery:
		if n.Correlated && *bad == nil {
			*bad = sqlstate.Unsupported(n.Off, "Put the grouping into a sub-query in FROM.",
				"correlated sub-queries together with GROUP BY are not supported")
		}
	}
	return exec.RewriteChildren(e, func(x exec.Expr) exec.Expr { return g.rewrite(x, bad) })
}

// window moves a window function's expressions behind the grouping.
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

// place gives the window functions of an expression their columns, behind those of FROM or of the grouping, and
// functions that return rows theirs behind them.
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
