// Package toplevel binds what surrounds queries: statements that write, and the arguments of EXECUTE. It knows which
// relation can be written, and what PostgreSQL refuses; package bind resolves the names and expressions.
package toplevel

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Columns of the relation that is written, docs.
const (
	colID  = "id"
	colRev = "rev"
	colDoc = "doc"
)

// writer binds one statement that writes.
type writer struct {
	*bind.Statement
	out  *bind.Write
	rel  *naming.UserRelation
	cols []exec.Column // of returned rows; nil without RETURNING
}

// Bind binds INSERT, UPDATE, DELETE, or COPY FROM, whose columns are those of the rows to be read. The arguments are
// those of bind.Bind.
func Bind(w *work.Work, s ast.Statement, r bind.Resolver, plan bind.Planner, given []types.OID) (*bind.Bound, error) {
	b := &writer{Statement: bind.NewStatement(w, r, plan, given), out: &bind.Write{}}
	var err error
	switch n := s.(type) {
	case *ast.Insert:
		err = b.insert(n)
	case *ast.Update:
		err = b.update(n)
	case *ast.Delete:
		err = b.delete(n)
	case *ast.Copy:
		err = b.copy(n)
	}
	if err != nil {
		return nil, err
	}
	return b.Finish(b.out, b.cols)
}

// relation finds the relation that is written. Only docs can be.
func (b *writer) relation(t *ast.Table) error {
	schema, err := b.Schema(t)
	if err != nil {
		return err
	}
	name := t.Name[len(t.Name)-1]
	if b.Names().Virtual(schema, name) != nil {
		return sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied for table %s", name).At(t.Pos())
	}
	found, err := b.Find(schema, name, t.Pos())
	if err != nil {
		return err
	}
	b.rel, b.out.Relation, b.out.Off = found.Rel, found.Name, t.Pos()
	return b.writable(found, t.Pos())
}

func (b *writer) writable(f naming.Found, off int) error {
	hint := "Write the documents in docs, from which it is computed."
	switch {
	case f.Rel.Name == "docs" && f.Rel.Kind == exec.ReadAllDocs && f.Declared == nil:
		return nil
	case f.Rel.IDPrefix != "":
		hint = "PUT the document over HTTP."
	}
	return sqlstate.Unsupported(off, hint, `%s of relation "%s" is not supported`, verbs[b.out.Kind], f.Name)
}

var verbs = map[string]string{"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}

// column checks a column that is written.
func (b *writer) column(t *ast.SetTarget) error {
	i := slices.IndexFunc(b.rel.Columns, func(c naming.UserColumn) bool { return c.Name == t.Name })
	if i < 0 {
		return sqlstate.New(sqlstate.UndefinedColumn, `column "%s" of relation "%s" does not exist`, t.Name,
			b.rel.Name).At(t.Pos())
	}
	return divisible(t, b.rel.Columns[i].Type)
}

// called returns the name of a relation in the statement, and its schema if it was given.
func called(t *ast.Table) (alias, schema string) {
	if t.Alias.Name != "" {
		return t.Alias.Name, ""
	}
	if len(t.Name) > 1 {
		schema = t.Name[0]
	}
	return t.Name[len(t.Name)-1], schema
}

// columns returns the columns of the relation, as they are found in returned rows.
func (b *writer) columns() []exec.Column {
	out := make([]exec.Column, len(b.rel.Columns))
	for i, c := range b.rel.Columns {
		out[i] = exec.Column{Name: c.Name, Type: c.Type, Mod: -1}
	}
	return naming.Originate(out, b.Names().RelationOID("public", b.rel.Name))
}

// assigned are the values that a statement assigns. It may assign an id and a revision, which must then be those that
// the document has, as clients do that write all columns which they have read. Instead of doc it may assign parts of
// it.
type assigned struct {
	id, rev, doc ast.Expr
	parts        []part
}

// assigned returns the assignments of a statement that calls the relation alias.
func (b *writer) assigned(list []ast.Assignment, alias string) (out assigned, err error) {
	seen := map[string]bool{}
	for i := range list {
		a := &list[i]
		values := []ast.Expr{a.Value}
		if a.Row {
			row, ok := a.Value.(*ast.Row)
			switch {
			case !ok && len(a.Targets) == 1:
			case !ok:
				return out, sqlstate.Unsupported(a.Value.Pos(), "Assign to each column.",
					"assignment of a row or sub-query to several columns is not supported")
			case len(row.Items) != len(a.Targets):
				return out, refuse.Syntax(a.Value.Pos(), "number of columns does not match number of values")
			default:
				values = row.Items
			}
		}
		for j := range a.Targets {
			t := &a.Targets[j]
			if err := b.column(t); err != nil {
				return out, err
			}
			isPart := len(t.Path) > 0
			if seen[t.Name] && (!isPart || len(out.parts) == 0) {
				return out, refuse.Syntax(t.Pos(), `multiple assignments to same column "%s"`, t.Name)
			}
			seen[t.Name] = true
			switch _, isDefault := values[j].(*ast.Default); {
			case isPart:
				out.parts = append(out.parts, part{t, values[j]})
			case t.Name == colDoc:
				out.doc = values[j]
			case t.Name == colID:
				out.id, b.out.IDOff = values[j], t.Pos()
			case !isDefault:
				out.rev, b.out.RevOff = values[j], t.Pos()
			}
		}
	}
	if out.doc == nil {
		out.doc = &ast.Column{At: list[0].Targets[0].At, Parts: []string{alias, colDoc}}
	}
	return out, nil
}

// bind binds the values. more are those of id and rev, if they are assigned.
func (a *assigned) bind(l *bind.Level) (doc exec.Expr, more []exec.Expr, err error) {
	if doc, err = document(l, a.doc, "UPDATE"); err != nil {
		return doc, nil, err
	}
	for _, p := range a.parts {
		if doc, err = p.bind(l, doc, "UPDATE"); err != nil {
			return doc, nil, err
		}
	}
	for i, e := range []ast.Expr{a.id, a.rev} {
		if e == nil {
			continue
		}
		var x exec.Expr = exec.NullOf(types.Text)
		if _, ok := e.(*ast.Default); !ok {
			x, err = value(l, e, []string{colID, colRev}[i], types.Text, "UPDATE")
		}
		if err != nil {
			return doc, nil, err
		}
		more = append(more, x)
	}
	return doc, more, nil
}

// document binds a value for doc. DEFAULT is the empty document.
func document(l *bind.Level, e ast.Expr, clause string) (exec.Expr, error) {
	if _, ok := e.(*ast.Default); ok {
		return emptyDocument(), nil
	}
	return value(l, e, colDoc, types.JSONB, clause)
}

func emptyDocument() *exec.Const { return &exec.Const{D: types.NewJSONText("{}"), Typ: types.JSONB} }

func (b *writer) update(n *ast.Update) error {
	b.out.Kind = "update"
	l, err := b.rows(n.With, n.Recursive, n.At, n.Table, n.From, n.Where)
	if err != nil {
		return err
	}
	alias, _ := called(n.Table)
	to, err := b.assigned(n.Set, alias)
	if err != nil {
		return err
	}
	doc, more, err := to.bind(l)
	if err != nil {
		return err
	}
	used := slices.Clone(l.First().Used)
	if err = b.returning(l, n.Returning); err == nil {
		copy(l.First().Used, used) // what RETURNING shows of it is what has been written
		b.out.Source = l.Query(append([]exec.Expr{doc}, more...)...)
	}
	return err
}

func (b *writer) delete(n *ast.Delete) error {
	b.out.Kind = "delete"
	l, err := b.rows(n.With, n.Recursive, n.At, n.Table, n.Using, n.Where)
	if err != nil {
		return err
	}
	if err = b.returning(l, n.Returning); err == nil {
		b.out.Source = l.Query()
	}
	return err
}

// rows binds the relation that is updated, the other items of FROM, and the condition.
func (b *writer) rows(with []ast.CTE, recursive bool, at ast.At, t *ast.Table, from []ast.FromItem,
	where ast.Expr) (*bind.Level, error) {
	l, err := b.Level(with, recursive, at)
	if err == nil {
		err = b.relation(t)
	}
	if err == nil {
		err = l.From(append([]ast.FromItem{t}, from...))
	}
	if err != nil {
		return nil, err
	}
	target := l.First()
	if target == nil {
		name := t.Name[len(t.Name)-1]
		return nil, sqlstate.New(sqlstate.UndefinedTable, `relation "%s" cannot be the target of a modifying statement`,
			name).At(t.Pos())
	}
	for i, c := range target.Rel.Columns {
		if c.Name == colID || c.Field == exec.FieldRev {
			target.Used[i] = true
		}
	}
	switch c := where.(type) {
	case nil:
	case *ast.CurrentOf:
		return nil, sqlstate.Unsupported(c.Pos(), "Name the document by its id.", "WHERE CURRENT OF is not supported")
	default:
		err = l.Where(where)
	}
	return l, err
}

// returning binds RETURNING over the rows of a level.
func (b *writer) returning(l *bind.Level, list []ast.Target) (err error) {
	if len(list) == 0 {
		return nil
	}
	b.out.ReturningWork = &exec.WorkTable{Name: b.rel.Name}
	if b.out.Returning, err = l.Over(b.out.ReturningWork).Targets(list, "RETURNING"); err == nil {
		b.out.Width, b.cols = b.out.Returning.Width, b.out.Returning.Columns
	}
	return err
}

// value binds a value that is assigned to a column.
func value(l *bind.Level, e ast.Expr, column string, to types.OID, clause string) (exec.Expr, error) {
	x, err := l.Expr(e, clause)
	if err != nil {
		return nil, err
	}
	if !typing.Untyped(x) && types.CastContext(x.Type(), to) > types.Assignment {
		return nil, misfit(column, to, x.Type()).At(ast.Start(e))
	}
	return l.Typing().Coerce(x, to, types.Assignment, e.Pos())
}

// misfit returns the error for a value whose type does not fit a column.
func misfit(column string, to, from types.OID) *sqlstate.Error {
	return sqlstate.New(sqlstate.DatatypeMismatch, `column "%s" is of type %s but expression is of type %s`, column,
		types.NameOf(to), types.NameOf(from)).WithHint("You will need to rewrite or cast the expression.")
}
