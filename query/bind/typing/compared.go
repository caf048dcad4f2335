package typing

import (
	"sync"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// operands are the types of the two operands of an operator.
type operands struct{ left, right types.OID }

// compared is what an operator of comparison is looked up by.
type compared struct {
	op string
	operands
}

var comparedTypes sync.Map // of types.OID by compared

// signatures has the operand types of PostgreSQL's binary operators by symbol.
var signatures = sync.OnceValue(func() map[string][]signature {
	out := map[string][]signature{}
	for _, o := range PgOperators() {
		if len(o.Func.Args) == 2 {
			out[o.Symbol] = append(out[o.Symbol], signature{args: o.Func.Args})
		}
	}
	return out
})

// operandsOf returns the operand types of the operator that PostgreSQL chooses for operands of two types; false if none
// fits.
func operandsOf(op string, a, c types.OID) (operands, bool, error) {
	list := signatures()[op]
	i, err := choose(list, []exec.Expr{&exec.Param{Typ: a}, &exec.Param{Typ: c}})
	if i < 0 || err != nil {
		return operands{}, false, err
	}
	return operands{list[i].args[0], list[i].args[1]}, true, nil
}

// ComparedType returns the type to which a comparison casts its operands: that of PostgreSQL's operator, or the wider
// one if it compares two types. It is 0 if there is no operator, or several that fit equally well.
func ComparedType(op string, a, c types.OID) types.OID {
	switch {
	case a == types.Unknown && c == types.Unknown:
		return types.Text
	case a == c && a == types.VarChar: // columns without casts may become a range
		return a
	case a == types.Unknown:
		a = c
	case c == types.Unknown:
		c = a
	}
	key := compared{op, operands{a, c}}
	if t, ok := comparedTypes.Load(key); ok {
		return t.(types.OID)
	}
	t := types.OID(0)
	if s, ok, err := operandsOf(op, a, c); ok && err == nil {
		t = s.wider(a)
	}
	comparedTypes.Store(key, t)
	return t
}

// wider returns the type in which values of both operands compare. a is the type of the left operand.
func (s operands) wider(a types.OID) types.OID {
	switch {
	case s.left == types.AnyArray:
		return a
	case s == operands{types.Xid, types.Int4}:
		return types.Oid // 32 bits without a sign
	case s.left == s.right, s.left == types.TimestampTZ, s.left == types.Timestamp && s.right == types.Date:
		return s.left
	case NumericRank[s.left] > NumericRank[s.right], s.left == types.Text:
		return s.left
	}
	return s.right
}

// NullIfType returns the type of NULLIF(a, c): that of the first operand of PostgreSQL's equality operator. It is 0 for
// jsonb and another type, which only Divan compares.
func NullIfType(a, c types.OID) types.OID {
	if a != c && c != types.Unknown && (a == types.JSONB || c == types.JSONB) {
		return 0
	}
	of := a
	switch {
	case a == types.Unknown && c == types.Unknown:
		return types.Text
	case a == types.Unknown:
		of = c
	case c == types.Unknown:
		c = a
	}
	s, ok, err := operandsOf("=", of, c)
	switch {
	case !ok || err != nil:
		return 0
	case s.left == types.AnyArray:
		return of
	}
	return s.left
}

// NullIf binds NULLIF. mod returns the type modifier of an expression.
func NullIf(o *Open, args []exec.Expr, mod func(exec.Expr) int32, off int) (exec.Expr, error) {
	first := args[0]
	var err error
	if Untyped(first) {
		t := args[1].Type()
		if t == types.Unknown || t == types.VarChar {
			t = types.Text
		}
		if first, err = o.Coerce(first, t, types.Implicit, off); err != nil {
			return nil, err
		}
	}
	x, wrap, err := o.Once(first, off)
	if err != nil {
		return nil, err
	}
	eq, err := o.Compare("=", x, args[1], off)
	if err != nil {
		return nil, err
	}
	if collation.HasLocale(args[1]) {
		return nil, collation.Unsupported(off, "the second argument of NULLIF")
	}
	// It has the type that the comparison gives its first argument.
	t := NullIfType(x.Type(), args[1].Type())
	if t == 0 {
		return nil, OperandError("=", off, x.Type(), args[1].Type())
	}
	if x, err = o.Coerce(x, t, types.Implicit, off); err != nil {
		return nil, err
	}
	null := &exec.Const{Typ: t, Mod: mod(x) + 1}
	return wrap(&exec.Case{Whens: []exec.When{{Cond: eq, Result: null}}, Else: x, Typ: t}), nil
}
