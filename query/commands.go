package query

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/bind/toplevel"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// command makes the portal of a statement that is not a query. It does its work when it is executed.
func (e *execution) command(p *portal) error {
	do := func(tag string, f func(ctx context.Context) error) {
		p.tag = func(int64) string { return tag }
		p.start = func(ctx context.Context) (rowSource, error) { return nil, f(ctx) }
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
		p.start = func(context.Context) (rowSource, error) { return e.show(s) }
	case *ast.Transaction:
		var tag string
		p.tag = func(int64) string { return tag }
		p.start = func(ctx context.Context) (_ rowSource, err error) {
			tag, err = e.ss.tx.do(ctx, s)
			return nil, err
		}
	case *ast.Declare:
		do("DECLARE CURSOR", func(ctx context.Context) error { return e.declare(s, p.query) })
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
	name := s.Name
	if d := findSetting(name); d != nil {
		name = d.label()
	}
	return describe([]exec.Column{text(name)})
}

func (e *execution) show(s *ast.Show) (rowSource, error) {
	if s.Name != "all" {
		v, ok := e.ss.host.Setting(s.Name)
		if !ok {
			return nil, unknownSetting(s.Name)
		}
		return &fixedRows{[][]types.Datum{{types.NewText(v)}}}, nil
	}
	out := &fixedRows{}
	for _, v := range e.ss.vars.all() {
		out.rows = append(out.rows, []types.Datum{types.NewText(v[0]), types.NewText(v[1]), types.NewText(v[2])})
	}
	return out, nil
}

// declare opens a cursor.
func (e *execution) declare(s *ast.Declare, text string) error {
	ss, st := e.ss, e.st
	switch {
	case !ss.tx.inBlock() && !s.Hold:
		return sqlstate.New(sqlstate.NoActiveTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case ss.portals.byName[s.Name] != nil:
		return sqlstate.New(sqlstate.DuplicateCursor, `cursor "%s" already exists`, s.Name).At(s.Pos())
	case s.Scroll:
		return sqlstate.Unsupported(s.Pos(), "Declare it without SCROLL and fetch forward.",
			"scrollable cursors are not supported")
	}
	if err := ss.portals.room("cursors"); err != nil {
		return err
	}
	formats := []int16{0}
	if s.IsBinary {
		formats[0] = 1
	}
	inner := &prepared{text: st.text, stmt: s.Query, bound: st.bound, params: st.params,
		columns: describe(st.bound.Columns), round: st.round}
	c, err := ss.execution(inner, e.params).portal(formats)
	if err != nil {
		return err
	}
	if err := ss.memory.Grow(st.size); err != nil {
		return err
	}
	c.hold, c.held, c.text, c.declared = s.Hold, st.size, text, true
	ss.portals.open(s.Name, c)
	return nil
}

// fetch makes a portal that fetches rows from a cursor.
func (e *execution) fetch(p *portal, s *ast.Fetch) error {
	c := e.ss.portals.byName[s.Cursor]
	if c == nil {
		return sqlstate.New(sqlstate.InvalidCursorName, `cursor "%s" does not exist`, s.Cursor).At(s.Pos())
	}
	verb := "FETCH "
	if s.Move {
		verb = "MOVE "
	}
	drawn := &fetchRows{cursor: c, s: s}
	if s.Move {
		p.columns, p.types, p.formats = nil, nil, nil
		p.tag = func(int64) string { return verb + strconv.FormatInt(drawn.got, 10) }
		p.start = func(ctx context.Context) (rowSource, error) {
			for {
				if _, err := drawn.next(ctx, false); errors.Is(err, io.EOF) {
					return nil, nil
				} else if err != nil {
					return nil, err
				}
			}
		}
		return nil
	}
	// The rows have the columns of the cursor, and its formats if it is a binary one.
	p.columns, p.types = c.columns, c.types
	if len(p.formats) != len(c.columns) {
		p.formats = slices.Clone(c.formats)
	}
	for i, f := range c.formats {
		p.formats[i] |= f
	}
	p.tag = func(rows int64) string { return verb + strconv.FormatInt(rows, 10) }
	p.start = func(context.Context) (rowSource, error) { return drawn, nil }
	return nil
}

// fetchRows fetches a number of rows from a cursor, which stays open.
type fetchRows struct {
	cursor *portal
	s      *ast.Fetch
	left   int64 // -1 means all
	begun  bool
	got    int64
}

func (f *fetchRows) next(ctx context.Context, _ bool) ([]types.Datum, error) {
	if !f.begun {
		f.begun = true
		if err := f.cursor.recheck(ctx); err != nil {
			return nil, err
		}
		if err := f.begin(ctx); err != nil {
			return nil, err
		}
	}
	if f.left == 0 {
		return nil, io.EOF
	}
	// Wait for the first row. After that, a feed without further rows ends the FETCH.
	row, err := f.draw(ctx, f.got > 0)
	switch {
	case errors.Is(err, exec.ErrIdle):
		f.left = 0
		return nil, io.EOF
	case err == nil:
		f.got++
		if f.left > 0 {
			f.left--
		}
	}
	return row, withoutPosition(err)
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

// begin computes the number of rows to return, and skips those before an absolute or relative position.
func (f *fetchRows) begin(ctx context.Context) error {
	backward := sqlstate.New(sqlstate.ObjectNotInPrerequisite,
		"cursor can only scan forward").WithHint("Declare the cursor again to read from the start.")
	skip := int64(0)
	switch s := f.s; {
	case s.All && s.Direction == "forward":
		f.left = -1
	case s.Direction == "forward":
		f.left = s.Count
	case s.Direction == "absolute" || s.Direction == "relative":
		skip = s.Count - 1
		if s.Direction == "absolute" {
			skip -= f.cursor.position
		}
		if s.Count < 0 || skip < 0 {
			return backward
		}
		f.left = 1
	default:
		if s.All || s.Count != 0 {
			return backward
		}
	}
	for ; skip > 0; skip-- {
		if _, err := f.draw(ctx, false); errors.Is(err, io.EOF) {
			f.left = 0
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (f *fetchRows) draw(ctx context.Context, noWait bool) ([]types.Datum, error) {
	c := f.cursor
	if c.done {
		return nil, io.EOF
	}
	if c.rows == nil {
		var err error
		if c.rows, err = c.start(ctx); err != nil {
			return nil, err
		}
	}
	row, err := c.rows.next(ctx, noWait)
	if errors.Is(err, exec.ErrIdle) {
		return nil, err
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.position++
	return row, nil
}

// close leaves the cursor open.
func (f *fetchRows) close() {}

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
	if ss.statements.byName[s.Name] != nil {
		return sqlstate.New(sqlstate.DuplicateStatement, `prepared statement "%s" already exists`, s.Name)
	}
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
	if err := w.Hold(int64(len(s.Text))); err != nil {
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
	st, err := e.ss.statements.get(s.Name)
	if err != nil {
		return sqlstate.Locate(err, s.Pos())
	}
	p.start = func(ctx context.Context) (rowSource, error) {
		named, err := e.named(ctx, s, st)
		if err != nil {
			return nil, err
		}
		inner, err := named.portal(nil)
		if err != nil {
			return nil, err
		}
		p.tag = inner.tag
		p.elsewhere = true
		st.ran()
		return inner.start(ctx)
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
