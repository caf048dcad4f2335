package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// prepared is a parsed and bound statement.
type prepared struct {
	text    string
	stmt    ast.Statement
	bound   *bind.Bound // of a query, also one inside EXPLAIN, COPY and DECLARE; nil for others
	params  []types.OID
	columns []pgwire.Column // nil when no rows come back
	size    int64           // in memory, about
	held    int64           // of the session's memory
	round   int64           // of messages, in which it was bound
	at      time.Time       // since when it has its name
	fromSQL string          // the PREPARE that made it
	// generic counts executions without parameters, custom those with.
	generic, custom int64
}

// source is the text that made the statement.
func (p *prepared) source() string { return cmp.Or(p.fromSQL, p.text) }

// ran counts an execution.
func (p *prepared) ran() {
	if len(p.params) > 0 {
		p.custom++
	} else {
		p.generic++
	}
}

// errAborted is the answer to everything but the end of a failed transaction.
var errAborted = sqlstate.New(sqlstate.InFailedTransaction, "current transaction is aborted, commands ignored until end of transaction block")

// endsTransaction says that a statement may run in a failed transaction.
func endsTransaction(s ast.Statement) bool {
	t, ok := s.(*ast.Transaction)
	return ok && (t.Verb == "rollback" || t.Verb == "commit" || t.Verb == "rollback to")
}

// prepare parses and binds one statement.
func (ss *session) prepare(w *work.Work, text string, given []types.OID) (*prepared, error) {
	if ss.status != 'E' {
		if p := ss.cached(w, text, given); p != nil {
			return p, nil
		}
	}
	stmt, err := parse.Statement(w, text)
	if err != nil {
		return nil, err
	}
	if ss.status == 'E' && !endsTransaction(stmt) {
		return nil, errAborted
	}
	p := &prepared{text: text, stmt: stmt}
	err = ss.bind(w, p, given)
	p.size = w.Used()
	if err == nil {
		ss.remember(p, given)
	}
	return p, err
}

// bind resolves the query of a statement and describes its result.
func (ss *session) bind(w *work.Work, p *prepared, given []types.OID) error {
	q, err := bind.Readable(p.stmt)
	if err != nil {
		return err
	}
	switch s := p.stmt.(type) {
	case *ast.Prepare:
		q = nil // its types are checked when it runs, as the name is taken then
	case *ast.Show:
		p.columns = ss.showColumns(s)
	case *ast.Fetch:
		if c := ss.portals[s.Cursor]; c != nil && !s.Move {
			p.columns = c.columns
		}
	case *ast.Execute:
		st, err := ss.statement(s.Name)
		if err != nil {
			return sqlstate.Locate(err, s.Pos())
		}
		p.columns = st.columns
	}
	if q == nil {
		return nil
	}
	bound, err := bind.Bind(w, q, &resolver{ss: ss}, plan.Subquery, given)
	if err != nil {
		return err
	}
	p.bound, p.params, p.round = bound, bound.Params, ss.round
	switch s := p.stmt.(type) {
	case *ast.Query, *ast.Copy:
		p.columns = describe(bound.Columns)
	case *ast.Explain:
		typ := types.Text
		if s.Format == "json" {
			typ = types.JSON
		}
		p.columns = describe([]exec.Column{{Name: "QUERY PLAN", Type: typ, Mod: -1}})
	}
	return nil
}

// current is the bound query of a statement for an execution that begins now: names are looked up again, and the user's permission to read.
// A statement whose result would have other columns than those that were described is refused, as by PostgreSQL (plancache.c).
func (ss *session) current(w *work.Work, st *prepared) (*bind.Bound, error) {
	if st.round == ss.round {
		return st.bound, nil
	}
	bound, err := st.bound.Refreshed(w, &resolver{ss: ss})
	if bound != nil || err != nil {
		return bound, err
	}
	again := &prepared{text: st.text, stmt: st.stmt}
	if err := ss.bind(w, again, st.params); err != nil {
		return nil, err
	}
	if !slices.Equal(again.columns, st.columns) || !slices.Equal(again.params, st.params) {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "cached plan must not change result type")
	}
	return again.bound, nil
}

// describe makes the wire's columns. It is never nil: a SELECT of no columns returns rows all the same.
func describe(cols []exec.Column) []pgwire.Column {
	out := make([]pgwire.Column, len(cols))
	for i, c := range cols {
		out[i] = pgwire.Column{Name: c.Name, OID: uint32(c.Type), Size: -1, Mod: c.Mod,
			Table: uint32(c.Origin.Relation), Number: uint16(c.Origin.Column)}
		if t := types.Lookup(c.Type); t != nil {
			out[i].Size = t.Len
		}
	}
	return out
}

// Parse implements pgwire.Session.
func (ss *session) Parse(ctx context.Context, name, query string, oids []uint32) error {
	ss.mark('A', query)
	if name == "" {
		ss.CloseStatement(name)
	} else if ss.statements[name] != nil {
		return sqlstate.New(sqlstate.DuplicateStatement, "prepared statement %q already exists", name)
	}
	if len(ss.statements) >= maxStatements {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may have at most %d prepared statements", maxStatements)
	}
	given := make([]types.OID, len(oids))
	for i, o := range oids {
		given[i] = types.OID(o)
		if o != 0 && types.Lookup(given[i]) == nil {
			return sqlstate.New(sqlstate.UndefinedObject, "type with OID %d of parameter $%d does not exist", o, i+1)
		}
	}
	ctx, stop := ss.timed(ctx)
	defer stop()
	w := ss.work(ctx)
	defer w.Close()
	p, err := ss.prepare(w, query, given)
	if err != nil {
		return located(err, query, 0)
	}
	if len(p.params) > 65535 {
		return sqlstate.New(sqlstate.TooManyArguments, "too many parameters")
	}
	return ss.keep(name, p, w)
}

// keep files a prepared statement. Its memory passes from the work that prepared it to the session.
func (ss *session) keep(name string, p *prepared, w *work.Work) error {
	n := w.Used()
	w.Close()
	if err := ss.memory.Grow(n); err != nil {
		return err
	}
	p.held, p.at = n, time.Now()
	ss.statements[name] = p
	return nil
}

func (ss *session) statement(name string) (*prepared, error) {
	p := ss.statements[name]
	if p == nil {
		if name == "" {
			return nil, sqlstate.New(sqlstate.InvalidStatementName, "unnamed prepared statement does not exist")
		}
		return nil, sqlstate.New(sqlstate.InvalidStatementName, "prepared statement %q does not exist", name)
	}
	return p, nil
}

// DescribeStatement implements pgwire.Session.
func (ss *session) DescribeStatement(_ context.Context, name string) ([]uint32, []pgwire.Column, error) {
	p, err := ss.statement(name)
	if err != nil {
		return nil, nil, err
	}
	oids := make([]uint32, len(p.params))
	for i, t := range p.params {
		oids[i] = uint32(t)
	}
	if _, isCopy := p.stmt.(*ast.Copy); isCopy {
		return oids, nil, nil
	}
	if ss.status == 'E' && p.columns != nil {
		return nil, nil, errAborted
	}
	return oids, p.columns, nil
}

// Bind implements pgwire.Session.
func (ss *session) Bind(ctx context.Context, b pgwire.Binding) error {
	st, err := ss.statement(b.Statement)
	if err != nil {
		return err
	}
	ss.mark('A', st.text)
	if ss.status == 'E' && !endsTransaction(st.stmt) {
		return errAborted
	}
	if len(b.Params) != len(st.params) {
		return sqlstate.New(sqlstate.ProtocolViolation, "bind message supplies %d parameters, but prepared statement %q requires %d",
			len(b.Params), b.Statement, len(st.params))
	}
	if b.Portal == "" {
		ss.ClosePortal("")
	} else if ss.portals[b.Portal] != nil {
		return sqlstate.New(sqlstate.DuplicateCursor, "cursor %q already exists", b.Portal)
	}
	if len(ss.portals) >= maxPortals {
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a session may have at most %d open portals", maxPortals)
	}
	// The parameters live as long as the portal.
	held := int64(len(b.Params)) * 64
	for _, raw := range b.Params {
		held += int64(len(raw))
	}
	if err := ss.memory.Grow(held); err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			ss.memory.Shrink(held)
		}
	}()
	params := make([]types.Datum, len(b.Params))
	for i, raw := range b.Params {
		if params[i], err = ss.parameter(ctx, raw, st.params[i], st.loose(i), formatOf(b.ParamFormats, i)); err != nil {
			return err
		}
	}
	p, err := ss.portal(st, params, b.ResultFormats)
	if err != nil {
		return located(err, st.text, 0)
	}
	p.query, p.held, kept = st.text, held, true
	st.ran()
	ss.open(b.Portal, p)
	return nil
}

func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 0:
		return 0
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// loose says that a parameter is compared with jsonb.
func (p *prepared) loose(i int) bool { return p.bound != nil && p.bound.Loose(i) }

// parameter reads a parameter's value.
func (ss *session) parameter(ctx context.Context, raw []byte, typ types.OID, loose bool,
	format int16) (types.Datum, error) {
	if raw == nil {
		return types.Null, nil
	}
	env := ss.types
	env.LooseJSON = loose
	if format == 1 {
		return types.ParseBinary(raw, typ, &env)
	}
	if types.IsOid(typ) && typ != types.Oid {
		st := exec.NewState(ss.work(ctx), ss, nil, &ss.types)
		defer st.Close()
		return exec.CastDatum(&exec.Env{State: st}, types.NewText(string(raw)), types.Text, typ, -1)
	}
	return types.ParseText(string(raw), typ, &env)
}

// Portal implements pgwire.Session.
func (ss *session) Portal(name string) (pgwire.Portal, error) {
	p := ss.portals[name]
	if p == nil {
		return nil, sqlstate.New(sqlstate.InvalidCursorName, "portal %q does not exist", name)
	}
	if ss.status == 'E' && !p.ends {
		return nil, errAborted
	}
	return p, nil
}

// CloseStatement implements pgwire.Session.
func (ss *session) CloseStatement(name string) {
	if p := ss.statements[name]; p != nil {
		ss.memory.Shrink(p.held)
		delete(ss.statements, name)
	}
}

func (ss *session) closeStatements() {
	for name := range ss.statements {
		ss.CloseStatement(name)
	}
}

// ClosePortal implements pgwire.Session.
func (ss *session) ClosePortal(name string) {
	if p := ss.portals[name]; p != nil {
		p.Close()
		delete(ss.portals, name)
	}
}
