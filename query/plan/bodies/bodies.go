// Package bodies tells of which documents a query reads only members. These need not be given their members _id, _rev
// and the like, which the store adds to the text of each.
package bodies

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Of returns the relations in FROM of whose documents the query only reads members whose names do not begin with an
// underscore. It knows nothing, and returns none, if sub-queries or functions that return rows may see the documents.
func Of(q *bind.Query) (list []*bind.UserScan) {
	scans, exprs, ok := from(q.From)
	if !ok || len(scans) == 0 || len(q.Windows)+len(q.SetFuncs)+len(q.GroupFuncs) > 0 {
		return nil
	}
	exprs = slices.Concat(exprs, q.Where, q.Keys)
	for _, c := range q.Aggs {
		exprs = append(slices.Concat(exprs, c.Args, c.Order), c.Filter)
	}
	if !q.Group { // otherwise these refer to rows of groups
		exprs = slices.Concat(exprs, q.Targets, q.Having)
	}
	used := uses{whole: map[int]bool{}}
	for _, e := range exprs {
		if used.add(e); used.unknown {
			return nil
		}
	}
	for _, f := range scans {
		for i, c := range f.Rel.Columns {
			if c.Field == exec.FieldDoc && f.Used[i] && !used.whole[f.Base+i] {
				list = append(list, f)
			}
		}
	}
	return list
}

// from returns the relations of the store in FROM and the conditions of its joins.
func from(f bind.From) (scans []*bind.UserScan, on []exec.Expr, ok bool) {
	switch n := f.(type) {
	case *bind.UserScan:
		return []*bind.UserScan{n}, nil, true
	case *bind.VirtualScan:
		return nil, nil, true
	case *bind.DerivedScan:
		return nil, nil, !n.Lateral
	case *bind.Join:
		left, leftOn, ok := from(n.Left)
		right, rightOn, also := from(n.Right)
		return append(left, right...), slices.Concat(leftOn, rightOn, n.On), ok && also && !n.Lateral
	}
	return nil, nil, false
}

// uses are the columns of the row that expressions use as a whole.
type uses struct {
	whole   map[int]bool
	unknown bool // there is a sub-query
}

func (u *uses) add(e exec.Expr) {
	if e == nil || member(e) {
		return
	}
	switch n := e.(type) {
	case *exec.Col:
		if n.Depth == 0 {
			u.whole[n.Index] = true
		}
	case *exec.Subquery:
		u.unknown = true
	}
	exec.RewriteChildren(e, func(x exec.Expr) exec.Expr {
		u.add(x)
		return x
	})
}

// member reports whether e is col->'name' or col->>'name' with a name that is not the store's.
func member(e exec.Expr) bool {
	c, is := e.(*exec.Call)
	if !is || c.Op != "->" && c.Op != "->>" || len(c.Args) != 2 {
		return false
	}
	_, is = collation.WithoutBytes(c.Args[0]).(*exec.Col)
	name, constant := c.Args[1].(*exec.Const)
	return is && constant && name.D.K == types.KText && !strings.HasPrefix(name.D.S, "_")
}
