package exec

import (
	"strings"

	"github.com/divandb/divan/query/types"
)

// Let computes an expression once for a body that uses it several times, such as the operand of CASE. Otherwise a chain
// of such expressions would be computed, and visited by planning, once for every path through it.
type Let struct {
	X    Expr
	Body Expr // contains It in place of X
}

// It is the value of an enclosing Let: the innermost one, or Depth further out.
type It struct {
	Depth int
	Typ   types.OID
	// Collation is the collation of X, unless it is the default. Explicit reports whether X has a COLLATE clause.
	Collation *types.Collation
	Explicit  bool
}

func (l *Let) Type() types.OID { return l.Body.Type() }

func (l *Let) Eval(env *Env) (types.Datum, error) {
	x, err := l.X.Eval(env)
	if err != nil {
		return x, err
	}
	around := env.let
	env.let = &letValue{x, around}
	d, err := l.Body.Eval(env)
	env.let = around
	return d, err
}

// letValue is the value of a Let whose body is being evaluated.
type letValue struct {
	value  types.Datum
	around *letValue
}

func (l *Let) String() string { return "(LET it = " + l.X.String() + " IN " + l.Body.String() + ")" }

func (i *It) Type() types.OID { return i.Typ }

func (i *It) Eval(env *Env) (types.Datum, error) {
	v := env.let
	for range i.Depth {
		v = v.around
	}
	return v.value, nil
}

func (i *It) String() string { return "it" + strings.Repeat("'", i.Depth) }

// substitute replaces the value of a Let in its body by a constant. depth counts the further Lets around e.
func substitute(e Expr, value *Const, depth int) Expr {
	switch n := e.(type) {
	case nil:
		return nil
	case *It:
		switch {
		case n.Depth == depth:
			return value
		case n.Depth > depth:
			c := *n
			c.Depth--
			return &c
		}
		return n
	case *Let:
		return &Let{substitute(n.X, value, depth), substitute(n.Body, value, depth+1)}
	case *Subquery:
		if n.Match != nil {
			c := *n
			c.Match = substitute(n.Match, value, depth+1)
			return &c
		}
	}
	return RewriteChildren(e, func(x Expr) Expr { return substitute(x, value, depth) })
}

// RowCompare is (a, b) < (c, d) and the other order comparisons of rows. The fields are compared in turn until two
// differ.
type RowCompare struct {
	Op string
	// X and Y are the fields; both of a pair have the same type. Decide compares a pair by the operator without its
	// "=", Equal by "=", and Last compares the last pair by the operator itself.
	X, Y          []Expr
	Decide, Equal []*Func
	Last          *Func
}

func (r *RowCompare) Type() types.OID { return types.Bool }

func (r *RowCompare) Eval(env *Env) (types.Datum, error) {
	last := len(r.X) - 1
	for i := range r.X {
		var pair [2]types.Datum
		var err error
		if pair[0], err = r.X[i].Eval(env); err != nil {
			return types.Null, err
		}
		if pair[1], err = r.Y[i].Eval(env); err != nil {
			return types.Null, err
		}
		if pair[0].IsNull() || pair[1].IsNull() {
			return types.Null, nil
		}
		apply := func(f *Func) (types.Datum, error) { return (&CallEnv{Env: env, Call: &Call{Func: f}}).Apply(pair[:]) }
		if i == last {
			return apply(r.Last)
		}
		if equal, err := apply(r.Equal[i]); err != nil {
			return types.Null, err
		} else if !equal.True() {
			return apply(r.Decide[i])
		}
	}
	return types.Null, nil
}

func (r *RowCompare) String() string {
	return "(ROW(" + joinExprs(r.X) + ") " + r.Op + " ROW(" + joinExprs(r.Y) + "))"
}
