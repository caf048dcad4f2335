package query

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/toplevel"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// command makes the portal of a statement that is not a query. It does its work when it is executed.
func (e *execution) command(p *portal) error {
	do := func(tag string, f func(ctx context.Context) error) {
		p.tag = func(int64) string { return tag }
		p.start = func(ctx context.Context) (cursor.Source, error) { return nil, f(ctx) }
	}
	switch s := e.st.stmt.(type) {
	case *ast.Empty:
		do("", func(context.Context) error { return nil })
	case *ast.Set:
		if s.Name == "constraints" {
			do("SET CONSTRAINTS", func(context.Context) error { return e.setConstraints() })
			break
		}
		do("SET", func(context.Context) error { return e.set(s) })
	case *ast.Reset:
		do("RESET", func(context.Context) error { return e.reset(s) })
	case *ast.Show:
		p.tag = func(int64) string { return "SHOW" }
		p.start = func(context.Context) (cursor.Source, error) { return e.show(s) }
	case *ast.Transaction:
		var tag string
		p.tag = func(int64) string { return tag }
		p.start = func(ctx context.Context) (_ cursor.Source, err error) {
			tag, err = e.ss.tx.do(ctx, s)
			return nil, err
		}
	case *ast.Declare:
		do("DECLARE CURSOR", func(ctx context.Context) error { return e.declare(ctx, s, p.query) })
	case *ast.Fetch:
		return e.fetch(p, s)
	case *ast.CloseCursor:
		tag := "CLOSE CURSOR"
		if s.Name == "" {
			tag += " ALL"
		}
		do(tag, func(context.Context) error { return e.closeCursor(s) })
	case *ast.Prepare:
		do("PREPARE", func(ctx context.Context) error { return e.sqlPrepare(ctx, s, p.query) })
	case *ast.Execute:
		return e.execute(p, s)
	case *ast.Deallocate:
		tag := "DEALLOCATE"
		if s.Name == "" {
			tag += " ALL"
		}
		do(tag, func(context.Context) error { return e.deallocate(s) })
	case *ast.Discard:
		do("DISCARD "+strings.ToUpper(s.What), func(context.Context) error { return e.discard(s) })
	case *ast.Notify:
		do(strings.ToUpper(s.Verb), func(ctx context.Context) error {
			return e.ss.notes.Want(ctx, s.Verb, s.Channel,
				s.Payload)
		})
	case *ast.AlterPassword:
		do("ALTER ROLE", func(ctx context.Context) error { return e.alterPassword(ctx, s) })
	case *ast.LockTable:
		do("LOCK TABLE", func(ctx context.Context) error { return e.lock(ctx, s) })
	default:
		return sqlstate.New(sqlstate.InternalError, "unknown kind of statement")
	}
	return nil
}

func showColumns(s *ast.Show) []pgwire.Column {
	text := func(n string) exec.Column { return exec.Column{Name: n, Type: types.Text, Mod: -1} }
	if s.Name == "all" {
		return describe([]exec.Column{text("name"), text("setting"), text("description")})
	}
	return describe([]exec.Column{text(settings.Label(s.Name))})
}

func (e *execution) show(s *ast.Show) (cursor.Source, error) {
	if s.Name != "all" {
		v, ok := e.ss.host.Setting(s.Name)
		if !ok {
			return nil, settings.Unknown(s.Name)
		}
		return &cursor.Fixed{Rows: [][]types.Datum{{types.NewText(v)}}}, nil
	}
	out := &cursor.Fixed{}
	for _, v := range e.ss.vars.All() {
		out.Rows = append(out.Rows, []types.Datum{types.NewText(v[0]), types.NewText(v[1]), types.NewText(v[2])})
	}
	return out, nil
}

// withoutPosition removes the position from an error of a statement that is not the one that the client has sent.
func withoutPosition(err error) error {
	var e *sqlstate.Error
	if !errors.As(err, &e) || e.Pos == 0 {
		return err
	}
	c := *e
	c.Pos = 0
	return &c
}

func (e *execution) closeCursor(s *ast.CloseCursor) error {
	if s.Name == "" {
		e.ss.portals.closeThose(func(p *portal) bool { return p.name != "" })
		return nil
	}
	if e.ss.portals.byName[s.Name] == nil {
		return sqlstate.New(sqlstate.InvalidCursorName, `cursor "%s" does not exist`, s.Name).At(s.Pos())
	}
	e.ss.portals.close(s.Name)
	return nil
}

// sqlPrepare is PREPARE name AS query.
func (e *execution) sqlPrepare(ctx context.Context, s *ast.Prepare, text string) error {
	ss := e.ss
	if err := ss.statements.room(); err != nil {
		return err
	}
	given, err := typing.ParamTypes(s)
	if err != nil {
		return err
	}
	p := &prepared{text: s.Text, stmt: s.Statement, fromSQL: text}
	w := ss.work(ctx)
	defer w.Close()
	// text has the whole message, for pg_prepared_statements.
	if err := w.Hold(int64(len(s.Text) + len(text))); err != nil {
		return err
	}
	if err := ss.statements.bind(w, p, given); err != nil {
		return err
	}
	p.size = w.Used()
	return ss.statements.keep(s.Name, p, w)
}

// execute makes the portal of EXECUTE name(arguments).
func (e *execution) execute(p *portal, s *ast.Execute) error {
	p.tag = func(int64) string { return "" }
	p.start = func(ctx context.Context) (cursor.Source, error) {
		st, err := e.ss.statements.get(s.Name)
		if err != nil {
			return nil, sqlstate.Locate(err, s.Pos())
		}
		named, err := e.named(ctx, s, st)
		if err != nil {
			return nil, err
		}
		inner, err := named.portal(nil)
		if err != nil {
			return nil, err
		}
		p.tag = func(rows int64) string { return cmp.Or(inner.tag(rows), "EXECUTE") }
		p.elsewhere = true
		st.ran()
		inner.ctx = ctx
		rows, err := inner.start(ctx)
		if inner.settled {
			p.settle()
		}
		return rows, err
	}
	return nil
}

// named returns the execution of a prepared statement with the arguments of EXECUTE.
func (e *execution) named(ctx context.Context, s *ast.Execute, st *prepared) (*execution, error) {
	state := e.state(ctx, nil)
	defer state.Close()
	params, err := toplevel.Arguments(s, e.ss.names, plan.Subquery, st.params, st.loose, state)
	if err != nil {
		return nil, err
	}
	return e.ss.execution(st, params), nil
}

func (e *execution) deallocate(s *ast.Deallocate) error {
	ss := e.ss
	if s.Name == "" {
		ss.statements.closeAll()
		return nil
	}
	if _, err := ss.statements.get(s.Name); err != nil {
		return sqlstate.Locate(err, s.Pos())
	}
	ss.statements.close(s.Name)
	return nil
}

func (e *execution) discard(s *ast.Discard) error {
	ss := e.ss
	if s.What == "all" || s.What == "plans" {
		ss.statements.forgetCached()
	}
	if s.What != "all" {
		return nil
	}
	if ss.tx.inBlock() {
		return sqlstate.New(sqlstate.ActiveTransaction, "DISCARD ALL cannot run inside a transaction block")
	}
	ss.statements.closeAll()
	ss.portals.closeThose(func(*portal) bool { return true })
	ss.locks.UnlockAll()
	ss.notes.Unlisten("*")
	return e.reset(&ast.Reset{Name: "all"})
}
