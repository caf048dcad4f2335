package window

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// partitionRows are the sorted rows of one partition, over which a window function is evaluated.
type partitionRows struct {
	w    *Window
	rows []placed
	// peers gives for each row its group of peers. starts holds where each group begins, followed by the number of
	// rows.
	peers  []int32
	starts []int

	c       *Call
	at      int // column of the result
	offsets frameOffsets
	// head and tail are the bounds of the previous row's frame.
	head, tail int
}

// group finds the groups of peers: rows that are equal in the sort order.
func (p *partitionRows) group(order []exec.SortKey) error {
	if err := p.w.env.Hold(int64(len(p.rows)) * 12); err != nil {
		return err
	}
	var fail error
	p.peers = make([]int32, len(p.rows))
	for i := range p.rows {
		if i == 0 || exec.CompareRows(p.rows[i-1].keys, p.rows[i].keys, order, &fail) != 0 {
			p.starts = append(p.starts, i)
		}
		p.peers[i] = int32(len(p.starts) - 1)
		if err := p.w.env.Step(1); err != nil {
			return err
		}
	}
	p.starts = append(p.starts, len(p.rows))
	return fail
}

// walk computes the result for each row.
func (p *partitionRows) walk() error {
	p.head, p.tail = 0, 0
	value, done := p.aggregate()
	defer done()
	if p.c.Func != nil {
		f := p.c.Func.New()
		value = func(i int) (types.Datum, error) { return f(p, i) }
	}
	for i := range p.rows {
		if err := p.w.env.Step(1); err != nil {
			return err
		}
		d, err := value(i)
		if err != nil {
			return err
		}
		n := 64 + int64(len(d.S)) // arrays share their items
		if err := p.w.env.Hold(n); err != nil {
			return err
		}
		p.w.results += n
		p.rows[i].row[p.at] = d
	}
	return nil
}

// move finds the frame of a row.
func (p *partitionRows) move(i int) (first, end int, err error) {
	f := p.c.Frame
	if f == nil {
		f = defaultFrame
	}
	if p.head, err = p.first(f, i); err == nil {
		p.tail, err = p.last(f, i)
	}
	return p.head, max(p.tail, p.head), err
}

// excluded returns the rows that the frame of row i excludes: two ranges, which may be empty.
func (p *partitionRows) excluded(i int) (a, b [2]int) {
	if p.c.Frame == nil {
		return a, b
	}
	from, to := p.starts[p.peers[i]], p.starts[p.peers[i]+1]
	switch p.c.Frame.Exclude {
	case ExcludeRow:
		a = [2]int{i, i + 1}
	case ExcludeGroup:
		a = [2]int{from, to}
	case ExcludeTies:
		a, b = [2]int{from, i}, [2]int{i + 1, to}
	}
	return a, b
}

// arg evaluates an argument at a row.
func (p *partitionRows) arg(n, row int) (types.Datum, error) {
	copy(p.w.env.Row, p.rows[row].row)
	return p.c.Args[n].Eval(p.w.env)
}

// Remover is an accumulator that can remove rows, so that a moving frame need not be recomputed for each row.
type Remover interface {
	exec.Accumulator
	// Remove undoes an Add. It returns false if that cannot be done exactly.
	Remove(args []types.Datum) (bool, error)
}

// frameState is an aggregate over the rows from first to end.
type frameState struct {
	p          *partitionRows
	acc        exec.Accumulator
	first, end int
	held       int64
	// tree answers for a Folder, from the first frame on that does not just grow at its end.
	tree *frameTree
}

func (s *frameState) reset(first int) {
	s.p.w.env.Release(s.held)
	oids := make([]types.OID, len(s.p.c.Args))
	for i, a := range s.p.c.Args {
		oids[i] = a.Type()
	}
	s.acc, s.first, s.end, s.held = s.p.c.Agg.Agg.New(oids), first, first, 0
}

// feed adds or removes a row.
func (s *frameState) feed(row int, remove bool) (bool, error) {
	w := s.p.w
	if err := w.env.Step(1); err != nil {
		return false, err
	}
	copy(w.env.Row, s.p.rows[row].row)
	around := w.env.Enter(&w.scratch)
	defer w.env.Leave(around)
	args, err := s.args()
	if args == nil || err != nil {
		return true, err
	}
	if remove {
		return s.acc.(Remover).Remove(args)
	}
	before := w.env.Used()
	err = s.acc.Add(w.env, args)
	s.held += w.env.Used() - before
	return true, err
}

// args returns the aggregate's arguments at the current row, nil if the row does not count.
func (s *frameState) args() ([]types.Datum, error) {
	env, agg := s.p.w.env, s.p.c.Agg
	if agg.Filter != nil {
		d, err := agg.Filter.Eval(env)
		if err != nil || !d.True() {
			return nil, err
		}
	}
	args, err := exec.EvalAll(env, s.p.c.Args)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		if a.IsNull() && !agg.Agg.NullArgs {
			return nil, nil
		}
	}
	if args == nil {
		args = []types.Datum{}
	}
	return args, nil
}

// without returns the result over the frame without the rows of a and b. It removes rows and adds them again if the
// accumulator can.
func (s *frameState) without(first, end int, a, b [2]int) (d types.Datum, known bool, err error) {
	if _, ok := s.acc.(Remover); !ok || a[1]-a[0]+b[1]-b[0] > end-first {
		return types.Null, false, nil
	}
	if err := s.to(first, end); err != nil {
		return types.Null, false, err
	}
	out := make([]int, 0, 1)
	for _, r := range [][2]int{a, b} {
		for row := max(r[0], first); row < min(r[1], end); row++ {
			ok, err := s.feed(row, true)
			if err != nil {
				return types.Null, false, err
			}
			if !ok {
				s.reset(first) // the caller recomputes it
				return types.Null, false, nil
			}
			out = append(out, row)
		}
	}
	if d, err = s.acc.Result(s.p.w.env); err != nil {
		return types.Null, false, err
	}
	for _, row := range out {
		if _, err := s.feed(row, false); err != nil {
			return types.Null, false, err
		}
	}
	return d, true, nil
}

// folded returns the result over the frame without the rows of a and b, computed by the tree.
func (s *frameState) folded(first, end int, a, b [2]int) (d types.Datum, err error) {
	if s.tree == nil {
		if s.tree, err = newFrameTree(s, s.acc.(Folder)); err != nil {
			return types.Null, err
		}
	}
	at := first
	for _, r := range [][2]int{a, b} {
		if r[0] >= r[1] || r[1] <= at || r[0] >= end {
			continue
		}
		part, err := s.tree.over(at, max(r[0], at))
		if err == nil {
			d, err = s.tree.fold(d, part)
		}
		if err != nil {
			return types.Null, err
		}
		at = r[1]
	}
	if at < end {
		part, err := s.tree.over(at, end)
		if err != nil {
			return types.Null, err
		}
		return s.tree.fold(d, part)
	}
	return d, nil
}

// to moves the state to another frame.
func (s *frameState) to(first, end int) error {
	if first > s.first && first < s.end && end >= s.end {
		_, ok := s.acc.(Remover)
		for ok && s.first < first {
			var err error
			if ok, err = s.feed(s.first, true); err != nil {
				return err
			}
			if ok {
				s.first++
			}
		}
	}
	if first != s.first || end < s.end {
		s.reset(first)
	}
	for ; s.end < end; s.end++ {
		if _, err := s.feed(s.end, false); err != nil {
			return err
		}
	}
	return nil
}

// aggregate evaluates an aggregate over the frame of each row. done releases the memory that this took.
func (p *partitionRows) aggregate() (value func(i int) (types.Datum, error), done func()) {
	if p.c.Agg == nil {
		return nil, func() {}
	}
	s := &frameState{p: p}
	s.reset(0)
	known, whole := false, true // whole: the state covers a frame without exclusions
	var last types.Datum
	done = func() {
		p.w.env.Release(s.held)
		if s.tree != nil {
			p.w.env.Release(s.tree.held)
		}
	}
	return func(i int) (types.Datum, error) {
		first, end, err := p.move(i)
		if err != nil {
			return types.Null, err
		}
		a, b := p.excluded(i)
		some := a[0] < a[1] || b[0] < b[1]
		if _, folds := s.acc.(Folder); folds &&
			(s.tree != nil || some || first > s.first && s.first < s.end || end < s.end) {
			return s.folded(first, end, a, b)
		}
		if !whole {
			s.reset(first)
			whole = true
		}
		if some {
			known = false
			d, ok, err := s.without(first, end, a, b)
			if ok || err != nil {
				return d, err
			}
			whole = false
			s.reset(first)
			for row := first; row < end; row++ {
				if row >= a[0] && row < a[1] || row >= b[0] && row < b[1] {
					continue
				}
				if _, err := s.feed(row, false); err != nil {
					return types.Null, err
				}
			}
			return s.acc.Result(p.w.env)
		}
		if known && first == s.first && end == s.end {
			return last, nil
		}
		if err := s.to(first, end); err != nil {
			return types.Null, err
		}
		known = true
		last, err = s.acc.Result(p.w.env)
		return last, err
	}, done
}
