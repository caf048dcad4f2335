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
	t := &top{query: q, keys: keys, n: n, whole: true}
	c, conds, out, err := p.covered(q, f, where, keys, t.walkable)
	if c == nil && err == nil {
		c, conds, out, err = p.covered(q, f, where, keys, nil)
	}
	if c == nil && err == nil {
		if known := t.notNull(); known != nil {
			// Documents without a first key come last. They need not be in the view if there are enough others.
			t.whole = false
			c, conds, out, err = p.covered(q, f, append(slices.Clip(where), known), keys, t.walkable)
		}
	}
	if c == nil || err != nil {
		return nil, err
	}
	before := p.st.Reads.Count
	rows, _, err := p.scan(f, where, scanRequest{limit: -1})
	if err != nil {
		return nil, err
	}
	p.st.Reads.Count = before
	sorted := t.sort(p, f, c, conds, out)
	fetch := &shortcut.Fetch{IDs: limited(sorted, n, 0), Scan: p.documentsByID(f)}
	return &shortcut.Either{First: fetch, Otherwise: rows}, nil
}

// top is ORDER BY with LIMIT n.
type top struct {
	query *bind.Query
	keys  []exec.Expr // over the documents
	n     int64
	whole bool // the view has all rows of the result

	// Of the view that walkable has accepted last:
	before []ranges.Intervals // the values of the parts of its keys before the first sort key
	values ranges.Intervals   // those of the first sort key
	typ    types.OID          // of the first sort key: text or a number
	seek   ranges.Seek
	found  bool
}

// notNull returns the condition that the first sort key is not NULL; nil if rows where it is do not come last.
func (t *top) notNull() exec.Expr {
	if t.query.Order[0].NullsFirst {
		return nil
	}
	return &exec.Is{What: "null", Not: true, X: t.keys[0]}
}

// walkable reports whether the first rows can be found in a part of a view.
func (t *top) walkable(c *cover) bool {
	order := t.query.Order[0]
	e := t.keys[0]
	t.found, t.typ, t.seek = false, types.Text, ranges.Seek{Desc: order.Desc, LowerCase: true}
	if n, ok := e.(*exec.CastExpr); ok && !n.Try && n.Mod == -1 && types.IsNumber(n.To) {
		e, t.typ = n.X, n.To
	}
	path, text, ok := facts.MemberOf(e, c.doc)
	if !ok || !text || order.Collation != nil {
		return false
	}
	if t.before, t.values, ok = c.known.Leading(c.shape, path); !ok {
		return false
	}
	if t.typ == types.Text && c.read {
		letters := c.state.Letters[min(len(t.before), exec.KeyParts-1)]
		if !c.state.Unambiguous || order.Desc && letters == exec.AnyLetters {
			return false
		}
		t.seek.LowerCase = letters != exec.PlainLetters
		t.values = t.values.Intersect(t.within(c.known.Texts(path), letters))
	}
	t.found = true
	return true
}

// within returns the values of a view that may have a text of some intervals: what is no string, and the strings before
// the highest and after the lowest one.
func (t *top) within(texts ranges.Intervals, letters exec.Letters) ranges.Intervals {
	set := ranges.Intervals{ranges.AllStrings}
	if len(texts) == 0 {
		return nil
	}
	seek := t.seek
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
func (t *top) sort(p *planning, f *bind.UserScan, c *cover, conds, keys []exec.Expr) *exec.Sort {
	rows, scan, nulls := p.coveringRows(f, c, conds)
	id := &exec.Col{Index: c.at, Typ: types.Text, Name: "id"}
	exprs := append([]exec.Expr{id}, keys...)
	s := &exec.Sort{Bound: t.n, Names: append(slices.Clone(t.query.OrderNames), "id")}
	for i, k := range t.query.Order {
		k.Index = i + 1
		s.Keys = append(s.Keys, k)
	}
	// Of equal rows, the first documents come first, as without a view.
	s.Keys = append(s.Keys, exec.SortKey{Index: 0})
	width := t.query.Width + 3
	if !t.found {
		s.Input = &exec.Project{Input: rows, Width: width, Exprs: exprs}
		return s
	}
	key := &exec.Col{Index: c.at + 1, Typ: types.JSONB, Name: "key"}
	value := &shortcut.Member{Column: key.Index, Part: -1, Was: key}
	if c.shape.Array {
		value.Part = len(t.before)
	}
	s.Input = t.walk(p, c, s, &walk.Walk{Scan: scan, Nulls: nulls,
		Input: &exec.Project{Input: rows, Width: width, Exprs: append(exprs, value)}})
	p.st.Reads.Count = max(p.st.Reads.Count, several)
	return s
}

// walk completes the walk of a view.
func (t *top) walk(p *planning, c *cover, s *exec.Sort, w *walk.Walk) *walk.Walk {
	order := t.query.Order[0]
	kind := ranges.AllStrings
	if t.typ != types.Text {
		kind = ranges.Doubles
	}
	w.Key, w.Sort, w.Desc, w.NullsFirst, w.Whole = 1, s, order.Desc, order.NullsFirst, t.whole
	w.Some, w.All = t.values.Intersect(ranges.Intervals{kind}), t.values.Without(kind)
	// The order of views does not tell all numerics apart.
	w.ByID = len(t.query.Order) == 1 && !order.Desc && t.typ != types.Numeric
	of := c.relation()
	w.Reads = func(set ranges.Intervals, desc bool) []exec.Access {
		if c.shape.Array {
			set = ranges.Compound(append(slices.Clip(t.before), set), false)
		}
		return severalRanges(p.viewAccesses(of, set, desc))
	}
	seek, typ := t.seek, t.typ
	w.Preceding = func(key, from types.Datum) ranges.Intervals {
		if typ == types.Text {
			begun := ""
			if !from.IsNull() {
				begun = types.JSONUnquote(from.S)
			}
			return seek.Preceding(key.S, begun)
		}
		return seek.Upto(key, typ)
	}
	return w
}
