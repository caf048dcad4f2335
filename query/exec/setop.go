package exec

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/types"
)

// SetOp is INTERSECT or EXCEPT. It counts the rows of the right side in memory and then streams the left side.
type SetOp struct {
	Left, Right Plan
	// Width is the number of leading columns that are compared.
	Width int
	// Except selects EXCEPT rather than INTERSECT. All keeps duplicates: for INTERSECT as many as both sides have, for
	// EXCEPT as many more as the left side has.
	Except, All bool

	// counts is the number of unmatched occurrences of each row on the right side, or gone.
	counts map[string]int64
	st     *State
	held   int64
	buf    []byte
	rows   int64
}

// gone is the count of a row that must not be returned again.
const gone = -1

// Open reads the right side.
func (s *SetOp) Open(outer *Env) error {
	s.free()
	s.st, s.counts = outer.State, map[string]int64{}
	if err := s.count(outer); err != nil {
		return err
	}
	return s.Left.Open(outer)
}

func (s *SetOp) count(outer *Env) error {
	if err := s.Right.Open(outer); err != nil {
		return err
	}
	defer s.Right.Close()
	for {
		row, err := s.Right.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.key(row); err != nil {
			return err
		}
		n := s.counts[string(s.buf)]
		if err := s.set(n + 1); err != nil {
			return err
		}
	}
}

// key writes the key of a row to buf.
func (s *SetOp) key(row []types.Datum) (err error) {
	s.buf = s.buf[:0]
	for _, d := range row[:s.Width] {
		if s.buf, err = s.st.Hash(s.buf, d); err != nil {
			return err
		}
	}
	return s.st.Step(1)
}

// set stores the count of the row in buf.
func (s *SetOp) set(n int64) error {
	if _, known := s.counts[string(s.buf)]; !known {
		size := int64(len(s.buf)) + 56
		if err := s.st.Hold(size); err != nil {
			return err
		}
		s.held += size
	}
	s.counts[string(s.buf)] = n
	return nil
}

// Next implements Plan.
func (s *SetOp) Next() ([]types.Datum, error) {
	for {
		row, err := s.Left.Next()
		if err != nil {
			return nil, err
		}
		if err := s.key(row); err != nil {
			return nil, err
		}
		pass, err := s.pass()
		if err != nil {
			return nil, err
		}
		if pass {
			s.rows++
			return row, nil
		}
	}
}

// pass reports whether the left side's row in buf belongs to the result.
func (s *SetOp) pass() (bool, error) {
	n := s.counts[string(s.buf)]
	switch {
	case s.All && n > 0:
		return !s.Except, s.set(n - 1)
	case s.All:
		return s.Except, nil
	case n == gone, s.Except == (n > 0):
		return false, nil
	}
	return true, s.set(gone)
}

func (s *SetOp) free() {
	if s.st != nil {
		s.st.Release(s.held)
	}
	s.held, s.counts, s.rows = 0, nil, 0
}

// Close implements Plan.
func (s *SetOp) Close() {
	s.Left.Close()
	s.Right.Close()
	s.free()
}

// Describe implements Plan.
func (s *SetOp) Describe() *Description {
	node := "HashSetOp Intersect"
	if s.Except {
		node = "HashSetOp Except"
	}
	if s.All {
		node += " All"
	}
	return &Description{Node: node, Rows: s.rows, Examined: -1,
		Children: []*Description{s.Left.Describe(), s.Right.Describe()}}
}
