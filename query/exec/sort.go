package exec

import (
	"container/heap"
	"errors"
	"io"
	"slices"

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
// size of input.
type Sort struct {
	Input Plan
	Keys  []SortKey
	// Names are the names of the keys for EXPLAIN.
	Names []string
	// Bound is LIMIT plus OFFSET, negative for none.
	Bound int64

	st   *State
	rows []sorted
	held int64
	at   int
	done bool
	err  error
}

// sorted is a row with its position in the input, which keeps the sort stable.
type sorted struct {
	row []types.Datum
	n   int64
}

func (s *Sort) Open(outer *Env) error {
	s.reset()
	s.st = outer.State
	return s.Input.Open(outer)
}

func (s *Sort) reset() {
	if s.st != nil {
		s.st.Release(s.held)
	}
	s.rows, s.held, s.at, s.done, s.err = nil, 0, 0, false, nil
}

func (s *Sort) compare(a, b sorted) int {
	if c := s.st.CompareRows(a.row, b.row, s.Keys, &s.err); c != 0 {
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
	if s.at >= len(s.rows) {
		return nil, io.EOF
	}
	s.at++
	return s.rows[s.at-1].row, nil
}

func (s *Sort) fill() error {
	s.done = true
	for n := int64(0); s.Bound != 0; n++ {
		row, err := s.Input.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		it := sorted{row, n}
		full := s.Bound > 0 && int64(len(s.rows)) >= s.Bound
		if full && s.compare(it, s.rows[0]) >= 0 {
			continue
		}
		it.row = slices.Clone(row)
		size := RowSize(row)
		if full {
			gone := RowSize(s.rows[0].row)
			s.st.Release(gone)
			s.held -= gone
			s.rows[0] = it
			heap.Fix((*topRows)(s), 0)
		} else {
			s.rows = append(s.rows, it)
			if s.Bound > 0 {
				heap.Fix((*topRows)(s), len(s.rows)-1)
			}
		}
		if err := s.st.Hold(size); err != nil {
			return err
		}
		s.held += size
		if s.err != nil {
			return s.err
		}
	}
	slices.SortFunc(s.rows, s.compare)
	return s.err
}

// topRows is the heap of a bounded sort. Its top is the last row in the sort order.
type topRows Sort

func (t *topRows) Len() int           { return len(t.rows) }
func (t *topRows) Less(i, j int) bool { return (*Sort)(t).compare(t.rows[i], t.rows[j]) > 0 }
func (t *topRows) Swap(i, j int)      { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }
func (t *topRows) Push(any)           {}
func (t *topRows) Pop() any           { return nil }

func (s *Sort) Close() {
	s.Input.Close()
	s.reset()
}

func (s *Sort) Describe() *Description {
	d := &Description{Node: "Sort", Rows: int64(s.at), Examined: -1, Children: []*Description{s.Input.Describe()}}
	d.Add("Sort Key", s.Names)
	if s.Bound >= 0 {
		d.Add("Kept Rows", s.Bound)
	}
	return d
}

// Unique is DISTINCT and UNION: it keeps the first of equal rows. With Keys it is DISTINCT ON those columns.
type Unique struct {
	Input Plan
	// Width is the number of leading columns that are compared, unless Keys is set.
	Width int
	Keys  []int
	seen  map[string]struct{}
	st    *State
	held  int64
	buf   []byte
	rows  int64
}

func (u *Unique) Open(outer *Env) error {
	u.free()
	u.st, u.seen = outer.State, map[string]struct{}{}
	return u.Input.Open(outer)
}

func (u *Unique) free() {
	if u.st != nil {
		u.st.Release(u.held)
	}
	u.held, u.seen = 0, nil
}

func (u *Unique) Next() ([]types.Datum, error) {
	for {
		row, err := u.Input.Next()
		if err != nil {
			return nil, err
		}
		u.buf = u.buf[:0]
		if u.Keys != nil {
			for _, k := range u.Keys {
				if u.buf, err = u.st.Hash(u.buf, row[k]); err != nil {
					return nil, err
				}
			}
		} else {
			for _, d := range row[:u.Width] {
				if u.buf, err = u.st.Hash(u.buf, d); err != nil {
					return nil, err
				}
			}
		}
		if err := u.st.Step(1); err != nil {
			return nil, err
		}
		if _, dup := u.seen[string(u.buf)]; dup {
			continue
		}
		n := int64(len(u.buf)) + 48
		if err := u.st.Hold(n); err != nil {
			return nil, err
		}
		u.held += n
		u.seen[string(u.buf)] = struct{}{}
		u.rows++
		return row, nil
	}
}

func (u *Unique) Close() {
	u.Input.Close()
	u.free()
}

func (u *Unique) Describe() *Description {
	return &Description{Node: "Unique", Rows: u.rows, Examined: -1, Children: []*Description{u.Input.Describe()}}
}

// CompareOrdered compares rows by keys whose columns are counted from base.
func (s *State) CompareOrdered(a, b []types.Datum, keys []SortKey, base int) (int, error) {
	var fail error
	for _, k := range keys {
		k.Index -= base
		if c := s.CompareRows(a, b, []SortKey{k}, &fail); c != 0 || fail != nil {
			return c, fail
		}
	}
	return 0, nil
}
