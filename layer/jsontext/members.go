package jsontext

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ErrNotObject reports that a text is JSON, but not an object.
var ErrNotObject = errors.New("Document must be a JSON object") //nolint:staticcheck // as CouchDB says it

// Member is a member of an object: the spans of its name, with the quotes, and its value in the text.
type Member struct {
	Key, KeyEnd, Value, End int
	Escaped                 bool // the name has a backslash
}

// Object is the span of an object in a text.
type Object struct {
	Begin, End int
	Newlines   bool // white space of the text contains a line break
}

// ScanMembers validates text as one JSON object in UTF-8 and calls member for each of its members, even if the text
// turns out to be invalid later. The error is ErrSyntax, ErrDepth or ErrNotObject.
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
		// Only white space and a colon separate a name from its value.
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

// keyEnd returns the end of the name whose value begins at i.
func keyEnd(text []byte, i int) int {
	for text[i-1] != '"' {
		i--
	}
	return i
}

// Members sets into[i] to the text of the member names[i] of the object text, nil if absent. ok is false if one of
// them occurs twice, if a name has an escape, or if text is not an object of at most depth levels.
func Members(text []byte, depth int, names []string, into [][]byte) (ok bool) {
	clear(into)
	s := Scanner{Text: text, Depth: depth}
	return s.Space() == '{' && s.find(names, into) && s.AtEnd()
}

// FindMember returns the text of a member of the object at the start of text, nil if absent. ok is as for Members.
func FindMember(text []byte, depth int, name string) (value []byte, ok bool) {
	s := Scanner{Text: text, Depth: depth}
	names, into := [1]string{name}, [1][]byte{}
	ok = s.Space() == '{' && s.find(names[:], into[:])
	return into[0], ok
}

// find consumes an object.
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

// ExactMembers finds members of a JSON object by their decoded names; absent ones are nil. If a name is repeated, the
// last member counts. The errors are those of ScanMembers.
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

// UnmarshalExact is json.Unmarshal into a struct with field tags, except that names of members must match exactly.
// Other members cost nothing.
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
