package typing

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// MatchRow compares a row with the record of a query's row, which has the columns, to which it refers by It.
func MatchRow(o *Open, op string, x *exec.RowExpr, columns []exec.Column, off int) (exec.Expr, error) {
	switch {
	case len(columns) > len(x.Items):
		return nil, sqlstate.New(sqlstate.SyntaxError, "subquery has too many columns").At(off)
	case len(columns) < len(x.Items):
		return nil, sqlstate.New(sqlstate.SyntaxError, "subquery has too few columns").At(off)
	}
	y := &exec.RowExpr{Items: make([]exec.Expr, len(columns))}
	for i, c := range columns {
		if !c.Collation.Bytes() {
			return nil, collation.Unsupported(off, "a comparison of rows with a sub-query")
		}
		field := &exec.Const{D: types.NewInt(int64(i)), Typ: types.Int4}
		y.Items[i] = &exec.Call{Func: exec.RecordField, Args: []exec.Expr{&exec.It{Typ: types.Record}, field},
			Typ: c.Type, Off: off}
	}
	return o.OperateRows(op, x, y, off)
}

// Hashed reports whether a result of MatchRow compares values by "=" alone that are equal if their hashes are.
func Hashed(match exec.Expr) bool {
	return !slices.ContainsFunc(exec.Conjuncts(match), func(e exec.Expr) bool {
		c, ok := e.(*exec.Call)
		return !ok || c.Func != funcs.Comparison("=") || c.Args[0].Type() != c.Args[1].Type()
	})
}

// AnyMatch is the comparison of x with the elements, after both have been cast.
type AnyMatch struct {
	X    exec.Expr
	Elem types.OID
	Func *exec.Func
}

// AnyOp resolves the operator of x op ANY|ALL for elements of a type.
func AnyOp(o *Open, n *ast.Quantified, x exec.Expr, elem types.OID) (*AnyMatch, error) {
	if f := funcs.Comparison(n.Op); f != nil {
		if x.Type() == types.JSONB && types.IsString(elem) {
			// Texts are compared as JSON strings here too.
			return &AnyMatch{x, elem, texts.JSONStringCompare(n.Op)}, nil
		}
		t := ComparedType(n.Op, x.Type(), elem)
		if t == 0 {
			return nil, OperandError(n.Op, n.Pos(), x.Type(), elem)
		}
		if x.Type() == types.Xid && t == types.Oid {
			x = &exec.CastExpr{X: x, To: t, Mod: -1, Off: n.Pos(), Hidden: true}
		}
		y, err := o.Coerce(x, t, types.Implicit, n.Pos())
		return &AnyMatch{y, t, f}, err
	}
	c, err := o.Operator(n.Op, []exec.Expr{x, exec.NullOf(elem)}, n.Pos())
	if err != nil {
		return nil, err
	}
	call, ok := c.(*exec.Call)
	if !ok || call.Typ != types.Bool {
		return nil, sqlstate.New(sqlstate.WrongObjectType,
			"op ANY/ALL (array) requires operator to yield boolean").At(n.Pos())
	}
	return &AnyMatch{call.Args[0], call.Args[1].Type(), call.Func}, nil
}

// Collate sets the collation of the comparison of x with elements of y.
func (a *AnyMatch) Collate(n *ast.Quantified, y exec.Expr) error {
	if funcs.Comparison(n.Op) == nil {
		return collation.Casing(n.Op, n.Pos(), a.X, y)
	}
	if collation.HasLocale(a.X) || collation.HasLocale(y) {
		if a.X.Type() == types.JSONB {
			return collation.Unsupported(n.Pos(), "a comparison with jsonb")
		}
		s, err := collation.Merge(n.Pos(), a.X, y)
		if err != nil {
			return err
		}
		if s.Strength == collation.Conflict {
			_, err = collation.Comparison(n.Op, n.Pos(), a.X, y)
			return err
		}
		a.Func = funcs.CollatedComparison(n.Op, s.Collation)
	}
	if a.Func.Collation == nil {
		a.X = collation.Without(a.X)
	}
	return nil
}
