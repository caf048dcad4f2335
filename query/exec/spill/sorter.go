package spill

import (
	"container/heap"
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/types"
)

// RowSize estimates the memory of a row in bytes.
func RowSize(row []types.Datum) int64 {
	n := int64(24)
	for _, d := range row {
		n += d.Size()
	}
	return n
}

// Hold reserves n bytes for someone who holds that much already. If memory is short it first calls free, which writes
// what they hold to temporary files.
func (s *Store) Hold(n, held int64, free func() error) error {
	if held > 0 && s.Crowded(held) {
		if err := free(); err != nil {
			return err
		}
	}
	err := s.work.Hold(n)
	if err != nil && held > 0 && s.Enabled() {
		if err := free(); err != nil {
			return err
		}
		return s.work.Hold(n)
	}
	return err
}

// Compare compares two rows. It stores the first error in *fail.
type Compare func(a, b []types.Datum, fail *error) int

// Sorter sorts rows. Rows that compare equal stay in the order in which they were added. What does not fit into memory
// is written as sorted runs, which are merged.
type Sorter struct {
	store   *Store
	compare Compare
	width   int
	rows    []numbered
	n       int64
	held    int64
	peak    int64 // of held
	longest int64 // row that was written
	runs    []*Run
	sources mergeSources
	at      int
	disk    int64
	fail    error
}

// numbered is a row with its number in the input.
type numbered struct {
	row []types.Datum
	n   int64
}

// NewSorter returns a Sorter of rows of that many columns. The caller must close it.
func (s *Store) NewSorter(width int, compare Compare) *Sorter {
	return &Sorter{store: s, width: width, compare: compare}
}

// Add adds a row, which it copies. The values are kept.
func (s *Sorter) Add(row []types.Datum) error {
	size := RowSize(row) + 8
	if err := s.store.Hold(size, s.held, s.spill); err != nil {
		return err
	}
	s.held += size
	s.peak = max(s.peak, s.held)
	s.rows = append(s.rows, numbered{types.Own(row), s.n})
	s.n++
	return nil
}

// sort sorts the rows in memory.
func (s *Sorter) sort() error {
	slices.SortFunc(s.rows, func(a, b numbered) int {
		if c := s.compare(a.row, b.row, &s.fail); c != 0 {
			return c
		}
		if a.n < b.n {
			return -1
		}
		return 1
	})
	return s.fail
}

// spill writes the rows in memory as a run.
func (s *Sorter) spill() error {
	if err := s.sort(); err != nil {
		return err
	}
	// The rows give way to the buffer of their run.
	s.store.work.Release(s.held)
	s.held = 0
	run := s.store.NewRun()
	s.runs = append(s.runs, run)
	for _, r := range s.rows {
		s.longest = max(s.longest, RowSize(r.row))
		if err := run.Append(r.row); err != nil {
			return err
		}
	}
	s.rows = nil
	err := run.Seal()
	s.disk += run.Size()
	return err
}

// Disk returns how many bytes of sorted runs were written.
func (s *Sorter) Disk() int64 { return s.disk }

// Peak returns the most memory of rows at one time.
func (s *Sorter) Peak() int64 { return s.peak }

// Sort ends the adding of rows.
func (s *Sorter) Sort() error {
	if len(s.runs) == 0 {
		return s.sort()
	}
	if len(s.rows) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	// Each source of a merge has a buffer and a row in memory.
	ways := int(min(max(s.store.work.Share()/(s.store.block+2*s.longest), 2), 64))
	for len(s.runs) > ways {
		// Neighbours become one: equal rows keep their order, and every row is written once in a pass over all runs,
		// which divides their number by ways.
		for i := 0; i < len(s.runs) && len(s.runs) > ways; i++ {
			n := min(ways, len(s.runs)-i, len(s.runs)-ways+1)
			if n < 2 {
				continue
			}
			merged, err := s.merge(s.runs[i : i+n])
			if err != nil {
				return err
			}
			s.runs = slices.Replace(s.runs, i, i+n, merged)
		}
	}
	return s.begin(s.runs)
}

// begin begins to merge runs.
func (s *Sorter) begin(runs []*Run) error {
	s.sources = mergeSources{sorter: s}
	for i, r := range runs {
		src := &mergeSource{reader: r.Consume(s.width), n: i}
		s.sources.list = append(s.sources.list, src)
		if err := src.advance(); err != nil {
			return err
		}
	}
	s.sources.list = slices.DeleteFunc(s.sources.list, func(m *mergeSource) bool { return m.row == nil })
	heap.Init(&s.sources)
	return s.fail
}

// merge merges runs into one.
func (s *Sorter) merge(runs []*Run) (*Run, error) {
	if err := s.begin(runs); err != nil {
		return nil, err
	}
	out := s.store.NewRun()
	s.runs = append(s.runs, out) // to be freed on an error
	for {
		row, err := s.nextMerged()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = out.Append(row)
		}
		if err != nil {
			return nil, err
		}
	}
	s.runs = s.runs[:len(s.runs)-1]
	for _, r := range runs {
		r.Free()
	}
	return out, out.Seal()
}

// Next returns the next row in order, or io.EOF. It is valid until the next call; its values stay valid.
func (s *Sorter) Next() ([]types.Datum, error) {
	if len(s.runs) > 0 {
		return s.nextMerged()
	}
	if s.at >= len(s.rows) {
		return nil, io.EOF
	}
	row := s.rows[s.at].row
	s.rows[s.at].row = nil
	s.at++
	size := RowSize(row) + 8
	s.held -= size
	s.store.work.Release(size)
	return row, nil
}

func (s *Sorter) nextMerged() ([]types.Datum, error) {
	m := &s.sources
	if m.used != nil { // the source of the last row
		if err := m.used.advance(); err != nil {
			return nil, err
		}
		if m.used.row == nil {
			m.used.reader.Close()
			heap.Pop(m)
		} else {
			heap.Fix(m, 0)
		}
		m.used = nil
	}
	if s.fail != nil {
		return nil, s.fail
	}
	if len(m.list) == 0 {
		return nil, io.EOF
	}
	m.used = m.list[0]
	return m.used.row, nil
}

// Close releases everything. The Sorter may be nil.
func (s *Sorter) Close() {
	if s == nil {
		return
	}
	for _, m := range s.sources.list {
		m.reader.Close()
	}
	for _, r := range s.runs {
		r.Free()
	}
	s.store.work.Release(s.held)
	s.rows, s.runs, s.sources, s.held = nil, nil, mergeSources{}, 0
}

// mergeSource is a run being merged.
type mergeSource struct {
	reader *Reader
	row    []types.Datum // nil at the end
	n      int           // the order of the runs
}

func (m *mergeSource) advance() (err error) {
	if m.row, err = m.reader.Next(); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// mergeSources is a heap with the next row of the merge at its top.
type mergeSources struct {
	sorter *Sorter
	list   []*mergeSource
	used   *mergeSource // its row has been returned
}

func (m *mergeSources) Len() int { return len(m.list) }
func (m *mergeSources) Less(i, j int) bool {
	a, b := m.list[i], m.list[j]
	if c := m.sorter.compare(a.row, b.row, &m.sorter.fail); c != 0 {
		return c < 0
	}
	return a.n < b.n
}
func (m *mergeSources) Swap(i, j int) { m.list[i], m.list[j] = m.list[j], m.list[i] }
func (m *mergeSources) Push(any)      {}
func (m *mergeSources) Pop() any {
	m.list = m.list[:len(m.list)-1]
	return nil
}
