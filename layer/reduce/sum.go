package reduce

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// sum is _sum: of numbers, of arrays of numbers element by element (a number counts as an array with one element), and
// of objects member by member, to any depth. As in CouchDB, the sum of values that cannot be added is an error object;
// here this includes objects mixed with numbers, where CouchDB crashes.
//
// A sum has at most maxSum bytes, so that it fits into memory and into a stored partial aggregate whatever is emitted;
// a larger sum becomes an error object. CouchDB compares sums of more than 4,906 bytes with the input of each node of
// its tree. Here the result depends neither on the order of rows nor on the shape of a tree, and a large sum is valid
// as long as it does not grow.
type sum struct {
	total term
	grown int    // bytes of values added to arrays and objects since the size was last checked
	fault []byte // error object that is the sum, or nil
}

// maxSum is the maximum size of a sum's JSON in bytes.
const maxSum = 30_000

// term is one part of a sum.
type term struct {
	kind    kind
	number  number
	items   []number       // of an array
	members []named        // of an object
	places  map[string]int // index of members by name, if there are many; nil until needed
	merged  bool           // sum of several objects: members are sorted by name, as in CouchDB
	quoted  string         // a member's name as JSON
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

// errSum is only used inside of this file.
var errSum = errors.New("values cannot be added")

const sumError = "builtin_reduce_error"

var sumOverflow = `{"error":"` + sumError +
	`","reason":"Reduce output must shrink more rapidly: the sum has more than ` + strconv.Itoa(maxSum) + ` bytes"}`

const sumReason = "The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects " +
	"cannot be mixed with other data structures. " +
	"Objects can be arbitrarily nested, provided that the values for all fields are themselves numbers, arrays of " +
	"numbers, or objects."

// Add never fails.
func (s *sum) Add(_, value []byte) error {
	if s.fault != nil {
		return nil
	}
	v := gjson.ParseBytes(value)
	// The usual case.
	if v.Type == gjson.Number {
		n, ok := parseNumber(v.Raw)
		if ok && s.total.kind <= scalar {
			s.total.kind, s.total.number = scalar, s.total.number.add(n)
			return nil
		}
	}
	switch {
	case isFault(v):
		s.fault = append([]byte{}, value...)
	case s.total.add(v) != nil:
		s.fault = append(append(append([]byte{}, `{"error":"`+sumError+`","reason":"`+sumReason+`","caused_by":`...),
			value...), '}')
	default:
		if s.grown += len(value); s.grown > maxSum {
			s.grown = 0
			s.look(s.total.appendJSON(nil))
		}
		return nil
	}
	s.total = term{}
	return nil
}

// isFault reports whether a value is an error object of _sum. As in CouchDB, the sum of such an object and anything
// else is that object.
func isFault(v gjson.Result) bool {
	return v.IsObject() && strings.Contains(v.Raw, sumError) && v.Get("error").Str == sumError
}

// look replaces a sum that is too large by an error object.
func (s *sum) look(text []byte) {
	if len(text) > maxSum {
		s.total, s.fault = term{}, []byte(sumOverflow)
	}
}

func (s *sum) AppendJSON(dst []byte) []byte {
	from := len(dst)
	if s.fault == nil {
		dst = s.total.appendJSON(dst)
		s.look(dst[from:])
	}
	if s.fault != nil {
		dst = append(dst[:from], s.fault...)
	}
	return dst
}

// AppendState appends the sum as JSON, since sums can be summed again.
func (s *sum) AppendState(dst []byte) ([]byte, bool) {
	finite := s.total.finite()
	return s.AppendJSON(dst), finite
}

func (s *sum) Merge(state []byte) error { return s.Add(nil, state) }

func (s *sum) Reset() { *s = sum{} }

// finite reports whether no number in the term has overflowed, because JSON has no infinity.
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

// member returns the term of a member. A new member is added at the end.
func (t *term) member(name gjson.Result) *term {
	i, known := t.place(name.Str)
	if !known {
		i = len(t.members)
		t.members = append(t.members, named{name: name.Str, term: term{quoted: name.Raw}})
		if t.places != nil {
			t.places[name.Str] = i
		}
	}
	return &t.members[i].term
}

// manyMembers is the number of members from which on they are found by a map.
const manyMembers = 16

func (t *term) place(name string) (i int, known bool) {
	if len(t.members) < manyMembers {
		i = slices.IndexFunc(t.members, func(m named) bool { return m.name == name })
		return i, i >= 0
	}
	if t.places == nil {
		t.places = make(map[string]int, 2*manyMembers)
		for i := range t.members {
			t.places[t.members[i].name] = i
		}
	}
	i, known = t.places[name]
	return i, known
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
			t.places = nil
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
