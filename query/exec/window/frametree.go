package window

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Folder is an accumulator whose result can be combined from its arguments pairwise, in any grouping: min, max,
// bool_and, bit_or. Its aggregate has one argument.
type Folder interface {
	exec.Accumulator
	// Fold combines two values that are not NULL. a is of rows before those of b.
	Fold(a, b types.Datum) (types.Datum, error)
}

// frameTree is a segment tree: it answers a Folder for any range of n rows of a partition in O(log n) steps. When a
// frame moves its start, a row cannot be removed from a maximum, and recomputing it for each row would be quadratic.
//
// If there is no room for all rows, the leaves are blocks of rows, and those of a block that a range contains in part
// are evaluated again.
type frameTree struct {
	f Folder
	s *frameState
	// block is the number of rows of a leaf, the last one apart.
	block int
	// nodes holds two nodes per block. Node i combines nodes 2i and 2i+1; the second half are the blocks.
	nodes []types.Datum
	held  int64
}

// largestBlock is the largest number of rows of a leaf, blockGrowth the factor between those that are tried.
const (
	largestBlock = 1 << 12
	blockGrowth  = 1 << 4
)

// newFrameTree evaluates the aggregate's argument for all rows of the partition.
func newFrameTree(s *frameState, f Folder, block int) (*frameTree, error) {
	n, env := (s.p.n+block-1)/block, s.p.w.env
	t := &frameTree{f: f, s: s, block: block, held: 2 * exec.DatumSize * int64(n)}
	if err := env.Hold(t.held); err != nil {
		return nil, err
	}
	t.nodes = make([]types.Datum, 2*n)
	for row := range n {
		d, err := t.rows(row*block, min((row+1)*block, s.p.n))
		if err != nil {
			return nil, err
		}
		if err := env.Hold(d.Large()); err != nil {
			return nil, err
		}
		t.held += d.Large()
		t.nodes[n+row] = d
	}
	for i := n - 1; i > 0; i-- {
		if err := env.Step(1); err != nil {
			return nil, err
		}
		var err error
		if t.nodes[i], err = t.fold(t.nodes[2*i], t.nodes[2*i+1]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// leaf returns the argument at a row, NULL if the row does not count.
func (s *frameState) leaf(row int) (types.Datum, error) {
	w := s.p.w
	if err := w.env.Step(1); err != nil {
		return types.Null, err
	}
	if err := s.p.set(row); err != nil {
		return types.Null, err
	}
	around := w.env.Enter(&w.scratch)
	defer w.env.Leave(around)
	args, err := s.args()
	if args == nil || err != nil {
		return types.Null, err
	}
	return args[0], nil
}

func (t *frameTree) fold(a, b types.Datum) (types.Datum, error) {
	switch {
	case a.IsNull():
		return b, nil
	case b.IsNull():
		return a, nil
	}
	return t.f.Fold(a, b)
}

// rows returns the result over rows, which it evaluates.
func (t *frameTree) rows(first, end int) (d types.Datum, err error) {
	for row := first; row < end && err == nil; row++ {
		var one types.Datum
		if one, err = t.s.leaf(row); err == nil {
			d, err = t.fold(d, one)
		}
	}
	return d, err
}

// over returns the result over the rows from first to end.
func (t *frameTree) over(first, end int) (types.Datum, error) {
	from, to := (first+t.block-1)/t.block, end/t.block
	if from >= to {
		if t.block == 1 {
			return types.Null, nil
		}
		return t.rows(first, end)
	}
	left, err := t.rows(first, from*t.block)
	if err != nil {
		return types.Null, err
	}
	middle, err := t.blocks(from, to)
	if err != nil {
		return types.Null, err
	}
	if left, err = t.fold(left, middle); err != nil {
		return types.Null, err
	}
	right, err := t.rows(to*t.block, end)
	if err != nil {
		return types.Null, err
	}
	return t.fold(left, right)
}

// blocks returns the result over whole blocks.
func (t *frameTree) blocks(first, end int) (types.Datum, error) {
	n := len(t.nodes) / 2
	var left, right types.Datum
	var err error
	for lo, hi := first+n, end+n; lo < hi && err == nil; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			left, err = t.fold(left, t.nodes[lo])
			lo++
		}
		if hi%2 == 1 && err == nil {
			hi--
			right, err = t.fold(t.nodes[hi], right)
		}
	}
	if err != nil {
		return types.Null, err
	}
	return t.fold(left, right)
}
