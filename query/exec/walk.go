package exec

import (
	"fmt"

	"github.com/divandb/divan/query/types"
)

// Rewrite rebuilds an expression bottom-up: f is called for every node after its children and returns its replacement.
// Nodes whose children do not change are not copied. It does not enter the query of a Subquery, but does enter its X.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	return f(RewriteChildren(e, func(x Expr) Expr { return Rewrite(x, f) }))
}

// RewriteChildren replaces the direct operands of an expression. It does not call f for missing ones.
func RewriteChildren(e Expr, f func(Expr) Expr) Expr {
	one := func(x Expr) Expr {
		if x == nil {
			return nil
		}
		return f(x)
	}
	switch n := e.(type) {
	case *Call:
		if args, changed := rewriteList(n.Args, f); changed {
			c := *n
			c.Args = args
			return &c
		}
	case *Collate:
		if x := f(n.X); x != n.X {
			return &Collate{x, n.Collation}
		}
	case *CastExpr:
		if x := f(n.X); x != n.X {
			c := *n
			c.X = x
			return &c
		}
	case *Logic:
		if args, changed := rewriteList(n.Args, f); changed {
			return &Logic{n.Op, args}
		}
	case *Is:
		if x := f(n.X); x != n.X {
			return &Is{n.What, n.Not, x}
		}
	case *Distinct:
		x, y := f(n.X), f(n.Y)
		if x != n.X || y != n.Y {
			return &Distinct{n.Not, x, y}
		}
	case *Case:
		c := &Case{Else: one(n.Else), Typ: n.Typ}
		changed := c.Else != n.Else
		for _, w := range n.Whens {
			v := When{f(w.Cond), f(w.Result)}
			changed = changed || v != w
			c.Whens = append(c.Whens, v)
		}
		if changed {
			return c
		}
	case *Coalesce:
		if args, changed := rewriteList(n.Args, f); changed {
			return &Coalesce{n.Op, args, n.Typ, n.Collation}
		}
	case *In:
		x := f(n.X)
		args, changed := rewriteList(n.List, f)
		if changed || x != n.X {
			if in, err := NewIn(n.Not, x, args); err == nil {
				return in
			}
			return &In{Not: n.Not, X: x, List: args}
		}
	case *Any:
		x, arr := one(n.X), one(n.Array)
		if x != n.X || arr != n.Array {
			c := *n
			c.X, c.Array = x, arr
			return &c
		}
	case *Array:
		if items, changed := rewriteList(n.Items, f); changed {
			return &Array{n.Elem, items}
		}
	case *RowExpr:
		if items, changed := rewriteList(n.Items, f); changed {
			return &RowExpr{items, n.Names, n.Outer, n.Literals}
		}
	case *Subquery:
		if x, match := one(n.X), one(n.Match); x != n.X || match != n.Match {
			c := *n
			c.X, c.Match = x, match
			return &c
		}
	case *Let:
		if x, body := f(n.X), f(n.Body); x != n.X || body != n.Body {
			return &Let{x, body}
		}
	case *RowCompare:
		x, changed := rewriteList(n.X, f)
		y, also := rewriteList(n.Y, f)
		if changed || also {
			c := *n
			c.X, c.Y = x, y
			return &c
		}
	}
	return e
}

func rewriteList(in []Expr, f func(Expr) Expr) ([]Expr, bool) {
	var out []Expr
	for i, x := range in {
		y := f(x)
		if y != x && out == nil {
			out = append(make([]Expr, 0, len(in)), in[:i]...)
		}
		if out != nil {
			out = append(out, y)
		}
	}
	if out == nil {
		return in, false
	}
	return out, true
}

// Walk calls f for every node of an expression.
func Walk(e Expr, f func(Expr)) {
	Rewrite(e, func(x Expr) Expr {
		f(x)
		return x
	})
}

// Key returns a text that is the same for two expressions of one query exactly if PostgreSQL takes them for the same.
func Key(e Expr) string {
	return Rewrite(e, func(x Expr) Expr {
		switch n := x.(type) {
		case *Col:
			c := *n
			c.Name = fmt.Sprintf("#%d.%d", n.Depth, n.Index)
			return &c
		case *Subquery:
			c := *n
			if c.Text = fmt.Sprintf("%p", n); n.Identity != nil {
				c.Text = n.Identity()
			}
			return &c
		case *CastExpr:
			c := *n
			c.Hidden = false
			return &c
		case *Call:
			c := *n
			c.Hidden = false
			if c.Subscript && c.Op != "" {
				c.Op = "[" + c.Op + "]" // doc['a'] is not doc->'a'
			}
			return &c
		case *Const:
			return &Const{D: n.D, Typ: n.Typ}
		}
		return x
	}).String() + ":" + fmt.Sprint(e.Type())
}

// OfRow is an expression of another package whose value depends on the row.
type OfRow interface {
	Expr
	OfRow()
}

// Fold evaluates the parts of an expression that do not depend on rows: constants and parameters, and functions of
// them. A part whose evaluation fails is left unchanged, so that it fails only if a row needs it.
func Fold(e Expr, env *Env) Expr {
	return Rewrite(e, func(x Expr) Expr {
		switch n := x.(type) {
		case *Const, *Col, *Subquery, *RowExpr, *Collate, *It, OfRow:
			return x
		case *Let:
			if c, ok := n.X.(*Const); ok {
				return Fold(substitute(n.Body, c, 0), env)
			}
			return x
		case *RowCompare:
			if !constants(n.X) || !constants(n.Y) {
				return x
			}
		case *Array:
			if !constants(n.Items) {
				return x
			}
		case *Call:
			if n.Func.Volatility == Volatile || !constants(n.Args) {
				return x
			}
		case *CastExpr:
			if !constants([]Expr{n.X}) {
				return x
			}
		case *Logic:
			return foldLogic(n, env)
		case *Is:
			if !constants([]Expr{n.X}) {
				return x
			}
		case *Distinct:
			if !constants([]Expr{n.X, n.Y}) {
				return x
			}
		case *Coalesce:
			if !constants(n.Args) {
				return x
			}
		case *Case:
			return foldCase(n, env)
		case *In:
			if !constants(n.List) || !constants([]Expr{n.X}) {
				return x
			}
		case *Any:
			if !constants([]Expr{n.X, n.Array}) {
				return x
			}
		}
		d, err := x.Eval(env)
		if err != nil {
			return x
		}
		c := &Const{D: d, Typ: x.Type()}
		if callsStable(x) {
			c.Of = x
		}
		return c
	})
}

// callsStable reports whether an expression calls a stable function, also in constants that were folded.
func callsStable(e Expr) (found bool) {
	Walk(e, func(x Expr) {
		switch n := x.(type) {
		case *Call:
			found = found || n.Func.Volatility == Stable
		case *Const:
			found = found || n.Of != nil
		}
	})
	return found
}

// foldCase replaces a CASE by its result if all its conditions up to the first true one are constants. The results of
// other branches are not evaluated.
func foldCase(n *Case, env *Env) Expr {
	for _, w := range n.Whens {
		c, ok := w.Cond.(*Const)
		if !ok {
			return n
		}
		if c.D.True() {
			return w.Result
		}
	}
	if n.Else == nil {
		return NullOf(n.Typ)
	}
	return n.Else
}

// foldLogic drops operands that have no effect, and ends at one that decides the result.
func foldLogic(n *Logic, env *Env) Expr {
	if n.Op == "not" {
		if c, ok := n.Args[0].(*Const); ok {
			if c.D.IsNull() {
				return c
			}
			return &Const{D: types.NewBool(!c.D.True()), Typ: types.Bool}
		}
		return n
	}
	decides := n.Op == "or"
	var rest []Expr
	for _, a := range n.Args {
		c, ok := a.(*Const)
		switch {
		case !ok || c.D.IsNull():
			rest = append(rest, a)
		case c.D.True() == decides:
			return c
		}
	}
	switch len(rest) {
	case 0:
		return &Const{D: types.NewBool(!decides), Typ: types.Bool}
	case 1:
		return rest[0]
	case len(n.Args):
		return n
	}
	return &Logic{n.Op, rest}
}

func constants(list []Expr) bool {
	for _, e := range list {
		if _, ok := e.(*Const); !ok {
			return false
		}
	}
	return true
}
