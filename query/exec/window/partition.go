package window

import (
	"errors"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// partitionRows are the sorted rows of one partition, over which a window function is evaluated.
type partitionRows struct {
	w     *Window
	stage *stage
	c     *Call
	n     int // rows
	// groups is the number of groups of peers, and starts has where each begins, followed by n.
	groups int
	starts *spill.Cursor
	// cursors read the rows: a frame's ends and the current row move independently.
	cursors [3]*spill.Cursor
	victim  int

	offsets frameOffsets
	// head and tail are the bounds of the previous row's frame.
	head, tail int
	value      func(i int) (types.Datum, error)
	done       func() // releases what value holds
}

// row returns a row, followed by its sort values and the number of its group of peers. It is valid until the next call.
func (p *partitionRows) row(i int) ([]types.Datum, error) {
	for _, c := range p.cursors {
		if c.Near(int64(i)) {
			return c.Row(int64(i))
		}
	}
	p.victim = (p.victim + 1) % len(p.cursors)
	return p.cursors[p.victim].Row(int64(i))
}

// key returns the value of the first ORDER BY expression at a row.
func (p *partitionRows) key(i int) (types.Datum, error) {
	row, err := p.row(i)
	if err != nil {
		return types.Null, err
	}
	return row[p.stage.width+p.stage.partition], nil
}

// peer returns the number of the group of peers of a row.
func (p *partitionRows) peer(i int) (int, error) {
	row, err := p.row(i)
	if err != nil {
		return 0, err
	}
	return int(row[len(row)-1].I), nil
}

// start returns where a group of peers begins.
func (p *partitionRows) start(group int) (int, error) {
	row, err := p.starts.Row(int64(group))
	if err != nil {
		return 0, err
	}
	return int(row[0].I), nil
}

// peers returns where the group of peers of a row begins and ends.
func (p *partitionRows) peers(i int) (from, to int, err error) {
	g, err := p.peer(i)
	if err == nil {
		from, err = p.start(g)
	}
	if err == nil {
		to, err = p.start(g + 1)
	}
	return from, to, err
}

// set makes a row the current one of the expressions.
func (p *partitionRows) set(i int) error {
	row, err := p.row(i)
	if err == nil {
		copy(p.w.env.Row, row[:p.stage.width])
	}
	return err
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
func (p *partitionRows) excluded(i int) (a, b [2]int, err error) {
	if p.c.Frame == nil || p.c.Frame.Exclude == ExcludeNone {
		return a, b, nil
	}
	from, to, err := p.peers(i)
	switch p.c.Frame.Exclude {
	case ExcludeRow:
		a = [2]int{i, i + 1}
	case ExcludeGroup:
		a = [2]int{from, to}
	case ExcludeTies:
		a, b = [2]int{from, i}, [2]int{i + 1, to}
	}
	return a, b, err
}

// arg evaluates an argument at a row.
func (p *partitionRows) arg(n, row int) (types.Datum, error) {
	if err := p.set(row); err != nil {
		return types.Null, err
	}
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
	// tree answers for a Folder, from the first frame on that does not just grow at its end. bare is set if it does not
	// fit into memory.
	tree *frameTree
	bare bool
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
	if err := s.p.set(row); err != nil {
		return false, err
	}
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

// plant makes the tree, with as few rows in a leaf as there is room for, or sets bare.
func (s *frameState) plant(f Folder) (err error) {
	before := s.p.w.env.Used()
	for block := 1; block <= largestBlock; block *= blockGrowth {
		s.tree, err = newFrameTree(s, f, block)
		var e *sqlstate.Error
		if !errors.As(err, &e) || e.Code != sqlstate.OutOfMemory {
			return err
		}
		s.p.w.env.Back(before)
	}
	s.tree, s.bare = nil, true
	return nil
}

// folded returns the result over the frame without the rows of a and b, computed by the tree.
func (s *frameState) folded(first, end int, a, b [2]int) (d types.Datum, err error) {
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
		a, b, err := p.excluded(i)
		if err != nil {
			return types.Null, err
		}
		some := a[0] < a[1] || b[0] < b[1]
		if f, folds := s.acc.(Folder); folds && !s.bare &&
			(s.tree != nil || some || first > s.first && s.first < s.end || end < s.end) {
			if s.tree == nil {
				if err := s.plant(f); err != nil {
					return types.Null, err
				}
			}
			if s.tree != nil {
				return s.folded(first, end, a, b)
			}
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
