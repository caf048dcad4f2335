package exec

import (
	"errors"
	"io"
	"strings"

	"github.com/divandb/divan/query/types"
)

// Logic is AND, OR (two or more operands) or NOT (one) in three-valued logic. AND and OR stop at the first operand that
// decides the result.
type Logic struct {
	Op   string // "and", "or", "not"
	Args []Expr
}

func (l *Logic) Type() types.OID { return types.Bool }

func (l *Logic) Eval(env *Env) (types.Datum, error) {
	if l.Op == "not" {
		d, err := l.Args[0].Eval(env)
		if err != nil || d.IsNull() {
			return d, err
		}
		return types.NewBool(!d.True()), nil
	}
	decides := l.Op == "or"
	null := false
	for _, a := range l.Args {
		d, err := a.Eval(env)
		if err != nil {
			return types.Null, err
		}
		switch {
		case d.IsNull():
			null = true
		case d.True() == decides:
			return d, nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(!decides), nil
}

// Holds evaluates a condition that rows must satisfy. Unlike AND in an expression, it also stops at the first operand
// that is NULL, as PostgreSQL does with the conditions of WHERE, HAVING and joins: those after it may fail.
func Holds(env *Env, cond Expr) (bool, error) {
	if l, ok := cond.(*Logic); ok && l.Op == "and" {
		for _, a := range l.Args {
			if ok, err := Holds(env, a); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	d, err := cond.Eval(env)
	return d.True(), err
}

func (l *Logic) String() string {
	if l.Op == "not" {
		return "(NOT " + l.Args[0].String() + ")"
	}
	parts := make([]string, len(l.Args))
	for i, a := range l.Args {
		parts[i] = a.String()
	}
	return "(" + strings.Join(parts, " "+strings.ToUpper(l.Op)+" ") + ")"
}

// And joins conditions with AND. It returns nil if there are none.
func And(conds []Expr) Expr {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return &Logic{"and", conds}
}

// Conjuncts splits a condition at its ANDs.
func Conjuncts(e Expr) []Expr {
	l, ok := e.(*Logic)
	if !ok || l.Op != "and" {
		return []Expr{e}
	}
	var out []Expr
	for _, a := range l.Args {
		out = append(out, Conjuncts(a)...)
	}
	return out
}

// Is is x IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type Is struct {
	What string
	Not  bool
	X    Expr
}

func (i *Is) Type() types.OID { return types.Bool }

func (i *Is) Eval(env *Env) (types.Datum, error) {
	d, err := i.X.Eval(env)
	if err != nil {
		return d, err
	}
	var yes bool
	switch i.What {
	case "null", "unknown":
		yes = d.IsNull()
		if d.K == types.KRecord {
			// A row is null if all its fields are, and not null if none is.
			for _, it := range d.Array().Items {
				if it.IsNull() == i.Not {
					return types.NewBool(false), nil
				}
			}
			return types.NewBool(true), nil
		}
	case "true":
		yes = d.True()
	case "false":
		yes = !d.IsNull() && !d.True()
	}
	return types.NewBool(yes != i.Not), nil
}

func (i *Is) String() string {
	not := ""
	if i.Not {
		not = "NOT "
	}
	return "(" + i.X.String() + " IS " + not + strings.ToUpper(i.What) + ")"
}

// Distinct is x IS [NOT] DISTINCT FROM y with operands of one type.
type Distinct struct {
	Not  bool
	X, Y Expr
}

func (e *Distinct) Type() types.OID { return types.Bool }

func (e *Distinct) Eval(env *Env) (types.Datum, error) {
	x, err := e.X.Eval(env)
	if err != nil {
		return x, err
	}
	y, err := e.Y.Eval(env)
	if err != nil {
		return y, err
	}
	distinct := x.IsNull() != y.IsNull()
	if !x.IsNull() && !y.IsNull() {
		same, err := env.Equal(x, y)
		if err != nil {
			return types.Null, err
		}
		distinct = !same
	}
	return types.NewBool(distinct != e.Not), nil
}

func (e *Distinct) String() string {
	not := ""
	if e.Not {
		not = "NOT "
	}
	return "(" + e.X.String() + " IS " + not + "DISTINCT FROM " + e.Y.String() + ")"
}

// Case is CASE WHEN. The operand of CASE x WHEN has been turned into comparisons.
type Case struct {
	Whens []When
	Else  Expr // nil for NULL
	Typ   types.OID
}

// When is a branch of a Case.
type When struct{ Cond, Result Expr }

func (c *Case) Type() types.OID { return c.Typ }

func (c *Case) Eval(env *Env) (types.Datum, error) {
	for _, w := range c.Whens {
		d, err := w.Cond.Eval(env)
		if err != nil {
			return d, err
		}
		if d.True() {
			return w.Result.Eval(env)
		}
	}
	if c.Else == nil {
		return types.Null, nil
	}
	return c.Else.Eval(env)
}

func (c *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, w := range c.Whens {
		b.WriteString(" WHEN " + w.Cond.String() + " THEN " + w.Result.String())
	}
	if c.Else != nil {
		b.WriteString(" ELSE " + c.Else.String())
	}
	b.WriteString(" END")
	return b.String()
}

// Coalesce is COALESCE, GREATEST or LEAST with operands of one type.
type Coalesce struct {
	Op   string // "coalesce", "greatest", "least"
	Args []Expr
	Typ  types.OID
	// Collation is used by greatest and least to compare texts; nil for byte order.
	Collation *types.Collation
}

func (c *Coalesce) Type() types.OID { return c.Typ }

func (c *Coalesce) Eval(env *Env) (types.Datum, error) {
	best := types.Null
	for _, a := range c.Args {
		d, err := a.Eval(env)
		if err != nil {
			return d, err
		}
		if d.IsNull() {
			continue
		}
		if c.Op == "coalesce" {
			return d, nil
		}
		if best.IsNull() {
			best = d
			continue
		}
		order, err := types.CompareCollated(d, best, c.Collation)
		if err != nil {
			return types.Null, err
		}
		if c.Op == "greatest" && order > 0 || c.Op == "least" && order < 0 {
			best = d
		}
	}
	return best, nil
}

func (c *Coalesce) String() string { return strings.ToUpper(c.Op) + "(" + joinExprs(c.Args) + ")" }

func joinExprs(list []Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.String()
	}
	return strings.Join(parts, ", ")
}

// In is x IN (list) with operands of one type. In a long list of constants the value is looked up by hash.
type In struct {
	Not  bool
	X    Expr
	List []Expr
	// set holds the hashes of a long list of constants. null is set if the list contains NULL.
	set  map[string]struct{}
	null bool
}

// NewIn returns x [NOT] IN (list).
func NewIn(not bool, x Expr, list []Expr) (*In, error) {
	in := &In{Not: not, X: x, List: list}
	if len(list) < 16 {
		return in, nil
	}
	set := make(map[string]struct{}, len(list))
	for _, e := range list {
		c, ok := e.(*Const)
		if !ok {
			return in, nil
		}
		if c.D.IsNull() {
			in.null = true
			continue
		}
		h, err := types.AppendHash(nil, c.D, nil)
		if err != nil {
			return nil, err
		}
		set[string(h)] = struct{}{}
	}
	in.set = set
	return in, nil
}

func (in *In) Type() types.OID { return types.Bool }

func (in *In) Eval(env *Env) (types.Datum, error) {
	x, err := in.X.Eval(env)
	if err != nil || x.IsNull() {
		return types.Null, err
	}
	found, null := false, in.null
	if in.set != nil {
		h, err := env.Hash(nil, x)
		if err != nil {
			return types.Null, err
		}
		_, found = in.set[string(h)]
	} else {
		for _, e := range in.List {
			d, err := e.Eval(env)
			if err != nil {
				return d, err
			}
			if d.IsNull() {
				null = true
				continue
			}
			same, err := env.Equal(x, d)
			if err != nil {
				return types.Null, err
			}
			if same {
				found = true
				break
			}
		}
	}
	if !found && null {
		return types.Null, nil
	}
	return types.NewBool(found != in.Not), nil
}

func (in *In) String() string {
	not := ""
	if in.Not {
		not = "NOT "
	}
	list := in.List
	more := ""
	if len(list) > 10 {
		list, more = list[:10], ", ..."
	}
	return "(" + in.X.String() + " " + not + "IN (" + joinExprs(list) + more + "))"
}

// Any is x op ANY|ALL (array).
type Any struct {
	X, Array Expr
	Op       *Func // compares X with an item
	Symbol   string
	All      bool
	Same     bool // the items of a query have the type of X
}

func (a *Any) Type() types.OID { return types.Bool }

func (a *Any) Eval(env *Env) (types.Datum, error) {
	x, err := a.X.Eval(env)
	if err != nil {
		return x, err
	}
	arr, err := a.Array.Eval(env)
	if err != nil || arr.IsNull() {
		return types.Null, err
	}
	items := arr.Array().Items
	return a.over(env, x, func() (types.Datum, error) {
		if len(items) == 0 {
			return types.Null, io.EOF
		}
		d := items[0]
		items = items[1:]
		return d, nil
	})
}

// over applies the operator to every item.
func (a *Any) over(env *Env, x types.Datum, next func() (types.Datum, error)) (types.Datum, error) {
	null := false
	call, args := &CallEnv{Env: env, Call: &Call{Func: a.Op}}, make([]types.Datum, 2)
	for {
		it, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = env.Step(1)
		}
		if err != nil {
			return types.Null, err
		}
		if x.IsNull() || it.IsNull() {
			null = true
			continue
		}
		args[0], args[1] = x, it
		if err := env.read(args); err != nil {
			return types.Null, err
		}
		d, err := call.Apply(args)
		if err != nil {
			return d, err
		}
		if d.IsNull() {
			null = true
		} else if d.True() != a.All {
			return types.NewBool(!a.All), nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(a.All), nil
}

func (a *Any) String() string {
	word := " ANY ("
	if a.All {
		word = " ALL ("
	}
	return "(" + a.X.String() + " " + a.Symbol + word + a.Array.String() + "))"
}

// Array is ARRAY[...] with items of one type.
type Array struct {
	Elem  types.OID
	Items []Expr
}

func (a *Array) Type() types.OID { return types.ArrayOf(a.Elem) }

func (a *Array) Eval(env *Env) (types.Datum, error) {
	items, err := EvalAll(env, a.Items)
	if err != nil {
		return types.Null, err
	}
	d := types.NewArray(a.Elem, items)
	return d, env.Count(d)
}

func (a *Array) String() string { return "ARRAY[" + joinExprs(a.Items) + "]" }

// RowExpr is ROW(...), or the whole row of a relation, which has names.
type RowExpr struct {
	Items []Expr
	Names []string
	// Outer is set for the row of a relation that an outer join may have no match in. It is NULL if all its fields are.
	Outer bool
	// Literals has the indexes of the fields that were untyped literals. The record says that their type is unknown.
	Literals []int
}

func (r *RowExpr) Type() types.OID { return types.Record }

func (r *RowExpr) Eval(env *Env) (types.Datum, error) {
	items, err := EvalAll(env, r.Items)
	if err != nil {
		return types.Null, err
	}
	oids := make([]types.OID, len(items))
	empty := r.Outer
	for i, e := range r.Items {
		oids[i] = e.Type()
		empty = empty && items[i].IsNull()
	}
	if empty {
		return types.Null, nil
	}
	for _, i := range r.Literals {
		oids[i] = types.Unknown
	}
	return types.NewRecord(oids, r.Names, items), nil
}

func (r *RowExpr) String() string { return "ROW(" + joinExprs(r.Items) + ")" }

func EvalAll(env *Env, list []Expr) ([]types.Datum, error) {
	out := make([]types.Datum, len(list))
	for i, e := range list {
		var err error
		if out[i], err = e.Eval(env); err != nil {
			return nil, err
		}
	}
	return out, nil
}
