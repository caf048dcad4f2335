package bind

import (
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"slices"
)

// outer is a reference from a query to the row, or to an aggregate, of one around it. If that one has groups, the
// column changes when they are known.
type outer struct {
	query     *Query
	col       *exec.Col
	aggregate bool
	// grouping is a GROUPING() of that query, and col the number of its grouping set. masks are its values.
	grouping *refs.Grouping
	masks    *[]int64
	// placed is set after the column has become one of the grouping's output.
	placed *bool
}

// own returns the column for the query that it belongs to.
func (o outer) own() *exec.Col {
	c := *o.col
	c.Depth = 0
	return &c
}

// outersOf returns the references of an expression that is a sub-query.
func outersOf(e exec.Expr) []outer {
	if s, ok := e.(*exec.Subquery); ok {
		return s.Query.(*Query).outers
	}
	return nil
}

// refer records a reference to the query of a scope.
func (b *binder) refer(sc, found *scope, c *exec.Col, aggregate bool) {
	for s := sc; s != found; s = s.parent {
		if s.query != nil {
			s.query.Correlated = true
		}
	}
	b.outers = append(b.outers, outer{query: found.query, col: c, aggregate: aggregate, placed: new(bool)})
}

// outer returns a reference to an enclosing query, and marks the queries in between as correlated.
func (b *binder) outer(x exec.Expr, sc, found *scope, depth, off int) exec.Expr {
	return exec.Rewrite(x, func(x exec.Expr) exec.Expr {
		c, ok := x.(*exec.Col)
		if !ok {
			return x
		}
		c = &exec.Col{Depth: depth, Index: c.Index, Typ: c.Typ, Name: found.qualified(c), Collation: c.Collation}
		b.refer(sc, found, c, false)
		b.columns[c] = off
		return c
	})
}

// levelOf returns how many queries around an aggregate are between it and the one whose rows it is over: that of the
// innermost column in its arguments, as in SQL. sc is the scope where it is called.
func (b *binder) levelOf(c *exec.AggCall, sc *scope) int {
	level := -1
	see := func(depth int) {
		if level < 0 || depth < level {
			level = depth
		}
	}
	for _, list := range [][]exec.Expr{c.Args, c.Order, {c.Filter}} {
		for _, e := range list {
			exec.Walk(e, func(x exec.Expr) {
				if c, ok := x.(*exec.Col); ok {
					see(c.Depth)
				}
				for _, o := range outersOf(x) {
					depth := 0
					for s := sc; s != nil; s = s.parent {
						if s.query == o.query {
							see(depth)
						}
						if s.query != nil {
							depth++
						}
					}
				}
			})
		}
	}
	return max(level, 0)
}

// up returns the scope of a query around this one.
func (sc *scope) up(depth int) *scope {
	for up := sc; ; up = up.parent {
		if up.query != nil {
			if depth == 0 {
				return up
			}
			depth--
		}
	}
}

// outerGrouping binds GROUPING() of an enclosing query.
func (b *binder) outerGrouping(n *ast.Call, sc *scope, depth int) (exec.Expr, error) {
	up := sc.up(depth)
	e, err := b.groupingCall(n, up)
	if err != nil {
		return nil, err
	}
	c := &exec.Col{Depth: depth, Index: -1, Typ: types.Int4, Name: "grouping set"}
	b.refer(sc, up, c, false)
	o := &b.outers[len(b.outers)-1]
	o.grouping, o.masks = e.(*refs.Grouping), new([]int64)
	return o.grouping.Call(c, o.masks), nil
}

// outerAggregate binds an aggregate over the rows of an enclosing query.
func (b *binder) outerAggregate(n *ast.Call, sc *scope, depth int) (exec.Expr, error) {
	up := sc.up(depth)
	if up.query.Width == 0 && up.noAggregates == "" {
		return nil, sqlstate.New(sqlstate.GroupingError,
			"aggregate functions are not allowed in FROM clause of their own query level").At(n.Pos())
	}
	start := len(b.outers)
	e, err := b.aggregate(n, up)
	if err != nil {
		return nil, err
	}
	// Its sub-queries see the rows of the enclosing query, and are not part of the query around the call.
	inner := b.outers[start:]
	b.outers = b.outers[:start:start]
	for _, o := range inner {
		if o.query != up.query {
			b.outers = append(b.outers, o)
		}
	}
	agg := e.(*refs.Agg)
	c := &exec.Col{Depth: depth, Index: -1 - agg.Index, Typ: agg.Typ, Name: agg.Text, Collation: agg.Coll.Collation}
	b.refer(sc, up, c, true)
	return c, nil
}

// drop forgets what the sub-queries of an expression refer to: another expression with the same value is computed.
func drop(e exec.Expr) {
	exec.Walk(e, func(x exec.Expr) {
		for _, o := range outersOf(x) {
			*o.placed = true
		}
	})
}

// allPlaced refuses references to aggregates of a query from places where it has no groups.
func (b *binder) allPlaced(q *Query, off int) error {
	if len(q.Aggs) == 0 && q.grouping == nil {
		return nil
	}
	for _, o := range b.outers {
		if o.query == q && (o.aggregate || o.grouping != nil) && !*o.placed {
			return sqlstate.Unsupported(off, "Put the grouping into a sub-query in FROM.",
				"an aggregate of this query inside a sub-query is not supported here")
		}
	}
	return b.work.Spend(len(b.outers))
}

// inside makes what a sub-query refers to in the grouped query columns of the grouping's output.
func (g *grouper) inside(s *exec.Subquery) error {
	for _, o := range outersOf(s) {
		if o.query != g.q || *o.placed {
			continue
		}
		switch {
		case o.grouping != nil:
			// PostgreSQL compares only columns with the keys of a query around.
			for i, a := range o.grouping.Args {
				if _, ok := a.(*exec.Col); !ok {
					return sqlstate.Locate(errGrouping, o.grouping.At[i])
				}
			}
			var err error
			if *o.masks, err = g.masks(o.grouping); err != nil {
				return err
			}
			if o.col.Index = 0; g.q.Sets != nil { // a column that is not used if there are no sets
				o.col.Index = g.q.GroupWidth() - 1
			}
		case o.aggregate:
			o.col.Index = len(g.q.Keys) - 1 - o.col.Index
		default:
			i, ok := g.keyText[exec.Key(o.own())]
			if !ok {
				err := sqlstate.New(sqlstate.GroupingError, `subquery uses ungrouped column "%s" from outer query`,
					g.sc.qualified(o.col))
				return sqlstate.Locate(err, g.b.columns[o.col])
			}
			o.col.Index = i
		}
		*o.placed = true
	}
	return nil
}

// outerStars replaces the stars of relations of the enclosing queries (SELECT (SELECT d.*) FROM d) by their columns.
func (b *binder) outerStars(list []ast.Target, sc *scope) (out []ast.Target) {
	for _, t := range list {
		out = append(out, t)
		c, ok := t.Expr.(*ast.Column)
		for s := sc; ok && c.Star && len(c.Parts) > 0 && s != nil; s = s.parent {
			i := slices.IndexFunc(s.rels, func(r *relation) bool { return r.matches(c.Parts, b.r.DatabaseName()) })
			if i < 0 {
				continue
			}
			if s != sc {
				out = out[:len(out)-1]
				for _, rc := range s.rels[i].cols {
					parts := append(slices.Clone(c.Parts), rc.name)
					out = append(out, ast.Target{Expr: &ast.Column{At: c.At, Parts: parts}})
				}
			}
			break
		}
	}
	return out
}
