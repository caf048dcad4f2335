package reduce

import (
	"github.com/tidwall/gjson"
)

// sum is _sum: numbers, arrays element by element (a number counts as an array of itself), objects member by member, to any depth.
type sum struct{ total term }

// term is one place of a sum.
type term struct {
	kind    kind
	number  number
	items   []term  // of an array
	members []named // of an object, in the order of their first appearance
	quoted  string  // a member's name, as JSON
}

type named struct {
	name string
	term
}

type kind int

const (
	none kind = iota
	scalar
	array
	object
)

var errSum = &Error{"_sum", "requires that map values be numbers, arrays of numbers, or objects of these, and that objects are not mixed with others"}

func (s *sum) Add(_, value []byte) error {
	v := gjson.ParseBytes(value)
	if v.Type == gjson.Number { // nearly always
		n, ok := parseNumber(v.Raw)
		if ok && s.total.kind <= scalar {
			s.total.kind, s.total.number = scalar, s.total.number.add(n)
			return nil
		}
	}
	return s.total.add(v)
}

func (s *sum) AppendJSON(dst []byte) []byte { return s.total.appendJSON(dst) }

// AppendState is the sum as JSON: sums of sums are sums.
func (s *sum) AppendState(dst []byte) ([]byte, bool) { return s.AppendJSON(dst), s.total.finite() }

func (s *sum) Merge(state []byte) error { return s.Add(nil, state) }

func (s *sum) Reset() { s.total = term{} }

// finite reports whether no number in it has overflowed: JSON has no infinity.
func (t *term) finite() bool {
	for i := range t.items {
		if !t.items[i].finite() {
			return false
		}
	}
	for i := range t.members {
		if !t.members[i].finite() {
			return false
		}
	}
	return t.number.finite()
}

func (t *term) add(v gjson.Result) error {
	switch {
	case v.Type == gjson.Number:
		n, ok := parseNumber(v.Raw)
		switch {
		case !ok || t.kind == object:
			return errSum
		case t.kind == array:
			if len(t.items) == 0 {
				t.items = make([]term, 1)
			}
			return t.items[0].add(v)
		}
		t.kind, t.number = scalar, t.number.add(n)
		return nil
	case v.IsArray():
		return t.addArray(v)
	case v.IsObject():
		return t.addObject(v)
	}
	return errSum
}

func (t *term) addArray(v gjson.Result) error {
	switch t.kind {
	case object:
		return errSum
	case scalar:
		*t = term{kind: array, items: []term{{kind: scalar, number: t.number}}}
	default:
		t.kind = array
	}
	for i, item := range v.Array() {
		if i == len(t.items) {
			t.items = append(t.items, term{})
		}
		if err := t.items[i].add(item); err != nil {
			return err
		}
	}
	return nil
}

func (t *term) addObject(v gjson.Result) (err error) {
	if t.kind != none && t.kind != object {
		return errSum
	}
	t.kind = object
	v.ForEach(func(name, value gjson.Result) bool {
		err = t.member(name).add(value)
		return err == nil
	})
	return err
}

func (t *term) member(name gjson.Result) *term {
	for i := range t.members {
		if t.members[i].name == name.Str {
			return &t.members[i].term
		}
	}
	t.members = append(t.members, named{name: name.Str, term: term{quoted: name.Raw}})
	return &t.members[len(t.members)-1].term
}

func (t *term) appendJSON(dst []byte) []byte {
	switch t.kind {
	case array:
		dst = append(dst, '[')
		for i := range t.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.items[i].appendJSON(dst)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i := range t.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, t.members[i].quoted...), ':')
			dst = t.members[i].appendJSON(dst)
		}
		return append(dst, '}')
	}
	return t.number.appendJSON(dst)
}
