package typing

import (
	"cmp"
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
		l, r := args[0].Type(), args[1].Type()
		switch {
		case op == "@@" && types.IsString(l) && types.IsString(r):
			return nil, sqlstate.Unsupported(off, "Use LIKE or a regular expression.",
				"full-text search is not supported")
		case strings.HasPrefix(op, "*") && len(op) > 1 && l == types.Record && r == l:
			return nil, sqlstate.Unsupported(off, "Use the operator without the asterisk.",
				"the operator %s of records is not supported", op)
		case op == "@>" && Untyped(args[0]), op == "<@" && Untyped(args[1]): // by anyrange and anymultirange
			return nil, ambiguousOperator(op, off, l, r)
		}
		e := OperandError(op, off, l, r)
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
		if !Untyped(args[1]) && !implicit(r, types.Text) {
			return nil, true, OperandError(op, off, l, r)
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
		t := types.ArrayOf(CommonType(cmp.Or(le, types.Unknown), cmp.Or(re, types.Unknown)))
		if t == 0 || le != 0 && !implicit(l, t) || re != 0 && !implicit(r, t) {
			return nil, true, OperandError("||", off, l, r)
		}
		x, err := o.Coerce(args[0], t, types.Implicit, off)
		if err != nil {
			return nil, true, err // also for a literal that is not an array
		}
		y, err := o.Coerce(args[1], t, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayConcat, t, x, y)
	case le != 0, re != 0:
		if le == 0 {
			le = l
		} else if re == 0 {
			re = r
		}
		elem := CommonType(le, re)
		t := types.ArrayOf(elem)
		if t == 0 || !implicit(le, elem) || !implicit(re, elem) {
			return nil, true, OperandError("||", off, l, r)
		}
		to, fn := [2]types.OID{t, elem}, funcs.ArrayAppend
		if types.ElemOf(r) != 0 {
			to, fn = [2]types.OID{elem, t}, funcs.ArrayPrepend
		}
		x, err := o.Coerce(args[0], to[0], types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		y, err := o.Coerce(args[1], to[1], types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(fn, t, x, y)
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
