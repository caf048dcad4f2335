package bind

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

func (b *binder) join(n *ast.Join, sc *scope) (From, error) {
	first, before := len(sc.rels), len(sc.star)
	left, err := b.fromItem(n.Left, sc)
	if err != nil {
		return nil, err
	}
	middle, start := len(sc.rels), len(b.outers)
	right, err := b.fromItem(n.Right, sc)
	if err != nil {
		return nil, err
	}
	j := &Join{Kind: string(n.Kind), Left: left, Right: right}
	if j.Kind == "cross" {
		j.Kind = "inner"
	}
	if o := b.lateral(right, sc, start); o != nil {
		if j.Lateral = true; j.Kind == "right" || j.Kind == "full" {
			in := slices.IndexFunc(sc.rels, func(r *relation) bool {
				return slices.ContainsFunc(r.cols, func(c relColumn) bool { return c.index == o.col.Index })
			})
			return nil, sqlstate.New(sqlstate.InvalidColumnReference,
				`invalid reference to FROM-clause entry for table "%s"`, sc.rels[in].alias).At(b.columns[o.col]).
				WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
		}
	}
	for side, kind := range map[From]string{left: "right", right: "left"} {
		if w := ownRows(side); w != nil && (j.Kind == "full" || j.Kind == kind) {
			return nil, refuse.Recursion(w.Work.Name, "must not appear within an outer join").At(w.Off)
		}
	}
	for i, r := range sc.rels[first:] {
		missing := map[bool]string{true: "right", false: "left"}[first+i < middle]
		r.outer = r.outer || j.Kind == "full" || j.Kind == missing
	}
	using := n.Using
	if n.Natural {
		using = commonColumns(sc.rels[first:middle], sc.rels[middle:])
	}
	for _, name := range using {
		cond, err := b.usingColumn(name, j.Kind, sc.rels[first:middle], sc.rels[middle:], n.Pos())
		if err != nil {
			return nil, err
		}
		j.On = append(j.On, cond)
	}
	sc.mergedFirst(using, before)
	if n.On != nil {
		// Only the two sides of this join are visible.
		inner := &scope{parent: sc.parent, rels: sc.rels[first:], ctes: sc.ctes, query: sc.query,
			seen: len(sc.rels) - first, noAggregates: "JOIN conditions"}
		cond, err := b.condition(n.On, inner, "JOIN/ON")
		if err != nil {
			return nil, err
		}
		j.On = append(j.On, exec.Conjuncts(cond)...)
	}
	return j, nil
}

// mergedFirst moves the columns of USING in front of the other columns of the join, for *. before is the number of
// columns that * has without the join.
func (s *scope) mergedFirst(using []string, before int) {
	if len(using) == 0 {
		return
	}
	var first, rest []starColumn
	for _, name := range using {
		for _, c := range s.star[before:] {
			if rc := c.column(); rc.name == name && !rc.hidden {
				first = append(first, c)
			}
		}
	}
	for _, c := range s.star[before:] {
		if !c.column().hidden && !slices.Contains(first, c) {
			rest = append(rest, c)
		}
	}
	s.star = slices.Concat(s.star[:before], first, rest)
}

func commonColumns(left, right []*relation) []string {
	var names []string
	have := map[string]bool{}
	for _, r := range right {
		for _, c := range r.cols {
			have[c.name] = have[c.name] || !c.hidden
		}
	}
	for _, r := range left {
		for _, c := range r.cols {
			if !c.hidden && have[c.name] {
				names = append(names, c.name)
				have[c.name] = false
			}
		}
	}
	return names
}

// usingColumn returns the equality of a USING column and hides one of the two columns.
func (b *binder) usingColumn(name, kind string, left, right []*relation, off int) (exec.Expr, error) {
	find := func(rels []*relation, side string) (found *relColumn, alias string, err error) {
		for _, r := range rels {
			for i := range r.cols {
				if c := &r.cols[i]; c.name == name && !c.hidden {
					if found != nil {
						return nil, "", sqlstate.New(sqlstate.AmbiguousColumn,
							`common column name "%s" appears more than once in %s table`, name, side).At(off)
					}
					found, alias = c, r.alias
					r.use(c.index)
				}
			}
		}
		if found == nil {
			return nil, "", sqlstate.New(sqlstate.UndefinedColumn,
				`column "%s" specified in USING clause does not exist in %s table`, name, side).At(off)
		}
		return found, alias, nil
	}
	l, lname, err := find(left, "left")
	if err != nil {
		return nil, err
	}
	r, rname, err := find(right, "right")
	if err != nil {
		return nil, err
	}
	lx, rx := l.value(lname), r.value(rname)
	both, typ, err := b.Unify([]exec.Expr{lx, rx}, "JOIN/USING", off)
	if err != nil {
		return nil, err
	}
	if l.typ != r.typ || l.mod != r.mod {
		l.mod, r.mod = -1, -1
	}
	// The column of both is that of one side, with the type that both have, as in PostgreSQL (buildMergedJoinVar).
	switch {
	case kind == "full":
		r.hidden, l.merged = true, &exec.Coalesce{Op: "coalesce", Args: both, Typ: typ}
	case kind == "right", kind == "inner" && lx.Type() != typ && rx.Type() == typ:
		if l.hidden = true; both[1] != rx {
			r.merged = both[1]
		}
	default:
		if r.hidden = true; both[0] != lx {
			l.merged = both[0]
		}
	}
	return b.Compare("=", lx, rx, off)
}

// value returns the value of a column of a relation for joins around its own.
func (c *relColumn) value(relation string) exec.Expr {
	if c.merged != nil {
		return c.merged
	}
	name := strings.TrimPrefix(relation+"."+c.name, ".")
	return &exec.Col{Index: c.index, Typ: c.typ, Name: name, Collation: c.collation}
}
