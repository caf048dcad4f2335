package sql

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// condition binds an expression that must be boolean.
func (b *binder) condition(e expr, sc *scope, clause string) (exec.Expr, error) {
	x, err := b.expr(e, sc)
	if err != nil {
		return nil, err
	}
	if t := x.Type(); t != types.Bool && t != types.Unknown {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of %s must be type boolean, not type %s", clause, types.NameOf(t)).At(e.offset())
	}
	return b.coerce(x, types.Bool, types.Implicit, e.offset())
}

func (b *binder) exprs(list []expr, sc *scope) ([]exec.Expr, error) {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = b.expr(e, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *binder) expr(e expr, sc *scope) (exec.Expr, error) {
	if err := b.enter(e.offset()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	switch n := e.(type) {
	case *literal:
		return b.literal(n)
	case *param:
		return b.param(n)
	case *column:
		return b.column(n, sc)
	case *operator:
		return b.operator(n, sc)
	case *logic:
		args := make([]exec.Expr, len(n.args))
		for i, a := range n.args {
			var err error
			if args[i], err = b.condition(a, sc, strings.ToUpper(n.op)); err != nil {
				return nil, err
			}
		}
		return &exec.Logic{Op: n.op, Args: args}, nil
	case *isTest:
		return b.isTest(n, sc)
	case *inList:
		return b.inList(n, sc)
	case *between:
		return b.between(n, sc)
	case *like:
		return b.like(n, sc)
	case *quantified:
		return b.quantified(n, sc)
	case *caseExpr:
		return b.caseExpr(n, sc)
	case *cast:
		return b.cast(n, sc)
	case *collation:
		return b.collate(n, sc)
	case *call:
		return b.call(n, sc)
	case *arrayLit:
		return b.array(n, sc)
	case *rowLit:
		items, err := b.exprs(n.items, sc)
		for i := range items {
			if err == nil && untyped(items[i]) {
				items[i], err = b.coerce(items[i], types.Text, types.Implicit, n.offset())
			}
		}
		return &exec.RowExpr{Items: items}, err
	case *subscript:
		return b.subscript(n, sc)
	case *field:
		return b.field(n, sc)
	case *subquery:
		return b.subquery(n, sc)
	}
	return nil, syntaxError(e.offset(), "syntax error")
}

func (b *binder) literal(n *literal) (exec.Expr, error) {
	var c *exec.Const
	switch n.kind {
	case tIdent:
		switch n.text {
		case "null":
			c = exec.NullOf(types.Unknown)
		default:
			c = &exec.Const{D: types.NewBool(n.text == "true"), Typ: types.Bool}
		}
	case tInteger, tNumber:
		// The narrowest of integer, bigint and numeric.
		if n.kind == tInteger {
			for _, t := range []types.OID{types.Int4, types.Int8} {
				if d, err := types.ParseText(n.text, t, nil); err == nil {
					return &exec.Const{D: d, Typ: t}, nil
				}
			}
		}
		d, err := types.ParseText(n.text, types.Numeric, nil)
		if err != nil {
			return nil, sqlstate.Locate(err, n.offset())
		}
		c = &exec.Const{D: d, Typ: types.Numeric}
	case tBits:
		return nil, sqlstate.Unsupported(n.offset(), "Use a number or bytea.", "bit strings are not supported")
	default:
		c = &exec.Const{D: types.NewText(n.text), Typ: types.Unknown}
	}
	b.literals[c] = n.offset()
	return c, nil
}

func (b *binder) param(n *param) (exec.Expr, error) {
	for len(b.params) < n.number {
		b.params = append(b.params, 0)
	}
	p := &exec.Param{Index: n.number - 1, Typ: types.Unknown}
	if t := b.params[n.number-1]; t != 0 {
		p.Typ = t
	}
	b.paramNodes[p.Index] = append(b.paramNodes[p.Index], p)
	return p, nil
}

// smallExpr is how many nodes an expression may have to be written down twice.
const smallExpr = 12

// once lets a body look at x several times. x itself may stand there as often as it is wanted when it is small and always gives the same;
// otherwise it is computed once, and wrap puts the computation around the body. A plan that needs to see a column sees it in both cases but
// those where it could not make use of it.
func (b *binder) once(x exec.Expr, off int) (it exec.Expr, wrap func(exec.Expr) exec.Expr, err error) {
	if repeatable(x) {
		return x, func(body exec.Expr) exec.Expr { return body }, nil
	}
	coll, err := collationOf(x, off)
	if err != nil {
		return nil, nil, err
	}
	it = &exec.It{Typ: x.Type(), Collation: coll.column(), Explicit: coll.strength == collExplicit}
	return it, func(body exec.Expr) exec.Expr { return &exec.Let{X: x, Body: body} }, nil
}

// repeatable says that x is small and gives the same value every time.
func repeatable(x exec.Expr) bool {
	nodes := 0
	return !holds(x, func(e exec.Expr) bool {
		nodes++
		switch n := e.(type) {
		case *exec.Call:
			return n.Func.Volatile || nodes > smallExpr
		case *exec.Subquery, *exec.Let:
			return true
		}
		return nodes > smallExpr
	})
}
