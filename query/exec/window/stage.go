package window

import (
	"errors"
	"io"
	"slices"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// stage sorts rows by a partition and order that some calls share, and evaluates these calls over each partition.
type stage struct {
	w     *Window
	calls []int
	// exprs are the expressions of the partition, then those of the order. Their values follow a row's columns.
	exprs     []exec.Expr
	keys      []exec.SortKey
	partition int // of keys
	width     int // of a row without the values of exprs

	sorter *spill.Sorter
	ahead  []types.Datum // the first row of the next partition
	ended  bool          // the sorter
	list   *spill.List   // the rows of the partition, each with the number of its group of peers
	starts *spill.List   // where each group of peers begins, followed by the number of rows
	parts  []*partitionRows
	at     int64
	bounds []frameOffsets
	disk   int64
}

func newStage(w *Window, calls []int) *stage {
	c := &w.Calls[calls[0]]
	s := &stage{w: w, calls: calls, exprs: slices.Concat(c.Partition, c.Order), partition: len(c.Partition),
		width: w.Width + len(w.Calls)}
	for i := range c.Partition {
		s.keys = append(s.keys, exec.SortKey{Index: s.width + i})
	}
	for i, k := range c.Keys {
		k.Index = s.width + s.partition + i
		s.keys = append(s.keys, k)
	}
	return s
}

// fill reads and sorts all rows.
func (s *stage) fill(next func() ([]types.Datum, error)) error {
	env := s.w.env
	s.sorter = env.Spill.NewSorter(s.width+len(s.exprs), func(a, b []types.Datum, fail *error) int {
		return env.CompareRows(a, b, s.keys, fail)
	})
	for {
		row, err := next()
		if err != nil {
			return err
		}
		if row == nil {
			return s.sorter.Sort()
		}
		row = slices.Clip(row[:s.width])
		copy(env.Row, row)
		values, err := s.w.evalAll(s.exprs)
		if err == nil {
			err = s.sorter.Add(append(row, values...))
		}
		if err == nil {
			err = env.Step(1)
		}
		if err != nil {
			return err
		}
	}
}

// evalAll evaluates expressions over the current row. The memory of the values is held until the next call.
func (w *Window) evalAll(list []exec.Expr) ([]types.Datum, error) {
	around := w.env.Enter(&w.values)
	defer w.env.Leave(around)
	return exec.EvalAll(w.env, list)
}

// sorted returns the next row of the sorter, nil at the end.
func (s *stage) sorted() ([]types.Datum, error) {
	if row := s.ahead; row != nil {
		s.ahead = nil
		return row, nil
	}
	if s.ended {
		return nil, nil
	}
	row, err := s.sorter.Next()
	if errors.Is(err, io.EOF) {
		s.ended = true
		return nil, nil
	}
	return row, err
}

// load reads the next partition. It returns false at the end.
func (s *stage) load() (bool, error) {
	s.unload()
	env := s.w.env
	var fail error
	var last []types.Datum
	for {
		row, err := s.sorted()
		if err != nil {
			return false, err
		}
		if row == nil {
			break
		}
		if last == nil {
			s.list, s.starts = env.Spill.NewIndexedList(len(row)+1), env.Spill.NewIndexedList(1)
		} else if exec.CompareRows(last, row, s.keys[:s.partition], &fail) != 0 {
			s.ahead = slices.Clone(row)
			break
		}
		if last == nil || exec.CompareRows(last, row, s.keys[s.partition:], &fail) != 0 {
			if err := s.starts.Keep([]types.Datum{types.NewInt(s.list.Len())}); err != nil {
				return false, err
			}
		}
		last = slices.Clone(row)
		if err := s.list.Keep(append(row[:len(row):len(row)], types.NewInt(s.starts.Len()-1))); err != nil {
			return false, err
		}
		if err := env.Step(1); err != nil {
			return false, err
		}
	}
	if last == nil || fail != nil {
		return false, fail
	}
	if err := s.starts.Keep([]types.Datum{types.NewInt(s.list.Len())}); err != nil {
		return false, err
	}
	return true, s.begin()
}

// begin prepares the calls for a partition.
func (s *stage) begin() error {
	if s.bounds == nil {
		s.bounds = make([]frameOffsets, len(s.calls))
		for i, at := range s.calls {
			var err error
			if s.bounds[i], err = s.w.Calls[at].Frame.offsets(s.w.env); err != nil {
				return err
			}
		}
	}
	for i, at := range s.calls {
		p := &partitionRows{w: s.w, stage: s, c: &s.w.Calls[at], offsets: s.bounds[i], n: int(s.list.Len()),
			groups: int(s.starts.Len()) - 1, starts: s.starts.Cursor()}
		for c := range p.cursors {
			p.cursors[c] = s.list.Cursor()
		}
		p.value, p.done = p.aggregate()
		if p.c.Func != nil {
			f := p.c.Func.New()
			p.value = func(i int) (types.Datum, error) { return f(p, i) }
		}
		s.parts = append(s.parts, p)
	}
	s.at = 0
	return nil
}

// next returns the next row with the results of the calls, nil at the end. It is valid until the next call.
func (s *stage) next() ([]types.Datum, error) {
	for s.at >= s.list.Len() {
		if more, err := s.load(); !more || err != nil {
			return nil, err
		}
	}
	around := s.w.env.Enter(&s.w.values)
	defer s.w.env.Leave(around)
	i := int(s.at)
	s.at++
	var out []types.Datum
	for _, p := range s.parts {
		if out == nil {
			row, err := p.row(i)
			if err != nil {
				return nil, err
			}
			out = slices.Clone(row[:s.width])
		}
	}
	for k, p := range s.parts {
		d, err := p.value(i)
		if err != nil {
			return nil, err
		}
		out[s.w.Width+s.calls[k]] = d
	}
	return out, s.w.env.Step(1)
}

// unload releases the partition.
func (s *stage) unload() {
	for _, p := range s.parts {
		p.done()
		p.starts.Close()
		for _, c := range p.cursors {
			c.Close()
		}
	}
	s.disk += s.list.Disk() + s.starts.Disk()
	s.list.Free()
	s.starts.Free()
	s.parts, s.list, s.starts, s.at = nil, nil, nil, 0
}

// diskUsed returns how much was written to temporary files.
func (s *stage) diskUsed() int64 {
	n := s.disk + s.list.Disk() + s.starts.Disk()
	if s.sorter != nil {
		n += s.sorter.Disk()
	}
	return n
}

func (s *stage) free() {
	s.disk = s.diskUsed() - s.list.Disk() - s.starts.Disk()
	s.unload()
	s.sorter.Close()
	s.sorter, s.ahead, s.ended = nil, nil, true
}
