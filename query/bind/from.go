package bind

import (
	"slices"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// from binds the FROM list. Items separated by commas are inner joins.
func (b *binder) from(items []ast.FromItem, sc *scope) error {
	q := sc.query
	for _, it := range items {
		start := len(b.outers)
		f, err := b.fromItem(it, sc)
		if err != nil {
			return err
		}
		if q.From == nil {
			q.From = f
		} else {
			q.From = &Join{Kind: "inner", Left: q.From, Right: f, Lateral: b.lateral(f, sc, start) != nil}
		}
	}
	if q.From != nil {
		return readsStore(q)
	}
	return nil
}

// readsStore records what the items of FROM read. It refuses joins with a feed that does not end.
func readsStore(q *Query) error {
	total, follows := 0, -1
	var visit func(From)
	visit = func(f From) {
		switch n := f.(type) {
		case *Join:
			visit(n.Left)
			before := follows
			if visit(n.Right); follows != before {
				total++ // the right side is read to its end first
			}
			return
		case *UserScan:
			q.user = true
			if n.Rel.Follow {
				follows = n.Off
			}
		case *DerivedScan:
			q.user = q.user || n.Query.user
			if n.Query.follow {
				follows = n.Off
			}
		case *FuncScan:
			return // a function expands each row; it does not wait for the end of the others
		}
		total++
	}
	visit(q.From)
	q.follow = follows >= 0
	if q.follow && total > 1 {
		return sqlstate.Unsupported(follows, "Use changes, which ends at the present.",
			"joins with changes_follow are not supported")
	}
	return nil
}

// lateral returns the first reference of an item of FROM, or of an item within it, to items before it; nil if there is
// none. start is the number of outer references before it was bound.
func (b *binder) lateral(f From, sc *scope, start int) *outer {
	from, _ := f.Span()
	i := slices.IndexFunc(b.outers[start:], func(o outer) bool { return o.query == sc.query && o.col.Index < from })
	if i < 0 {
		return nil
	}
	return &b.outers[start+i]
}

func (b *binder) fromItem(it ast.FromItem, sc *scope) (From, error) {
	if err := b.enter(it.Pos()); err != nil {
		return nil, err
	}
	defer func() { b.depth-- }()
	if err := refuse.Table(it); err != nil {
		return nil, err
	}
	switch n := it.(type) {
	case *ast.Table:
		return b.table(n, sc)
	case *ast.Derived:
		return b.derived(n.Query, n.Alias.Name, n.Columns, n.Lateral, n.Pos(), sc)
	case *ast.FuncTable:
		return b.funcTable(n, sc)
	case *ast.Join:
		return b.join(n, sc)
	}
	return nil, refuse.Syntax(it.Pos(), "syntax error")
}

// addRelation assigns a relation's columns places in the row buffer.
func (b *binder) addRelation(sc *scope, rel *relation, cols []exec.Column, names []string, off int) error {
	if len(names) > len(cols) {
		return sqlstate.New(sqlstate.InvalidColumnReference,
			`table "%s" has %d columns available but %d columns specified`, rel.alias, len(cols), len(names)).At(off)
	}
	for _, r := range sc.rels {
		if r.alias == rel.alias && rel.alias != "" && (r.schema == rel.schema || r.schema == "" || rel.schema == "") {
			return sqlstate.New(sqlstate.DuplicateAlias, `table name "%s" specified more than once`, rel.alias).At(off)
		}
	}
	// Names are compared with all names before them, and every column has a place in the row.
	if err := b.work.Spend(len(sc.rels) + len(cols)); err != nil {
		return err
	}
	if err := b.work.Hold(int64(len(cols)) * nodeSize); err != nil {
		return err
	}
	for i, c := range cols {
		if i < len(names) {
			c.Name = names[i]
		}
		rel.cols = append(rel.cols, relColumn{name: c.Name, typ: c.Type, mod: c.Mod, index: sc.width + i,
			fields: c.Fields, collation: c.Collation, origin: c.Origin})
		sc.star = append(sc.star, starColumn{rel, i})
	}
	sc.width += len(cols)
	sc.rels = append(sc.rels, rel)
	return nil
}

func (b *binder) derived(sel *ast.Select, alias string, names []string, lateral bool, off int,
	sc *scope) (From, error) {
	// A scope without a query only passes names on. It is not a level at run time.
	parent := &scope{parent: sc.parent, ctes: sc.ctes, beside: sc}
	if lateral {
		// A LATERAL item sees the items before it.
		sc.seen = len(sc.rels)
		parent = sc
	}
	q, err := b.query(sel, parent)
	if err != nil {
		return nil, err
	}
	if q.Correlated && !lateral {
		sc.query.Correlated = true // what it refers to may be outside this query too
	}
	d := &DerivedScan{Query: q, Name: alias, Base: sc.width, Lateral: lateral, Off: off}
	return d, b.addRelation(sc, &relation{alias: alias}, q.Columns, names, off)
}
