package sql

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

func (b *binder) isTest(n *isTest, sc *scope) (exec.Expr, error) {
	if n.what != "distinct" {
		if n.what == "null" {
			x, err := b.expr(n.x, sc)
			if err == nil && untyped(x) {
				x, err = b.coerce(x, types.Text, types.Implicit, n.offset())
			}
			return &exec.Is{What: n.what, Not: n.not, X: x}, err
		}
		x, err := b.condition(n.x, sc, "IS "+strings.ToUpper(n.what))
		return &exec.Is{What: n.what, Not: n.not, X: x}, err
	}
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	y, err := b.expr(n.y, sc)
	if err != nil {
		return nil, err
	}
	if x, y, err = b.comparable("IS DISTINCT FROM", x, y, n.offset()); err == nil {
		_, err = comparisonCollation("=", n.offset(), x, y)
	}
	return &exec.Distinct{Not: n.not, X: x, Y: y}, err
}

func (b *binder) inList(n *inList, sc *scope) (exec.Expr, error) {
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	list, err := b.exprs(n.list, sc)
	if err != nil {
		return nil, err
	}
	json := x.Type() == types.JSONB
	for _, e := range list {
		json = json || e.Type() == types.JSONB
	}
	if json {
		if x, err = b.asJSON(x, "=", types.JSONB, n.offset()); err != nil {
			return nil, err
		}
		for i := range list {
			if list[i], err = b.asJSON(list[i], "=", types.JSONB, n.list[i].offset()); err != nil {
				return nil, err
			}
		}
		return exec.NewIn(n.not, x, list)
	}
	typ := x.Type()
	for i, e := range list {
		t := commonType(typ, e.Type())
		if t == 0 {
			return nil, operandError("=", n.list[i].offset(), x.Type(), e.Type())
		}
		typ = t
	}
	all, _, err := b.unify(append([]exec.Expr{x}, list...), "IN", n.offset())
	if err != nil {
		return nil, err
	}
	if _, err := comparisonCollation("=", n.offset(), all...); err != nil {
		return nil, err
	}
	all = withoutCollates(all)
	return exec.NewIn(n.not, all[0], all[1:])
}

func (b *binder) between(n *between, sc *scope) (exec.Expr, error) {
	parts, err := b.exprs([]expr{n.x, n.low, n.high}, sc)
	if err != nil {
		return nil, err
	}
	// What is looked at twice is computed once: the operand, and the bounds of a symmetric one.
	twice := 1
	if n.symmetric {
		twice = 3
	}
	var wraps []func(exec.Expr) exec.Expr
	for i := range parts[:twice] {
		it, wrap, err := b.once(parts[i], n.offset())
		if err != nil {
			return nil, err
		}
		if _, wrapped := it.(*exec.It); wrapped {
			for _, outer := range parts[:i] {
				if o, ok := outer.(*exec.It); ok {
					o.Depth++
				}
			}
		}
		parts[i], wraps = it, append(wraps, wrap)
	}
	within := func(low, high exec.Expr) (exec.Expr, error) {
		ge, err := b.compare(">=", parts[0], low, n.offset())
		if err != nil {
			return nil, err
		}
		le, err := b.compare("<=", parts[0], high, n.offset())
		return &exec.Logic{Op: "and", Args: []exec.Expr{ge, le}}, err
	}
	e, err := within(parts[1], parts[2])
	if err == nil && n.symmetric {
		var other exec.Expr
		other, err = within(parts[2], parts[1])
		e = &exec.Logic{Op: "or", Args: []exec.Expr{e, other}}
	}
	if err != nil {
		return nil, err
	}
	if n.not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	for _, wrap := range slices.Backward(wraps) {
		e = wrap(e)
	}
	return e, nil
}

func (b *binder) like(n *like, sc *scope) (exec.Expr, error) {
	op := map[string]string{"like": "~~", "ilike": "~~*", "similar": "similar to"}[n.kind]
	x, err := b.expr(n.x, sc)
	if err != nil {
		return nil, err
	}
	pattern, err := b.expr(n.pattern, sc)
	if err != nil {
		return nil, err
	}
	if x, err = b.textOperand(x, op, pattern.Type(), n.x.offset()); err != nil {
		return nil, err
	}
	if pattern, err = b.coerce(pattern, types.Text, types.Implicit, n.pattern.offset()); err != nil {
		return nil, err
	}
	args := []exec.Expr{x, pattern}
	if n.escape != nil {
		esc, err := b.expr(n.escape, sc)
		if err != nil {
			return nil, err
		}
		if esc, err = b.coerce(esc, types.Text, types.Implicit, n.escape.offset()); err != nil {
			return nil, err
		}
		args = append(args, esc)
	}
	if err := casingCollation(op, n.offset(), args...); err != nil {
		return nil, err
	}
	args = withoutCollates(args)
	var e exec.Expr = &exec.Call{Func: exec.LikeFunc(op), Args: args, Typ: types.Bool, Off: n.offset(), Op: op}
	if n.not {
		e = &exec.Logic{Op: "not", Args: []exec.Expr{e}}
	}
	return e, nil
}

// textOperand makes the left side of LIKE and ~ a text. A jsonb is taken for its string; other JSON values match nothing.
func (b *binder) textOperand(x exec.Expr, op string, other types.OID, off int) (exec.Expr, error) {
	switch t := x.Type(); {
	case t == types.JSONB:
		return &exec.Call{Func: exec.JSONStringText, Args: []exec.Expr{x}, Typ: types.Text, Off: off, Hidden: true}, nil
	case types.IsString(t), t == types.Unknown:
		return b.coerce(x, types.Text, types.Implicit, off)
	default:
		return nil, operandError(op, off, t, other)
	}
}
