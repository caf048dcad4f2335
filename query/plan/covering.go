package plan

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/groups"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// A query over documents can be computed from the rows of a view alone, if these have all members that it needs, and
// its conditions imply that a document has a row. A map function in JavaScript has rounded numbers and written them
// anew, so members that turn out to be numbers, arrays or objects end the attempt, unless they are cast to numbers for
// which this makes no difference. All documents are read then.

// cover rewrites expressions over documents for the rows of a view, which follow the columns of the query.
type cover struct {
	candidate
	doc   int // the column of the documents
	id    int // the column of their ids
	at    int // the first column of the view's rows: id, key, value
	known *facts.Known
	fails bool
	// argument is set in arguments of aggregates, which take a member that is in the key and the value from the value.
	argument bool
	used     []usedMember
	// conds and exprs are the conditions that are left and the expressions, over the view's rows.
	conds, exprs []exec.Expr
	// unambiguous reports that equal keys have the same strings.
	unambiguous bool
	order       *viewOrder
}

// usedMember is a member and the numbers that it may be, in all its uses.
type usedMember struct {
	shortcut.Member
	numbers numbersUsed
}

type numbersUsed uint8

const (
	noNumbers numbersUsed = iota
	integers
	allFloats
)

// covered finds a view from which expressions can be computed for all documents that satisfy conditions; nil if there
// is none. sorted, unless nil, returns how a view is sorted, nil if that does not help: first without the state of its
// index, and then with it. A view that is sorted is preferred.
func (p *planning) covered(q *bind.Query, f *bind.UserScan, where, exprs []exec.Expr,
	sorted func(c *cover, state *exec.IndexState) *viewOrder) (*cover, error) {
	doc, ok := p.documents(f)
	db, is := p.db.(exec.Indexer)
	ordered := sorted != nil && exprs == nil // by a member
	if !ok || !is || p.repeated || !ordered && len(facts.Members(slices.Concat(where, exprs), doc)) == 0 {
		return nil, nil
	}
	if set, _ := p.ranges(f, exec.FieldID, where, false); !set.Unbounded() {
		return nil, nil
	}
	known := facts.New(where, doc, p.root)
	candidates, err := p.candidates(known)
	if err != nil {
		return nil, err
	}
	var first, others []*cover
	for _, one := range candidates {
		if one.score < candidates[0].score {
			break // another one narrows the read down more
		}
		c := &cover{candidate: one, doc: doc, id: f.Base, at: q.Width, known: known}
		if c.score == 0 {
			c.set = ranges.Everything()
		}
		if c.conds, c.exprs = c.all(where), c.all(exprs); c.fails {
			continue
		}
		c.conds = slices.DeleteFunc(p.foldAll(c.conds), func(e exec.Expr) bool {
			k, ok := e.(*exec.Const)
			return ok && k.D.True()
		})
		if sorted != nil {
			c.order = sorted(c, nil)
		}
		if c.order != nil {
			first = append(first, c)
		} else {
			others = append(others, c)
		}
	}
	return p.firstUsable(db, append(first, others...), sorted)
}

// firstUsable returns the first view of a list whose index can be used, preferably one with an order.
func (p *planning) firstUsable(db exec.Indexer, list []*cover,
	sorted func(c *cover, state *exec.IndexState) *viewOrder) (unsorted *cover, err error) {
	for _, c := range list {
		hoped := c.order != nil
		if !hoped && unsorted != nil {
			break
		}
		ok, state, err := p.usable(db, &c.candidate, exec.IndexCounts{Letters: hoped})
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		c.unambiguous = state.Unambiguous
		if hoped {
			c.order = sorted(c, &state)
		}
		if c.order != nil {
			return c, nil
		}
		if unsorted == nil {
			unsorted = c
		}
	}
	return unsorted, nil
}

// usable reports whether a view's index is up to date and has skipped no document. It also returns the index's state
// with what is wanted of it.
func (p *planning) usable(db exec.Indexer, c *candidate, want exec.IndexCounts) (ok bool, state exec.IndexState,
	err error) {
	if p.supposed != nil {
		// All documents may have a row, and strings that differ may be equal.
		return true, exec.IndexState{Usable: true, Rows: 1, Docs: 1, Letters: unknownLetters}, nil
	}
	state, err = db.IndexState(p.st.Ctx, c.design, c.view, want)
	if err != nil {
		return false, state, exec.StoreError(err)
	}
	p.st.Reads.Behind = p.st.Reads.Behind || !state.Usable
	return state.Usable && state.Skipped == 0, state, nil
}

// unknownLetters are those of keys of which nothing is known.
var unknownLetters = [exec.KeyParts]exec.Letters(slices.Repeat([]exec.Letters{exec.AnyLetters}, exec.KeyParts))

func (c *cover) all(list []exec.Expr) []exec.Expr {
	out := make([]exec.Expr, len(list))
	for i, e := range list {
		if e != nil {
			out[i] = c.rewrite(e)
		}
	}
	return out
}

// rewrite returns an expression over the view's rows. It sets fails if there is none.
func (c *cover) rewrite(e exec.Expr) exec.Expr {
	if n, ok := e.(*exec.CastExpr); ok && !n.Try && n.Mod == -1 {
		if path, text, is := facts.MemberOf(n.X, c.doc); is && text {
			numbers := noNumbers
			switch n.To {
			case types.Int2, types.Int4, types.Int8:
				numbers = integers
			case types.Float8:
				numbers = allFloats
			}
			cast := *n
			cast.X = c.member(n.X, path, true, numbers)
			return &cast
		}
	}
	if path, text, ok := facts.MemberOf(e, c.doc); ok && len(path) > 0 {
		return c.member(e, path, text, noNumbers)
	}
	switch n := e.(type) {
	case *exec.Col:
		if n.Depth > 0 {
			return e
		}
		if n.Index != c.id {
			c.fails = true
		}
		id := *n
		id.Index = c.at
		return &id
	case *exec.Subquery, *sublink:
		c.fails = true
		return e
	}
	return exec.RewriteChildren(e, c.rewrite)
}

// member returns a member of the document: a constant by the view's condition, or a part of its rows.
func (c *cover) member(e exec.Expr, path []string, text bool, numbers numbersUsed) exec.Expr {
	if json := c.shape.Constant(path); ranges.Plain(json) && types.JSONKindOf(json) == types.JSONString {
		return facts.Sample(json, text)
	}
	m := shortcut.Member{Column: c.at + 1, Part: c.shape.Part(path), Text: text, Was: e}
	value := c.shape.Value.Path != nil && slices.Equal(c.shape.Value.Path, path)
	// A missing member looks like null. If the conditions exclude both, null can be read as missing.
	m.NoNull = !text && c.shape.AsJavaScript
	switch {
	case m.Part < 0 && !value, m.NoNull && c.known.Of(path).MayBeNull():
		c.fails = true
		return e
	case m.Part < 0, value && c.argument:
		m.Column, m.Part = c.at+2, -1
	case !c.shape.Array:
		m.Part = -1
	}
	for i := range c.used {
		if u := &c.used[i]; u.Column == m.Column && u.Part == m.Part {
			u.numbers = min(u.numbers, numbers)
			return &m
		}
	}
	c.used = append(c.used, usedMember{m, numbers})
	return &m
}

// exact reports whether the members in a row of the view are as in the document. The key of a group's row stands for
// all that are equal to it in the order of views, so its strings may not be those of all rows.
func (c *cover) exact(row []types.Datum, group bool) bool {
	if !c.shape.AsJavaScript && !group {
		return true
	}
	for i := range c.used {
		u := &c.used[i]
		if group && u.Column != c.at+1 {
			continue
		}
		json, ok := u.JSON(row)
		if !ok {
			return false
		}
		switch types.JSONKindOf(json) {
		case types.JSONBool, types.JSONNull: // Nulls looks at null
		case types.JSONString:
			if group && !c.unambiguous {
				return false
			}
		case types.JSONNumber:
			n, err := strconv.ParseFloat(json, 64)
			if err != nil || u.numbers == noNumbers || math.Abs(n) >= 1<<53 ||
				(u.numbers == integers || group) && strings.ContainsAny(json, ".eE") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// relation returns the view as a relation whose rows follow the columns of the query.
func (c *cover) relation() *bind.UserScan {
	return &bind.UserScan{Base: c.at, Found: naming.Found{Design: c.design, View: c.view, Reduce: c.reduce,
		Name: c.design + "." + c.view, Rel: &naming.UserRelation{Name: c.view, Kind: exec.ReadView,
			Columns: naming.ViewColumns}}}
}

// coveringScan returns a source of the view's rows that satisfy conditions.
func (p *planning) coveringScan(f *bind.UserScan, c *cover, conds []exec.Expr) exec.Source {
	src, _, _ := p.coveringRows(f, c, conds)
	return src
}

// coveringRows is coveringScan. It also returns the read of the view, and the check of members that are null there; nil
// if there is none.
func (p *planning) coveringRows(f *bind.UserScan, c *cover, conds []exec.Expr) (exec.Source, *exec.Scan,
	*shortcut.Nulls) {
	s := p.newScan(f)
	s.Via = c.design + "." + c.view
	s.Targets = []exec.Target{{Field: exec.FieldID, Index: c.at}, {Field: exec.FieldKey, Index: c.at + 1},
		{Field: exec.FieldValue, Index: c.at + 2}}
	s.Accesses = p.looseAccesses(c.relation(), c.set)
	p.st.Reads.Count += len(s.Accesses)
	p.st.Reads.Views = append(p.st.Reads.Views, exec.ViewUse{Design: c.design, Update: exec.UpdateTrue, Optional: true})
	var src exec.Source = s
	if len(s.Accesses) == 0 {
		src = &exec.Nothing{Reason: "no key satisfies WHERE"}
	}
	src = &shortcut.Exact{Input: src, OK: func(row []types.Datum) bool { return c.exact(row, false) }}
	var nulls *shortcut.Nulls
	if c.shape.AsJavaScript {
		nulls = &shortcut.Nulls{Input: src, ID: c.at, Docs: p.documentsByID(f)}
		for i := range c.used {
			nulls.Members = append(nulls.Members, c.used[i].Member)
		}
		src = nulls
	}
	if cond := exec.And(conds); cond != nil {
		src = &exec.Filter{Input: src, Cond: cond}
	}
	return src, s, nulls
}

// coveredGroups plans the grouping of a query over documents by the rows of a view, and by their reduction if that is
// exact. It returns nil if no view has what the query needs.
func (p *planning) coveredGroups(q *bind.Query, f *bind.UserScan, where []exec.Expr) (exec.Source, error) {
	var exprs []exec.Expr
	for _, c := range q.Aggs {
		exprs = append(append(append(exprs, c.Args...), c.Filter), c.Order...)
	}
	exprs = slices.DeleteFunc(p.foldAll(append(exprs, q.Keys...)), func(e exec.Expr) bool { return e == nil })
	c, err := p.covered(q, f, where, exprs, nil)
	if c == nil || err != nil {
		return nil, err
	}
	conds := c.conds
	out := *q
	out.Width, out.Keys = q.Width+3, c.all(p.foldAll(q.Keys))
	out.Aggs = slices.Clone(q.Aggs)
	for i := range out.Aggs {
		a := &out.Aggs[i]
		c.argument = true
		a.Args = c.all(p.foldAll(a.Args))
		c.argument = false
		a.Order = c.all(p.foldAll(a.Order))
		if a.Filter != nil {
			a.Filter = c.rewrite(p.fold(a.Filter))
		}
	}
	before := p.st.Reads.Count
	rows, _, err := p.scan(f, where, scanRequest{limit: -1})
	if err != nil {
		return nil, err
	}
	p.st.Reads.Count = before
	either := &shortcut.Either{First: p.grouping(&out, p.coveringScan(f, c, conds)), Otherwise: p.grouping(q, rows)}
	if g := p.coveredReduction(&out, f, c, conds); g != nil {
		return &shortcut.Either{First: g, Otherwise: either}, nil
	}
	return either, nil
}

// coveredReduction plans the grouping of the rows of a view by groups of their keys; nil if these do not provide it.
func (p *planning) coveredReduction(q *bind.Query, f *bind.UserScan, c *cover, conds []exec.Expr) exec.Source {
	if _, ok := p.db.(exec.Reducer); !ok || !c.unambiguous &&
		slices.ContainsFunc(c.used, func(u usedMember) bool { return u.numbers == noNumbers }) {
		return nil // groups of texts may contain others that are equal to them in the order of views
	}
	of := c.relation()
	r := &reducing{f: of, keyAt: c.at + 1, valueAt: c.at + 2, countAt: q.Width, update: exec.UpdateTrue}
	for i := range q.Aggs {
		if !r.add(&q.Aggs[i]) {
			return nil
		}
	}
	if r.own {
		exact := aggregates.ReducedAs(c.reduce, types.Float8) // larger integers have been rounded
		if exact == nil {
			return nil
		}
		r.exact = append(r.exact, exact)
	}
	before := p.st.Reads
	src := p.readGroups(r, append(r.over, q.Keys...), c.set.Closed(), conds, func(groups exec.Source) exec.Source {
		exact := &shortcut.Exact{Input: groups, Most: func() (int64, error) { return p.mostGroups(c.design, c.view) },
			OK: func(row []types.Datum) bool { return r.ok(row) && c.exact(row, true) }}
		if c.shape.AsJavaScript {
			exact.Unsure, exact.Check = c.keyHasNull, p.coveringScan(f, c.ofNulls(), nil)
		}
		if c.unambiguous {
			exact.Still = func() (bool, error) { return p.tellsApart(c.design, c.view) }
		}
		return exact
	})
	if p.st.Reads = before; src == nil {
		return nil
	}
	if r.reads > 1 {
		p.st.Reads.Count = max(p.st.Reads.Count, several)
	}
	return &groups.Grouping{Input: src, Width: q.Width + 1, Keys: q.Keys, Sets: q.Sets, Calls: r.calls}
}

// rowsPerGroup is how many rows of a view are read in the time of one group.
const rowsPerGroup = 12

// mostGroups returns the number of groups of a view whose reduction takes as long as reading the view.
func (p *planning) mostGroups(design, view string) (int64, error) {
	db, ok := p.db.(exec.Indexer)
	if !ok {
		return math.MaxInt64, nil
	}
	state, err := db.IndexState(p.st.Ctx, design, view, exec.IndexCounts{Rows: true})
	if err != nil {
		return 0, exec.StoreError(err)
	}
	return state.Rows / rowsPerGroup, nil
}

// keyHasNull reports whether a member is null in the key of a group.
func (c *cover) keyHasNull(row []types.Datum) bool {
	return slices.ContainsFunc(c.used, func(u usedMember) bool {
		json, ok := u.JSON(row)
		return ok && json == "null" && u.Column == c.at+1
	})
}

// ofNulls returns the rows of the view that may have a member that is null in the key.
func (c *cover) ofNulls() *cover {
	null, set := ranges.Intervals{ranges.PointOf("null")}, ranges.Intervals{}
	for _, u := range c.used {
		switch {
		case u.Column != c.at+1:
		case u.Part < 0:
			set = ranges.Union(slices.Concat(set, null))
		case u.Part == 0:
			set = ranges.Union(slices.Concat(set, ranges.Compound([]ranges.Intervals{null}, false)))
		default:
			return c
		}
	}
	nulls := *c
	nulls.set = c.set.Intersect(set)
	return &nulls
}

// documentsByID returns a scan that is narrowed to some documents when the plan runs.
func (p *planning) documentsByID(f *bind.UserScan) *exec.Scan {
	s := p.newScan(f)
	for i, col := range f.Rel.Columns {
		if f.Used[i] {
			s.Targets = append(s.Targets, exec.Target{Field: col.Field, Index: f.Base + i})
		}
	}
	s.Accesses = docAccesses(f, ranges.Everything(), false)
	p.byKeys(f, s, ranges.Everything(), nil)
	p.st.Reads.Count++ // the view and the documents must be as of one moment
	return s
}
