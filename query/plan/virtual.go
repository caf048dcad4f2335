package plan

import (
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// virtual plans the read of a virtual relation: only of the parts that conditions name, if it comes in parts. It
// returns the conditions that are left.
func virtual(n *bind.VirtualScan, conds []exec.Expr) (exec.Source, []exec.Expr) {
	v := &exec.Virtual{Relation: n.Rel, Alias: n.Alias, Base: n.Base}
	parted, ok := n.Rel.(exec.Parted)
	if !ok {
		return v, conds
	}
	column := parted.PartColumn()
	if column < 0 {
		return v, conds
	}
	plain, rest := plainConds(conds)
	of, set := ranges.Column(n.Base+column, types.Text, false), ranges.Everything()
	for _, c := range plain {
		s, exact := of.Analyse(c)
		if set = set.Intersect(s); !exact {
			rest = append(rest, c)
		}
	}
	if !set.AllPoints() || len(set) > ranges.MaxPoints {
		return v, conds
	}
	if len(set) == 0 {
		return &exec.Nothing{Reason: "no " + parted.Columns()[column].Name + " satisfies WHERE"}, rest
	}
	for _, p := range set {
		v.Parts = append(v.Parts, p.Low.Val.S)
	}
	return v, rest
}
