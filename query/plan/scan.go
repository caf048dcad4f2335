package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/plan/ranges"
	"github.com/divandb/divan/query/types"
)

// Finding the narrowest read for conditions, order and limits.

// scanRequest is what the query would like the read to do.
type scanRequest struct {
	order       *scanDirection
	limit, skip int64 // limit < 0 means no limit
	// query is the query whose rows are read, nil in other cases. n is how many of its rows are needed, negative for
	// all.
	query *bind.Query
	n     int64
}

type scanDirection struct{ desc bool }

// scanResult is what the read does.
type scanResult struct{ ordered, limited bool }

const (
	// maxReads is the most ranges that are read one after the other.
	maxReads = 32
	// maxRanges is the most ranges of one read of a view.
	maxRanges = 512
)

// orderColumn returns the field that a kind of read is sorted by.
func orderColumn(k exec.AccessKind) exec.Field {
	switch k {
	case exec.ReadChanges:
		return exec.FieldSeq
	case exec.ReadView:
		return exec.FieldKey
	}
	return exec.FieldID
}

// scanOrder returns the direction in which the read has the order that the query needs; nil if there is none.
func (p *planning) scanOrder(q *bind.Query, f *bind.UserScan) *scanDirection {
	if len(q.Order) == 0 || f.Raw || f.Partitioned && p.partition() == "" {
		return nil
	}
	field := func(k exec.SortKey) (exec.Field, bool) {
		c, ok := collation.WithoutBytes(q.Targets[k.Index]).(*exec.Col)
		if !ok || c.Depth != 0 || k.Collation != nil {
			return 0, false
		}
		return f.Rel.Columns[c.Index-f.Base].Field, true
	}
	first, ok := field(q.Order[0])
	if !ok || first != orderColumn(f.Rel.Kind) {
		return nil
	}
	desc := q.Order[0].Desc
	if f.Rel.Follow && desc {
		return nil
	}
	if len(q.Order) > 1 {
		switch f.Rel.Kind {
		case exec.ReadView:
			// Rows with the same key are sorted by id.
			second, ok := field(q.Order[1])
			if !ok || second != exec.FieldID || q.Order[1].Desc != desc || len(q.Order) > 2 {
				return nil
			}
		case exec.ReadConflicts:
			return nil
		}
		// Ids and sequences are unique, so further sort keys have no effect.
	}
	return &scanDirection{desc}
}

// scan plans the read of a relation of the store with all of conds applied.
func (p *planning) scan(f *bind.UserScan, conds []exec.Expr, want scanRequest) (exec.Source, scanResult, error) {
	s := p.newScan(f)
	for i, c := range f.Rel.Columns {
		if f.Used[i] {
			s.Targets = append(s.Targets, exec.Target{Field: c.Field, Index: f.Base + i})
		}
	}
	conds, links := plainConds(conds)
	conds, err := p.sequences(f, conds)
	if err != nil {
		return nil, scanResult{}, err
	}
	set, rest := ranges.Everything(), conds
	if !f.Raw {
		set, rest = p.ranges(f, orderColumn(f.Rel.Kind), conds, false)
		if f.Rel.Kind == exec.ReadView {
			index, _ := sortedColumn(f)
			if set = set.Intersect(ranges.Loose(conds, index)); len(set) > maxReads && !set.AllPoints() {
				rest = conds
				if len(set) > maxRanges {
					set = set.Hull()
				}
			}
		}
	}
	desc := want.order != nil && want.order.desc
	switch f.Rel.Kind {
	case exec.ReadView:
		if s.Accesses = p.viewAccesses(f, set, desc); len(s.Accesses) > maxReads {
			s.Accesses = severalRanges(s.Accesses)
		}
	case exec.ReadChanges:
		s.Accesses, rest = p.changesAccess(f, set, rest, desc)
	default:
		s.Accesses = docAccesses(f, set, desc)
	}
	if len(s.Accesses) == 0 {
		return &exec.Nothing{Reason: "no " + fieldNames[orderColumn(f.Rel.Kind)] + " satisfies WHERE"},
			scanResult{true, false}, nil
	}
	for i := range s.Accesses {
		p.options(f, &s.Accesses[i])
	}
	got := scanResult{ordered: want.order != nil}
	p.byKeys(f, s, set, want.order)
	src := p.byKey(f, s, rest)
	if !set.AllPoints() && src == exec.Source(s) {
		if len(rest) > 0 {
			via, err := p.recognise(f, conds)
			if err != nil {
				return nil, scanResult{}, err
			}
			if via != nil {
				src, err = p.filtered(via, f, spanOf(f), slices.Concat(conds, links))
				return src, scanResult{}, err
			}
		}
		q := want.query
		if !set.Unbounded() || want.order != nil {
			q = nil
		}
		if q != nil || len(rest) > 0 {
			s.Suggestion = p.suggestion(f, rest, q, want.n)
		}
	}
	p.reads(f, len(s.Accesses))
	if len(rest) == 0 && len(s.Accesses) == 1 && links == nil {
		got.limited = grantLimit(&s.Accesses[0], want)
	}
	src, err = p.filtered(src, f, spanOf(f), slices.Concat(rest, links))
	return src, got, err
}

// newScan returns a scan of a relation without reads.
func (p *planning) newScan(f *bind.UserScan) *exec.Scan {
	s := &exec.Scan{Name: f.Name, Alias: f.Alias, DB: p.db, Partitioned: f.Partitioned}
	if f.Partitioned {
		s.Partition = p.partition()
	}
	return s
}

// partition returns the partition in which views of partitioned design documents are read; "" for all.
func (p *planning) partition() string {
	name, _ := p.st.Session.Setting(exec.PartitionSetting)
	return name
}

// reads records which reads of the store the plan makes. Conflicts need several, and so do all partitions.
func (p *planning) reads(f *bind.UserScan, n int) {
	r := &p.st.Reads
	if f.Rel.Kind == exec.ReadConflicts || f.Partitioned && p.partition() == "" {
		n++
	}
	r.Count += n
	r.Follow = r.Follow || f.Rel.Follow
	if f.Rel.Kind == exec.ReadView {
		r.Views = append(r.Views, exec.ViewUse{Design: f.Design, Update: p.update})
	}
}

var fieldNames = map[exec.Field]string{exec.FieldID: "id", exec.FieldKey: "key", exec.FieldSeq: "seq"}

// options sets the options that do not depend on the range.
func (p *planning) options(f *bind.UserScan, a *exec.Access) {
	doc, rev := false, false
	for i, c := range f.Rel.Columns {
		doc = doc || c.Field == exec.FieldDoc && f.Used[i]
		rev = rev || c.Field == exec.FieldRev && f.Used[i]
	}
	a.Docs.WithDoc, a.Changes.WithDoc, a.View.WithDoc = doc, doc, doc
	a.Docs.WithRev, a.Changes.WithRev = rev, rev
	a.Docs.Members = doc && !rev && slices.Contains(p.bodies, f)
	a.View.Update = p.update
}

// ranges returns the intervals of the ordered column and the conditions that they do not cover. groups is set to read
// reductions, not rows.
func (p *planning) ranges(f *bind.UserScan, field exec.Field, conds []exec.Expr,
	groups bool) (ranges.Intervals, []exec.Expr) {
	i := slices.IndexFunc(f.Rel.Columns, func(c naming.UserColumn) bool { return c.Field == field })
	col := ranges.Column(f.Base+i, f.Rel.Columns[i].Type, groups)
	set := ranges.Everything()
	var rest []exec.Expr
	for _, c := range conds {
		s, exact := col.Analyse(c)
		if set = set.Intersect(s); len(set) > ranges.MaxPoints {
			set, exact = set.Hull(), false
		}
		if !exact {
			rest = append(rest, c)
		}
	}
	// There are many ranges and not all are points: read their hull and apply the conditions as a filter.
	if len(set) > maxReads && !set.AllPoints() {
		return set.Hull(), conds
	}
	return set, rest
}

// grantLimit moves LIMIT and OFFSET into the read if possible.
func grantLimit(a *exec.Access, want scanRequest) bool {
	if want.limit < 0 && want.skip == 0 || want.limit == 0 {
		return false
	}
	limit := max(want.limit, 0)
	switch a.Kind {
	case exec.ReadAllDocs, exec.ReadLocalDocs, exec.ReadConflicts:
		a.Docs.Limit, a.Docs.Skip = limit, want.skip
		return true
	case exec.ReadView:
		if a.LowOpen || a.HighOpen {
			return false
		}
		a.View.Limit, a.View.Skip = limit, want.skip
		return true
	case exec.ReadChanges:
		if want.skip > 0 || a.Until != "" || a.Changes.Descending && a.Changes.Since != "" {
			return false
		}
		a.Changes.Limit = limit
		return true
	}
	return false
}

const designPrefix = "_design/"

// docAccesses converts intervals of ids to reads.
func docAccesses(f *bind.UserScan, set ranges.Intervals, desc bool) []exec.Access {
	if f.Rel.IDPrefix != "" {
		above, _ := ranges.After(f.Rel.IDPrefix)
		set = set.Intersect(ranges.Intervals{ranges.Between(ranges.Limit{Val: types.NewText(f.Rel.IDPrefix)},
			ranges.Limit{Val: types.NewText(above), Open: true})})
	}
	if ids := pointTexts(set); ids != nil {
		if f.Rel.NoDesigns {
			ids = slices.DeleteFunc(ids, func(id string) bool { return strings.HasPrefix(id, designPrefix) })
		}
		if len(ids) == 0 {
			return nil
		}
		if len(ids) == 1 && f.Rel.Kind == exec.ReadAllDocs {
			return []exec.Access{{Kind: exec.ReadDocument, ID: ids[0]}}
		}
		if desc {
			slices.Reverse(ids)
		}
		return []exec.Access{{Kind: f.Rel.Kind, Docs: exec.DocsRead{IDs: ids, Descending: desc}}}
	}
	var out []exec.Access
	for _, iv := range set {
		a := exec.Access{Kind: f.Rel.Kind, Docs: exec.DocsRead{Descending: desc, NoDesigns: f.Rel.NoDesigns}}
		// The smallest text above s is s with a zero byte appended.
		if !iv.Low.Inf {
			if a.Docs.Low = iv.Low.Val.S; iv.Low.Open {
				a.Docs.Low += "\x00"
			}
		}
		if !iv.High.Inf {
			if a.Docs.High = iv.High.Val.S; !iv.High.Open {
				a.Docs.High += "\x00"
			}
			if a.Docs.High == "" {
				continue // id < '': no rows
			}
		}
		out = append(out, a)
	}
	if desc {
		slices.Reverse(out)
	}
	return out
}

// pointTexts returns the values if all intervals are points, else nil.
func pointTexts(set ranges.Intervals) []string {
	if len(set) == 0 {
		return nil
	}
	out := make([]string, len(set))
	for i, iv := range set {
		if !iv.IsPoint() {
			return nil
		}
		out[i] = iv.Low.Val.S
	}
	return out
}

// accesses converts intervals of the column that a relation is sorted by to reads.
func (p *planning) accesses(f *bind.UserScan, set ranges.Intervals, desc bool) []exec.Access {
	if f.Rel.Kind == exec.ReadView {
		return p.viewAccesses(f, set, desc)
	}
	return docAccesses(f, set, desc)
}

func (p *planning) viewAccesses(f *bind.UserScan, set ranges.Intervals, desc bool) []exec.Access {
	base := exec.ViewRead{Design: f.Design, View: f.View, Descending: desc}
	if keys := pointTexts(set); len(keys) > 1 {
		for _, k := range keys {
			base.Keys = append(base.Keys, json.RawMessage(k))
		}
		if desc {
			slices.Reverse(base.Keys)
		}
		return []exec.Access{{Kind: exec.ReadView, View: base}}
	}
	var out []exec.Access
	for _, iv := range set {
		a := exec.Access{Kind: exec.ReadView, View: base}
		if !iv.Low.Inf {
			a.View.Low, a.LowOpen = json.RawMessage(iv.Low.Val.S), iv.Low.Open
		}
		if !iv.High.Inf {
			a.View.High, a.HighOpen = json.RawMessage(iv.High.Val.S), iv.High.Open
		}
		out = append(out, a)
	}
	if desc {
		slices.Reverse(out)
	}
	return out
}

// looseAccesses returns the reads of a view for keys in some intervals, and for some others.
func (p *planning) looseAccesses(f *bind.UserScan, set ranges.Intervals) []exec.Access {
	if len(set) > maxRanges && !set.AllPoints() {
		set = set.Hull()
	}
	list := p.viewAccesses(f, set, false)
	if len(list) > maxReads {
		return severalRanges(list)
	}
	return list
}

// severalRanges makes one read of several ranges of a view, with their ends.
func severalRanges(list []exec.Access) []exec.Access {
	if len(list) < 2 {
		return list
	}
	one := list[0]
	for i := range list {
		one.View.Ranges = append(one.View.Ranges, exec.KeyRange{Low: list[i].View.Low, High: list[i].View.High})
	}
	one.View.Low, one.View.High, one.LowOpen, one.HighOpen = nil, nil, false, false
	return []exec.Access{one}
}

// changesAccess returns the single read of the feed. A bound that is not a sequence is left to the filter: the store
// would refuse it.
func (p *planning) changesAccess(f *bind.UserScan, set ranges.Intervals, rest []exec.Expr,
	desc bool) ([]exec.Access, []exec.Expr) {
	if len(set) == 0 {
		return nil, rest
	}
	a := exec.Access{Kind: exec.ReadChanges, Changes: exec.ChangesRead{Descending: desc, Follow: f.Rel.Follow}}
	if len(set) > 1 {
		// The conditions themselves drop the rows between the ranges.
		rest = p.seqFilter(f, set, rest)
		set = set.Hull()
	}
	low, high := set[0].Low, set[0].High
	if !low.Inf {
		since, ok := sinceOf(low)
		if ok {
			a.Changes.Since = since
		} else {
			rest = append(rest, p.compareSeq(f, low, ">"))
		}
	}
	if !high.Inf {
		a.Until, a.UntilOpen = high.Val.S, high.Open
	}
	i := slices.IndexFunc(f.Rel.Columns, func(c naming.UserColumn) bool { return c.Field == exec.FieldShard })
	shards, left := p.ranges(f, exec.FieldShard, rest, false)
	if names := pointTexts(shards); i >= 0 && len(names) == 1 && names[0] != "" {
		a.Changes.Shard, rest = names[0], left
	}
	if i >= 0 && len(shards) == 0 {
		return nil, rest
	}
	return []exec.Access{a}, rest
}

// seqFilter adds the condition that a sequence lies in one of the ranges.
func (p *planning) seqFilter(f *bind.UserScan, set ranges.Intervals, rest []exec.Expr) []exec.Expr {
	var ors []exec.Expr
	for _, iv := range set {
		var ands []exec.Expr
		if !iv.Low.Inf {
			ands = append(ands, p.compareSeq(f, iv.Low, ">"))
		}
		if !iv.High.Inf {
			ands = append(ands, p.compareSeq(f, iv.High, "<"))
		}
		ors = append(ors, exec.And(ands))
	}
	return append(rest, &exec.Logic{Op: "or", Args: ors})
}

func (p *planning) compareSeq(f *bind.UserScan, l ranges.Limit, op string) exec.Expr {
	if !l.Open {
		op += "="
	}
	i := slices.IndexFunc(f.Rel.Columns, func(c naming.UserColumn) bool { return c.Field == exec.FieldSeq })
	return &exec.Call{Func: funcs.Comparison(op), Op: op, Typ: types.Bool,
		Args: []exec.Expr{&exec.Col{Index: f.Base + i, Typ: types.Text, Name: "seq"},
			&exec.Const{D: l.Val, Typ: types.Text}}}
}

// sinceOf converts a lower bound to the exclusive start of a feed. Sequences are lower-case hex of at least 26 digits
// and sort by their text, so the sequence before an inclusive bound is found by subtraction. "0" and "" sort before all
// others.
func sinceOf(l ranges.Limit) (string, bool) {
	s := l.Val.S
	if s == "" || s == "0" {
		return "", true
	}
	if !isSequence(s) {
		return "", false
	}
	if l.Open {
		return s, true
	}
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		switch b[i] {
		case '0':
			b[i] = 'f'
			continue
		case 'a':
			b[i] = '9'
		default:
			b[i]--
		}
		return string(b), true
	}
	return "", true
}
