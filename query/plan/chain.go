package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
)

// maxChain is the most items of FROM that are reordered.
const maxChain = 32

// chain plans inner joins of three or more items. It finds an order in which each item is joined by an equality if the
// written order would multiply rows: FROM pg_attribute a, pg_attribute b, pg_index i WHERE a.x = i.x AND b.y = i.y, as
// drivers write it. It returns nil if the written order is good enough. The columns of the row do not depend on the
// order.
func (p *planning) chain(j *bind.Join, conds []exec.Expr) (exec.Source, error) {
	leaves, on := innerLeaves(j, nil, nil)
	if len(leaves) < 3 || len(leaves) > maxChain {
		return nil, nil
	}
	conds = append(p.foldAll(on), conds...)
	if written := newJoined(leaves[0]); written.allKeyed(leaves[1:], conds) {
		return nil, nil
	}
	// Begin with an item that has a condition of its own.
	first := max(slices.IndexFunc(leaves, func(f bind.From) bool { return newJoined(f).own(conds) > 0 }), 0)
	set := newJoined(leaves[first])
	mine, conds := set.take(conds)
	src, err := p.source(leaves[first], mine)
	if err != nil {
		return nil, err
	}
	for leaves = slices.Delete(leaves, first, first+1); len(leaves) > 0; {
		next := max(slices.IndexFunc(leaves, func(f bind.From) bool { return set.keyed(f, conds) }), 0)
		leaf := leaves[next]
		leaves = slices.Delete(leaves, next, next+1)
		if src, conds, err = p.link(src, set, leaf, conds, len(leaves) == 0); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// link joins one more item to those of set, with the conditions that can be evaluated then; last applies all that are
// left.
func (p *planning) link(src exec.Source, set *joined, leaf bind.From, conds []exec.Expr, last bool) (exec.Source,
	[]exec.Expr, error) {
	rf, rt := leaf.Span()
	own, conds := newJoined(leaf).take(conds)
	out := &joins.Join{Kind: "inner", Left: src, LeftColumns: set.ranges(), RightFrom: rf, RightTo: rt}
	before := &joined{from: slices.Clone(set.from), to: slices.Clone(set.to)}
	set.add(leaf)
	now, conds := set.take(conds)
	if last {
		now, conds = append(now, conds...), nil
	}
	now, links := plainConds(now)
	var rest []exec.Expr
	for _, c := range now {
		if l, r := before.equality(c, rf, rt); l != nil && !p.avoid.hash {
			out.LeftKeys, out.RightKeys = append(out.LeftKeys, l), append(out.RightKeys, r)
		} else {
			rest = append(rest, c)
		}
	}
	out.On = exec.And(rest)
	var err error
	if out.Right, err = p.source(leaf, own); err != nil {
		return nil, nil, err
	}
	p.narrow(out, nil, leaf)
	joined, err := p.linked(out, nil, set.ranges(), links)
	return joined, conds, err
}

// innerLeaves collects the items of a tree of inner joins that are not lateral, and the join conditions.
func innerLeaves(f bind.From, leaves []bind.From, on []exec.Expr) ([]bind.From, []exec.Expr) {
	j, ok := f.(*bind.Join)
	if !ok || j.Kind != "inner" || j.Lateral {
		return append(leaves, f), on
	}
	leaves, on = innerLeaves(j.Left, leaves, on)
	leaves, on = innerLeaves(j.Right, leaves, on)
	return leaves, append(on, j.On...)
}

// joined is a set of items of FROM, given by the columns that they fill.
type joined struct{ from, to []int }

func newJoined(f bind.From) *joined {
	s := &joined{}
	s.add(f)
	return s
}

func (s *joined) add(f bind.From) {
	from, to := f.Span()
	s.from, s.to = append(s.from, from), append(s.to, to)
}

func (s *joined) ranges() []exec.Range {
	out := make([]exec.Range, len(s.from))
	for i := range s.from {
		out[i] = exec.Range{From: s.from[i], To: s.to[i]}
	}
	return out
}

// sees reports whether e refers only to columns of the set.
func (s *joined) sees(e exec.Expr) bool {
	in := true
	exec.Walk(e, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Col:
			in = in && (n.Depth != 0 || s.has(n.Index))
		case *exec.Subquery:
			in = in && !n.Correlated
		case *sublink:
			in = in && n.sees(s.has)
		}
	})
	return in
}

func (s *joined) has(column int) bool {
	for i := range s.from {
		if column >= s.from[i] && column < s.to[i] {
			return true
		}
	}
	return false
}

// take splits conditions into those that can be evaluated with the set and the others.
func (s *joined) take(conds []exec.Expr) (mine, others []exec.Expr) {
	for _, c := range conds {
		if s.sees(c) {
			mine = append(mine, c)
		} else {
			others = append(others, c)
		}
	}
	return mine, others
}

// own counts the conditions that can be evaluated with the set.
func (s *joined) own(conds []exec.Expr) int {
	mine, _ := s.take(conds)
	return len(mine)
}

// keyed reports whether an equality joins an item to the set.
func (s *joined) keyed(f bind.From, conds []exec.Expr) bool {
	from, to := f.Span()
	return slices.ContainsFunc(conds, func(c exec.Expr) bool {
		l, _ := s.equality(c, from, to)
		return l != nil
	})
}

// allKeyed reports whether an equality joins each item to those before it.
func (s *joined) allKeyed(leaves []bind.From, conds []exec.Expr) bool {
	for _, f := range leaves {
		if !s.keyed(f, conds) {
			return false
		}
		s.add(f)
	}
	return true
}

// equality splits "left = right" into an operand over the set and one over the columns from..to, as the function
// equality does.
func (s *joined) equality(e exec.Expr, from, to int) (l, r exec.Expr) {
	x, y := hashed(e)
	switch {
	case x == nil:
		return nil, nil
	case !looks(x) || !looks(y):
		return nil, nil
	case s.sees(x) && columnsIn(y, from, to):
		return x, y
	case s.sees(y) && columnsIn(x, from, to):
		return y, x
	}
	return nil, nil
}

// looks reports whether e refers to any column of the row.
func looks(e exec.Expr) bool {
	found := false
	exec.Walk(e, func(x exec.Expr) {
		c, ok := x.(*exec.Col)
		found = found || ok && c.Depth == 0
	})
	return found
}
