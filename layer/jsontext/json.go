package jsontext

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// This file reads JSON text once: it validates and finds the members of the outermost object in the same pass, without
// decoding anything. gjson's and fastjson's validators were rejected because a second pass would be needed for the
// members, and because their recursion has no bound or one that other rooms would have to know.

// maxJSONDepth bounds nesting, so that hostile text cannot exhaust the stack, here or in a later reader.
const maxJSONDepth = 1000

var (
	errJSON      = errors.New("invalid UTF-8 JSON")
	errJSONDepth = errors.New("JSON is nested more than " + strconv.Itoa(maxJSONDepth) + " deep")
)

// JsonMember is a member of an object: key with its quotes and value, as spans of the text.
type JsonMember struct {
	Key, KeyEnd, Value, End int
	Escaped                 bool // the key has a backslash
}

// JsonScanner walks JSON text.
type JsonScanner struct {
	B []byte
	I int
	// Newlines is set where insignificant white space had a line break.
	Newlines bool
}

// ScanMembers validates b as one JSON object and calls member for each member of it, also where what follows turns out
// to be no JSON.
func ScanMembers(b []byte, member func(JsonMember)) (s JsonScanner, begin, end int, err error) {
	s.B = b
	if !utf8.Valid(b) {
		return s, 0, 0, errJSON
	}
	s.Space()
	if s.I == len(b) {
		return s, 0, 0, errJSON
	}
	if begin = s.I; b[begin] != '{' {
		if err := s.Value(0); err != nil || !s.atEnd() {
			return s, 0, 0, errJSON
		}
		return s, 0, 0, ErrNotObject
	}
	if err := s.object(1, member); err != nil {
		return s, 0, 0, err
	}
	end = s.I
	if !s.atEnd() {
		return s, 0, 0, errJSON
	}
	return s, begin, end, nil
}

var ErrNotObject = errors.New("Document must be a JSON object") //nolint:staticcheck // as CouchDB says it

func (s *JsonScanner) atEnd() bool {
	s.Space()
	return s.I == len(s.B)
}

func (s *JsonScanner) Space() {
	for s.I < len(s.B) {
		switch s.B[s.I] {
		case '\n', '\r':
			s.Newlines = true
		case ' ', '\t':
		default:
			return
		}
		s.I++
	}
}

func (s *JsonScanner) Peek() byte {
	if s.I < len(s.B) {
		return s.B[s.I]
	}
	return 0
}

func (s *JsonScanner) Value(depth int) error {
	switch c := s.Peek(); c {
	case '"':
		_, err := s.Str()
		return err
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth + 1)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *JsonScanner) object(depth int, member func(JsonMember)) error {
	if depth > maxJSONDepth {
		return errJSONDepth
	}
	s.I++
	s.Space()
	if s.Peek() == '}' {
		s.I++
		return nil
	}
	for {
		m := JsonMember{Key: s.I}
		var err error
		if s.Peek() != '"' {
			return errJSON
		}
		if m.Escaped, err = s.Str(); err != nil {
			return err
		}
		m.KeyEnd = s.I
		s.Space()
		if s.Peek() != ':' {
			return errJSON
		}
		s.I++
		s.Space()
		m.Value = s.I
		if err := s.Value(depth); err != nil {
			return err
		}
		m.End = s.I
		if member != nil {
			member(m)
		}
		s.Space()
		switch s.Peek() {
		case ',':
			s.I++
			s.Space()
		case '}':
			s.I++
			return nil
		default:
			return errJSON
		}
	}
}

func (s *JsonScanner) array(depth int) error {
	if depth > maxJSONDepth {
		return errJSONDepth
	}
	s.I++
	s.Space()
	if s.Peek() == ']' {
		s.I++
		return nil
	}
	for {
		if err := s.Value(depth); err != nil {
			return err
		}
		s.Space()
		switch s.Peek() {
		case ',':
			s.I++
			s.Space()
		case ']':
			s.I++
			return nil
		default:
			return errJSON
		}
	}
}

// plain marks the bytes that go through a string unseen.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// Str reads a string and reports whether it has a backslash. The text is known to be UTF-8.
func (s *JsonScanner) Str() (escaped bool, err error) {
	b, i := s.B, s.I+1
	for {
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return false, errJSON
		}
		switch b[i] {
		case '"':
			s.I = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			n := escapeLength(b[i+1:])
			if n == 0 {
				return false, errJSON
			}
			i += 1 + n
		default:
			return false, errJSON
		}
	}
}

// escapedUnit reads uXXXX.
func escapedUnit(b []byte) (r rune, ok bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	for _, c := range b[1:5] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// escapeLength is how many bytes after a backslash make a valid escape, 0 where they make none.
func escapeLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		r, ok := escapedUnit(b)
		if !ok || r >= 0xdc00 && r < 0xe000 {
			return 0
		}
		if r < 0xd800 || r >= 0xe000 {
			return 5
		}
		// Half a surrogate pair is no character, and no other reader of the document would take it: CouchDB refuses it
		// too.
		if len(b) < 7 || b[5] != '\\' {
			return 0
		}
		if low, ok := escapedUnit(b[6:]); ok && low >= 0xdc00 && low < 0xe000 {
			return 11
		}
	}
	return 0
}

func (s *JsonScanner) literal(word string) error {
	if len(s.B)-s.I < len(word) || string(s.B[s.I:s.I+len(word)]) != word {
		return errJSON
	}
	s.I += len(word)
	return nil
}

func (s *JsonScanner) number() error {
	if s.Peek() == '-' {
		s.I++
	}
	switch c := s.Peek(); {
	case c == '0':
		s.I++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return errJSON
	}
	if s.Peek() == '.' {
		s.I++
		if s.digits() == 0 {
			return errJSON
		}
	}
	if s.Peek()|0x20 == 'e' {
		s.I++
		if c := s.Peek(); c == '+' || c == '-' {
			s.I++
		}
		if s.digits() == 0 {
			return errJSON
		}
	}
	return nil
}

func (s *JsonScanner) digits() int {
	from := s.I
	for s.I < len(s.B) && s.B[s.I] >= '0' && s.B[s.I] <= '9' {
		s.I++
	}
	return s.I - from
}

// CompactJSON appends valid JSON without its insignificant white space.
func CompactJSON(dst, b []byte) []byte {
	inString := false
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case inString && c == '\\':
			dst = append(dst, c)
			i++
			c = b[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// Unquote decodes a valid JSON string. ok is false where b is no string.
func Unquote(b []byte) (s string, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	for _, c := range b[1 : len(b)-1] {
		if c == '\\' {
			return s, json.Unmarshal(b, &s) == nil
		}
	}
	return string(b[1 : len(b)-1]), true
}

const HexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', HexDigits[c>>4], HexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
