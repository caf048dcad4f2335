package mango

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/selector"
)

// Range is what a selector requires of a field, as an interval in the order of views. A bound without a value is none.
type Range struct {
	Low, High Bound
	Empty     bool // nothing can match
}

// Bound is one end of a Range.
type Bound struct {
	Value []byte // JSON, or nil
	Open  bool   // the value itself is not within the range
}

// fieldRange is the range of a field.
type fieldRange struct {
	field string
	Range
}

// fieldRanges returns the ranges of the fields that an index can narrow down, by name. If nothing can match, it returns
// only the field for which that is so, as CouchDB does.
func fieldRanges(term *selector.Term) []fieldRange {
	var list []fieldRange
	for _, field := range indexable(term) {
		r := Range{}
		if field == "_id" {
			ids := idRange(term)
			r = ids.asRange()
		} else {
			narrow(&r, term, field)
		}
		if r.Empty {
			return []fieldRange{{field, r}}
		}
		list = append(list, fieldRange{field, r})
	}
	return list
}

// indexable returns the fields whose conditions an index can narrow down, sorted. Only $and can be looked through.
func indexable(term *selector.Term) []string {
	switch {
	case term == nil:
		return nil
	case term.Op == "$and":
		var list []string
		for _, t := range term.Terms {
			list = append(list, indexable(t)...)
		}
		slices.Sort(list)
		return slices.Compact(list)
	case term.Op != "":
		return nil
	}
	switch term.Terms[0].Op {
	case "$lt", "$lte", "$eq", "$gt", "$gte", "$beginsWith", "$exists":
		return []string{term.Field}
	}
	return nil
}

// narrow narrows the range of a field by a term.
func narrow(r *Range, term *selector.Term, field string) {
	switch {
	case r.Empty:
	case term.Op == "$and":
		for _, t := range term.Terms {
			narrow(r, t, field)
		}
	case term.Op == "" && term.Field == field:
		cond := term.Terms[0]
		value := []byte(cond.Arg.Raw)
		switch cond.Op {
		case "$eq":
			r.above(value, false)
			r.below(value, false)
		case "$gt", "$gte":
			r.above(value, cond.Op == "$gt")
		case "$lt", "$lte":
			r.below(value, cond.Op == "$lt")
		case "$beginsWith":
			r.above(value, false)
			// U+FFFF sorts after all other characters.
			r.below(jsontext.AppendQuoted(nil, cond.Arg.Str+"\uffff"), false)
		}
	}
}

func compare(a, b []byte) int {
	c, err := collate.Compare(a, b)
	if err != nil {
		return 1
	}
	return c
}

// above takes a lower bound into account.
func (r *Range) above(value []byte, open bool) {
	order := 1
	if r.Low.Value != nil {
		order = compare(value, r.Low.Value)
	}
	if order > 0 || order == 0 && open {
		r.Low = Bound{value, open}
	}
	r.check()
}

// below takes an upper bound into account.
func (r *Range) below(value []byte, open bool) {
	order := -1
	if r.High.Value != nil {
		order = compare(value, r.High.Value)
	}
	if order < 0 || order == 0 && open {
		r.High = Bound{value, open}
	}
	r.check()
}

func (r *Range) check() {
	if r.Low.Value == nil || r.High.Value == nil {
		return
	}
	order := compare(r.Low.Value, r.High.Value)
	r.Empty = r.Empty || order > 0 || order == 0 && (r.Low.Open || r.High.Open)
}

// Span is a range of the keys of an index, both ends included. Low and High are lists of values of its first columns;
// High includes all keys that begin with these.
type Span struct{ Low, High [][]byte }

// span returns the keys that the ranges of an index's first columns allow.
func span(ranges []Range) (s Span) {
	for _, r := range ranges {
		if r.Low.Value == nil {
			break
		}
		s.Low = append(s.Low, r.Low.Value)
	}
	for _, r := range ranges {
		if r.High.Value == nil {
			break
		}
		s.High = append(s.High, r.High.Value)
	}
	return s
}

// List returns values as a JSON array.
func List(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// exact returns the ranges for reading rows. Some conditions do not follow the order of views: ids are compared byte by
// byte, and a prefix beyond Latin letters may be part of a character that sorts elsewhere. CouchDB misses documents
// there.
func exact(columns []string, ranges []Range, term *selector.Term) []Range {
	ranges = slices.Clone(ranges)
	for i := range ranges {
		same := ranges[i].Low.Value != nil && bytes.Equal(ranges[i].Low.Value, ranges[i].High.Value)
		if columns[i] == "_id" && !same || oddPrefix(term, columns[i]) {
			ranges[i] = Range{}
		}
	}
	return ranges
}

// oddPrefix reports whether the field has a $beginsWith with characters beyond Latin letters.
func oddPrefix(term *selector.Term, field string) bool {
	switch {
	case term.Op == "$and":
		return slices.ContainsFunc(term.Terms, func(t *selector.Term) bool { return oddPrefix(t, field) })
	case term.Op == "" && term.Field == field && term.Terms[0].Op == "$beginsWith":
		return strings.ContainsFunc(term.Terms[0].Arg.Str, func(r rune) bool { return r >= 0x300 })
	}
	return false
}

// IDs is a range of document ids, compared byte by byte, both ends included. A nil end is
// none.
type IDs struct {
	Low, High *string
	Empty     bool
}

// idRange returns the ids that can match.
func idRange(term *selector.Term) (ids IDs) {
	if term != nil {
		ids.narrow(term)
	}
	return ids
}

// asRange returns the range for explanations.
func (ids *IDs) asRange() Range {
	r := Range{Empty: ids.Empty}
	if ids.Low != nil {
		r.Low.Value = jsontext.AppendQuoted(nil, *ids.Low)
	}
	if ids.High != nil {
		high := *ids.High
		if prefix, ok := strings.CutSuffix(high, "\xff"); ok {
			high = prefix + "\uffff"
		}
		r.High.Value = jsontext.AppendQuoted(nil, high)
	}
	return r
}

func (ids *IDs) narrow(term *selector.Term) {
	switch {
	case term.Op == "$and":
		for _, t := range term.Terms {
			ids.narrow(t)
		}
	case term.Op == "" && term.Field == "_id":
		cond := term.Terms[0]
		isText := cond.Arg.Type == gjson.String
		switch cond.Op {
		case "$eq", "$lt", "$lte":
			// Other values are less than all ids.
			if ids.Empty = ids.Empty || !isText; isText && (ids.High == nil || cond.Arg.Str < *ids.High) {
				ids.High = &cond.Arg.Str
			}
		case "$beginsWith":
			if high := cond.Arg.Str + "\xff"; ids.High == nil || high < *ids.High {
				ids.High = &high
			}
		}
		switch cond.Op {
		case "$eq", "$gt", "$gte", "$beginsWith":
			if isText && (ids.Low == nil || cond.Arg.Str > *ids.Low) {
				ids.Low = &cond.Arg.Str
			}
		}
	}
	ids.Empty = ids.Empty || ids.Low != nil && ids.High != nil && *ids.Low > *ids.High
}
