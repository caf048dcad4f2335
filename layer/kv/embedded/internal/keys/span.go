package keys

import (
	"bytes"
	"slices"
	"sort"

	"github.com/divandb/divan/layer/kv"
)

// Span is a range of keys, begin <= k < end. A nil end stands for begin followed by a zero byte: the span is the
// single key begin. Most spans are single keys and so need no second key.
type Span struct{ Begin, End []byte }

// Point returns the span of one key.
func Point(key []byte) Span { return Span{Begin: key} }

// EndsAfter reports whether end > x, so that x or a later key is in or below the span.
func (s Span) EndsAfter(x []byte) bool {
	if s.End == nil {
		return bytes.Compare(s.Begin, x) >= 0
	}
	return bytes.Compare(s.End, x) > 0
}

// StartsBefore reports whether s begins before o's end.
func (s Span) StartsBefore(o Span) bool { return o.EndsAfter(s.Begin) }

// CompareEnds orders spans by their ends.
func CompareEnds(a, b Span) int {
	switch {
	case a.End == nil && b.End == nil:
		return bytes.Compare(a.Begin, b.Begin)
	case a.End != nil && b.End != nil:
		return bytes.Compare(a.End, b.End)
	case a.End == nil:
		return compareAfter(a.Begin, b.End)
	}
	return -compareAfter(b.Begin, a.End)
}

// compareAfter compares key+"\x00" with x.
func compareAfter(key, x []byte) int {
	if c := bytes.Compare(key, x); c >= 0 {
		return 1
	}
	if len(x) == len(key)+1 && x[len(key)] == 0 && bytes.Equal(key, x[:len(key)]) {
		return 0
	}
	return -1
}

// EndKey returns the end as a key, allocated for a point.
func (s Span) EndKey() []byte {
	if s.End != nil {
		return s.End
	}
	return After(s.Begin)
}

// Empty reports whether the span contains no key.
func (s Span) Empty() bool { return s.End != nil && bytes.Compare(s.Begin, s.End) >= 0 }

// Size is the total length of the span's keys.
func (s Span) Size() int { return len(s.Begin) + len(s.End) }

// Of returns the span of a range.
func Of(r kv.KeyRange) Span { return Span{Begin: r.Begin, End: r.End} }

// After returns the first key after key, in a new slice.
func After(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), key...), 0)
}

// Unite sorts spans and joins overlapping ones, in place.
func Unite(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b Span) int { return bytes.Compare(a.Begin, b.Begin) })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if !last.EndsAfter(s.Begin) {
			out = append(out, s)
			continue
		}
		if CompareEnds(*last, s) < 0 {
			last.End = s.EndKey()
		}
	}
	return out
}

// Set is a set of keys as sorted, disjoint spans. It may be copied with Share: a change then makes a new slice.
type Set struct {
	Spans  []Span
	shared bool
}

// Share returns a copy that later changes of s do not affect.
func (s *Set) Share() Set {
	if len(s.Spans) == 0 {
		return Set{}
	}
	s.shared = true
	return *s
}

// search returns the index of the first span that ends after key.
func (s *Set) search(key []byte) int {
	i, j := 0, len(s.Spans)
	for i < j {
		mid := int(uint(i+j) / 2)
		if s.Spans[mid].EndsAfter(key) {
			j = mid
		} else {
			i = mid + 1
		}
	}
	return i
}

// Find returns the span that contains key.
func (s *Set) Find(key []byte) (Span, bool) {
	if len(s.Spans) == 0 {
		return Span{}, false
	}
	if i := s.search(key); i < len(s.Spans) && bytes.Compare(s.Spans[i].Begin, key) <= 0 {
		return s.Spans[i], true
	}
	return Span{}, false
}

// Overlap returns the first span that shares a key with r, in key order; with reverse, the last one.
func (s *Set) Overlap(r Span, reverse bool) (Span, bool) {
	first := s.search(r.Begin)
	if first == len(s.Spans) || !s.Spans[first].StartsBefore(r) {
		return Span{}, false
	}
	if !reverse {
		return s.Spans[first], true
	}
	after := first + sort.Search(len(s.Spans)-first, func(i int) bool { return !s.Spans[first+i].StartsBefore(r) })
	return s.Spans[after-1], true
}

// Add adds a span to the set. It keeps r's keys without copying them.
func (s *Set) Add(r Span) {
	if r.Empty() {
		return
	}
	// Spans [i, j) overlap r and are merged with it.
	i := s.search(r.Begin)
	j := i
	for ; j < len(s.Spans) && s.Spans[j].StartsBefore(r); j++ {
		o := s.Spans[j]
		if bytes.Compare(o.Begin, r.Begin) < 0 {
			r = Span{Begin: o.Begin, End: r.EndKey()}
		}
		if CompareEnds(o, r) > 0 {
			r.End = o.EndKey()
		}
	}
	s.replace(i, j, r)
}

// Remove removes the keys of r from the set.
func (s *Set) Remove(r Span) {
	if r.Empty() {
		return
	}
	i := s.search(r.Begin)
	j := i
	var left []Span
	for j < len(s.Spans) && s.Spans[j].StartsBefore(r) {
		o := s.Spans[j]
		if bytes.Compare(o.Begin, r.Begin) < 0 {
			left = append(left, Span{Begin: o.Begin, End: r.Begin})
		}
		if CompareEnds(o, r) > 0 {
			left = append(left, Span{Begin: r.EndKey(), End: o.EndKey()})
		}
		j++
	}
	if j > i {
		s.replace(i, j, left...)
	}
}

func (s *Set) replace(i, j int, with ...Span) {
	if s.shared {
		s.Spans = slices.Clone(s.Spans)
		s.shared = false
	}
	s.Spans = slices.Replace(s.Spans, i, j, with...)
}

// Max returns the later of two keys.
func Max(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// Joined sorts spans that have ends, and joins those that overlap or touch.
func Joined(spans []Span) (out []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return bytes.Compare(a.Begin, b.Begin) })
	for _, s := range spans {
		if n := len(out); n > 0 && bytes.Compare(s.Begin, out[n-1].End) <= 0 {
			out[n-1].End = Max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
