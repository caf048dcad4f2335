package layer

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// This file reads JSON text once: it validates and finds the members of the outermost object in the same pass, without decoding
// anything. gjson's and fastjson's validators were rejected because a second pass would be needed for the members, and because their
// recursion has no bound or one that other rooms would have to know.

// maxJSONDepth bounds nesting, so that hostile text cannot exhaust the stack, here or in a later reader.
const maxJSONDepth = 1000

var (
	errJSON      = errors.New("invalid UTF-8 JSON")
	errJSONDepth = errors.New("JSON is nested more than " + strconv.Itoa(maxJSONDepth) + " deep")
)

// jsonMember is a member of an object: key with its quotes and value, as spans of the text.
type jsonMember struct {
	key, keyEnd, value, end int
	escaped                 bool // the key has a backslash
}

// jsonScanner walks JSON text.
type jsonScanner struct {
	b []byte
	i int
	// newlines is set where insignificant white space had a line break.
	newlines bool
}

// scanMembers validates b as one JSON object and calls member for each member of it, also where what follows turns out to be no JSON.
func scanMembers(b []byte, member func(jsonMember)) (s jsonScanner, begin, end int, err error) {
	s.b = b
	if !utf8.Valid(b) {
		return s, 0, 0, errJSON
	}
	s.space()
	if s.i == len(b) {
		return s, 0, 0, errJSON
	}
	if begin = s.i; b[begin] != '{' {
		if err := s.value(0); err != nil || !s.atEnd() {
			return s, 0, 0, errJSON
		}
		return s, 0, 0, errNotObject
	}
	if err := s.object(1, member); err != nil {
		return s, 0, 0, err
	}
	end = s.i
	if !s.atEnd() {
		return s, 0, 0, errJSON
	}
	return s, begin, end, nil
}

var errNotObject = errors.New("Document must be a JSON object")

func (s *jsonScanner) atEnd() bool {
	s.space()
	return s.i == len(s.b)
}

func (s *jsonScanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '\n', '\r':
			s.newlines = true
		case ' ', '\t':
		default:
			return
		}
		s.i++
	}
}

func (s *jsonScanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *jsonScanner) value(depth int) error {
	switch c := s.peek(); c {
	case '"':
		_, err := s.str()
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

func (s *jsonScanner) object(depth int, member func(jsonMember)) error {
	if depth > maxJSONDepth {
		return errJSONDepth
	}
	s.i++
	s.space()
	if s.peek() == '}' {
		s.i++
		return nil
	}
	for {
		m := jsonMember{key: s.i}
		var err error
		if s.peek() != '"' {
			return errJSON
		}
		if m.escaped, err = s.str(); err != nil {
			return err
		}
		m.keyEnd = s.i
		s.space()
		if s.peek() != ':' {
			return errJSON
		}
		s.i++
		s.space()
		m.value = s.i
		if err := s.value(depth); err != nil {
			return err
		}
		m.end = s.i
		if member != nil {
			member(m)
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case '}':
			s.i++
			return nil
		default:
			return errJSON
		}
	}
}

func (s *jsonScanner) array(depth int) error {
	if depth > maxJSONDepth {
		return errJSONDepth
	}
	s.i++
	s.space()
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case ']':
			s.i++
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

// str reads a string and reports whether it has a backslash. The text is known to be UTF-8.
func (s *jsonScanner) str() (escaped bool, err error) {
	b, i := s.b, s.i+1
	for {
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return false, errJSON
		}
		switch b[i] {
		case '"':
			s.i = i + 1
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
		// Half a surrogate pair is no character, and no other reader of the document would take it: CouchDB refuses it too.
		if len(b) < 7 || b[5] != '\\' {
			return 0
		}
		if low, ok := escapedUnit(b[6:]); ok && low >= 0xdc00 && low < 0xe000 {
			return 11
		}
	}
	return 0
}

func (s *jsonScanner) literal(word string) error {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return errJSON
	}
	s.i += len(word)
	return nil
}

func (s *jsonScanner) number() error {
	if s.peek() == '-' {
		s.i++
	}
	switch c := s.peek(); {
	case c == '0':
		s.i++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return errJSON
	}
	if s.peek() == '.' {
		s.i++
		if s.digits() == 0 {
			return errJSON
		}
	}
	if s.peek()|0x20 == 'e' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if s.digits() == 0 {
			return errJSON
		}
	}
	return nil
}

func (s *jsonScanner) digits() int {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - from
}

// compactJSON appends valid JSON without its insignificant white space.
func compactJSON(dst, b []byte) []byte {
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

// unquote decodes a valid JSON string. ok is false where b is no string.
func unquote(b []byte) (s string, ok bool) {
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

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
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
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
