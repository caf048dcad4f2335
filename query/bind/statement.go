package bind

import (
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Statement binds the queries of a statement that writes. They share its parameters. Package toplevel, which knows the
// rules of such statements, uses it.
type Statement struct{ b *binder }

// NewStatement begins a statement; the arguments are those of Bind.
func NewStatement(w *work.Work, r Resolver, plan Planner, given []types.OID) *Statement {
	return &Statement{newBinder(w, r, plan, given)}
}

// Finish ends the statement. What it writes is in w.
func (s *Statement) Finish(w *Write, columns []exec.Column) (*Bound, error) {
	return s.b.bound(w.Source, w, columns)
}

// Find finds the relation that is written.
func (s *Statement) Find(schema, name string, off int) (naming.Found, error) {
	found, err := s.b.find.User(schema, name, off)
	s.b.lookups = append(s.b.lookups, lookup{schema: schema, name: name, off: off, found: found})
	return found, err
}

// Schema returns the schema in the name of a relation, "" if there is none.
func (s *Statement) Schema(t *ast.Table) (string, error) { return s.b.schema(t) }

// Names finds relations.
func (s *Statement) Names() *naming.Finder { return &s.b.find }

// Level binds expressions over the rows of a FROM list.
type Level struct {
	b  *binder
	sc *scope
}

// Level begins a level with the WITH list of a statement.
func (s *Statement) Level(with []ast.CTE, recursive bool, at ast.At) (*Level, error) {
	l := &Level{s.b, &scope{query: &Query{}}}
	if len(with) == 0 {
		return l, nil
	}
	return l, s.b.with(&ast.Select{At: at, With: with, Recursive: recursive}, l.sc)
}

// Expr binds an expression of a clause.
func (l *Level) Expr(e ast.Expr, clause string) (exec.Expr, error) {
	l.sc.noAggregates = clause
	return l.b.expr(e, l.sc)
}

// Typing returns what casts the expressions of the statement.
func (l *Level) Typing() *typing.Open { return &l.b.Open }

// From binds the items of FROM.
func (l *Level) From(items []ast.FromItem) error {
	err := l.b.from(items, l.sc)
	l.sc.seen, l.sc.query.Width = len(l.sc.rels), l.sc.width
	return err
}

// First returns the scan of the first item of FROM, nil if that is not a relation of the store.
func (l *Level) First() *UserScan {
	if len(l.sc.rels) == 0 {
		return nil
	}
	return l.sc.rels[0].user
}

// Where binds the condition of WHERE.
func (l *Level) Where(e ast.Expr) error {
	cond, err := l.Condition(e, "WHERE")
	if err == nil {
		l.sc.query.Where = exec.Conjuncts(cond)
	}
	return err
}

// Condition binds a condition of a clause.
func (l *Level) Condition(e ast.Expr, clause string) (exec.Expr, error) {
	l.sc.noAggregates = clause
	return l.b.condition(e, l.sc, clause)
}

// Query returns the query of some values over the rows of the level, followed by all columns of these rows.
func (l *Level) Query(values ...exec.Expr) *Query {
	q := l.sc.query
	q.Targets = values
	all := make([]exec.Expr, l.sc.width)
	for _, r := range l.sc.rels {
		for _, c := range r.cols {
			all[c.index] = &exec.Col{Index: c.index, Typ: c.typ, Name: c.name}
		}
	}
	q.Targets = append(q.Targets, all...)
	q.Keep = len(q.Targets)
	for _, e := range q.Targets {
		q.Columns = append(q.Columns, exec.Column{Type: e.Type(), Mod: -1})
	}
	return q
}

// Select binds a query as the source of rows for columns of some types, in the scope of the WITH list. Columns that
// have only literals or parameters get these types.
func (l *Level) Select(s *ast.Select, to []types.OID) (*Query, error) {
	l.b.side = true
	q, err := l.b.query(s, &scope{ctes: l.sc.ctes})
	for i := 0; err == nil && i < min(len(to), len(q.Columns)); i++ {
		if q.open(i) {
			err = l.b.retype(q, i, to[i], naming.SetOpPlace(s, i))
		}
	}
	if err == nil {
		l.Attach(q)
	}
	return q, err
}

// Attach gives a query what the level has bound for it: the WITH list, and what its expressions read.
func (l *Level) Attach(q *Query) {
	q.Ctes, q.user = append(l.sc.query.Ctes, q.Ctes...), q.user || l.sc.query.user
}

// Over returns a level over the same columns, whose rows are read from work.
func (l *Level) Over(work *exec.WorkTable) *Level {
	sc := &scope{rels: l.sc.rels, star: l.sc.star, width: l.sc.width, seen: l.sc.seen}
	sc.query = &Query{From: &WorkScan{Work: work, Width: sc.width}, Width: sc.width}
	return &Level{l.b, sc}
}

// Relation adds a relation without a scan to a level. table is its name without an alias, "" if it has no other.
func (l *Level) Relation(table, alias, schema string, cols []exec.Column, off int) error {
	return l.b.addRelation(l.sc, &relation{alias: alias, schema: schema, table: table}, cols, nil, off)
}

// Targets binds a list of targets, as the query of the level. Sub-queries in it must not read the store.
func (l *Level) Targets(list []ast.Target, clause string) (*Query, error) {
	q, nested := l.sc.query, l.b.nested
	l.sc.noAggregates, l.b.nested = clause, false
	targets, columns, err := l.b.targets(&ast.Select{Targets: list}, l.sc)
	if err == nil && l.b.nested {
		err = sqlstate.Unsupported(ast.Start(list[0].Expr), "Read documents in another statement.",
			"a sub-query over documents in %s is not supported", clause)
	}
	q.Targets, q.Columns, q.Keep, l.b.nested = targets, columns, len(targets), nested
	return q, err
}
