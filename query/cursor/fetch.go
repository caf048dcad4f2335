package cursor

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// motion is a part of what a FETCH does: going a number of rows in one direction.
type motion struct {
	back bool
	n    int64
}

// all is the number of rows of FETCH ALL, as in PostgreSQL.
const all = math.MaxInt64

// motions returns what a FETCH or MOVE does, as PostgreSQL's DoPortalRunFetch does it. It refuses what goes back if the
// cursor cannot. moved is the number of rows of a MOVE that has been done here.
func (s *Rows) motions(f *ast.Fetch) (out []motion, moved int64, err error) {
	n := f.Count
	if f.All {
		n = all
	}
	ended := s.total >= 0 && s.at > s.total
	switch f.Direction {
	case "absolute":
		switch {
		case n < 0:
			out = []motion{{false, all}, {true, -n - 1}, {true, 1}}
		case n == 0:
			out = []motion{{true, s.at}, {false, 0}}
		case s.at > n-1:
			out = []motion{{true, s.at - n + 1}, {false, 1}}
		default:
			out = []motion{{false, n - 1 - s.at}, {false, 1}}
		}
	case "relative":
		back := n < 0
		if back {
			n = -n
		}
		if out = []motion{{back, n - 1}, {back, 1}}; n == 0 {
			out, moved = s.current(f.Move, ended)
		}
	default:
		back := (f.Direction == "backward") != (n < 0)
		if n < 0 {
			n = -n
		}
		switch {
		case n == 0:
			out, moved = s.current(f.Move, ended)
			if back && !f.Move && s.back == Never {
				return nil, 0, errForwardOnly // also if the cursor is not on a row
			}
		case back && n == all && f.Move:
			if moved = s.at; moved > 0 {
				moved-- // also at the end, which is after the last row
			}
			out = []motion{{true, s.at}, {false, 0}}
		default:
			out = []motion{{back, n}}
		}
	}
	for _, m := range out {
		if m.back && m.n > 0 && s.back == Never {
			return nil, 0, errForwardOnly
		}
	}
	return out, moved, nil
}

// current is FETCH 0, which returns the row that the cursor is on once more.
func (s *Rows) current(move, ended bool) (out []motion, moved int64) {
	switch on := s.at > 0 && !ended; {
	case !on:
		return nil, 0
	case move:
		return nil, 1
	}
	return []motion{{true, 1}, {false, 1}}, 0
}

// Fetch is a FETCH or MOVE that is being done.
type Fetch struct {
	rows *Rows
	// left is what is still to be done. Only the rows of the last motion are returned.
	left  []motion
	count int64
}

// Fetch begins a FETCH or MOVE.
func (s *Rows) Fetch(f *ast.Fetch) (*Fetch, error) {
	left, moved, err := s.motions(f)
	return &Fetch{rows: s, left: left, count: moved}, err
}

// Count returns the number of rows that have been passed, for the tag.
func (f *Fetch) Count() int64 { return f.count }

// Next returns the next row, or io.EOF.
func (f *Fetch) Next(ctx context.Context) ([]types.Datum, error) {
	for len(f.left) > 0 {
		m, last := &f.left[0], len(f.left) == 1
		if m.n == 0 || !last && f.rows.skip(*m) {
			f.left = f.left[1:]
			continue
		}
		var row []types.Datum
		var err error
		if m.back {
			row, err = f.rows.previous(ctx)
		} else {
			// Wait for the first row. After that, a feed without further rows ends the FETCH.
			row, err = f.rows.Next(ctx, f.count > 0)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, exec.ErrIdle):
			m.n = 0
			continue
		case err != nil:
			return nil, err
		}
		if m.n != all {
			m.n--
		}
		if last {
			f.count++
			return row, nil
		}
	}
	return nil, io.EOF
}
