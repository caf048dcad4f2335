// Package refs defines placeholders for values that are computed after the rows of FROM: aggregates, window functions,
// GROUPING, and functions that return rows. It also defines keys that identify equal ones. Package bind replaces the
// placeholders by columns before anything runs.
package refs

import (
	"fmt"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Agg is the placeholder of an aggregate.
type Agg struct {
	Index int
	Typ   types.OID
	Text  string
	Off   int
	Coll  collation.State
}

func (a *Agg) Type() types.OID { return a.Typ }

func (a *Agg) State() collation.State { return a.Coll }

// String adds the index, which distinguishes aggregates with the same text.
func (a *Agg) String() string { return fmt.Sprintf("%s#a%d", a.Text, a.Index) }

func (a *Agg) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "aggregate outside of a grouping")
}

type Window struct {
	Index int
	Typ   types.OID
	Text  string
	Off   int
	Coll  collation.State
}

func (w *Window) Type() types.OID { return w.Typ }

func (w *Window) State() collation.State { return w.Coll }

// String adds the index, which distinguishes window functions with the same text.
func (w *Window) String() string { return fmt.Sprintf("%s#w%d", w.Text, w.Index) }

func (w *Window) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "window function outside of a window")
}

// Grouping is the placeholder of GROUPING() until the keys are known.
type Grouping struct {
	Args []exec.Expr
	At   []int
	Off  int
}

func (r *Grouping) Type() types.OID { return types.Int4 }

func (r *Grouping) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "GROUPING outside of a grouping")
}

func (r *Grouping) String() string {
	parts := make([]string, len(r.Args))
	for i, a := range r.Args {
		parts[i] = exec.Key(a)
	}
	return "GROUPING(" + strings.Join(parts, ", ") + ")"
}

// Call returns the value as an element of masks, which may be set later, at the number of the row's grouping set. There
// are no masks if there are no sets.
func (r *Grouping) Call(number *exec.Col, masks *[]int64) exec.Expr {
	fn := &exec.Func{Name: strings.ToLower(r.String()), Args: []types.OID{types.Int4}, Ret: types.Int4, NullArgs: true,
		Eval: func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if len(*masks) == 0 {
				return types.NewInt(0), nil
			}
			return types.NewInt((*masks)[a[0].I]), nil
		}}
	return &exec.Call{Func: fn, Args: []exec.Expr{number}, Typ: types.Int4, Off: r.Off}
}

// Set is the placeholder of a column of a function that returns rows, as in date '2024-01-01' + generate_series(0, 6).
// Its values follow the columns of the row, whose number is not known at first.
type Set struct {
	Index, Field int
	Typ          types.OID
	Text         string
	Fields       []exec.Column // of a record
}

func (s *Set) Type() types.OID { return s.Typ }

func (s *Set) String() string { return s.Text }

func (s *Set) Eval(*exec.Env) (types.Datum, error) {
	return types.Null, sqlstate.New(sqlstate.InternalError, "a function that returns rows outside of a select list")
}

// AggKey returns the same key for two aggregates that compute the same value.
func AggKey(c *exec.AggCall) string {
	var b strings.Builder
	b.WriteString(c.Agg.Name)
	if c.Distinct {
		b.WriteString(" distinct")
	}
	for _, a := range c.Direct {
		b.WriteString("!" + exec.Key(a))
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
		if c.OrderKeys[i].NullsFirst {
			b.WriteString("0")
		}
	}
	return b.String()
}

func AggText(name string, n *ast.Call, c *exec.AggCall) string {
	parts := make([]string, len(c.Args))
	for i, a := range c.Args {
		parts[i] = a.String()
	}
	text := name + "("
	switch {
	case n.Star:
		return text + "*)"
	case n.Distinct:
		text += "DISTINCT "
	}
	text += strings.Join(parts, ", ") + ")"
	if c.Filter != nil {
		text += " FILTER (WHERE " + c.Filter.String() + ")"
	}
	return text
}

// WindowKey returns the same key for two calls that compute the same value.
func WindowKey(w *window.Call) string {
	var k strings.Builder
	if w.Agg != nil {
		k.WriteString(AggKey(w.Agg))
	} else {
		k.WriteString(w.Func.Name)
	}
	for _, list := range [][]exec.Expr{w.Args, w.Partition, w.Order} {
		k.WriteString("/")
		for _, e := range list {
			k.WriteString(exec.Key(e) + "|")
		}
	}
	for _, o := range w.Keys {
		fmt.Fprintf(&k, "%t %t %p|", o.Desc, o.NullsFirst, o.Collation)
	}
	if f := w.Frame; f != nil {
		fmt.Fprintf(&k, "frame %d %d %d %d", f.Mode, f.Start.Kind, f.End.Kind, f.Exclude)
		for _, o := range []exec.Expr{f.Start.Offset, f.End.Offset} {
			if o != nil {
				k.WriteString("|" + exec.Key(o))
			}
		}
	}
	return k.String()
}
