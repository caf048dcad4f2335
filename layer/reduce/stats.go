package reduce

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// stats is _stats: of numbers, of arrays of equal length element by element, and of objects that are results of _stats.
type stats struct {
	moments
	items []stats // used instead of moments if values are arrays
}

// moments are the statistics of some numbers.
type moments struct{ sum, count, min, max, sumsqr number }

func (s *stats) Reset() { *s = stats{} }

func (s *stats) Add(_, value []byte) error { return s.add(gjson.ParseBytes(value)) }

func (s *stats) empty() bool { return s.count == number{} && s.items == nil }

func (s *stats) add(v gjson.Result) error {
	if v.IsArray() {
		return s.addArray(v.Array())
	}
	if s.items != nil {
		return &Error{"_stats", "requires that map values be all numbers or all arrays of the same length"}
	}
	m, err := momentsOf(v)
	if err == nil {
		s.merge(m)
	}
	return err
}

func momentsOf(v gjson.Result) (m moments, err error) {
	switch {
	case v.Type == gjson.Number:
		n, ok := parseNumber(v.Raw)
		if !ok {
			return m, &Error{"_stats", "cannot read the number " + v.Raw}
		}
		return moments{n, number{i: 1}, n, n, n.square()}, nil
	case v.IsObject():
		for i, into := range [...]*number{&m.sum, &m.count, &m.min, &m.max, &m.sumsqr} {
			name := statsFields[i]
			field := v.Get(name)
			n, ok := parseNumber(field.Raw)
			if field.Type != gjson.Number || !ok {
				return m, &Error{"_stats",
					fmt.Sprintf("requires that map values that are objects have a numeric field %s", name)}
			}
			*into = n
		}
		return m, nil
	}
	return m, &Error{"_stats", "requires that map values be numbers or arrays of numbers, not " + short(v.Raw)}
}

// statsFields are the fields of an object that stands for several numbers.
var statsFields = [...]string{"sum", "count", "min", "max", "sumsqr"}

// short returns the beginning of a value, for a message.
func short(raw string) string {
	if len(raw) > 100 {
		return raw[:100] + "..."
	}
	return raw
}

func (s *stats) addArray(items []gjson.Result) error {
	if s.empty() {
		s.items = make([]stats, len(items))
	}
	if s.items == nil || len(items) != len(s.items) {
		return &Error{"_stats", "requires that map values be all numbers or all arrays of the same length"}
	}
	for i, item := range items {
		if err := s.items[i].add(item); err != nil {
			return err
		}
	}
	return nil
}

func (s *stats) merge(m moments) {
	if s.empty() {
		s.moments = m
		return
	}
	s.sum, s.count, s.sumsqr = s.sum.add(m.sum), s.count.add(m.count), s.sumsqr.add(m.sumsqr)
	if m.min.less(s.min) {
		s.min = m.min
	}
	if s.max.less(m.max) {
		s.max = m.max
	}
}

// AppendState appends the result as JSON, which _stats accepts as a value.
func (s *stats) AppendState(dst []byte) ([]byte, bool) { return s.AppendJSON(dst), s.finite() }

func (s *stats) Merge(state []byte) error { return s.Add(nil, state) }

func (s *stats) finite() bool {
	for i := range s.items {
		if !s.items[i].finite() {
			return false
		}
	}
	m := &s.moments
	return m.sum.finite() && m.count.finite() && m.min.finite() && m.max.finite() && m.sumsqr.finite()
}

func (s *stats) AppendJSON(dst []byte) []byte {
	if s.items == nil {
		return s.moments.appendJSON(dst)
	}
	dst = append(dst, '[')
	for i := range s.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.items[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

func (m *moments) appendJSON(dst []byte) []byte {
	for _, field := range []struct {
		open string
		n    number
	}{{`{"sum":`, m.sum}, {`,"count":`, m.count}, {`,"min":`, m.min}, {`,"max":`, m.max}, {`,"sumsqr":`, m.sumsqr}} {
		dst = field.n.appendJSON(append(dst, field.open...))
	}
	return append(dst, '}')
}
