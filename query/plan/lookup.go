package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/plan/flat"
)

// Sub-queries and lateral items that are run once for each row of an enclosing query.

// lookup divides the conditions of such a query, whose FROM refers to no enclosing row.
type lookup struct {
	// own and probe are the sides of the equalities between expressions over the query's row and over enclosing rows.
	own, probe, conds []exec.Expr
	// local conditions refer to no enclosing row, the rest does.
	local, rest []exec.Expr
	from, to    int
}

// lookup returns how the rows of an item of FROM are found by hashes of expressions over them; nil if that cannot be
// done, if they are read by an id or key, or if the item is a join that would have many more rows without conditions on
// enclosing rows.
func (p *planning) lookup(f bind.From, where []exec.Expr) *lookup {
	if !p.repeated || f == nil || p.avoid.together {
		return nil
	}
	l := &lookup{}
	l.from, l.to = f.Span()
	for _, c := range where {
		u := p.usesOf(c)
		x, y := p.enclosing(c)
		switch {
		case u.volatile:
			return nil
		case x != nil:
			l.own, l.probe, l.conds = append(l.own, x), append(l.probe, y), append(l.conds, c)
		case u.outer || u.far || u.shared:
			l.rest = append(l.rest, c)
		default:
			l.local = append(l.local, c)
		}
	}
	if l.own == nil || !p.avoid.keys && readByKey(f, l.conds) || !connected(f, l.local) {
		return nil
	}
	if u := p.from(f); u.rows>>1 != 0 || u.shared || u.volatile {
		return nil
	}
	return l
}

// connected reports whether equalities join all items of FROM.
func connected(f bind.From, conds []exec.Expr) bool {
	j, ok := f.(*bind.Join)
	if !ok {
		return true
	}
	from, to := j.Right.Span()
	left := newJoined(j.Left)
	on := slices.Concat(j.On, conds)
	return !j.Lateral && connected(j.Left, conds) && connected(j.Right, conds) &&
		slices.ContainsFunc(on, func(c exec.Expr) bool {
			x, _ := left.equality(c, from, to)
			return x != nil
		})
}

// over returns the source that finds the rows of src.
func (l *lookup) over(src exec.Source) exec.Source {
	return &joins.Hashed{Input: src, Own: l.own, Probe: l.probe, Cond: exec.And(l.conds), From: l.from, To: l.to}
}

// enclosing splits an equality into a side over the query's own row and one over enclosing rows.
func (p *planning) enclosing(e exec.Expr) (own, probe exec.Expr) {
	x, y := hashed(e)
	if x == nil {
		return nil, nil
	}
	if !p.usesOf(x).own {
		x, y = y, x
	}
	if u := p.usesOf(x); !u.own || u.outer || u.far || u.shared || u.let || u.volatile || !fixed(y) {
		return nil, nil
	}
	return x, y
}

// readByKey reports whether an item of FROM is read by an id or key that a condition gives.
func readByKey(f bind.From, conds []exec.Expr) bool {
	switch n := f.(type) {
	case *bind.UserScan:
		for _, c := range conds {
			if keyOf(n, c) != nil {
				return true
			}
		}
	case *bind.Join:
		return readByKey(n.Left, conds) || readByKey(n.Right, conds)
	}
	return false
}

// wants returns the ids and keys that sub-queries in expressions over a row look for.
func (p *planning) wants(list []exec.Expr) []joins.Want {
	if p.st.Reads.Follow || p.avoid.keys || p.avoid.together {
		return nil
	}
	var out []joins.Want
	for _, e := range list {
		exec.Walk(e, func(x exec.Expr) {
			if s, ok := x.(*exec.Subquery); ok && s.Correlated {
				if q, ok := s.Query.(*bind.Query); ok {
					out = append(out, p.wantsOf(q)...)
				}
			}
		})
	}
	return out
}

// wantsOf returns the ids and keys that a query looks for with values of the row around it.
func (p *planning) wantsOf(q *bind.Query) []joins.Want {
	var out []joins.Want
	if q.Left != nil {
		return append(p.wantsOf(q.Left), p.wantsOf(q.Right)...)
	}
	if q = flat.Query(q); q.From == nil || p.st.Reads.Follow || p.avoid.keys || p.avoid.together {
		return nil
	}
	where := p.foldAll(q.Where)
	var visit func(f bind.From)
	visit = func(f bind.From) {
		switch n := f.(type) {
		case *bind.UserScan:
			for _, c := range where {
				if y := keyOf(n, c); y != nil {
					if u := p.usesOf(y); u.outer && !u.far && !u.let {
						out = append(out, joins.Want{Relation: n, Key: raised(y)})
					}
					return // it is read by the first one
				}
			}
		case *bind.Join:
			visit(n.Left)
			visit(n.Right)
		}
	}
	visit(q.From)
	return out
}

// raised returns an expression over enclosing rows alone as one of the query around.
func raised(e exec.Expr) exec.Expr {
	return exec.Rewrite(e, func(x exec.Expr) exec.Expr {
		if c, ok := x.(*exec.Col); ok {
			up := *c
			up.Depth--
			return &up
		}
		return x
	})
}
