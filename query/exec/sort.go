package exec

import (
	"cmp"
	"container/heap"
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/exec/tally"
	"github.com/divandb/divan/query/types"
)

// SortKey is one item of ORDER BY: a column of the row.
type SortKey struct {
	Index      int
	Desc       bool
	NullsFirst bool
	// Collation of a text; nil for byte order.
	Collation *types.Collation
}

// CompareRows compares rows by keys. It stores an error of a comparison in *fail.
func CompareRows(a, b []types.Datum, keys []SortKey, fail *error) int {
	for _, k := range keys {
		x, y := a[k.Index], b[k.Index]
		c := 0
		switch {
		case x.IsNull() && y.IsNull():
			continue
		case x.IsNull(), y.IsNull():
			if c = 1; x.IsNull() == k.NullsFirst {
				c = -1
			}
			return c
		}
		c, err := types.CompareCollated(x, y, k.Collation)
		if err != nil && *fail == nil {
			*fail = err
		}
		if c != 0 {
			if k.Desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// CompareRows is CompareRows that counts its steps. After a failure all rows are equal, so that a sort ends soon.
func (s *State) CompareRows(a, b []types.Datum, keys []SortKey, fail *error) int {
	if *fail != nil {
		return 0
	}
	if err := s.Step(1); err != nil {
		*fail = err
		return 0
	}
	return CompareRows(a, b, keys, fail)
}

// Sort sorts the rows of a plan. With a bound it keeps only that many, so ORDER BY ... LIMIT n keeps n rows for any
// size of input, if they fit into memory. What does not fit is sorted in temporary files.
type Sort struct {
	Input Plan
	Keys  []SortKey
	// Names are the names of the keys for EXPLAIN.
	Names []string
	// Bound is LIMIT plus OFFSET, negative for none.
	Bound int64

	st     *State
	top    []sorted      // with a bound
	passed bool          // the last row of the input came after all of top
	sorter *spill.Sorter // otherwise
	held   int64         // by top
	at     int64
	done   bool
	err    error
	more   bool // rows than the bound
	runs   tally.Runs
	space  tally.Space
}

// sorted is a row with its position in the input, which keeps the sort stable.
type sorted struct {
	row []types.Datum
	n   int64
}

func (s *Sort) Open(outer *Env) error {
	s.reset()
	s.st = outer.State
	s.runs.Begin(&s.at)
	return s.Input.Open(outer)
}

// reset releases the rows. The number of those returned is kept for Describe.
func (s *Sort) reset() {
	if s.st != nil {
		s.st.Release(s.held)
		s.sorter.Close()
	}
	s.top, s.sorter, s.held, s.done, s.err = nil, nil, 0, false, nil
}

func (s *Sort) compareRows(a, b []types.Datum, fail *error) int {
	return s.st.CompareRows(a, b, s.Keys, fail)
}

func (s *Sort) compare(a, b sorted) int {
	if c := s.compareRows(a.row, b.row, &s.err); c != 0 {
		return c
	}
	if a.n < b.n {
		return -1
	}
	return 1
}

func (s *Sort) Next() ([]types.Datum, error) {
	if !s.done {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	if s.sorter != nil {
		row, err := s.sorter.Next()
		if err == nil {
			s.at++
		}
		return row, err
	}
	if s.at >= int64(len(s.top)) {
		return nil, io.EOF
	}
	s.at++
	return s.top[s.at-1].row, nil
}

func (s *Sort) fill() error {
	s.done = true
	for n := int64(0); s.Bound != 0; n++ {
		row, err := s.Input.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.add(sorted{row, n})
		}
		if err != nil {
			return err
		}
	}
	if s.sorter != nil {
		err := s.sorter.Sort()
		s.space.Hold(s.sorter.Peak())
		s.space.Disk += s.sorter.Disk()
		return err
	}
	s.space.Hold(s.held)
	slices.SortFunc(s.top, s.compare)
	return s.err
}

// add adds a row of the input, which is not valid afterwards.
func (s *Sort) add(it sorted) error {
	if s.Bound < 0 && s.sorter == nil {
		s.sorter = s.st.Spill.NewSorter(len(it.row), s.compareRows)
	}
	if s.sorter != nil {
		return s.sorter.Add(it.row)
	}
	full := int64(len(s.top)) >= s.Bound
	s.more = s.more || full
	if s.passed = full && s.compare(it, s.top[0]) >= 0; s.passed {
		return s.err
	}
	size := RowSize(it.row)
	if full {
		gone := RowSize(s.top[0].row)
		s.st.Release(gone)
		s.held -= gone
	}
	if err := s.st.Spill.Hold(size, s.held, s.unbind); err != nil {
		return err
	}
	if s.sorter != nil {
		s.st.Release(size)
		return s.sorter.Add(it.row)
	}
	s.held += size
	it.row = types.Own(it.row)
	if full {
		s.top[0] = it
		heap.Fix((*topRows)(s), 0)
	} else {
		s.top = append(s.top, it)
		heap.Fix((*topRows)(s), len(s.top)-1)
	}
	return s.err
}

// Last returns the last of the first rows so far, nil while there may be more of them. passed reports that the last row
// of the input came after it. The row is not valid after the next one of the input.
func (s *Sort) Last() (row []types.Datum, passed bool) {
	if s.sorter != nil || s.Bound <= 0 || int64(len(s.top)) < s.Bound {
		return nil, false
	}
	return s.top[0].row, s.passed
}

// unbind sorts all further rows without a bound, since so many rows do not fit into memory.
func (s *Sort) unbind() error {
	if s.sorter != nil {
		return nil
	}
	s.st.Release(s.held)
	s.held = 0
	slices.SortFunc(s.top, func(a, b sorted) int { return cmp.Compare(a.n, b.n) })
	for _, it := range s.top {
		if s.sorter == nil {
			s.sorter = s.st.Spill.NewSorter(len(it.row), s.compareRows)
		}
		if err := s.sorter.Add(it.row); err != nil {
			return err
		}
	}
	s.top = nil
	return nil
}

// topRows is the heap of a bounded sort. Its top is the last row in the sort order.
type topRows Sort

func (t *topRows) Len() int           { return len(t.top) }
func (t *topRows) Less(i, j int) bool { return (*Sort)(t).compare(t.top[i], t.top[j]) > 0 }
func (t *topRows) Swap(i, j int)      { t.top[i], t.top[j] = t.top[j], t.top[i] }
func (t *topRows) Push(any)           {}
func (t *topRows) Pop() any           { return nil }

func (s *Sort) Close() {
	s.Input.Close()
	s.reset()
}

func (s *Sort) Describe() *Description {
	d := &Description{Node: "Sort", Examined: -1, Space: &s.space, Children: []*Description{s.Input.Describe()}}
	d.Rows, d.Loops = s.runs.Total(s.at)
	d.Add("Sort Key", s.Names)
	if s.Bound >= 0 {
		d.Add("Kept Rows", s.Bound)
	}
	switch {
	case s.space.Disk > 0:
		d.Add("Sort Method", "external merge")
	case s.more:
		d.Add("Sort Method", "top-N heapsort")
	default:
		d.Add("Sort Method", "quicksort")
	}
	return d
}
