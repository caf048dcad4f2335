package plan

import (
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/plan/walk"
	"github.com/divandb/divan/query/types"
)

// ORDER BY with LIMIT over documents finds the first rows in a view, and reads only their documents. If the first sort
// key is the first part of the view's keys that varies, only some rows of the view are read.

// maxFetched is the number of documents that are found by a view and sorted before they are read.
const maxFetched = 1000

// coveredTop plans ORDER BY with LIMIT over documents by a view. The rows are to be sorted again. It returns nil if no
// view has what the query needs.
func (p *planning) coveredTop(q *bind.Query, f *bind.UserScan, where []exec.Expr,
	limit, skip int64) (exec.Source, error) {
	n := bound(limit, skip)
	if n < 0 || n > maxFetched || len(q.Order) == 0 {
		return nil, nil
	}
	var keys []exec.Expr
	for _, k := range q.Order {
		keys = append(keys, p.fold(q.Targets[k.Index]))
	}
	ids, err := p.jsonTop(q, f, where, keys[0], n)
	if ids == nil && err == nil {
		ids, err = p.sortedTop(q, f, where, keys, n)
	}
	if ids == nil || err != nil {
		return nil, err
	}
	before := p.st.Reads.Count
	rows, _, err := p.scan(f, where, scanRequest{limit: -1})
	if err != nil {
		return nil, err
	}
	p.st.Reads.Count = before
	fetch := &shortcut.Fetch{IDs: ids, Scan: p.documentsByID(f)}
	return &shortcut.Either{First: fetch, Otherwise: rows}, nil
}

// sortedTop returns the ids of the first n documents, sorted by what a view has of them; nil if no view has all.
func (p *planning) sortedTop(q *bind.Query, f *bind.UserScan, where, keys []exec.Expr, n int64) (exec.Plan, error) {
	t := &top{query: q, key: keys[0], n: n, whole: true}
	c, err := p.covered(q, f, where, keys, t.orderOf)
	if first := q.Order[0]; c == nil && err == nil && !first.NullsFirst {
		// Documents without a first key come last. They need not be in the view if there are enough others.
		t.whole = false
		known := &exec.Is{What: "null", Not: true, X: keys[0]}
		c, err = p.covered(q, f, append(slices.Clip(where), known), keys, t.orderOf)
	}
	if c == nil || err != nil {
		return nil, err
	}
	return limited(t.sort(p, f, c), n, 0), nil
}

// top is ORDER BY with LIMIT n.
type top struct {
	query *bind.Query
	key   exec.Expr // the first sort key, over the documents
	n     int64
	whole bool // the view has all rows of the result
}

// viewOrder is how a view is sorted by the first sort key of a query.
type viewOrder struct {
	before []ranges.Intervals // the values of the parts of its keys before the first sort key
	values ranges.Intervals   // those of the first sort key
	typ    types.OID          // of the first sort key: text, a number, or a moment in descending order
	exact  bool               // texts with the same place in the view are the same
	seek   ranges.Seek
}

// orderOf returns how a view is sorted, nil if the first rows cannot be found in a part of it. Without the state of the
// index it does not know of values yet.
func (t *top) orderOf(c *cover, state *exec.IndexState) *viewOrder {
	first, e := t.query.Order[0], t.key
	o := &viewOrder{typ: types.Text, seek: ranges.Seek{Desc: first.Desc, LowerCase: true}}
	if n, ok := e.(*exec.CastExpr); ok && !n.Try && n.Mod == -1 &&
		(types.IsNumber(n.To) || first.Desc && ranges.IsMoment(n.To)) {
		e, o.typ = n.X, n.To
	}
	path, text, ok := facts.MemberOf(e, c.doc)
	if !ok || !text || first.Collation != nil {
		return nil
	}
	if o.before, o.values, ok = c.known.Leading(c.shape, path); !ok {
		return nil
	}
	if o.typ == types.Text && state != nil {
		letters := state.Letters[min(len(o.before), exec.KeyParts-1)]
		if !state.NoControls || first.Desc && letters == exec.AnyLetters {
			return nil
		}
		o.exact = state.Unambiguous
		o.seek.LowerCase = letters != exec.PlainLetters
		o.values = o.values.Intersect(o.within(c.known.Texts(path), letters))
	}
	return o
}

// within returns the values of a view that may have a text of some intervals: what is no string, and the strings before
// the highest and after the lowest one.
func (o *viewOrder) within(texts ranges.Intervals, letters exec.Letters) ranges.Intervals {
	set := ranges.Intervals{ranges.AllStrings}
	if len(texts) == 0 {
		return nil
	}
	seek := o.seek
	if high := texts[len(texts)-1].High; !high.Inf {
		seek.Desc = false
		set = set.Intersect(seek.Preceding(high.Val.S, ""))
	}
	if low := texts[0].Low; !low.Inf && letters != exec.AnyLetters {
		seek.Desc = true
		set = set.Intersect(seek.Preceding(low.Val.S, ""))
	}
	return ranges.Union(slices.Concat(ranges.Everything().Without(ranges.AllStrings), set))
}

// sort returns the first rows of a view: the ids of the documents, and the sort keys.
func (t *top) sort(p *planning, f *bind.UserScan, c *cover) *exec.Sort {
	rows, scan, nulls := p.coveringRows(f, c, c.conds)
	id := &exec.Col{Index: c.at, Typ: types.Text, Name: "id"}
	exprs := append([]exec.Expr{id}, c.exprs...)
	s := &exec.Sort{Bound: t.n, Names: append(slices.Clone(t.query.OrderNames), "id")}
	for i, k := range t.query.Order {
		k.Index = i + 1
		s.Keys = append(s.Keys, k)
	}
	// Of equal rows, the first documents come first, as without a view.
	s.Keys = append(s.Keys, exec.SortKey{Index: 0})
	width := t.query.Width + 3
	if c.order == nil {
		if !t.whole {
			rows = &shortcut.Enough{Input: rows, Rows: t.n}
		}
		s.Input = &exec.Project{Input: rows, Width: width, Exprs: exprs}
		return s
	}
	key := &exec.Col{Index: c.at + 1, Typ: types.JSONB, Name: "key"}
	value := &shortcut.Member{Column: key.Index, Part: -1, Was: key}
	if c.shape.Array {
		value.Part = len(c.order.before)
	}
	s.Input = t.walk(p, c, s, &walk.Walk{Scan: scan, Nulls: nulls,
		Input: &exec.Project{Input: rows, Width: width, Exprs: append(exprs, value)}})
	p.st.Reads.Count = max(p.st.Reads.Count, several)
	return s
}

// walk completes the walk of a view.
func (t *top) walk(p *planning, c *cover, s *exec.Sort, w *walk.Walk) *walk.Walk {
	first, o := t.query.Order[0], c.order
	kind := ranges.AllStrings
	if types.IsNumber(o.typ) {
		kind = ranges.Doubles
	}
	w.Key, w.Sort, w.Desc, w.NullsFirst, w.Whole = 1, s, first.Desc, first.NullsFirst, t.whole
	w.Some, w.All = o.values.Intersect(ranges.Intervals{kind}), o.values.Without(kind)
	// The order of views does not tell all texts and numerics apart.
	w.ByID = len(t.query.Order) == 1 && !first.Desc && o.typ != types.Numeric && (o.typ != types.Text || o.exact)
	of := c.relation()
	w.Reads = func(set ranges.Intervals, desc bool) []exec.Access {
		if c.shape.Array {
			set = ranges.Compound(append(slices.Clip(o.before), set), false)
		}
		return severalRanges(p.viewAccesses(of, set, desc))
	}
	w.Preceding = func(key, from types.Datum) ranges.Intervals {
		switch {
		case types.IsNumber(o.typ):
			return o.seek.Upto(key, o.typ)
		case o.typ != types.Text:
			return ranges.Since(key)
		}
		begun := ""
		if !from.IsNull() {
			begun = types.JSONUnquote(from.S)
		}
		return o.seek.Preceding(key.S, begun)
	}
	return w
}
