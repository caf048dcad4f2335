package reduce

import (
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// sum is _sum: numbers, arrays of numbers element by element (a number counts as an array of itself), objects member by member, to any depth. The sum of what cannot
// be added up is an object that says so, as in CouchDB; where that crashes, over objects mixed with numbers, too.
type sum struct {
	total term
	wrong []byte // the first value that could not be added; nil: none
}

// term is one place of a sum.
type term struct {
	kind    kind
	number  number
	items   []number // of an array
	members []named  // of an object
	merged  bool     // of several objects: members are shown in the order of their names, as in CouchDB
	quoted  string   // a member's name, as JSON
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

// errSum is for the sum itself: it never leaves it.
var errSum = errors.New("not to be added")

const sumReason = "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects cannot be mixed with other data structures. " +
	"Objects can be arbitrarily nested, provided that the values for all fields are themselves numbers, arrays of numbers, or objects."

// Add never fails.
func (s *sum) Add(_, value []byte) error {
	if s.wrong != nil {
		return nil
	}
	v := gjson.ParseBytes(value)
	if v.Type == gjson.Number { // nearly always
		n, ok := parseNumber(v.Raw)
		if ok && s.total.kind <= scalar {
			s.total.kind, s.total.number = scalar, s.total.number.add(n)
			return nil
		}
	}
	if s.total.add(v) != nil {
		s.wrong = append([]byte{}, value...)
	}
	return nil
}

func (s *sum) AppendJSON(dst []byte) []byte {
	if s.wrong != nil {
		return append(append(append(dst, `{"error":"builtin_reduce_error","reason":"`+sumReason+`","caused_by":`...), s.wrong...), '}')
	}
	return s.total.appendJSON(dst)
}

// AppendState is the sum as JSON: sums of sums are sums.
func (s *sum) AppendState(dst []byte) ([]byte, bool) {
	return s.AppendJSON(dst), s.wrong == nil && s.total.finite()
}

func (s *sum) Merge(state []byte) error { return s.Add(nil, state) }

func (s *sum) Reset() { *s = sum{} }

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
				t.items = make([]number, 1)
			}
			t.items[0] = t.items[0].add(n)
			return nil
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
		*t = term{kind: array, items: []number{t.number}}
	default:
		t.kind = array
	}
	for i, item := range v.Array() {
		n, ok := parseNumber(item.Raw)
		if item.Type != gjson.Number || !ok {
			return errSum
		}
		if i == len(t.items) {
			t.items = append(t.items, n)
			continue
		}
		t.items[i] = t.items[i].add(n)
	}
	return nil
}

func (t *term) addObject(v gjson.Result) (err error) {
	if t.kind != none && t.kind != object {
		return errSum
	}
	t.merged = t.kind == object
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
		if t.merged {
			slices.SortFunc(t.members, func(a, b named) int { return strings.Compare(a.name, b.name) })
		}
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
