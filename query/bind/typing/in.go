package typing

import (
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Distinct binds x IS [NOT] DISTINCT FROM y. A comparison with NULL needs no operator.
func Distinct(o *Open, not bool, x, y exec.Expr, off int) (exec.Expr, error) {
	if isNull(x) {
		x, y = y, x
	}
	var err error
	if isNull(y) {
		if Untyped(x) {
			x, err = o.Coerce(x, types.Text, types.Implicit, off)
		}
		return &exec.Distinct{Not: not, X: x, Y: exec.NullOf(x.Type())}, err
	}
	if x, y, err = o.Comparable("=", x, y, off); err == nil {
		_, err = collation.Comparison("=", off, x, y)
	}
	return &exec.Distinct{Not: not, X: x, Y: y}, err
}

// isNull reports whether e is the literal NULL.
func isNull(e exec.Expr) bool {
	c, ok := e.(*exec.Const)
	return ok && c.Typ == types.Unknown && c.D.IsNull()
}

// InEach compares a value with each of a list, which has no type that all can be compared in.
func InEach(o *Open, not bool, x exec.Expr, list []exec.Expr, off int) (exec.Expr, error) {
	op, out := "=", &exec.Logic{Op: "or"}
	if not {
		op, out.Op = "<>", "and"
	}
	it, wrap, err := o.Once(x, off)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		cond, err := o.Compare(op, it, e, off)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, cond)
	}
	if len(list) == 1 {
		return wrap(out.Args[0]), nil
	}
	return wrap(out), nil
}
