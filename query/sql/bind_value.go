package sql

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *binder) caseExpr(n *caseExpr, sc *scope) (exec.Expr, error) {
	out := &exec.Case{}
	var operand exec.Expr
	wrap := func(body exec.Expr) exec.Expr { return body }
	var err error
	if n.operand != nil {
		if operand, err = b.expr(n.operand, sc); err != nil {
			return nil, err
		}
		if untyped(operand) {
			if operand, err = b.coerce(operand, types.Text, types.Implicit, n.offset()); err != nil {
				return nil, err
			}
		}
		if operand, wrap, err = b.once(operand, n.operand.offset()); err != nil {
			return nil, err
		}
	}
	var results []exec.Expr
	for _, w := range n.whens {
		var cond exec.Expr
		if operand == nil {
			cond, err = b.condition(w.cond, sc, "CASE/WHEN")
		} else if cond, err = b.expr(w.cond, sc); err == nil {
			cond, err = b.compare("=", operand, cond, w.cond.offset())
		}
		if err != nil {
			return nil, err
		}
		r, err := b.expr(w.result, sc)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, exec.When{Cond: cond})
		results = append(results, r)
	}
	if n.other != nil {
		e, err := b.expr(n.other, sc)
		if err != nil {
			return nil, err
		}
		results = append(results, e)
	}
	if results, out.Typ, err = b.unify(results, "CASE", n.offset()); err != nil {
		return nil, err
	}
	for i := range out.Whens {
		out.Whens[i].Result = results[i]
	}
	if n.other != nil {
		out.Else = results[len(results)-1]
	}
	return wrap(out), nil
}

func (b *binder) cast(n *cast, sc *scope) (exec.Expr, error) {
	to, mod, err := resolveType(n.name)
	if err != nil {
		return nil, err
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	switch c := x.(type) {
	case *exec.Const:
		if c.Typ == types.Unknown {
			return b.constant(c, to, mod, n.offset())
		}
	case *exec.Param:
		if c.Typ == types.Unknown {
			if err := b.setParam(c, to); err != nil {
				return nil, sqlstate.Locate(err, n.offset())
			}
			return c, nil
		}
	case *exec.Array:
		if elem := types.ElemOf(to); elem != 0 && len(c.Items) == 0 {
			return &exec.Array{Elem: elem}, nil
		}
	}
	if types.CastContext(x.Type(), to) == types.NoCast {
		return nil, types.CannotCast(x.Type(), to).At(n.offset())
	}
	if x.Type() == to && mod < 0 {
		return x, nil
	}
	return &exec.CastExpr{X: x, To: to, Mod: mod, Off: n.offset()}, nil
}

func (b *binder) array(n *arrayLit, sc *scope) (exec.Expr, error) {
	if len(n.items) == 0 {
		return &exec.Array{Elem: types.Text}, nil
	}
	for _, it := range n.items {
		if _, nested := it.(*arrayLit); nested {
			return nil, sqlstate.Unsupported(it.offset(), "Use arrays of one dimension.", "arrays of several dimensions are not supported")
		}
	}
	items, err := b.exprs(n.items, sc)
	if err != nil {
		return nil, err
	}
	items, typ, err := b.unify(items, "ARRAY", n.offset())
	if err != nil {
		return nil, err
	}
	if types.ArrayOf(typ) == 0 {
		return nil, sqlstate.New(sqlstate.UndefinedObject, "could not find array type for data type %s", types.NameOf(typ)).At(n.offset())
	}
	return &exec.Array{Elem: typ, Items: items}, nil
}

func (b *binder) subscript(n *subscript, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	if types.IsJSON(t) && !n.slice {
		idx, err := b.expr(n.idx, sc)
		if err != nil {
			return nil, err
		}
		return b.operatorWith("->", []exec.Expr{x, idx}, n.offset())
	}
	elem := types.ElemOf(t)
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", types.NameOf(t)).At(n.offset())
	}
	part := func(e expr) (exec.Expr, error) {
		if e == nil {
			return exec.NullOf(types.Int4), nil
		}
		i, err := b.expr(e, sc)
		if err != nil {
			return nil, err
		}
		return b.coerce(i, types.Int4, types.Assignment, e.offset())
	}
	idx, err := part(n.idx)
	if err != nil {
		return nil, err
	}
	if !n.slice {
		return &exec.Call{Func: exec.ArrayItem, Args: []exec.Expr{x, idx}, Typ: elem, Off: n.offset()}, nil
	}
	low, err := part(n.low)
	return &exec.Call{Func: exec.ArraySlice, Args: []exec.Expr{x, low, idx}, Typ: t, Off: n.offset()}, err
}

// field is (x).name: of a relation named in FROM, or of a record whose fields are known.
func (b *binder) field(n *field, sc *scope) (exec.Expr, error) {
	if c, ok := n.x.(*column); ok && len(c.parts) == 1 && n.name != "*" {
		for s := sc; s != nil; s = s.parent {
			for _, r := range s.rels {
				if r.alias == c.parts[0] {
					return b.column(&column{at: n.at, parts: []string{c.parts[0], n.name}}, sc)
				}
			}
		}
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	if hasLocale(x) {
		return nil, unsupportedCollation(n.offset(), "a field of a row")
	}
	for i, f := range fieldsOf(x, sc) {
		if f.Name == n.name {
			idx := &exec.Const{D: types.NewInt(int64(i)), Typ: types.Int4}
			return &exec.Call{Func: exec.RecordField, Args: []exec.Expr{x, idx}, Typ: f.Type, Off: n.offset()}, nil
		}
	}
	return nil, sqlstate.Unsupported(n.offset(), "Call the function in FROM, and name its columns.", "the field %q of this expression is not supported", n.name)
}
