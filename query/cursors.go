package query

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

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
	c.hold, c.held, c.text, c.declared, c.forward = s.Hold, st.size, text, true, s.NoScroll
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
	again  bool // the next row is the one that the cursor is on
	got    int64
}

func (f *fetchRows) next(ctx context.Context, _ bool) ([]types.Datum, error) {
	row, err := f.step(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		f.cursor.failed = true
	}
	return row, withoutPosition(err)
}

func (f *fetchRows) step(ctx context.Context) ([]types.Datum, error) {
	if !f.begun {
		f.begun = true
		if err := f.cursor.recheck(ctx); err != nil {
			return nil, err
		}
		if err := f.begin(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case f.left == 0:
		return nil, io.EOF
	case f.again:
		f.left, f.again = 0, false
		f.got++
		return f.cursor.current, nil
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
	return row, err
}

// begin computes the number of rows to return, and skips those before an absolute or relative position. A cursor moves
// forward only; FETCH 0 returns the row that it is on once more, if it is on one.
func (f *fetchRows) begin(ctx context.Context) error {
	c, s := f.cursor, f.s
	if c.failed {
		return errCannotRun(c.name)
	}
	backward := sqlstate.New(sqlstate.ObjectNotInPrerequisite,
		"cursor can only scan forward").WithHint("Declare the cursor again to read from the start.")
	start := c.position == 0 && !c.done
	ahead := s.Count // rows to go
	if s.Direction == "absolute" && s.Count >= 0 {
		ahead -= c.position
	}
	switch {
	case s.Direction == "forward" && s.All:
		f.left = -1
		return nil
	case s.Direction == "forward" && s.Count > 0:
		f.left = s.Count
		return nil
	case s.Direction == "backward" && (s.All || s.Count != 0), s.Direction == "absolute" && s.Count < 0, ahead < 0:
		if start && !c.forward && s.Direction != "absolute" {
			return nil // there are no rows before the first
		}
		return backward
	case ahead == 0 && (s.Direction != "absolute" || c.current != nil):
		if c.forward && c.current != nil && (!s.Move || s.Direction == "absolute") {
			return backward // as in PostgreSQL, which goes back by one row and returns
		}
		if c.current != nil {
			f.left, f.again = 1, true
		}
		return nil
	case ahead == 0:
		if !start {
			return backward
		}
		return nil
	}
	f.left = 1
	for ; ahead > 1; ahead-- {
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
		c.current = nil
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
		c.current = nil
		c.Close()
		return nil, err
	}
	c.position++
	c.current = append(c.current[:0], row...)
	return c.current, nil
}

// close leaves the cursor open.
func (f *fetchRows) close() {}
