package sql

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *binder) subquery(n *subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(n, sc)
	if err != nil {
		return nil, err
	}
	out := &exec.Subquery{Kind: n.kind, Plan: planner(b, q), Correlated: q.correlated, Off: n.offset(), Text: "(SubPlan)"}
	if n.kind == "exists" {
		out.Typ, out.Text = types.Bool, "EXISTS (SubPlan)"
		return out, nil
	}
	if len(q.columns) != 1 {
		return nil, syntaxError(n.offset(), "subquery must return only one column")
	}
	out.Typ, out.Collation = q.columns[0].Type, q.columns[0].Collation
	if n.kind == "array" {
		if out.Typ = types.ArrayOf(out.Typ); out.Typ == 0 {
			return nil, sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(q.columns[0].Type)).At(n.offset())
		}
		out.Text = "ARRAY (SubPlan)"
	}
	return out, nil
}

// subplan binds the query of a sub-query; those over the store are refused until there is a good way.
func (b *binder) subplan(n *subquery, sc *scope) (*boundQuery, error) {
	q, err := b.query(n.sel, sc)
	if err != nil {
		return nil, err
	}
	if q.user {
		return nil, sqlstate.Unsupported(n.offset(), "Run it first and give its result as a parameter, or put it in FROM.",
			"sub-queries over documents, views and changes are not supported in expressions")
	}
	return q, nil
}

// quantified is x op ANY|ALL (array or query).
func (b *binder) quantified(n *quantified, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	if s, ok := n.y.(*subquery); ok && s.kind == "scalar" {
		return b.anyQuery(n, x, s, sc)
	}
	y, err := b.expr(n.y, sc)
	if err != nil {
		return nil, err
	}
	elem := types.ElemOf(y.Type())
	if untyped(y) {
		// An open array takes the type of the other side.
		elem = x.Type()
		if elem == types.Unknown || elem == types.JSONB {
			elem = types.Text
		}
		if elem == types.Name {
			elem = types.Text
		}
		if y, err = b.coerce(y, types.ArrayOf(elem), types.Implicit, n.y.offset()); err != nil {
			return nil, err
		}
	}
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "op ANY/ALL (array) requires array on right side").At(n.offset())
	}
	any, err := b.anyOp(n, x, elem)
	if err != nil {
		return nil, err
	}
	if err := any.collate(n, y); err != nil {
		return nil, err
	}
	if want := any.elem; want != elem {
		y = &exec.CastExpr{X: y, To: types.ArrayOf(want), Mod: -1, Off: n.offset(), Hidden: true}
	}
	return &exec.Any{X: any.x, Array: y, Op: any.fn, Symbol: n.op, All: n.all}, nil
}

// anyMatch is how x compares with the elements: after x and the elements have been brought to types.
type anyMatch struct {
	x    exec.Expr
	elem types.OID
	fn   *exec.Func
}

func (b *binder) anyOp(n *quantified, x exec.Expr, elem types.OID) (*anyMatch, error) {
	if f := exec.Comparison(n.op); f != nil {
		if x.Type() == types.JSONB && types.IsString(elem) {
			// Plain texts are JSON strings here too.
			return &anyMatch{x, elem, exec.JSONStringCompare(n.op)}, nil
		}
		t := commonType(x.Type(), elem)
		if t == 0 {
			return nil, operandError(n.op, n.offset(), x.Type(), elem)
		}
		y, err := b.coerce(x, t, types.Implicit, n.offset())
		return &anyMatch{y, t, f}, err
	}
	c, err := b.operatorWith(n.op, []exec.Expr{x, exec.NullOf(elem)}, n.offset())
	if err != nil {
		return nil, err
	}
	call, ok := c.(*exec.Call)
	if !ok || call.Typ != types.Bool {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "op ANY/ALL requires operator to yield boolean").At(n.offset())
	}
	return &anyMatch{call.Args[0], call.Args[1].Type(), call.Func}, nil
}

func (b *binder) anyQuery(n *quantified, x exec.Expr, s *subquery, sc *scope) (exec.Expr, error) {
	q, err := b.subplan(s, sc)
	if err != nil {
		return nil, err
	}
	if len(q.columns) != 1 {
		return nil, syntaxError(s.offset(), "subquery has too many columns")
	}
	any, err := b.anyOp(n, x, q.columns[0].Type)
	if err != nil {
		return nil, err
	}
	if err := any.collate(n, &exec.Col{Typ: q.columns[0].Type, Collation: q.columns[0].Collation}); err != nil {
		return nil, err
	}
	if any.elem != q.columns[0].Type {
		if err := b.retype(q, 0, any.elem, s.offset()); err != nil {
			return nil, err
		}
	}
	return &exec.Subquery{Kind: "any", Plan: planner(b, q), Correlated: q.correlated, Typ: types.Bool, X: any.x,
		Any: &exec.Any{Op: any.fn, Symbol: n.op, All: n.all}, Off: n.offset(), Text: "(" + any.x.String() + " " + n.op + " ANY (SubPlan))"}, nil
}
