package bind

import (
	"math"
	"strings"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/funcs/texts"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

func (b *binder) caseExpr(n *ast.Case, sc *scope) (exec.Expr, error) {
	defer sc.withoutSets("CASE")()
	out := &exec.Case{}
	var operand exec.Expr
	wrap := func(body exec.Expr) exec.Expr { return body }
	var err error
	if n.Operand != nil {
		if operand, err = b.expr(n.Operand, sc); err != nil {
			return nil, err
		}
		if typing.Untyped(operand) {
			if operand, err = b.Coerce(operand, types.Text, types.Implicit, n.Pos()); err != nil {
				return nil, err
			}
		}
		if operand, wrap, err = b.Once(operand, n.Operand.Pos()); err != nil {
			return nil, err
		}
	}
	var results []exec.Expr
	for _, w := range n.Whens {
		var cond exec.Expr
		if operand == nil {
			cond, err = b.condition(w.Cond, sc, "CASE/WHEN")
		} else if cond, err = b.expr(w.Cond, sc); err == nil {
			cond, err = b.Compare("=", operand, cond, w.Pos())
		}
		if err != nil {
			return nil, err
		}
		r, err := b.expr(w.Result, sc)
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, exec.When{Cond: cond})
		results = append(results, r)
	}
	if n.Else != nil {
		e, err := b.expr(n.Else, sc)
		if err != nil {
			return nil, err
		}
		// PostgreSQL resolves ELSE first, which matters if texts of two types meet.
		results = append([]exec.Expr{e}, results...)
	}
	at, what := n.Pos(), "CASE"
	switch i := typing.Misfit(results); {
	case i == 0 && n.Else != nil:
		at, what = ast.Start(n.Else), "CASE/ELSE"
	case i > 0 && n.Else != nil:
		at = ast.Start(n.Whens[i-1].Result)
	case i >= 0:
		at = ast.Start(n.Whens[i].Result)
	}
	if results, out.Typ, err = b.Unify(results, what, at); err != nil {
		return nil, err
	}
	if n.Else != nil {
		out.Else, results = results[0], results[1:]
	}
	for i := range out.Whens {
		out.Whens[i].Result = results[i]
	}
	return wrap(out), nil
}

func (b *binder) cast(n *ast.Cast, sc *scope) (exec.Expr, error) {
	to, mod, err := b.resolveType(n.Type)
	if err != nil {
		return nil, err
	}
	return b.castTo(n, n.X, to, mod, sc)
}

// castTo binds an operand of a cast. The items of an array's constructor are cast each.
func (b *binder) castTo(n *ast.Cast, operand ast.Expr, to types.OID, mod int32, sc *scope) (exec.Expr, error) {
	if a, ok := operand.(*ast.Array); ok && types.ElemOf(to) != 0 {
		out := &exec.Array{Elem: types.ElemOf(to)}
		for _, it := range a.Items {
			if err := refuse.Nested(it); err != nil {
				return nil, err
			}
			x, err := b.castTo(n, it, out.Elem, mod, sc)
			if err != nil {
				return nil, sqlstate.Locate(err, ast.Start(it))
			}
			out.Items = append(out.Items, x)
		}
		if out.Type() != to { // int2vector, oidvector
			return &exec.CastExpr{X: out, To: to, Mod: -1, Off: n.Pos(), Hidden: true}, nil
		}
		return out, nil
	}
	at := n.Pos()
	if operand != n.X {
		at = ast.Start(operand)
	}
	x, err := b.expr(operand, sc)
	if err != nil {
		return nil, err
	}
	return typing.Cast(&b.Open, x, to, mod, at, n)
}

func (b *binder) array(n *ast.Array, sc *scope) (exec.Expr, error) {
	if len(n.Items) == 0 {
		return nil, sqlstate.New(sqlstate.IndeterminateDatatype, "cannot determine type of empty array").At(n.Pos()).
			WithHint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
	}
	for _, it := range n.Items {
		if err := refuse.Nested(it); err != nil {
			return nil, err
		}
	}
	items, err := b.exprs(n.Items, sc)
	if err != nil {
		return nil, err
	}
	at := n.Pos()
	if i := typing.Misfit(items); i >= 0 {
		at = ast.Start(n.Items[i])
	}
	items, typ, err := b.Unify(items, "ARRAY", at)
	if err != nil {
		return nil, err
	}
	if types.ArrayOf(typ) == 0 {
		return nil, typing.NoArray(typ, n.Pos())
	}
	return &exec.Array{Elem: typ, Items: items}, nil
}

func (b *binder) subscript(n *ast.Subscript, sc *scope) (exec.Expr, error) {
	if n.Chained {
		return b.deepSubscript(n, sc)
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	return b.subscriptOf(x, n, sc)
}

// subscriptOf binds x[i] and x[i:j].
func (b *binder) subscriptOf(x exec.Expr, n *ast.Subscript, sc *scope) (exec.Expr, error) {
	t := x.Type()
	if t == types.JSONB {
		if n.Slice {
			return nil, refuse.SliceOfJSON(n)
		}
		idx, err := b.expr(n.Index, sc)
		if err != nil {
			return nil, err
		}
		return typing.SubscriptJSON(&b.Open, x, idx, n.Pos(), ast.Start(n.Index))
	}
	elem := types.ElemOf(t)
	if t == types.Name && !n.Slice {
		elem = types.Char
	}
	if elem == 0 {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch,
			"cannot subscript type %s because it does not support subscripting", types.NameOf(t)).
			At(ast.Start(n.X))
	}
	idx, err := b.subscriptPart(n.Index, math.MaxInt32, sc)
	if err != nil {
		return nil, err
	}
	if t == types.Name {
		return &exec.Call{Func: texts.NameByte, Args: []exec.Expr{x, idx}, Typ: elem, Off: n.Pos(),
			Subscript: true}, nil
	}
	if !n.Slice {
		return &exec.Call{Func: funcs.ArrayItem, Args: []exec.Expr{x, idx}, Typ: elem, Off: n.Pos(),
			Subscript: true}, nil
	}
	low, err := b.subscriptPart(n.Low, math.MinInt32, sc)
	args := []exec.Expr{x, low, idx}
	return &exec.Call{Func: funcs.ArraySlice, Args: args, Typ: t, Off: n.Pos(), Subscript: true}, err
}

// subscriptPart binds a subscript, or a bound of a range, which defaults to none.
func (b *binder) subscriptPart(e ast.Expr, none int64, sc *scope) (exec.Expr, error) {
	if e == nil {
		return &exec.Const{D: types.NewInt(none), Typ: types.Int4}, nil
	}
	i, err := b.expr(e, sc)
	if err != nil {
		return nil, err
	}
	return b.Coerce(i, types.Int4, types.Assignment, e.Pos())
}

// deepSubscript binds several subscripts. An array has one dimension: it has no such item and no such slice. If one
// subscript is a range, all are. On a jsonb each subscript goes one level deeper.
func (b *binder) deepSubscript(n *ast.Subscript, sc *scope) (exec.Expr, error) {
	list := []*ast.Subscript{n}
	for n.Chained {
		n = n.X.(*ast.Subscript)
		list = append(list, n)
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	if types.ElemOf(x.Type()) == 0 {
		for i := len(list) - 1; i >= 0; i-- {
			if x, err = b.subscriptOf(x, list[i], sc); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	args, slice := []exec.Expr{x}, false
	for _, s := range list {
		for _, e := range []ast.Expr{s.Low, s.Index} {
			i, err := b.subscriptPart(e, 1, sc)
			if err != nil {
				return nil, err
			}
			args = append(args, i)
		}
		slice = slice || s.Slice
	}
	if slice {
		return &exec.Call{Func: funcs.ArrayDeep, Args: args, Typ: x.Type(), Off: n.Pos(), Subscript: true}, nil
	}
	return &exec.Call{Func: funcs.ArrayNothing, Args: args, Typ: types.ElemOf(x.Type()), Off: n.Pos(),
		Subscript: true}, nil
}

// field binds (x).name: a column of a relation in FROM, or a field of a record whose fields are known.
func (b *binder) field(n *ast.Field, sc *scope) (exec.Expr, error) {
	if c, ok := n.X.(*ast.Column); ok && len(c.Parts) == 1 && n.Name != "*" {
		for s := sc; s != nil; s = s.parent {
			for _, r := range s.rels {
				if r.alias == c.Parts[0] {
					return b.column(&ast.Column{At: n.At, Parts: []string{c.Parts[0], n.Name}}, sc)
				}
			}
		}
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	if collation.HasLocale(x) {
		return nil, collation.Unsupported(n.Pos(), "a field of a row")
	}
	if row, ok := x.(*exec.RowExpr); ok {
		for i, it := range row.Items {
			if types.FieldName(row.Names, i) == n.Name {
				return it, nil
			}
		}
		return nil, sqlstate.New(sqlstate.UndefinedColumn, `could not identify column "%s" in record data type`,
			n.Name).
			At(ast.Start(n.X))
	}
	fields := fieldsOf(x, sc)
	for i, f := range fields {
		if f.Name == n.Name {
			if set, ok := x.(*refs.Set); ok {
				return sc.query.column(set, i), nil
			}
			idx := &exec.Const{D: types.NewInt(int64(i)), Typ: types.Int4}
			return &exec.Call{Func: exec.RecordField, Args: []exec.Expr{x, idx}, Typ: f.Type, Off: n.Pos()}, nil
		}
	}
	if fields != nil {
		return nil, sqlstate.New(sqlstate.UndefinedColumn, `could not identify column "%s" in record data type`,
			n.Name).
			At(ast.Start(n.X))
	}
	if x.Type() != types.Record {
		return nil, sqlstate.New(sqlstate.WrongObjectType,
			"column notation .%s applied to type %s, which is not a composite type", n.Name, types.NameOf(x.Type())).
			At(ast.Start(n.X))
	}
	return nil, sqlstate.Unsupported(n.Pos(), "Call the function in FROM, and name its columns.",
		`the field "%s" of this expression is not supported`, n.Name)
}

// collate binds x COLLATE name.
func (b *binder) collate(n *ast.Collate, sc *scope) (exec.Expr, error) {
	name := strings.Join(n.Name, ".")
	if err := b.checkSchema(n.Name, n.Pos()); err != nil {
		return nil, err
	}
	if len(n.Name) > 1 && (len(n.Name) > 2 || n.Name[0] != "pg_catalog") {
		return nil, types.NoCollation(name).At(n.Pos())
	}
	coll, err := types.FindCollation(n.Name[len(n.Name)-1])
	if err != nil {
		return nil, sqlstate.Locate(err, n.Pos())
	}
	x, err := b.expr(n.X, sc)
	if err != nil {
		return nil, err
	}
	if typing.Untyped(x) {
		if x, err = b.Coerce(x, types.Text, types.Implicit, n.Pos()); err != nil {
			return nil, err
		}
	}
	if !collation.Collatable(x.Type()) {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "collations are not supported by type %s",
			types.NameOf(x.Type())).At(n.Pos())
	}
	return &exec.Collate{X: x, Collation: coll}, nil
}
