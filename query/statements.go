package query

import (
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/toplevel"
	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// maxStatements is the most prepared statements that a session may have.
const maxStatements = 1000

// statements holds the prepared statements of a session: named ones, and a cache of queries that are repeated without a
// name.
type statements struct {
	byName map[string]*prepared
	cache  statementCache
	memory *work.Memory // of the session
	node   *work.Memory
	names  *resolver
	// round numbers the rounds of messages. A statement is not checked again in the round in which it was bound.
	round int64

	tx      *transaction
	portals *portals
}

// room returns an error if no more are allowed.
func (sts *statements) room() error {
	if len(sts.byName) >= maxStatements {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may have at most %d prepared statements",
			maxStatements)
	}
	return nil
}

// prepare parses and binds one statement.
func (sts *statements) prepare(w *work.Work, text string, given []types.OID) (*prepared, error) {
	if sts.tx.status != 'E' {
		if p := sts.cached(w, text, given); p != nil {
			sts.tx.queried = sts.tx.queried || takesSnapshot(p)
			return p, nil
		}
	}
	stmt, err := parse.Statement(w, text)
	if err != nil {
		if sts.tx.status == 'E' && !grammatical(err) {
			err = errAborted
		}
		return nil, err
	}
	if _, empty := stmt.(*ast.Empty); sts.tx.status == 'E' && !endsTransaction(stmt) && !empty {
		return nil, errAborted
	}
	p := &prepared{text: text, stmt: stmt}
	err = sts.bind(w, p, given)
	p.size = w.Used()
	sts.tx.queried = sts.tx.queried || takesSnapshot(p)
	if err == nil {
		sts.remember(p, given)
	}
	return p, err
}

// takesSnapshot reports whether PostgreSQL takes a snapshot for a statement (PlannedStmtRequiresSnapshot), so that the
// modes of the transaction cannot be changed any more.
func takesSnapshot(p *prepared) bool {
	switch p.stmt.(type) {
	case *ast.CloseCursor, *ast.Prepare, *ast.Execute, *ast.Deallocate, *ast.Discard:
		return true
	}
	return p.bound != nil
}

// bind resolves the query of a statement and describes its result.
func (sts *statements) bind(w *work.Work, p *prepared, given []types.OID) error {
	q, err := refuse.Readable(p.stmt)
	if err != nil {
		return err
	}
	writing := p.stmt
	if x, ok := writing.(*ast.Explain); ok {
		writing = x.Statement
	}
	switch s := p.stmt.(type) {
	case *ast.Prepare:
		q = nil // the types are checked when it runs, because the name is in use then
	case *ast.Show:
		p.columns = showColumns(s)
	case *ast.Fetch:
		if c := sts.portals.byName[s.Cursor]; c != nil && !s.Move {
			p.columns = c.columns
		}
	case *ast.Execute:
		if st := sts.byName[s.Name]; st != nil { // otherwise it fails when it runs
			p.columns = st.columns
		}
	case *ast.Explain:
		p.columns = planColumns(s)
	}
	if q == nil && writeVerb(writing) == "" {
		return nil
	}
	bound, err := sts.resolve(w, q, writing, given)
	if c, ok := p.stmt.(*ast.Copy); ok && c.From && err == nil {
		err = checkEncoding(c)
	} else if ok && !c.From {
		err = checkCopy(c, bound, err)
	}
	if err != nil {
		return err
	}
	p.bound, p.params, p.round, p.habit = bound, bound.Params, sts.round, &habit{}
	switch p.stmt.(type) {
	case *ast.Query, *ast.Copy:
		p.columns = describe(bound.Columns)
	case *ast.Insert, *ast.Update, *ast.Delete:
		if bound.Columns != nil {
			p.columns = describe(bound.Columns)
		}
	}
	return nil
}

// resolve binds a query, or if there is none, a statement that writes.
func (sts *statements) resolve(w *work.Work, q *ast.Query, writing ast.Statement, given []types.OID) (*bind.Bound,
	error) {
	if q == nil {
		return toplevel.Bind(w, writing, sts.names, plan.Subquery, given)
	}
	return bind.Bind(w, q, sts.names, plan.Subquery, given)
}

// planColumns describes the result of EXPLAIN.
func planColumns(s *ast.Explain) []pgwire.Column {
	typ := types.Text
	if s.Format == "json" {
		typ = types.JSON
	}
	return describe([]exec.Column{{Name: "QUERY PLAN", Type: typ, Mod: -1}})
}

// current returns the bound query of a statement for a new execution. Names and the user's permissions are checked
// again. As in PostgreSQL (plancache.c), a statement whose columns would differ from those described is refused.
func (sts *statements) current(w *work.Work, st *prepared) (*bind.Bound, error) {
	if st.round == sts.round {
		return st.bound, nil
	}
	bound, err := st.bound.Refreshed(w, sts.names)
	if bound != nil || err != nil {
		return bound, err
	}
	again := &prepared{text: st.text, stmt: st.stmt}
	if err := sts.bind(w, again, st.params); err != nil {
		return nil, err
	}
	if !slices.Equal(again.columns, st.columns) || !slices.Equal(again.params, st.params) {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "cached plan must not change result type")
	}
	return again.bound, nil
}

// keep stores a prepared statement. Its memory passes from w to the session.
func (sts *statements) keep(name string, p *prepared, w *work.Work) error {
	if sts.byName[name] != nil {
		return sqlstate.New(sqlstate.DuplicateStatement, `prepared statement "%s" already exists`, name)
	}
	n := w.Used()
	w.Close()
	if err := sts.memory.Grow(n); err != nil {
		return err
	}
	p.held, p.at = n, time.Now()
	sts.byName[name] = p
	return nil
}

// get returns a statement by name.
func (sts *statements) get(name string) (*prepared, error) {
	p := sts.byName[name]
	if p == nil {
		if name == "" {
			return nil, sqlstate.New(sqlstate.InvalidStatementName, "unnamed prepared statement does not exist")
		}
		return nil, sqlstate.New(sqlstate.InvalidStatementName, `prepared statement "%s" does not exist`, name)
	}
	return p, nil
}

// close removes a statement, if it exists.
func (sts *statements) close(name string) {
	if p := sts.byName[name]; p != nil {
		sts.memory.Shrink(p.held)
		delete(sts.byName, name)
	}
}

func (sts *statements) closeAll() {
	for name := range sts.byName {
		sts.close(name)
	}
}

// named returns the rows of pg_prepared_statements: the statements with a name.
func (sts *statements) named() []catalog.PreparedStatement {
	var out []catalog.PreparedStatement
	for _, name := range slices.Sorted(maps.Keys(sts.byName)) {
		if p := sts.byName[name]; name != "" {
			out = append(out, catalog.PreparedStatement{Name: name, Text: p.source(), At: p.at.UnixMicro(),
				Parameters: p.params, FromSQL: p.fromSQL != "", Generic: p.generic, Custom: p.custom})
		}
	}
	return out
}
