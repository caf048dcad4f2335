package bind

import (
	"cmp"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/bind/refs"
	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// maxTargets is PostgreSQL's limit of columns in a result.
const maxTargets = 1664

// targets binds the select list. It expands * and names every column.
func (b *binder) targets(s *ast.Select, sc *scope) ([]exec.Expr, []exec.Column, error) {
	var out []exec.Expr
	var names []exec.Column
	add := func(e exec.Expr, name string, mod int32) {
		out = append(out, e)
		names = append(names, exec.Column{Name: name, Type: e.Type(), Mod: mod})
	}
	defer sc.withSets()()
	for _, t := range b.outerStars(s.Targets, sc) {
		if c, ok := t.Expr.(*ast.Column); ok && c.Star {
			cols, err := b.star(c, sc)
			if err != nil {
				return nil, nil, err
			}
			for _, rc := range cols {
				var e exec.Expr = &exec.Col{Index: rc.index, Typ: rc.typ, Name: rc.name, Collation: rc.collation}
				if rc.merged != nil {
					e = rc.merged
				}
				add(e, rc.name, rc.mod)
				names[len(names)-1].Fields, names[len(names)-1].Collation = rc.fields, rc.collation
				if rc.merged == nil {
					names[len(names)-1].Origin = rc.origin
				}
			}
			continue
		}
		if f, ok := t.Expr.(*ast.Field); ok && f.Name == "*" {
			parts, err := b.unfold(f, sc)
			if err != nil {
				return nil, nil, err
			}
			for _, p := range parts {
				add(p.expr, p.name, p.mod)
			}
			continue
		}
		e, err := b.expr(t.Expr, sc)
		if err != nil {
			return nil, nil, err
		}
		if _, param := e.(*exec.Param); typing.Untyped(e) && !(param && sc.side) {
			if e, err = b.Coerce(e, types.Text, types.Implicit, t.Expr.Pos()); err != nil {
				return nil, nil, err
			}
		}
		mod := modOf(e, sc)
		if c, ok := t.Expr.(*ast.Cast); ok {
			// A constant no longer has its type modifier, so resolve it again.
			if _, mod, err = b.resolveType(c.Type); err != nil {
				return nil, nil, err
			}
		}
		add(e, cmp.Or(t.Alias, naming.TargetName(t.Expr)), mod)
		names[len(names)-1].Fields, names[len(names)-1].Origin = fieldsOf(e, sc), originOf(e, sc)
		if names[len(names)-1].Collation, err = collation.Column(e, t.Expr.Pos()); err != nil {
			return nil, nil, err
		}
	}
	if len(out) > maxTargets {
		return nil, nil, sqlstate.New(sqlstate.TooManyColumns, "target lists can have at most %d entries", maxTargets)
	}
	return out, names, nil
}

func (b *binder) star(c *ast.Column, sc *scope) ([]relColumn, error) {
	var out []relColumn
	found := false
	if len(c.Parts) == 0 {
		for _, s := range sc.star {
			rc := *s.column()
			s.rel.use(rc.index)
			out = append(out, rc)
		}
		found = len(sc.rels) > 0
	}
	for _, r := range sc.rels {
		if len(c.Parts) == 0 || !r.matches(c.Parts, b.r.DatabaseName()) {
			continue
		}
		found = true
		for _, rc := range r.cols {
			rc.merged = nil
			r.use(rc.index)
			out = append(out, rc)
		}
	}
	if !found {
		if len(c.Parts) == 0 {
			return nil, refuse.Syntax(c.Pos(), "SELECT * with no tables specified is not valid")
		}
		return nil, noRelation(c.Parts[len(c.Parts)-1], sc).At(c.Pos())
	}
	return out, nil
}

// modOf returns the type modifier of a plain column or a cast.
func modOf(e exec.Expr, sc *scope) int32 {
	return typing.Mod(e, func(c *exec.Col) int32 {
		if rc := sc.read(c); rc != nil {
			return rc.mod
		}
		return -1
	})
}

// originOf returns the origin of an expression that is a column of a relation.
func originOf(e exec.Expr, sc *scope) exec.Origin {
	if c, ok := e.(*exec.Col); ok {
		if rc := sc.read(c); rc != nil {
			return rc.origin
		}
	}
	return exec.Origin{}
}

// fieldsOf returns the fields of a record, if they are known.
func fieldsOf(e exec.Expr, sc *scope) []exec.Column {
	switch n := e.(type) {
	case *refs.Set:
		return n.Fields
	case *exec.RowExpr:
		out := make([]exec.Column, len(n.Items))
		for i, it := range n.Items {
			out[i] = exec.Column{Name: types.FieldName(n.Names, i), Type: it.Type(), Mod: modOf(it, sc),
				Fields: fieldsOf(it, sc)}
		}
		return out
	}
	if c, ok := e.(*exec.Col); ok && c.Typ == types.Record {
		if rc := sc.read(c); rc != nil {
			return rc.fields
		}
	}
	return nil
}

// read returns the column of a relation that an expression reads, or nil.
func (sc *scope) read(c *exec.Col) *relColumn {
	at := sc
	for depth := c.Depth; at != nil && (depth > 0 || at.query == nil); at = at.parent {
		if at.query != nil {
			depth--
		}
	}
	if at == nil {
		return nil
	}
	for _, r := range at.rels {
		for i := range r.cols {
			if r.cols[i].index == c.Index {
				return &r.cols[i]
			}
		}
	}
	return nil
}
