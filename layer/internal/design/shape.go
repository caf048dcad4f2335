package design

import (
	"strings"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/selector"
)

// Shapes describes the rows of the views, in their order; nil for views that cannot be described. The result must not
// be changed.
func (d *Design) Shapes() []*rowshape.Shape {
	d.shapes.Do(func() {
		d.shaped = make([]*rowshape.Shape, len(d.Views))
		for i := range d.Views {
			switch {
			case d.MapsDesigns() || d.Views[i].Raw:
			case d.Language == Mango:
				d.shaped[i] = indexShape(d.Indexes()[i])
			case d.Language == "javascript":
				d.shaped[i] = script.Shape(d.Views[i].Map)
			}
		}
	})
	return d.shaped
}

// indexShape describes the rows of a Mango index; nil is an invalid one.
func indexShape(ix *selector.Index) *rowshape.Shape {
	if ix == nil || len(ix.Columns) == 0 {
		return nil
	}
	s := &rowshape.Shape{Array: true, Value: rowshape.Value{JSON: "null"}}
	cond := rowshape.Expr{Op: rowshape.And}
	for i := range ix.Columns {
		path := ix.Columns[i].Path()
		if !plainPath(path) {
			return nil
		}
		s.Key = append(s.Key, rowshape.Value{Path: path})
		cond.Args = append(cond.Args, rowshape.Expr{Op: rowshape.Exists, Path: path})
	}
	if ix.Filter != nil {
		cond.Args = append(cond.Args, filterExpr(ix.Filter.Term()))
	}
	s.Cond = &cond
	return s
}

// plainPath reports whether a path leads through objects only, and not to what CouchDB adds to a document.
func plainPath(path []string) bool {
	for i, name := range path {
		if name == "" || strings.Trim(name, "0123456789-") == "" || i == 0 && name[0] == '_' {
			return false
		}
	}
	return true
}

var comparisons = map[string]rowshape.Op{"$eq": rowshape.Matches, "$lt": rowshape.Less, "$lte": rowshape.LessEqual,
	"$gt": rowshape.Greater, "$gte": rowshape.GreaterEqual}

// filterExpr converts a selector.
func filterExpr(t *selector.Term) rowshape.Expr {
	unknown := rowshape.Expr{Op: rowshape.Unknown}
	switch {
	case t == nil:
		return unknown
	case t.Op == "$and" || t.Op == "$or":
		if len(t.Terms) == 0 {
			return unknown
		}
		e := rowshape.Expr{Op: map[string]rowshape.Op{"$and": rowshape.And, "$or": rowshape.Or}[t.Op]}
		for _, one := range t.Terms {
			e.Args = append(e.Args, filterExpr(one))
		}
		return e
	case t.Op != "" || !plainPath(t.Path):
		return unknown
	}
	cond := t.Terms[0]
	if op, ok := comparisons[cond.Op]; ok {
		return rowshape.Expr{Op: op, Path: t.Path, JSON: cond.Arg.Raw}
	}
	if cond.Op == "$exists" && cond.Arg.IsBool() {
		e := rowshape.Expr{Op: rowshape.Exists, Path: t.Path}
		if !cond.Arg.Bool() {
			e = rowshape.Expr{Op: rowshape.Not, Args: []rowshape.Expr{e}}
		}
		return e
	}
	return unknown
}
