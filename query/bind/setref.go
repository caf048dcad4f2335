package bind

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// SetFunc is a function that returns rows, called in a select list, GROUP BY or ORDER BY.
type SetFunc struct {
	Fn   *exec.TableFunc
	Args []exec.Expr
	// Fields are the indexes of the columns used; -1 is the only column, or the record of all columns.
	Fields []int
	// Level is 0, or 1 more than the highest level of the functions in its arguments.
	Level int
	// At is the index of its first value, after the columns of the row that it is called with.
	At int
}

// columns returns the columns of the function's result.
func (s *SetFunc) columns() []exec.Column { return s.Fn.Columns(typing.TypesOf(s.Args)) }

// slot returns the index of a column's value in the row.
func (s *SetFunc) slot(field int) int { return s.At + slices.Index(s.Fields, field) }

// withSets allows functions that return rows until the returned function is called.
func (sc *scope) withSets() func() {
	saved := sc.sets
	sc.sets = true
	return func() { sc.sets = saved }
}

// withoutSets forbids functions that return rows until the returned function is called.
func (sc *scope) withoutSets(where string) func() {
	saved := sc.noSets
	sc.noSets = where
	return func() { sc.noSets = saved }
}

// refuseSet refuses a function that returns rows where it is not allowed.
func refuseSet(n *ast.Call, sc *scope) error {
	where := cmp.Or(sc.noSets, sc.noWindows)
	if where == "" && sc.noAggregates != "GROUP BY" {
		where = sc.noAggregates
	}
	return refuse.Set(n, where, sc.inAggregate && !sc.inWindow, sc.inWindow, sc.sets)
}

// setCall binds a call of a function that returns rows. Equal calls are computed once.
func (b *binder) setCall(n *ast.Call, fn *exec.TableFunc, args []exec.Expr, sc *scope) (exec.Expr, error) {
	if err := refuseSet(n, sc); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(args, collation.HasLocale) {
		return nil, collation.Unsupported(n.Pos(), "an argument of a function that returns rows")
	}
	args, err := b.CoerceArgs(args, fn.Args, fn.Variadic, n.Pos())
	if err != nil {
		return nil, err
	}
	q := sc.query
	set := &SetFunc{Fn: fn, Args: args}
	text, volatile := fn.Name, false
	for _, a := range args {
		text += "," + exec.Key(a)
		exec.Walk(a, func(x exec.Expr) {
			switch n := x.(type) {
			case *refs.Set:
				set.Level = max(set.Level, q.SetFuncs[n.Index].Level+1)
			case *exec.Call:
				volatile = volatile || n.Func.Volatility == exec.Volatile
			}
		})
	}
	index, known := q.setKeys[text]
	if !known || volatile {
		if volatile {
			text = fmt.Sprintf("%s#%d", text, len(q.SetFuncs))
		}
		if q.setKeys == nil {
			q.setKeys = map[string]int{}
		}
		index = len(q.SetFuncs)
		q.setKeys[text] = index
		q.SetFuncs = append(q.SetFuncs, set)
	}
	ref := &refs.Set{Index: index, Text: text}
	if cols := set.columns(); len(cols) == 1 {
		ref.Typ = cols[0].Type
	} else {
		ref.Typ, ref.Fields = types.Record, cols
	}
	return q.column(ref, -1), nil
}

// column returns the reference to a column of a function's rows.
func (q *Query) column(ref *refs.Set, field int) *refs.Set {
	s := q.SetFuncs[ref.Index]
	if !slices.Contains(s.Fields, field) {
		s.Fields = append(s.Fields, field)
	}
	out := *ref
	if out.Field = field; field >= 0 {
		out.Typ, out.Text, out.Fields = ref.Fields[field].Type, fmt.Sprintf("%s.%d", ref.Text, field), nil
	}
	return &out
}

// hasSets reports whether an expression contains a function that returns rows.
func hasSets(e exec.Expr) bool {
	return typing.Holds(e, func(x exec.Expr) bool { _, ok := x.(*refs.Set); return ok })
}

// unfoldKeys makes the functions that return rows in the keys run before the grouping, over the rows of FROM.
func (g *grouper) unfoldKeys() {
	q := g.q
	var moved map[int]*SetFunc
	var move func(e exec.Expr) exec.Expr
	move = func(e exec.Expr) exec.Expr {
		return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
			ref, ok := x.(*refs.Set)
			if !ok {
				return x
			}
			set := moved[ref.Index]
			if set == nil {
				c := *q.SetFuncs[ref.Index]
				c.Args = slices.Clone(c.Args)
				for i := range c.Args {
					c.Args[i] = move(c.Args[i])
				}
				if moved == nil {
					moved = map[int]*SetFunc{}
				}
				moved[ref.Index], set = &c, &c
				c.At = setWidth(q.GroupFuncs)
				q.GroupFuncs = append(q.GroupFuncs, &c)
			}
			return &exec.Col{Index: g.sc.width + set.slot(ref.Field), Typ: ref.Typ, Name: ref.Text}
		})
	}
	for i := range q.Keys {
		q.Keys[i] = move(q.Keys[i])
	}
}

// setWidth returns the number of values of all functions.
func setWidth(list []*SetFunc) int {
	n := 0
	for _, s := range list {
		n += len(s.Fields)
	}
	return n
}

// moveSets rewrites the arguments of the functions that return rows for the output of the grouping and the windows. It
// drops functions that are keys of the grouping.
func (g *grouper) moveSets(targets []exec.Expr, order []boundOrder) error {
	all := g.q.SetFuncs
	if all == nil {
		return nil
	}
	needed := make([]bool, len(all))
	need := func(e exec.Expr) {
		exec.Walk(e, func(x exec.Expr) {
			if ref, ok := x.(*refs.Set); ok {
				needed[ref.Index] = true
			}
		})
	}
	for _, e := range targets {
		need(e)
	}
	for _, o := range order {
		if o.index < 0 {
			need(o.expr)
		}
	}
	// The functions in the arguments of a function come before it.
	for i := len(all) - 1; i >= 0; i-- {
		if !needed[i] {
			continue
		}
		for j, a := range all[i].Args {
			if g.q.Group {
				var err error
				if a, err = g.after(a); err != nil {
					return err
				}
				all[i].Args[j] = a
			}
			need(a)
		}
	}
	g.q.SetFuncs, g.moved = nil, make([]int, len(all))
	for i, s := range all {
		if !needed[i] {
			g.moved[i] = -1
			continue
		}
		s.At, g.moved[i] = setWidth(g.q.SetFuncs), len(g.q.SetFuncs)
		g.q.SetFuncs = append(g.q.SetFuncs, s)
		for j := range s.Args {
			s.Args[j] = g.place(s.Args[j])
		}
	}
	return nil
}
