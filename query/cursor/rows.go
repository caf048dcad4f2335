package cursor

import (
	"context"
	"errors"
	"hash/maphash"
	"io"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Backward says how a cursor goes back.
type Backward int

const (
	// Never refuses to go back.
	Never Backward = iota
	// Again reads the rows again from the beginning when the cursor first goes back, and keeps them from then on.
	Again
	// Always keeps all rows from the beginning.
	Always
)

// Rows are the rows of a cursor and its place among them. Rows that are kept for going back use the memory of the
// statement, and then its temporary file.
type Rows struct {
	source Source
	back   Backward
	// at is the number of the row that the cursor is on: 0 before the first, and total+1 after the last. total is -1
	// until the end has been seen.
	at, total int64
	// kept are the rows after the first base ones that have been read, if they are kept.
	kept *spill.List
	base int64
	read *spill.Cursor
	// digest is of the rows that have been read if back is Again: reading them again must give the same.
	digest maphash.Hash
	buf    []byte
	width  int
}

// New returns the rows of a portal, with that many columns, of which the first at have been read.
func New(source Source, width int, back Backward, at int64) *Rows {
	s := &Rows{source: source, width: width, back: back, at: at, total: -1}
	if back == Always {
		s.keep()
	}
	return s
}

// keep begins to keep rows.
func (s *Rows) keep() {
	s.kept = s.source.(*Running).State.Spill.NewIndexedList(s.width)
	s.read = s.kept.Cursor()
}

// Next implements Source: it goes forward by one row.
func (s *Rows) Next(ctx context.Context, noWait bool) ([]types.Datum, error) {
	if s.total >= 0 && s.at >= s.total {
		s.at = s.total + 1
		return nil, io.EOF
	}
	if s.kept != nil && s.at < s.base+s.kept.Len() {
		s.under(ctx)
		s.at++
		return s.read.Row(s.at - 1 - s.base)
	}
	row, err := s.source.Next(ctx, noWait)
	switch {
	case errors.Is(err, io.EOF):
		s.total = s.at
		s.at++
		s.end()
		return nil, io.EOF
	case err != nil:
		return nil, err
	}
	if s.kept != nil {
		err = s.kept.Append(row)
	} else if s.back == Again {
		s.sum(&s.digest, row)
	}
	if err == nil {
		s.at++
	}
	return row, err
}

// end releases what the rows were read from, as far as nothing can be needed again.
func (s *Rows) end() {
	r, ok := s.source.(*Running)
	switch {
	case !ok:
	case s.kept != nil:
		r.finish()
		r.Unpin()
	case s.back == Again:
		r.finish()
	default:
		r.Close()
	}
}

// under makes a context that of the kept rows.
func (s *Rows) under(ctx context.Context) {
	if r, ok := s.source.(*Running); ok {
		r.State.Ctx = ctx
	}
}

// previous goes back by one row, or before the first one with io.EOF.
func (s *Rows) previous(ctx context.Context) ([]types.Datum, error) {
	if s.at == 0 {
		return nil, io.EOF
	}
	s.under(ctx)
	if err := s.reread(ctx); err != nil {
		return nil, err
	}
	if s.at--; s.at == 0 {
		return nil, io.EOF
	}
	return s.read.Row(s.at - 1)
}

// skip makes a motion at once if all rows that it passes are kept.
func (s *Rows) skip(m motion) bool {
	switch {
	case s.kept == nil || s.base > 0:
		return false
	case m.back:
		s.at = max(s.at-m.n, 0)
		return true
	case s.total >= 0 && m.n > s.total-s.at:
		s.at = s.total + 1
		return true
	case m.n > s.kept.Len()-s.at:
		return false
	}
	s.at += m.n
	return true
}

// reread keeps the rows that have been read, which it reads again.
func (s *Rows) reread(ctx context.Context) error {
	if s.kept != nil {
		return nil
	}
	n := s.at
	if s.total >= 0 {
		n = s.total
	}
	r := s.source.(*Running)
	r.finish()
	s.keep()
	var digest maphash.Hash
	digest.SetSeed(s.digest.Seed())
	for range n {
		row, err := r.Next(ctx, false)
		if errors.Is(err, io.EOF) {
			return errChanged
		}
		if err == nil {
			s.sum(&digest, row)
			err = s.kept.Append(row)
		}
		if err != nil {
			return err
		}
	}
	if digest.Sum64() != s.digest.Sum64() {
		return errChanged
	}
	if s.total >= 0 {
		s.end()
	}
	return nil
}

// sum adds a row to a digest.
func (s *Rows) sum(h *maphash.Hash, row []types.Datum) {
	s.buf = s.buf[:0]
	for i := range row {
		s.buf = types.AppendStored(s.buf, row[i])
	}
	_, _ = h.Write(s.buf) // never fails
	if cap(s.buf) > 64<<10 {
		s.buf = nil
	}
}

// Hold reads and keeps the rest of the rows, so that nothing else of the transaction is needed.
func (s *Rows) Hold(ctx context.Context) error {
	r, ok := s.source.(*Running)
	if !ok || s.total >= 0 && (s.kept != nil || s.back == Never) || r.State.Reads.Follow {
		return nil
	}
	at := s.at
	if s.back == Again {
		if err := s.reread(ctx); err != nil {
			return err
		}
	} else if s.kept == nil {
		s.keep() // the rows that the cursor cannot go back to are not kept
		s.base = at
	}
	var err error
	for s.at = s.base + s.kept.Len(); err == nil && s.total < 0; {
		_, err = s.Next(ctx, false)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.at = at
	return err
}

// Close implements Source.
func (s *Rows) Close() {
	s.read.Close()
	s.kept.Free()
	s.source.Close()
}

var errForwardOnly = sqlstate.New(sqlstate.ObjectNotInPrerequisite, "cursor can only scan forward").
	WithHint("Declare it with SCROLL option to enable backward scan.")

// errChanged is the error of a cursor that returns other rows when they are read again: they are computed by volatile
// functions, or the store no longer has the moment that they are of.
var errChanged = sqlstate.New(sqlstate.ObjectNotInPrerequisite, "cursor can only scan forward").
	WithDetail("The rows are not the same when they are read again.").
	WithHint("Declare it with SCROLL option to enable backward scan.")
