package query

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/cursor"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// declare opens a cursor.
func (e *execution) declare(ctx context.Context, s *ast.Declare, text string) error {
	ss, st := e.ss, e.st
	if err := declarable(s, st.bound); err != nil {
		return err
	}
	switch {
	case s.Name == "":
		return sqlstate.New(sqlstate.InvalidCursorName, "invalid cursor name: must not be empty")
	case !ss.tx.inBlock() && !s.Hold:
		return sqlstate.New(sqlstate.NoActiveTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	case ss.portals.byName[s.Name] != nil:
		return sqlstate.New(sqlstate.DuplicateCursor, `cursor "%s" already exists`, s.Name).At(s.Pos())
	}
	if err := ss.portals.room("cursors"); err != nil {
		return err
	}
	inner := &prepared{text: st.text, stmt: s.Query, bound: st.bound, params: st.params,
		columns: describe(st.bound.Columns), round: st.round}
	c, err := ss.execution(inner, e.params).portal(nil)
	if err != nil {
		return err
	}
	held := st.size + int64(len(text)) // text has the whole message, for pg_cursors
	if err := ss.memory.Grow(held); err != nil {
		return err
	}
	c.hold, c.held, c.text, c.binary = s.Hold, held, text, s.IsBinary
	switch {
	case s.Scroll:
		c.back = cursor.Always
	case !s.NoScroll && st.bound.Backward():
		c.back = cursor.Again
	}
	rows, err := ss.execution(inner, e.params).rows(ctx, needs{repeatable: ss.tx.repeatable(), moment: true})
	if err != nil {
		c.Close()
		return err
	}
	c.rows = cursor.New(rows, len(c.columns), c.back, 0)
	ss.portals.open(s.Name, c)
	if e.simple && s.Hold && !ss.tx.inBlock() && ss.final {
		// The statement is the transaction, so the client is told of errors before its end.
		return ss.portals.hold(ctx)
	}
	return nil
}

// declarable returns an error if the query cannot be that of the cursor.
func declarable(s *ast.Declare, bound *bind.Bound) error {
	locks := "FOR " + bound.Locks
	switch {
	case s.Scroll && bound.Query.Follows():
		return sqlstate.Unsupported(s.Pos(), "Declare it without SCROLL, or read changes, which ends at the present.",
			"scrollable cursors over changes_follow are not supported")
	case bound.Locks == "":
	case s.Hold:
		return sqlstate.New(sqlstate.FeatureNotSupported, "DECLARE CURSOR WITH HOLD ... %s is not supported", locks).
			WithDetail("Holdable cursors must be READ ONLY.").At(s.Pos())
	case s.Scroll:
		return sqlstate.New(sqlstate.FeatureNotSupported, "DECLARE SCROLL CURSOR ... %s is not supported", locks).
			WithDetail("Scrollable cursors must be READ ONLY.").At(s.Pos())
	case s.Insensitive:
		return sqlstate.New(sqlstate.InvalidCursorDefinition, "DECLARE INSENSITIVE CURSOR ... %s is not valid", locks).
			WithDetail("Insensitive cursors must be READ ONLY.").At(s.Pos())
	}
	return nil
}

// fetch makes a portal that fetches rows from a cursor.
func (e *execution) fetch(p *portal, s *ast.Fetch) error {
	c := e.ss.portals.byName[s.Cursor]
	if c == nil {
		p.tag = func(int64) string { return "" }
		p.start = func(context.Context) (cursor.Source, error) {
			return nil, sqlstate.New(sqlstate.InvalidCursorName, `cursor "%s" does not exist`, s.Cursor).At(s.Pos())
		}
		return nil
	}
	verb := "FETCH "
	if s.Move {
		verb = "MOVE "
	}
	drawn := &fetched{from: c, s: s}
	if s.Move {
		p.columns, p.types, p.formats = nil, nil, nil
		p.tag = func(int64) string { return verb + strconv.FormatInt(drawn.Count(), 10) }
		p.start = func(ctx context.Context) (cursor.Source, error) {
			for {
				if _, err := drawn.Next(ctx, false); errors.Is(err, io.EOF) {
					return nil, nil
				} else if err != nil {
					return nil, err
				}
			}
		}
		return nil
	}
	// The rows have the columns of the cursor. The simple protocol, which has no formats, has binary cursors for that.
	p.columns, p.types = c.columns, c.types
	if len(p.formats) != len(c.columns) {
		p.formats = slices.Clone(c.formats)
	}
	if e.simple && c.binary {
		for i := range p.formats {
			p.formats[i] = 1
		}
	}
	p.tag = func(rows int64) string { return verb + strconv.FormatInt(rows, 10) }
	p.start = func(context.Context) (cursor.Source, error) { return drawn, nil }
	return nil
}

// fetched are the rows that FETCH returns from a cursor, which stays open.
type fetched struct {
	from *portal
	s    *ast.Fetch
	*cursor.Fetch
}

// Next implements cursor.Source.
func (f *fetched) Next(ctx context.Context, _ bool) (row []types.Datum, err error) {
	if f.Fetch == nil {
		f.Fetch, err = f.begin(ctx)
	}
	if err == nil {
		row, err = f.Fetch.Next(ctx)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.from.failed = true
	}
	return row, withoutPosition(err)
}

func (f *fetched) begin(ctx context.Context) (_ *cursor.Fetch, err error) {
	c := f.from
	if c.failed || c.columns == nil || c.copy != nil {
		return nil, errCannotRun(c.name)
	}
	if err := c.recheck(ctx); err != nil {
		return nil, err
	}
	if c.rows == nil && !c.done {
		if c.rows, err = c.start(ctx); err != nil {
			return nil, err
		}
	}
	rows, ok := c.rows.(*cursor.Rows)
	if !ok {
		// A portal of the protocol.
		var source cursor.Source = &cursor.Fixed{}
		if !c.done {
			source = c.rows
		}
		rows = cursor.New(source, len(c.columns), cursor.Never, c.drawn)
		c.rows = rows
	}
	if st := cursor.State(rows); st != nil {
		st.Resume()
	}
	return rows.Fetch(f.s)
}

// Close implements cursor.Source. The cursor stays open.
func (f *fetched) Close() {}
