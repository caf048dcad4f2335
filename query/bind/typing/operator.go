package typing

import (
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Operator binds an operator of one or two operands.
func (o *Open) Operator(op string, args []exec.Expr, off int) (exec.Expr, error) {
	if len(args) == 2 {
		if funcs.Comparison(op) != nil {
			if l, ok := args[0].(*exec.RowExpr); ok {
				if r, ok := args[1].(*exec.RowExpr); ok {
					return o.CompareRows(op, l, r, off)
				}
			}
			return o.Compare(op, args[0], args[1], off)
		}
		if e, done, err := o.specialOperator(op, args, off); done || err != nil {
			return e, err
		}
		if (op == "-" || op == "&&") && Untyped(args[0]) && Untyped(args[1]) {
			return nil, ambiguousOperator(op, off, args[0].Type(), args[1].Type())
		}
		for i := range args {
			if op == "+" && Untyped(args[i]) && args[1-i].Type() == types.Date {
				return nil, ambiguousOperator(op, off, args[0].Type(), args[1].Type())
			}
		}
		// An open operand gets the type of the other one if there is such an operator.
		for i := range args {
			if t := args[1-i].Type(); Untyped(args[i]) && !Untyped(args[1-i]) {
				for _, f := range funcs.Operators[op] {
					if len(f.Args) == 2 && f.Args[0] == t && f.Args[1] == t {
						return o.applyOperator(f, op, args, off)
					}
				}
			}
		}
	}
	if len(args) == 2 {
		// PostgreSQL's operators of a real and another number are those of double precision.
		for i := range args {
			if _, number := NumericRank[args[1-i].Type()]; number && args[i].Type() == types.Float4 &&
				args[1-i].Type() != types.Float4 && strings.Contains("+-*/", op) {
				args[i] = &exec.CastExpr{X: args[i], To: types.Float8, Mod: -1, Off: off, Hidden: true}
			}
		}
	}
	fn, err := Choose(OperatorsOf(op, len(args)), args)
	if err != nil {
		return nil, ambiguousOperator(op, off, TypesOf(args)...)
	}
	if fn == nil {
		if len(args) == 1 {
			return nil, OperandError(op, off, args[0].Type())
		}
		e := OperandError(op, off, args[0].Type(), args[1].Type())
		if (types.IsJSON(args[0].Type()) || args[0].Type() == types.Text) && strings.Contains("+-*/%^", op) {
			e.Hint = "A member of a document is used as a number by a cast: (doc->>'n')::numeric."
		}
		return nil, e
	}
	return o.applyOperator(fn, op, args, off)
}

func (o *Open) applyOperator(fn *exec.Func, op string, args []exec.Expr, off int) (exec.Expr, error) {
	args, err := o.CoerceArgs(args, fn.Args, false, off)
	if err != nil {
		return nil, err
	}
	return &exec.Call{Func: fn, Args: args, Typ: ReturnType(fn, args), Off: off, Op: op}, nil
}

// specialOperator binds operators whose operand types do not follow the general rule.
func (o *Open) specialOperator(op string, args []exec.Expr, off int) (exec.Expr, bool, error) {
	l, r := args[0].Type(), args[1].Type()
	switch op {
	case "~~", "~~*", "!~~", "!~~*", "~", "~*", "!~", "!~*":
		if types.ElemOf(l) != 0 || types.ElemOf(r) != 0 || l == types.Bytea || r == types.Bytea {
			return nil, false, nil
		}
		x, err := o.TextOperand(args[0], op, r, off)
		if err != nil {
			return nil, true, err
		}
		y, err := o.Coerce(args[1], types.Text, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		if err := collation.Casing(op, off, x, y); err != nil {
			return nil, true, err
		}
		return &exec.Call{Func: texts.LikeFunc(op), Args: []exec.Expr{x, y}, Typ: types.Bool, Off: off,
			Op: op}, true, nil
	case "->", "->>":
		// A small integer constant is an index, even if its type is wider than int4.
		if types.IsJSON(l) && (r == types.Int8 || r == types.Int2) {
			idx := &exec.CastExpr{X: args[1], To: types.Int4, Mod: -1, Off: off, Hidden: true}
			e, err := o.Operator(op, []exec.Expr{args[0], idx}, off)
			return e, true, err
		}
		if types.IsJSON(l) && Untyped(args[1]) {
			y, err := o.Coerce(args[1], types.Text, types.Implicit, off)
			if err != nil {
				return nil, true, err
			}
			e, err := o.Operator(op, []exec.Expr{args[0], y}, off)
			return e, true, err
		}
	case "||":
		if texts := types.IsString(l) || l == types.Unknown; texts && r == types.Char ||
			l == types.Char && (types.IsString(r) || r == types.Unknown) {
			return nil, true, ambiguousOperator(op, off, l, r)
		}
		if e, done, err := o.concat(args, l, r, off); done {
			return e, true, err
		}
	}
	return nil, false, nil
}

// concat binds ||: of arrays, of arrays and items, of jsonb, or of texts, where one side may have any type.
func (o *Open) concat(args []exec.Expr, l, r types.OID, off int) (exec.Expr, bool, error) {
	le, re := types.ElemOf(l), types.ElemOf(r)
	text := func(e exec.Expr) (exec.Expr, error) {
		if types.IsString(e.Type()) {
			return o.Coerce(e, types.Text, types.Implicit, off)
		}
		return &exec.CastExpr{X: e, To: types.Text, Mod: -1, Off: off, Hidden: true}, nil
	}
	array := func(fn *exec.Func, typ types.OID, x, y exec.Expr) (exec.Expr, bool, error) {
		return &exec.Call{Func: fn, Args: []exec.Expr{x, y}, Typ: typ, Off: off, Op: "||"}, true, nil
	}
	switch {
	case le != 0 && re != 0, le != 0 && Untyped(args[1]), re != 0 && Untyped(args[0]):
		both, typ, err := o.Unify(args, "||", off)
		var e *sqlstate.Error
		if errors.As(err, &e) && e.Code == sqlstate.DatatypeMismatch {
			err = OperandError("||", off, l, r)
		}
		if err != nil {
			return nil, true, err // also for a literal that is not an array
		}
		return array(funcs.ArrayConcat, typ, both[0], both[1])
	case le != 0:
		typ, item, err := o.arrayAndItem(l, args[1], off)
		if err != nil {
			return nil, true, OperandError("||", off, l, r)
		}
		arr, err := o.Coerce(args[0], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayAppend, typ, arr, item)
	case re != 0:
		typ, item, err := o.arrayAndItem(r, args[0], off)
		if err != nil {
			return nil, true, OperandError("||", off, l, r)
		}
		arr, err := o.Coerce(args[1], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayPrepend, typ, item, arr)
	case l == types.JSONB && (r == types.JSONB || Untyped(args[1])), r == types.JSONB && Untyped(args[0]):
		return nil, false, nil
	case l == types.Bytea && (r == types.Bytea || Untyped(args[1])), r == types.Bytea && Untyped(args[0]):
		return nil, false, nil
	case types.IsString(l) || types.IsString(r):
		x, err := text(args[0])
		if err != nil {
			return nil, true, err
		}
		y, err := text(args[1])
		return &exec.Call{Func: texts.TextConcat, Args: []exec.Expr{x, y}, Typ: types.Text, Off: off,
			Op: "||"}, true, err
	}
	return nil, false, nil
}

// arrayAndItem returns the array type that fits both an array and an item, and the item cast to its element type.
func (o *Open) arrayAndItem(arr types.OID, item exec.Expr, off int) (types.OID, exec.Expr, error) {
	t := CommonType(types.ElemOf(arr), item.Type())
	if t == 0 || types.ArrayOf(t) == 0 {
		return 0, nil, OperandError("||", off, arr, item.Type())
	}
	x, err := o.Coerce(item, t, types.Implicit, off)
	return types.ArrayOf(t), x, err
}

// TextOperand makes the left side of LIKE and ~ a text. Of jsonb values only strings match.
func (o *Open) TextOperand(x exec.Expr, op string, other types.OID, off int) (exec.Expr, error) {
	switch t := x.Type(); {
	case t == types.JSONB:
		return &exec.Call{Func: texts.JSONStringText, Args: []exec.Expr{x}, Typ: types.Text, Off: off,
			Hidden: true}, nil
	case t == types.BPChar: // keeping the trailing blanks
		return &exec.Call{Func: texts.Padded, Args: []exec.Expr{x}, Typ: types.Text, Off: off, Hidden: true}, nil
	case types.IsString(t), t == types.Unknown:
		return o.Coerce(x, types.Text, types.Implicit, off)
	default:
		return nil, OperandError(op, off, t, other)
	}
}

// SubscriptJSON binds x[i] of a jsonb: an element of a path, which is a name in an object and a number in an array. off
// is the position of the whole, and at that of the subscript.
func SubscriptJSON(o *Open, x, idx exec.Expr, off, at int) (_ exec.Expr, err error) {
	switch t := idx.Type(); {
	case Untyped(idx), types.CastContext(t, types.Text) == types.Implicit:
		if idx, err = o.Coerce(idx, types.Text, types.Implicit, at); err != nil {
			return nil, err
		}
		if c, ok := idx.(*exec.Const); ok && !c.D.IsNull() && strings.Trim(c.D.S, "+-0123456789 \t\n\v\f\r") != "" {
			return o.Operator("->", []exec.Expr{x, idx}, off) // the same, and plans know it
		}
	case types.CastContext(t, types.Int4) == types.Implicit:
		if idx, err = o.Coerce(idx, types.Int4, types.Implicit, at); err != nil {
			return nil, err
		}
		idx = &exec.CastExpr{X: idx, To: types.Text, Mod: -1, Off: at, Hidden: true}
	default:
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "subscript type %s is not supported", types.NameOf(t)).
			At(at).WithHint("jsonb subscript must be coercible to either integer or text.")
	}
	return o.Operator("#>", []exec.Expr{x, &exec.Array{Elem: types.Text, Items: []exec.Expr{idx}}}, off)
}
