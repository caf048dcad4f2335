package typing

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs/jsons"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Literal binds a constant.
func (o *Open) Literal(n *ast.Literal) (exec.Expr, error) {
	var c *exec.Const
	switch n.Kind {
	case ast.Null:
		c = exec.NullOf(types.Unknown)
	case ast.Boolean:
		c = &exec.Const{D: types.NewBool(n.Text == "true"), Typ: types.Bool}
	case ast.Integer, ast.Number:
		// The type is the narrowest of integer, bigint and numeric.
		if n.Kind == ast.Integer {
			for _, t := range []types.OID{types.Int4, types.Int8} {
				if d, err := types.ParseText(n.Text, t, nil); err == nil {
					return &exec.Const{D: d, Typ: t}, nil
				}
			}
		}
		d, err := types.ParseText(n.Text, types.Numeric, nil)
		if err != nil {
			return nil, sqlstate.Locate(err, n.Pos())
		}
		c = &exec.Const{D: d, Typ: types.Numeric}
	case ast.Bits:
		return nil, sqlstate.Unsupported(n.Pos(), "Use a number or bytea.", "bit strings are not supported")
	default:
		c = &exec.Const{D: types.NewText(n.Text), Typ: types.Unknown}
	}
	o.Literals[c] = n.Pos()
	return c, nil
}

// Void reports whether an argument is a parameter of type void. Some drivers send those of functions that return
// values in them (OUT) as such, and PostgreSQL leaves them out.
func Void(arg exec.Expr) bool {
	p, ok := arg.(*exec.Param)
	return ok && p.Typ == types.Void
}

// Param binds a parameter.
func (o *Open) Param(n *ast.Param) exec.Expr {
	for len(o.Params) < n.Number {
		o.Params = append(o.Params, 0)
	}
	p := &exec.Param{Index: n.Number - 1, Typ: types.Unknown}
	if t := o.Params[n.Number-1]; t != 0 {
		p.Typ = t
	}
	o.ParamNodes[p.Index] = append(o.ParamNodes[p.Index], p)
	return p
}

// CastCall binds a cast written as a call: int4('5'), text(x), date(ts).
func (o *Open) CastCall(name string, args []exec.Expr, off int) (exec.Expr, bool, error) {
	to, ok := types.ByName(name)
	if !ok || len(args) != 1 {
		return nil, false, nil
	}
	if Untyped(args[0]) {
		e, err := o.Coerce(args[0], to, types.Explicit, off)
		return e, true, err
	}
	if types.CastContext(args[0].Type(), to) == types.NoCast {
		return nil, false, nil
	}
	return &exec.CastExpr{X: args[0], To: to, Mod: -1, Off: off}, true, nil
}

// Cast binds an explicit cast of x, which is its operand or an item of that.
func Cast(o *Open, x exec.Expr, to types.OID, mod int32, at int, n *ast.Cast) (exec.Expr, error) {
	if n.Lists && x.Type() == types.JSONB {
		x = jsons.ArrayLiteral(x, types.IsJSON(types.ElemOf(to)))
	}
	switch c := x.(type) {
	case *exec.Const:
		if c.Typ == types.Unknown {
			e, err := o.Constant(c, to, mod, at)
			if typed, ok := e.(*exec.Const); ok {
				typed.Typed = true
			}
			return e, err
		}
	case *exec.Param:
		if c.Typ == types.Unknown {
			if err := o.SetParam(c, to); err != nil {
				return nil, sqlstate.Locate(err, at)
			}
			if mod < 0 {
				return c, nil
			}
		}
	}
	if types.CastContext(x.Type(), to) == types.NoCast {
		return nil, types.CannotCast(x.Type(), to).At(at)
	}
	if x.Type() == to && mod < 0 {
		return x, nil
	}
	return &exec.CastExpr{X: x, To: to, Mod: mod, Off: at, Try: n.Try}, nil
}
