package plan

import (
	"encoding/json"
	"slices"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/groups"
	"github.com/divandb/divan/query/exec/shortcut"
	"github.com/divandb/divan/query/funcs/aggregates"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// COUNT, SUM, MIN, MAX and AVG over a view, grouped by its key or by leading parts of it, are computed from what the
// store has counted, and from the view's own reduction.

// reducing is the grouping of a query while it becomes a read of groups of a view's keys.
type reducing struct {
	f                       *bind.UserScan
	keyAt, valueAt, countAt int
	// own is set if the view's reduction is read, counts if the rows of groups are counted, whole if divan.reduce is
	// called.
	own, counts, whole bool
	calls              []exec.AggCall
	exact              []func(value string) bool // what the reductions must satisfy
	over               []exec.Expr               // what is computed from the keys of groups
	// tells is set if something is computed from the keys of groups, so that all keys of a group must be the same.
	tells bool
	// update is how up to date the view must be, reads the number of reads that have been planned.
	update exec.UpdateMode
	reads  int
}

// reducible reports whether groups of a relation's rows can be read.
func (p *planning) reducible(f *bind.UserScan) bool {
	_, ok := p.db.(exec.Reducer)
	return ok && f.Rel.Kind == exec.ReadView && !f.Raw
}

func (p *planning) newReducing(q *bind.Query, f *bind.UserScan) *reducing {
	// As in ViewColumns.
	return &reducing{f: f, keyAt: f.Base + 1, valueAt: f.Base + 2, countAt: q.Width, update: p.update}
}

// reduce plans the grouping of q as a read of groups of f. It returns nil if these do not provide the result.
func (p *planning) reduce(q *bind.Query, f *bind.UserScan, where []exec.Expr) (exec.Source, error) {
	if !p.reducible(f) {
		return nil, nil
	}
	r := p.newReducing(q, f)
	for _, c := range q.Aggs {
		c.Args = p.foldAll(c.Args)
		if !r.add(&c) {
			return nil, nil
		}
	}
	if r.whole && q.Sets != nil {
		return nil, nil // the store's results for groups cannot be combined
	}
	keys := p.foldAll(q.Keys)
	src := p.groups(r, append(r.over, keys...), where, true)
	if src == nil {
		return nil, nil
	}
	if len(r.exact) > 0 || r.tells {
		exact := &shortcut.Exact{Input: src, OK: r.ok}
		if r.tells {
			exact.Still = func() (bool, error) { return p.tellsApart(f.Design, f.View) }
		}
		src = exact
	}
	g := &groups.Grouping{Input: src, Width: q.Width + 1, Keys: keys, Sets: q.Sets, Calls: r.calls}
	if !r.own && !r.tells || r.whole {
		return g, nil
	}
	before := p.st.Reads.Count
	rows, _, err := p.scan(f, where, scanRequest{limit: -1})
	p.st.Reads.Count = max(before, p.st.Reads.Count-before)
	if err != nil {
		return nil, err
	}
	return &shortcut.Either{First: g, Otherwise: p.grouping(q, rows)}, nil
}

// groups plans a read of the groups from which expressions can be computed. It returns nil if they cannot. With rows,
// the caller reads the rows instead if there are too many groups, unless they are of divan.reduce.
func (p *planning) groups(r *reducing, over, where []exec.Expr, rows bool) exec.Source {
	f := r.f
	set, rest := p.ranges(f, exec.FieldKey, where, true)
	for _, iv := range set {
		if iv.IsPoint() && !ranges.Plain(iv.Low.Val.S) {
			return nil // a group may contain keys that differ
		}
	}
	for _, iv := range set {
		if iv.Low.Open || iv.High.Open {
			return nil // a reduction cannot be narrowed afterwards
		}
	}
	// Conditions that are not ranges, groups and functions of the key are computed from one key of each group of the
	// view. divan.reduce asks for the view's groups.
	r.tells = len(rest) > 0 || len(over) > 0 && !r.whole ||
		slices.ContainsFunc(over, func(e exec.Expr) bool { return !isKey(e, r.keyAt) })
	if r.tells {
		if ok, err := p.tellsApart(f.Design, f.View); !ok || err != nil {
			return nil // the rows are read, which reports the error too
		}
	}
	// The conditions behind these intervals are applied to the groups.
	set = set.Intersect(ranges.Loose(rest, r.keyAt).Closed())
	var check func(exec.Source) exec.Source
	if rows && r.tells && !r.whole {
		check = func(groups exec.Source) exec.Source {
			return &shortcut.Exact{Input: groups, OK: func([]types.Datum) bool { return true },
				Most: func() (int64, error) { return p.mostGroups(f.Design, f.View) }}
		}
	}
	src := p.readGroups(r, over, set, rest, check)
	if r.reads > 0 {
		p.reads(f, r.reads)
	}
	return src
}

// isKey reports whether an expression is the key, a part of it, or the text of one of them.
func isKey(e exec.Expr, keyAt int) bool {
	if c, ok := e.(*exec.Call); ok {
		if _, part := keyPart(c, keyAt); part {
			return true
		}
	}
	f, ok := ranges.ColumnAt(keyAt).FormOf(e)
	return ok && f.Mod == 0 && (f.Kind == ranges.AsJSON || f.Kind == ranges.AsText || f.Kind == ranges.AsPrinted)
}

// tellsApart reports whether keys of a view that are equal in the order of views are the same.
func (p *planning) tellsApart(design, view string) (bool, error) {
	db, ok := p.db.(exec.Indexer)
	if !ok {
		return false, nil
	}
	d, err := p.db.Design(p.st.Ctx, design)
	if err != nil {
		return false, exec.StoreError(err)
	}
	// The numbers of a Mango index are written as in the documents: 1 and 1.0 are equal.
	if slices.ContainsFunc(d.Views, func(v exec.View) bool {
		return v.Name == view && v.Shape != nil && !v.Shape.AsJavaScript
	}) {
		return false, nil
	}
	state, err := db.IndexState(p.st.Ctx, design, view, exec.IndexCounts{})
	if err != nil {
		return false, exec.StoreError(err)
	}
	return state.Unambiguous, nil
}

// readGroups plans a read of the groups of keys in intervals with both ends, from which expressions can be computed,
// and applies conditions to them, after a check if there is one. It returns nil if the keys of groups do not suffice.
func (p *planning) readGroups(r *reducing, over []exec.Expr, set ranges.Intervals, rest []exec.Expr,
	check func(exec.Source) exec.Source) exec.Source {
	f := r.f
	if len(set) > maxReads {
		set = set.Hull()
	}
	// Conditions that the ranges do not cover, and the groups, must be computable from the key of a reduction.
	level := 0
	for _, e := range slices.Concat(over, rest) {
		n, ok := prefixLevel(e, r.keyAt)
		if !ok {
			return nil
		}
		if n < 0 || level < 0 {
			level = -1
		} else {
			level = max(level, n)
		}
	}
	s := p.newScan(f)
	s.Targets = []exec.Target{{Field: exec.FieldKey, Index: r.keyAt}, {Field: exec.FieldValue, Index: r.valueAt},
		{Field: exec.FieldCount, Index: r.countAt}}
	var parts []exec.KeyRange
	for _, iv := range set {
		var r exec.KeyRange
		if !iv.Low.Inf {
			r.Low = json.RawMessage(iv.Low.Val.S)
		}
		if !iv.High.Inf {
			r.High = json.RawMessage(iv.High.Val.S)
		}
		parts = append(parts, r)
	}
	read := exec.ReduceRead{Design: f.Design, View: f.View, Function: f.Reduce, GroupLevel: level, Update: r.update}
	each := func(read exec.ReduceRead) {
		for _, r := range parts {
			read.Low, read.High = r.Low, r.High
			s.Accesses = append(s.Accesses, exec.Access{Kind: exec.ReadReduce, Reduce: read})
		}
	}
	switch {
	case len(parts) > 1 && r.whole:
		// Only the view can combine the reductions of several ranges.
		read.Ranges = parts
		s.Accesses = []exec.Access{{Kind: exec.ReadReduce, Reduce: read}}
		read.Ranges = nil
	case r.own:
		each(read)
	}
	if r.counts || !r.own {
		read.Count = true
		each(read)
	}
	if r.reads = len(s.Accesses); r.reads == 0 {
		return &exec.Nothing{Reason: "no key satisfies WHERE"}
	}
	var src exec.Source = s
	if check != nil {
		src = check(s)
	}
	if cond := exec.And(rest); cond != nil {
		return &exec.Filter{Input: src, Cond: cond}
	}
	return src
}

// ok reports whether a reduction gives the exact results.
func (r *reducing) ok(row []types.Datum) bool {
	fails := func(exact func(string) bool) bool { return !exact(row[r.valueAt].S) }
	return row[r.valueAt].IsNull() || !slices.ContainsFunc(r.exact, fails)
}

// add adds an aggregate. It returns false if groups do not provide it.
func (r *reducing) add(c *exec.AggCall) bool {
	if c.Filter != nil || len(c.Order) > 0 || len(c.Direct) > 0 || len(c.Args) > 1 {
		return false
	}
	name, call := c.Agg.Name, exec.AggCall{Text: c.Text}
	value := &exec.Col{Index: r.valueAt, Typ: types.JSONB, Name: "value"}
	switch {
	case aggregates.IsWhole(c.Agg):
		if c.Distinct || !isColumn(c.Args[0], r.valueAt) {
			return false
		}
		r.own, r.whole = true, true
		call.Agg, call.Args = aggregates.Partial(name, r.f.Reduce), []exec.Expr{value}
	case name == "count" && !c.Distinct:
		// The columns of a view are never NULL.
		if len(c.Args) == 1 && !isColumn(c.Args[0], r.f.Base) && !isColumn(c.Args[0], r.keyAt) &&
			!isColumn(c.Args[0], r.valueAt) {
			return false
		}
		r.counts = true
		call.Agg = aggregates.Counted()
		call.Args = []exec.Expr{&exec.Col{Index: r.countAt, Typ: types.Int8, Name: "count"}}
	case c.Distinct || name == "min" || name == "max":
		if _, ok := prefixLevel(c.Args[0], r.keyAt); ok {
			// The rows of a group have the same value, and one is enough.
			r.over = append(r.over, c.Args[0])
			call = *c
			break
		}
		if c.Distinct {
			return false
		}
		fallthrough
	default:
		exact := aggregates.Reduced(r.f.Reduce)
		if isColumn(c.Args[0], r.valueAt) {
			call.Agg = aggregates.Partial(name, r.f.Reduce)
		} else if typ, ok := castOf(c.Args[0], r.valueAt); ok {
			ret := c.Agg.Ret
			if c.Agg.RetOf != nil {
				ret = c.Agg.RetOf([]types.OID{typ})
			}
			call.Agg, exact = aggregates.PartialOf(name, r.f.Reduce, typ, ret), aggregates.ReducedAs(r.f.Reduce, typ)
		}
		if call.Agg == nil || exact == nil {
			return false
		}
		r.own, r.exact = true, append(r.exact, exact)
		call.Args = []exec.Expr{value}
	}
	r.calls = append(r.calls, call)
	return call.Agg != nil
}

// castOf returns the type of numbers that an expression casts a column of JSON to: value::int, (value::text)::numeric,
// (value #>> '{}')::float.
func castOf(e exec.Expr, column int) (types.OID, bool) {
	c, ok := e.(*exec.CastExpr)
	if !ok || c.Mod != -1 || !types.IsNumber(c.To) {
		return 0, false
	}
	if m, is := c.X.(*shortcut.Member); is {
		return c.To, m.Text && m.Column == column && m.Part < 0
	}
	f, ok := ranges.ColumnAt(column).FormOf(c.X)
	return c.To, ok && f.Mod == 0 && (f.Kind == ranges.AsJSON || f.Kind == ranges.AsText || f.Kind == ranges.AsPrinted)
}

// prefixLevel returns how many leading parts of the key e refers to: -1 for the whole key; false if it refers to
// anything else.
func prefixLevel(e exec.Expr, keyAt int) (int, bool) {
	level, ok := 0, true
	var walk func(exec.Expr) exec.Expr
	walk = func(x exec.Expr) exec.Expr {
		switch n := x.(type) {
		case *exec.Subquery, *sublink:
			ok = false
		case *shortcut.Member:
			if ok = ok && n.Column == keyAt; n.Part < 0 {
				level = -1
			} else if level >= 0 {
				level = max(level, n.Part+1)
			}
		case *exec.Col:
			if n.Index != keyAt || n.Depth != 0 {
				ok = false
			}
			level = -1
		case *exec.Call:
			if i, part := keyPart(n, keyAt); part {
				if level >= 0 {
					level = max(level, i+1)
				}
				return x
			}
		}
		return exec.RewriteChildren(x, walk)
	}
	walk(e)
	return level, ok
}

// keyPart matches key -> i and key ->> i for a constant i that is not negative.
func keyPart(c *exec.Call, keyAt int) (int, bool) {
	if c.Op != "->" && c.Op != "->>" {
		return 0, false
	}
	col, ok := c.Args[0].(*exec.Col)
	idx, isConst := c.Args[1].(*exec.Const)
	if !ok || !isConst || col.Index != keyAt || col.Depth != 0 || idx.D.K != types.KInt || idx.D.I < 0 ||
		idx.D.I > 100 {
		return 0, false
	}
	return int(idx.D.I), true
}
