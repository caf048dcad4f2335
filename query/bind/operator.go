package bind

import (
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// operator binds a prefix or infix operator.
func (b *binder) operator(n *ast.Operator, sc *scope) (exec.Expr, error) {
	if c, ok := n.Args[0].(*ast.Literal); ok && n.Op == "-" && len(n.Args) == 1 &&
		(c.Kind == ast.Integer || c.Kind == ast.Number) {
		// The sign is part of the constant, and decides its type.
		text, negative := strings.CutPrefix(c.Text, "-")
		if !negative {
			text = "-" + text
		}
		return b.literal(&ast.Literal{At: n.At, Kind: c.Kind, Text: text})
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	return b.operatorWith(n.Op, args, n.Pos())
}

func (b *binder) operatorWith(op string, args []exec.Expr, off int) (exec.Expr, error) {
	if len(args) == 2 {
		if funcs.Comparison(op) != nil {
			if l, ok := args[0].(*exec.RowExpr); ok {
				if r, ok := args[1].(*exec.RowExpr); ok {
					return b.compareRows(op, l, r, off)
				}
			}
			return b.Compare(op, args[0], args[1], off)
		}
		if e, done, err := b.specialOperator(op, args, off); done || err != nil {
			return e, err
		}
		for i := range args {
			if op == "+" && typing.Untyped(args[i]) && args[1-i].Type() == types.Date {
				e := typing.OperandError(op, off, args[0].Type(), args[1].Type())
				e.Code, e.Message = sqlstate.AmbiguousFunction, strings.Replace(e.Message, "does not exist",
					"is not unique", 1)
				e.Hint = "Could not choose a best candidate operator. You might need to add explicit type casts."
				return nil, e
			}
		}
		// An open operand takes the type of the other, if there is an operator for that.
		for i := range args {
			if t := args[1-i].Type(); typing.Untyped(args[i]) && !typing.Untyped(args[1-i]) {
				for _, f := range funcs.Operators[op] {
					if len(f.Args) == 2 && f.Args[0] == t && f.Args[1] == t {
						return b.applyOperator(f, op, args, off)
					}
				}
			}
		}
	}
	if len(args) == 2 {
		// PostgreSQL's operators of a real and another number are those of double precision.
		for i := range args {
			if _, number := typing.NumericRank[args[1-i].Type()]; number && args[i].Type() == types.Float4 &&
				args[1-i].Type() != types.Float4 && strings.Contains("+-*/", op) {
				args[i] = &exec.CastExpr{X: args[i], To: types.Float8, Mod: -1, Off: off, Hidden: true}
			}
		}
	}
	fn, err := typing.Choose(typing.OperatorsOf(op, len(args)), args)
	if err != nil {
		oids := []types.OID{args[0].Type()}
		if len(args) == 2 {
			oids = append(oids, args[1].Type())
		}
		e := typing.OperandError(op, off, oids...)
		e.Code = sqlstate.AmbiguousFunction
		e.Message = strings.Replace(e.Message, "does not exist", "is not unique", 1)
		return nil, e
	}
	if fn == nil {
		if len(args) == 1 {
			return nil, typing.OperandError(op, off, args[0].Type())
		}
		e := typing.OperandError(op, off, args[0].Type(), args[1].Type())
		if types.IsJSON(args[0].Type()) || args[0].Type() == types.Text {
			e.Hint = "A member of a document is used as a number by a cast: (doc->>'n')::numeric."
		}
		return nil, e
	}
	return b.applyOperator(fn, op, args, off)
}

func (b *binder) applyOperator(fn *exec.Func, op string, args []exec.Expr, off int) (exec.Expr, error) {
	args, err := b.CoerceArgs(args, fn.Args, false, off)
	if err != nil {
		return nil, err
	}
	return &exec.Call{Func: fn, Args: args, Typ: typing.ReturnType(fn, args), Off: off, Op: op}, nil
}

// specialOperator handles those whose operand types do not follow the general rule.
func (b *binder) specialOperator(op string, args []exec.Expr, off int) (exec.Expr, bool, error) {
	l, r := args[0].Type(), args[1].Type()
	switch op {
	case "~~", "~~*", "!~~", "!~~*", "~", "~*", "!~", "!~*":
		if types.ElemOf(l) != 0 || types.ElemOf(r) != 0 || l == types.Bytea || r == types.Bytea {
			return nil, false, nil
		}
		x, err := b.textOperand(args[0], op, r, off)
		if err != nil {
			return nil, true, err
		}
		y, err := b.Coerce(args[1], types.Text, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		if err := collation.Casing(op, off, x, y); err != nil {
			return nil, true, err
		}
		return &exec.Call{Func: texts.LikeFunc(op), Args: []exec.Expr{x, y}, Typ: types.Bool, Off: off,
			Op: op}, true, nil
	case "->", "->>":
		// A small integer constant is an index, also when it is wider than int4.
		if types.IsJSON(l) && (r == types.Int8 || r == types.Int2) {
			idx := &exec.CastExpr{X: args[1], To: types.Int4, Mod: -1, Off: off, Hidden: true}
			e, err := b.operatorWith(op, []exec.Expr{args[0], idx}, off)
			return e, true, err
		}
		if types.IsJSON(l) && typing.Untyped(args[1]) {
			y, err := b.Coerce(args[1], types.Text, types.Implicit, off)
			if err != nil {
				return nil, true, err
			}
			e, err := b.operatorWith(op, []exec.Expr{args[0], y}, off)
			return e, true, err
		}
	case "||":
		if e, done, err := b.concat(args, l, r, off); done {
			return e, true, err
		}
	}
	return nil, false, nil
}

// concat: arrays with arrays or elements, jsonb with jsonb, else texts, where one side may be anything that is not
// text.
func (b *binder) concat(args []exec.Expr, l, r types.OID, off int) (exec.Expr, bool, error) {
	le, re := types.ElemOf(l), types.ElemOf(r)
	text := func(e exec.Expr) (exec.Expr, error) {
		if types.IsString(e.Type()) {
			return b.Coerce(e, types.Text, types.Implicit, off)
		}
		return &exec.CastExpr{X: e, To: types.Text, Mod: -1, Off: off, Hidden: true}, nil
	}
	array := func(fn *exec.Func, typ types.OID, x, y exec.Expr) (exec.Expr, bool, error) {
		return &exec.Call{Func: fn, Args: []exec.Expr{x, y}, Typ: typ, Off: off, Op: "||"}, true, nil
	}
	switch {
	case le != 0 && re != 0, le != 0 && typing.Untyped(args[1]), re != 0 && typing.Untyped(args[0]):
		both, typ, err := b.Unify(args, "||", off)
		var e *sqlstate.Error
		if errors.As(err, &e) && e.Code == sqlstate.DatatypeMismatch {
			err = typing.OperandError("||", off, l, r)
		}
		if err != nil {
			return nil, true, err // also of a literal that is no array
		}
		return array(funcs.ArrayConcat, typ, both[0], both[1])
	case le != 0:
		typ, item, err := b.arrayAndItem(l, args[1], off)
		if err != nil {
			return nil, true, typing.OperandError("||", off, l, r)
		}
		arr, err := b.Coerce(args[0], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayAppend, typ, arr, item)
	case re != 0:
		typ, item, err := b.arrayAndItem(r, args[0], off)
		if err != nil {
			return nil, true, typing.OperandError("||", off, l, r)
		}
		arr, err := b.Coerce(args[1], typ, types.Implicit, off)
		if err != nil {
			return nil, true, err
		}
		return array(funcs.ArrayPrepend, typ, item, arr)
	case l == types.JSONB && (r == types.JSONB || typing.Untyped(args[1])), r == types.JSONB && typing.Untyped(args[0]):
		return nil, false, nil
	case l == types.Bytea && (r == types.Bytea || typing.Untyped(args[1])), r == types.Bytea && typing.Untyped(args[0]):
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

// arrayAndItem brings an array's type and an item to one element type.
func (b *binder) arrayAndItem(arr types.OID, item exec.Expr, off int) (types.OID, exec.Expr, error) {
	t := typing.CommonType(types.ElemOf(arr), item.Type())
	if t == 0 || types.ArrayOf(t) == 0 {
		return 0, nil, typing.OperandError("||", off, arr, item.Type())
	}
	x, err := b.Coerce(item, t, types.Implicit, off)
	return types.ArrayOf(t), x, err
}
