package mango

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/selector"
)

// Plan is how a query is answered.
type Plan struct {
	Query *Query
	// Index answers the query. It is nil if none can, which only _explain gets.
	Index *Index
	// Nothing reports that no document can match, so that nothing is read.
	Nothing bool
	// Span is the part of the index to read, IDs that of AllDocs. Documents in it may still not match.
	Span Span
	IDs  IDs
	// After is the position after which to continue, or nil.
	After *Position
	// Covered reports that the rows have all fields that the query needs.
	Covered bool

	ranges []Range
	trace  trace
}

// trace is what the explanation needs to know about the choice.
type trace struct {
	all      []*Index // sorted
	rejected map[*Index]rejection
	sorted   []ranked // the candidates, best first
}

type rejection struct {
	stage  int
	reason string
	usable bool
}

// The stages of the choice, in the order in which indexes drop out. Those that drop out later are ranked higher.
const (
	stagePartial = iota
	stageScope
	stageUsable
	stageExcluded
	stageUnfavored
	stages
)

// ranked is a candidate.
type ranked struct {
	index    *Index
	ranges   []Range
	distance int // how many fields of the selector it cannot narrow down
}

// Make chooses the index for a query. all are the indexes of the database, without AllDocs. partitioned reports whether
// the database is. With explain, a query that no index can answer has a plan too.
func Make(q *Query, all []*Index, partitioned, explain bool) (*Plan, error) {
	p := &Plan{Query: q}
	t := &p.trace
	t.all = append([]*Index{{Name: AllDocs}}, all...)
	slices.SortFunc(t.all, Compare)
	t.rejected = map[*Index]rejection{}
	term := q.Selector.Term()
	var usable []*Index
	for _, ix := range t.all {
		named := q.names(ix)
		switch reason := q.unusable(ix); {
		case ix.partial() && !named:
			t.rejected[ix] = rejection{stagePartial, "is_partial", false}
		case !ix.special() && ix.Partitioned != (q.Partition != ""):
			t.rejected[ix] = rejection{stageScope, "scope_mismatch", false}
		case reason != "":
			t.rejected[ix] = rejection{stageUsable, reason, false}
		default:
			usable = append(usable, ix)
		}
	}
	if len(usable) == 0 {
		if explain {
			return p, nil
		}
		return nil, noIndex(q, partitioned)
	}
	chosen := slices.DeleteFunc(slices.Clone(usable), func(ix *Index) bool { return !q.names(ix) })
	if len(chosen) == 0 {
		if !q.AllowFallback && !(len(q.UseIndex) == 0 && len(usable) > 1) {
			return nil, q.unsuitable()
		}
		chosen = usable
	}
	for _, ix := range usable {
		if !slices.Contains(chosen, ix) {
			t.rejected[ix] = rejection{stageExcluded, "excluded_by_user", true}
		}
	}
	if q.Bookmark != "" {
		var err error
		if p.After, err = ParseBookmark(q.Bookmark); err != nil && !explain {
			return nil, err
		}
	}
	t.rank(chosen, term)
	best := t.sorted[0]
	if p.After != nil && !explain {
		// The pages of an answer come from one index, although there may be a better one by now.
		at := slices.IndexFunc(t.sorted, func(r ranked) bool { return p.After.in(r.index) })
		if at < 0 && !p.After.in(t.all[0]) {
			return nil, refuse("invalid_bookmark", "Invalid bookmark value: "+strconv.Quote(q.Bookmark))
		}
		if at < 0 {
			best = rank(t.all[:1], fieldRanges(term))[0]
		} else {
			best = t.sorted[at]
		}
	}
	p.Index, p.ranges = best.index, best.ranges
	p.bound(term)
	return p, nil
}

// MakeWithout makes a plan for the same query that reads all documents. It fails if only an index can sort the answer,
// or if the query continues one that was answered from an index.
func MakeWithout(p *Plan) (*Plan, error) {
	all := &Index{Name: AllDocs}
	if p.After != nil && !p.After.in(all) || p.Query.unusable(all) != "" {
		return nil, noIndex(p.Query, false)
	}
	without := &Plan{Query: p.Query, After: p.After, Index: all}
	term := p.Query.Selector.Term()
	without.ranges = rank([]*Index{all}, fieldRanges(term))[0].ranges
	without.bound(term)
	return without, nil
}

// rank orders the indexes that can answer a query. AllDocs is only used if there is nothing else, or for a range of
// ids: it is in the order in which they are compared, and the others would be read as a whole.
func (t *trace) rank(chosen []*Index, term *selector.Term) {
	fields := fieldRanges(term)
	if len(chosen) == 1 || !chosen[0].special() {
		t.sorted = rank(chosen, fields)
		return
	}
	t.sorted = rank(chosen[1:], fields)
	if best := t.sorted[0]; len(best.ranges) > 0 && best.index.columns()[0] == "_id" && bounded(best.ranges[0]) &&
		!bounded(exact(best.index.columns(), best.ranges, term)[0]) {
		t.sorted = slices.Insert(t.sorted, 0, rank(chosen[:1], fields)[0])
		return
	}
	t.rejected[chosen[0]] = rejection{stageUnfavored, "unfavored_type", true}
}

// bounded reports whether a range leaves out any values.
func bounded(r Range) bool { return r.Low.Value != nil || r.High.Value != nil }

// names reports whether use_index names the index.
func (q *Query) names(ix *Index) bool {
	if len(q.UseIndex) == 0 || ix.special() {
		return false
	}
	design := "_design/" + strings.TrimPrefix(q.UseIndex[0], "_design/")
	return ix.Design == design && (len(q.UseIndex) == 1 || ix.Name == q.UseIndex[1])
}

func noIndex(q *Query, partitioned bool) error {
	kind := ""
	switch {
	case partitioned && q.Partition != "":
		kind = "partitioned "
	case partitioned:
		kind = "global "
	}
	return refuse("no_usable_index",
		"No "+kind+"index exists for this sort, try indexing by the sort fields.")
}

func (q *Query) unsuitable() error {
	name := ""
	switch len(q.UseIndex) {
	case 0:
		return refuse("invalid_index", "You must specify an index with the `use_index` parameter.")
	case 1:
		name = strings.TrimPrefix(q.UseIndex[0], "_design/")
	default:
		name = strings.TrimPrefix(q.UseIndex[0], "_design/") + ", " + q.UseIndex[1]
	}
	return refuse("invalid_index",
		"_design/"+name+" specified by `use_index` could not be found or it is not suitable.")
}

// unusable returns why an index cannot answer the query, or "".
func (q *Query) unusable(ix *Index) string {
	term := q.Selector.Term()
	columns := ix.columns()
	if ix.special() {
		switch {
		case len(q.Sort) == 0:
			return ""
		case !slices.Contains(indexable(term), "_id"):
			return "field_mismatch"
		case len(q.Sort) > 1 || q.Sort[0].Field != "_id":
			return "sort_order_mismatch"
		}
		return ""
	}
	// Fields to sort by are required, and every document has _id and _rev.
	required := map[string]bool{}
	for _, c := range columns {
		required[c] = c != "_id" && c != "_rev"
	}
	for _, f := range q.Sort {
		required[f.Field] = false
	}
	if requires(term, required); empty(term) {
		clear(required)
	}
	for _, c := range columns {
		if required[c] {
			return "field_mismatch"
		}
	}
	if !sorts(columns, q.Sort, term) {
		return "sort_order_mismatch"
	}
	return ""
}

// requires sets those fields to false that exist in every document that matches.
func requires(term *selector.Term, missing map[string]bool) {
	switch {
	case term == nil || len(missing) == 0:
	case impossible(term):
		clear(missing)
	case term.Op == "$and":
		for _, t := range term.Terms {
			requires(t, missing)
		}
	case term.Op == "$or" && len(term.Terms) > 0:
		// Each alternative has to require a field.
		still := map[string]bool{}
		for _, t := range term.Terms {
			one := map[string]bool{}
			for field, is := range missing {
				one[field] = is
			}
			requires(t, one)
			for field, is := range one {
				still[field] = still[field] || is
			}
		}
		for field := range missing {
			missing[field] = still[field]
		}
	case term.Op == "":
		cond := term.Terms[0]
		if cond.Op != "$exists" || cond.Arg.Bool() {
			delete(missing, term.Field)
		}
	}
}

// impossible reports whether a condition never holds: one of no values. An index needs no rows for it.
func impossible(term *selector.Term) bool {
	if term.Op != "" {
		return false
	}
	cond := term.Terms[0]
	return (cond.Op == "$in" || cond.Op == "$all") && len(cond.Arg.Array()) == 0
}

// empty reports whether a selector is only an empty list, which matches nothing.
func empty(term *selector.Term) bool {
	return term != nil && (term.Op == "$and" || term.Op == "$or") && len(term.Terms) == 0
}

// sorts reports whether rows with these columns are in the wanted order. Columns before the first one to sort by must
// have one value.
func sorts(columns []string, by []SortField, term *selector.Term) bool {
	for len(by) > 0 {
		switch {
		case len(columns) == 0:
			return false
		case columns[0] == by[0].Field:
			if len(by) > len(columns) {
				return false
			}
			for i, f := range by {
				if columns[i] != f.Field {
					return false
				}
			}
			return true
		case !constant(term, columns[0]):
			return false
		}
		columns = columns[1:]
	}
	return true
}

// constant reports whether the selector fixes the value of a field.
func constant(term *selector.Term, field string) bool {
	switch {
	case term == nil:
		return false
	case term.Op == "$and":
		return slices.ContainsFunc(term.Terms, func(t *selector.Term) bool { return constant(t, field) })
	}
	return term.Op == "" && term.Field == field && term.Terms[0].Op == "$eq"
}

// rank orders candidates, best first.
func rank(candidates []*Index, fields []fieldRange) []ranked {
	if candidates[0].special() {
		fields = append(slices.Clone(fields), fieldRange{"_id", Range{Low: Bound{[]byte("null"), true}}})
	}
	list := make([]ranked, len(candidates))
	for i, ix := range candidates {
		list[i].index = ix
		for _, c := range ix.columns() {
			at := slices.IndexFunc(fields, func(f fieldRange) bool { return f.field == c })
			if at < 0 {
				break
			}
			list[i].ranges = append(list[i].ranges, fields[at].Range)
		}
		list[i].distance = len(fields) - len(list[i].ranges)
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(a.index.columns()), len(b.index.columns())),
			Compare(a.index, b.index))
	})
	return list
}

// bound decides which rows to read.
func (p *Plan) bound(term *selector.Term) {
	noop := empty(term)
	none := noop || slices.ContainsFunc(p.ranges, func(r Range) bool { return r.Empty })
	if none {
		p.ranges = []Range{{Empty: true}}
	}
	p.Covered = p.Query.R == 1 && p.covers()
	if p.Index.special() {
		p.IDs = idRange(term)
		p.Nothing = noop || p.IDs.Empty
		return
	}
	if p.Nothing = none; !none {
		p.Span = span(exact(p.Index.columns(), p.ranges, term))
	}
}

// covers reports whether the rows have all fields that the query needs.
func (p *Plan) covers() bool {
	q := p.Query
	return q.Fields != nil && p.Index.covers(append(slices.Clone(q.Fields.Names()), fieldsOf(q.Selector.Term())...))
}

// fieldsOf returns the fields that a selector names.
func fieldsOf(term *selector.Term) []string {
	switch {
	case term == nil:
		return nil
	case term.Op == "$and" || term.Op == "$or":
		var list []string
		for _, t := range term.Terms {
			list = append(list, fieldsOf(t)...)
		}
		return list
	}
	return []string{term.Field}
}

// Ignored returns a warning if use_index names an index that is not used, else "".
func (p *Plan) Ignored() string {
	q := p.Query
	if len(q.UseIndex) == 0 || q.names(p.Index) {
		return ""
	}
	design := strings.TrimPrefix(q.UseIndex[0], "_design/")
	if len(q.UseIndex) == 1 {
		return "_design/" + design + " was not used because it does not contain a valid index for this query."
	}
	return "_design/" + design + ", " + q.UseIndex[1] +
		" was not used because it is not a valid index for this query."
}
