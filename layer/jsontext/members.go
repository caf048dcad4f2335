package jsontext

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ErrNotObject says that a text is JSON, but no object.
var ErrNotObject = errors.New("Document must be a JSON object") //nolint:staticcheck // as CouchDB says it

// Member is a member of an object: its name with the quotes and its value, as spans of the text.
type Member struct {
	Key, KeyEnd, Value, End int
	Escaped                 bool // the name has a backslash
}

// Object is where an object stands in a text.
type Object struct {
	Begin, End int
	Newlines   bool // white space of the text had a line break
}

// ScanMembers validates text as one JSON object in UTF-8 and calls member for each member of it, also where what
// follows turns out to be no JSON. The error is ErrSyntax, ErrDepth or ErrNotObject.
func ScanMembers(text []byte, member func(Member)) (Object, error) {
	if !utf8.Valid(text) {
		return Object{}, ErrSyntax
	}
	s := Scanner{Text: text}
	if c := s.Space(); c != '{' {
		if !s.Value(0) || !s.AtEnd() {
			return Object{}, ErrSyntax
		}
		return Object{}, ErrNotObject
	}
	o := Object{Begin: s.Pos}
	ok := s.Container('{', 1, func(key []byte, escaped bool) bool {
		// What stands between a name and its value is white space and a colon.
		m := Member{Value: s.Pos, Escaped: escaped}
		m.KeyEnd = keyEnd(text, s.Pos)
		m.Key = m.KeyEnd - len(key)
		if !s.Value(1) {
			return false
		}
		m.End = s.Pos
		member(m)
		return true
	})
	if !ok {
		return Object{}, s.Err()
	}
	o.End = s.Pos
	if !s.AtEnd() {
		return Object{}, s.Err()
	}
	o.Newlines = s.Newlines
	return o, nil
}

// keyEnd is where the name ends whose value begins at i.
func keyEnd(text []byte, i int) int {
	for text[i-1] != '"' {
		i--
	}
	return i
}

// Members sets into[i] to the text of the member names[i] of the object that text is, nil where there is none. ok is
// false where one of them is there twice, where a name is escaped, and where text is no object of at most depth levels.
func Members(text []byte, depth int, names []string, into [][]byte) (ok bool) {
	clear(into)
	s := Scanner{Text: text, Depth: depth}
	return s.Space() == '{' && s.find(names, into) && s.AtEnd()
}

// FindMember is the text of a member of the object that text begins with, nil where there is none. ok is as of Members.
func FindMember(text []byte, depth int, name string) (value []byte, ok bool) {
	s := Scanner{Text: text, Depth: depth}
	names, into := [1]string{name}, [1][]byte{}
	ok = s.Space() == '{' && s.find(names[:], into[:])
	return into[0], ok
}

// find takes an object.
func (s *Scanner) find(names []string, into [][]byte) bool {
	return s.Container('{', 1, func(key []byte, escaped bool) bool {
		from := s.Pos
		if escaped || !s.Value(1) {
			return false
		}
		name := key[1 : len(key)-1]
		for i, wanted := range names {
			if string(name) == wanted {
				if into[i] != nil {
					return false
				}
				into[i] = s.Text[from:s.Pos:s.Pos]
				break
			}
		}
		return true
	})
}

// ExactMembers finds members of a JSON object by their decoded names, nil those that are absent; of the same name twice
// the last one counts. The errors are those of ScanMembers.
func ExactMembers(object []byte, names ...string) ([][]byte, error) {
	values := make([][]byte, len(names))
	_, err := ScanMembers(object, func(m Member) {
		name := object[m.Key+1 : m.KeyEnd-1]
		if m.Escaped {
			s, _ := Unquote(object[m.Key:m.KeyEnd])
			name = []byte(s)
		}
		for i := range names {
			if string(name) == names[i] {
				values[i] = object[m.Value:m.End]
			}
		}
	})
	return values, err
}

// UnmarshalExact is json.Unmarshal into a struct whose fields have tags, by the exact names of members. Other members
// cost nothing.
func UnmarshalExact(object []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	names := make([]string, v.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
	}
	values, err := ExactMembers(object, names...)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, v.Field(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}
