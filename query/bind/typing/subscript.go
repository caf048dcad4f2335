package typing

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// SubscriptJSON binds x[i] of a jsonb: an element of a path, which is a name in an object and a number in an array. off
// is the position of the whole, and at that of the subscript.
func SubscriptJSON(o *Open, x, idx exec.Expr, off, at int) (exec.Expr, error) {
	idx, _, err := pathElement(o, idx, at)
	if err != nil {
		return nil, err
	}
	if c, ok := idx.(*exec.Const); ok && !c.D.IsNull() && strings.Trim(c.D.S, "+-0123456789 \t\n\v\f\r") != "" {
		x, err = o.Operator("->", []exec.Expr{x, idx}, off) // the same, and plans know it
	} else {
		x, err = o.Operator("#>", []exec.Expr{x, &exec.Array{Elem: types.Text, Items: []exec.Expr{idx}}}, off)
	}
	if call, ok := x.(*exec.Call); ok && err == nil {
		call.Subscript = true
	}
	return x, err
}

// pathElement returns a subscript of a jsonb as a text, and whether it is an integer.
func pathElement(o *Open, idx exec.Expr, at int) (_ exec.Expr, integer bool, err error) {
	switch t := idx.Type(); {
	case Untyped(idx), types.CastContext(t, types.Text) == types.Implicit:
		idx, err = o.Coerce(idx, types.Text, types.Implicit, at)
		return idx, false, err
	case types.CastContext(t, types.Int4) == types.Implicit:
		idx, err = o.Coerce(idx, types.Int4, types.Implicit, at)
		return &exec.CastExpr{X: idx, To: types.Text, Mod: -1, Off: at, Hidden: true}, true, err
	default:
		return nil, false, sqlstate.New(sqlstate.DatatypeMismatch, "subscript type %s is not supported",
			types.NameOf(t)).At(at).WithHint("jsonb subscript must be coercible to either integer or text.")
	}
}

// AssignJSON binds x[path[0]][path[1]] = v, whose value is the new x. off is the position of the whole, and at those of
// the subscripts.
func (o *Open) AssignJSON(x exec.Expr, path []exec.Expr, v exec.Expr, off int, at []int) (exec.Expr, error) {
	f := jsons.Assign
	items := make([]exec.Expr, len(path))
	for i, e := range path {
		var integer bool
		var err error
		if items[i], integer, err = pathElement(o, e, at[i]); err != nil {
			return nil, err
		}
		if integer && i == 0 {
			f = jsons.AssignElement
		}
	}
	return &exec.Call{Func: f, Args: []exec.Expr{x, &exec.Array{Elem: types.Text, Items: items}, v},
		Typ: types.JSONB, Off: off}, nil
}
