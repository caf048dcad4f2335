package sets

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// SetOp is INTERSECT or EXCEPT. It counts the rows of the right side in memory and then streams the left side. If the
// counts do not fit, both sides are divided by the hashes of their rows into parts, which follow one after the other.
type SetOp struct {
	Left, Right exec.Plan
	// Width is the number of leading columns that are compared.
	Width int
	// Except selects EXCEPT rather than INTERSECT. All keeps duplicates: for INTERSECT as many as both sides have, for
	// EXCEPT as many more as the left side has.
	Except, All bool

	// counts is the number of unmatched occurrences of each row on the right side, or gone.
	counts map[string]int64
	st     *exec.State
	held   int64
	buf    []byte
	rows   int64
	runs   tally.Runs
	space  tally.Space
	units  int64 // parts that were read
	disk   int64

	now     setUnit       // being processed
	left    *spill.Reader // of now
	waiting []setUnit
	// rights and lefts are set when the counts of now are in parts, and its other rows follow.
	rights, lefts *spill.Parts
}

// setUnit is a part of both sides. At level 0 it is everything, and the sides are the plans. The rows of the right side
// are counts: the key of a row and a number.
type setUnit struct {
	level       int
	right, left *spill.Run
}

// gone is the count of a row that must not be returned again.
const gone = -1

// Open reads the right side.
func (s *SetOp) Open(outer *exec.Env) error {
	s.free()
	s.st, s.counts = outer.State, map[string]int64{}
	s.runs.Begin(&s.rows)
	if err := s.countRight(outer); err != nil {
		return err
	}
	return s.Left.Open(outer)
}

func (s *SetOp) countRight(outer *exec.Env) error {
	if err := s.Right.Open(outer); err != nil {
		return err
	}
	defer s.Right.Close()
	for {
		row, err := s.Right.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.key(row)
		}
		if err == nil {
			err = s.count(1)
		}
		if err != nil {
			return err
		}
	}
}

// key writes the key of a row to buf.
func (s *SetOp) key(row []types.Datum) (err error) {
	s.buf, err = rowKey(s.st, s.buf[:0], row[:s.Width])
	return err
}

// count adds n to the count of the row in buf.
func (s *SetOp) count(n int64) error {
	if s.rights != nil {
		return s.put(s.buf, n)
	}
	return s.set(s.counts[string(s.buf)] + n)
}

// put writes a count to its part.
func (s *SetOp) put(key []byte, n int64) error {
	return s.rights.Append(key, []types.Datum{types.NewBytes(key), types.NewInt(n)})
}

// set stores the count of the row in buf.
func (s *SetOp) set(n int64) error {
	if _, known := s.counts[string(s.buf)]; !known {
		size := int64(len(s.buf)) + 56
		if err := s.st.Spill.Hold(size, s.held, s.divide); err != nil {
			return err
		}
		if s.rights != nil {
			s.st.Release(size)
			return s.put(s.buf, n)
		}
		s.held += size
		s.space.Hold(s.held)
	}
	s.counts[string(s.buf)] = n
	return nil
}

// divide writes the counts to parts. All further rows of this unit follow them.
func (s *SetOp) divide() error {
	if s.rights != nil || s.now.level >= spill.MaxLevel {
		return nil
	}
	s.st.Release(s.held)
	s.held = 0
	s.rights, s.lefts = s.st.Spill.NewParts(s.now.level), s.st.Spill.NewParts(s.now.level)
	for key, n := range s.counts {
		if err := s.put([]byte(key), n); err != nil {
			return err
		}
	}
	s.counts = map[string]int64{}
	return nil
}

// Next implements Plan.
func (s *SetOp) Next() ([]types.Datum, error) {
	for {
		row, err := s.nextLeft()
		if errors.Is(err, io.EOF) {
			if more, err := s.nextUnit(); err != nil {
				return nil, err
			} else if more {
				continue
			}
			return nil, io.EOF
		}
		if err == nil {
			err = s.key(row)
		}
		if err != nil {
			return nil, err
		}
		if s.rights != nil {
			if err := s.lefts.Append(s.buf, row); err != nil {
				return nil, err
			}
			continue
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

func (s *SetOp) nextLeft() ([]types.Datum, error) {
	if s.now.level == 0 {
		return s.Left.Next()
	}
	return s.left.Next()
}

// nextUnit begins the next part of the sides. It returns false at the end.
func (s *SetOp) nextUnit() (bool, error) {
	if s.rights != nil {
		rights, err := s.rights.Seal()
		if err != nil {
			return false, err
		}
		lefts, err := s.lefts.Seal()
		if err != nil {
			return false, err
		}
		for i := range lefts {
			s.waiting = append(s.waiting, setUnit{s.now.level + 1, rights[i], lefts[i]})
			s.disk += rights[i].Size() + lefts[i].Size()
		}
		s.rights, s.lefts = nil, nil
	}
	s.endUnit()
	if len(s.waiting) == 0 {
		return false, nil
	}
	s.now, s.waiting = s.waiting[0], s.waiting[1:]
	s.units++
	s.left = s.now.left.Consume(max(s.now.left.Width(), s.Width))
	right := s.now.right.Consume(2)
	defer right.Close()
	for {
		row, err := right.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			s.buf = append(s.buf[:0], row[0].S...)
			err = s.count(row[1].I)
		}
		if err != nil {
			return false, err
		}
	}
}

// endUnit releases what belongs to the current unit.
func (s *SetOp) endUnit() {
	s.st.Release(s.held)
	s.left.Close()
	s.now.left.Free()
	s.now.right.Free()
	s.held, s.counts, s.left = 0, map[string]int64{}, nil
	s.now.left, s.now.right = nil, nil
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
	if s.st == nil {
		return
	}
	s.endUnit()
	for _, u := range s.waiting {
		u.left.Free()
		u.right.Free()
	}
	s.rights.Free()
	s.lefts.Free()
	s.rights, s.lefts, s.waiting, s.now = nil, nil, nil, setUnit{}
}

// Close implements Plan.
func (s *SetOp) Close() {
	s.Left.Close()
	s.Right.Close()
	s.free()
}

// Describe implements Plan.
func (s *SetOp) Describe() *exec.Description {
	node := "HashSetOp Intersect"
	if s.Except {
		node = "HashSetOp Except"
	}
	if s.All {
		node += " All"
	}
	d := &exec.Description{Node: node, Examined: -1, Space: &s.space,
		Children: []*exec.Description{s.Left.Describe(), s.Right.Describe()}}
	d.Rows, d.Loops = s.runs.Total(s.rows)
	s.space.Disk, s.space.Batches = s.disk, 1+s.units
	return d
}
