package embedded

import (
	"bytes"
	"slices"
	"sort"

	"github.com/divandb/divan/layer/kv"
)

// span is a range of keys, begin <= k < end. A nil end stands for begin followed by a zero byte: the span is the one key begin. Most
// spans are, and so need no second key.
type span struct{ begin, end []byte }

func pointSpan(key []byte) span { return span{begin: key} }

// endsAfter reports whether x, or a key after it, is in or below the span: end > x.
func (s span) endsAfter(x []byte) bool {
	if s.end == nil {
		return bytes.Compare(s.begin, x) >= 0
	}
	return bytes.Compare(s.end, x) > 0
}

// startsBefore reports whether begin < o's end.
func (s span) startsBefore(o span) bool { return o.endsAfter(s.begin) }

// compareEnds orders spans by where they end.
func compareEnds(a, b span) int {
	switch {
	case a.end == nil && b.end == nil:
		return bytes.Compare(a.begin, b.begin)
	case a.end != nil && b.end != nil:
		return bytes.Compare(a.end, b.end)
	case a.end == nil:
		return compareAfter(a.begin, b.end)
	}
	return -compareAfter(b.begin, a.end)
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

// endKey is the end as a key, allocated for a point.
func (s span) endKey() []byte {
	if s.end != nil {
		return s.end
	}
	return keyAfter(s.begin)
}

func (s span) empty() bool { return s.end != nil && bytes.Compare(s.begin, s.end) >= 0 }

func (s span) size() int { return len(s.begin) + len(s.end) }

func spanOf(r kv.KeyRange) span { return span{begin: r.Begin, end: r.End} }

// keyAfter is the first key after key, in a new slice.
func keyAfter(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), key...), 0)
}

// unite sorts spans and joins those that overlap, in place.
func unite(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.begin, b.begin) })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if !last.endsAfter(s.begin) {
			out = append(out, s)
			continue
		}
		if compareEnds(*last, s) < 0 {
			last.end = s.endKey()
		}
	}
	return out
}

// spanSet is a set of keys as sorted, disjoint spans. It is a value that is shared by copying it: a change makes a new
// slice wherever the old one may be shared.
type spanSet struct {
	spans  []span
	shared bool
}

// share returns a copy that later changes of s leave alone.
func (s *spanSet) share() spanSet {
	if len(s.spans) == 0 {
		return spanSet{}
	}
	s.shared = true
	return *s
}

// search is the index of the first span that ends after key.
func (s *spanSet) search(key []byte) int {
	i, j := 0, len(s.spans)
	for i < j {
		mid := int(uint(i+j) / 2)
		if s.spans[mid].endsAfter(key) {
			j = mid
		} else {
			i = mid + 1
		}
	}
	return i
}

// find returns the span that holds key.
func (s *spanSet) find(key []byte) (span, bool) {
	if len(s.spans) == 0 {
		return span{}, false
	}
	if i := s.search(key); i < len(s.spans) && bytes.Compare(s.spans[i].begin, key) <= 0 {
		return s.spans[i], true
	}
	return span{}, false
}

// overlap returns the first span that shares a key with r, in key order; with reverse, the last one.
func (s *spanSet) overlap(r span, reverse bool) (span, bool) {
	first := s.search(r.begin)
	if first == len(s.spans) || !s.spans[first].startsBefore(r) {
		return span{}, false
	}
	if !reverse {
		return s.spans[first], true
	}
	after := first + sort.Search(len(s.spans)-first, func(i int) bool { return !s.spans[first+i].startsBefore(r) })
	return s.spans[after-1], true
}

// add joins a span to the set. It keeps r's keys without copying them.
func (s *spanSet) add(r span) {
	if r.empty() {
		return
	}
	// Spans [i, j) overlap r and become one with it.
	i := s.search(r.begin)
	j := i
	for ; j < len(s.spans) && s.spans[j].startsBefore(r); j++ {
		o := s.spans[j]
		if bytes.Compare(o.begin, r.begin) < 0 {
			r = span{begin: o.begin, end: r.endKey()}
		}
		if compareEnds(o, r) > 0 {
			r.end = o.endKey()
		}
	}
	s.replace(i, j, r)
}

// remove takes the keys of r out of the set.
func (s *spanSet) remove(r span) {
	if r.empty() {
		return
	}
	i := s.search(r.begin)
	j := i
	var left []span
	for j < len(s.spans) && s.spans[j].startsBefore(r) {
		o := s.spans[j]
		if bytes.Compare(o.begin, r.begin) < 0 {
			left = append(left, span{begin: o.begin, end: r.begin})
		}
		if compareEnds(o, r) > 0 {
			left = append(left, span{begin: r.endKey(), end: o.endKey()})
		}
		j++
	}
	if j > i {
		s.replace(i, j, left...)
	}
}

func (s *spanSet) replace(i, j int, with ...span) {
	if s.shared {
		s.spans = slices.Clone(s.spans)
		s.shared = false
	}
	s.spans = slices.Replace(s.spans, i, j, with...)
}

func maxKey(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// joined sorts spans with ends, and joins those that overlap or touch.
func joined(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.begin, b.begin) })
	for _, s := range spans {
		if n := len(out); n > 0 && bytes.Compare(s.begin, out[n-1].end) <= 0 {
			out[n-1].end = maxKey(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}
