package toplevel

import (
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// part is an assignment to a part of a document, as in SET doc['a']['b'] = value.
type part struct {
	target *ast.SetTarget
	value  ast.Expr
}

// divisible checks the subscripts and fields of a column of a type that are assigned to.
func divisible(t *ast.SetTarget, typ types.OID) error {
	for _, e := range t.Path {
		switch n := e.(type) {
		case *ast.Subscript:
			if typ != types.JSONB {
				return sqlstate.New(sqlstate.DatatypeMismatch,
					"cannot subscript type %s because it does not support subscripting", types.NameOf(typ)).At(t.Pos())
			}
			if n.Slice {
				return refuse.SliceOfJSON(t.Path[0].(*ast.Subscript))
			}
		case *ast.Field:
			if n.Name == "*" {
				return sqlstate.New(sqlstate.FeatureNotSupported, `row expansion via "*" is not supported here`).
					At(t.Pos())
			}
			return sqlstate.New(sqlstate.DatatypeMismatch,
				`cannot assign to field "%s" of column "%s" because its type %s is not a composite type`,
				n.Name, t.Name, types.NameOf(typ)).At(t.Pos())
		}
	}
	return nil
}

// bind returns the value that doc has after the assignment.
func (p part) bind(l *bind.Level, doc exec.Expr, clause string) (exec.Expr, error) {
	at := p.target.Pos()
	if _, ok := p.value.(*ast.Default); ok {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "cannot set an array element to DEFAULT").At(at)
	}
	v, err := l.Expr(p.value, clause)
	if err != nil {
		return nil, err
	}
	if !typing.Untyped(v) && types.CastContext(v.Type(), types.JSONB) > types.Assignment {
		return nil, p.misfit(v.Type())
	}
	if v, err = l.Typing().Coerce(v, types.JSONB, types.Assignment, p.value.Pos()); err != nil {
		return nil, err
	}
	return p.assign(l, doc, v, clause)
}

// assign returns the value that doc has after a value was assigned.
func (p part) assign(l *bind.Level, doc, v exec.Expr, clause string) (exec.Expr, error) {
	var path []exec.Expr
	var at []int
	for _, e := range p.target.Path {
		index := e.(*ast.Subscript).Index // the only kind: see divisible
		x, err := l.Expr(index, clause)
		if err != nil {
			return nil, err
		}
		path, at = append(path, x), append(at, ast.Start(index))
	}
	return l.Typing().AssignJSON(doc, path, v, p.target.Pos(), at)
}

func (p part) misfit(from types.OID) error {
	return sqlstate.New(sqlstate.DatatypeMismatch,
		`subscripted assignment to "%s" requires type jsonb but expression is of type %s`, p.target.Name,
		types.NameOf(from)).At(p.target.Pos()).WithHint("You will need to rewrite or cast the expression.")
}

// assemble returns a query over the rows of q, the source of an INSERT into parts of a document, that has the document
// in place of the first part.
func (b *writer) assemble(l *bind.Level, q *bind.Query, n *ast.Insert, at places) (*bind.Query, error) {
	out := &bind.Query{From: &bind.DerivedScan{Query: q, Name: "unnamed_subquery"}, Width: len(q.Columns)}
	var doc exec.Expr = exec.NullOf(types.JSONB)
	for i, c := range q.Columns {
		col := exec.Expr(&exec.Col{Index: i, Typ: c.Type, Name: c.Name})
		out.Targets, out.Columns = append(out.Targets, col), append(out.Columns, c)
		if i >= len(n.Columns) || len(n.Columns[i].Path) == 0 {
			continue
		}
		p := part{target: &n.Columns[i]}
		if types.CastContext(c.Type, types.JSONB) > types.Assignment {
			return nil, p.misfit(c.Type)
		}
		v, err := l.Typing().Coerce(col, types.JSONB, types.Assignment, naming.SetOpPlace(n.Source, i))
		if err == nil {
			doc, err = p.assign(l, doc, v, "INSERT")
		}
		if err != nil {
			return nil, err
		}
	}
	out.Targets[at.doc], out.Columns[at.doc] = doc, exec.Column{Name: colDoc, Type: types.JSONB, Mod: -1}
	out.Keep = len(out.Targets)
	return out, nil
}
