package jsontext

import (
	"errors"
	"strconv"
)

// MaxDepth bounds the nesting of a text from outside, so that hostile text cannot exhaust the stack, here or in a
// later reader.
const MaxDepth = 1000

// Errors of texts that a Scanner does not accept.
var (
	ErrSyntax = errors.New("invalid UTF-8 JSON")
	ErrDepth  = errors.New("JSON is nested more than " + strconv.Itoa(MaxDepth) + " deep")
)

// Scanner is a position in a JSON text. Its methods consume what is there and return false for anything that RFC 8259
// does not allow. It does not check that the text is UTF-8.
type Scanner struct {
	Text []byte
	Pos  int
	// Depth bounds the nesting of values; 0 is MaxDepth.
	Depth int
	// Halves accepts an escaped half of a surrogate pair in strings, as JavaScript does. It is not a character, and
	// CouchDB refuses it.
	Halves bool
	// Newlines is set when white space contained a line break.
	Newlines bool
	// Deep is set when a value was refused because it is nested too deep.
	Deep bool
}

// Err returns the error after a method returned false.
func (s *Scanner) Err() error {
	if s.Deep {
		return ErrDepth
	}
	return ErrSyntax
}

// Space skips white space and returns the next byte without consuming it, 0 at the end.
func (s *Scanner) Space() byte {
	for s.Pos < len(s.Text) {
		switch c := s.Text[s.Pos]; c {
		case '\n', '\r':
			s.Newlines = true
		case ' ', '\t':
		default:
			return c
		}
		s.Pos++
	}
	return 0
}

// AtEnd reports whether only white space is left.
func (s *Scanner) AtEnd() bool {
	s.Space()
	return s.Pos == len(s.Text)
}

// Take skips white space and consumes c.
func (s *Scanner) Take(c byte) bool {
	if s.Space() != c {
		return false
	}
	s.Pos++
	return true
}

// Value skips white space and consumes a value whose container is depth deep: 0 at the top.
func (s *Scanner) Value(depth int) bool {
	switch c := s.Space(); c {
	case '"':
		_, _, ok := s.Quoted()
		return ok
	case '{', '[':
		return s.Container(c, depth+1, nil)
	case 't':
		return s.Word("true")
	case 'f':
		return s.Word("false")
	case 'n':
		return s.Word("null")
	}
	_, _, ok := s.Number()
	return ok
}

// Container consumes the array or object that begins with open here and is itself depth deep. It calls item before
// each element or member's value, and item must consume the value. key is the member's name with its quotes, nil in
// an array; escaped reports whether it has a backslash. A nil item accepts any value.
func (s *Scanner) Container(open byte, depth int, item func(key []byte, escaped bool) bool) bool {
	if depth > s.Depth && (s.Depth > 0 || depth > MaxDepth) {
		s.Deep = true
		return false
	}
	closing := open + 2 // '[' and ']', '{' and '}' are two apart
	s.Pos++
	if s.Space() == closing {
		s.Pos++
		return true
	}
	for {
		var key []byte
		var escaped, ok bool
		if open == '{' {
			s.Space()
			if key, escaped, ok = s.Quoted(); !ok || !s.Take(':') {
				return false
			}
		}
		if item == nil {
			ok = s.Value(depth)
		} else {
			s.Space()
			ok = item(key, escaped)
		}
		if !ok {
			return false
		}
		switch s.Space() {
		case ',':
			s.Pos++
		case closing:
			s.Pos++
			return true
		default:
			return false
		}
	}
}

// plain marks the bytes that need no special treatment in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// Quoted consumes a string and returns its text with the quotes, and whether it has a backslash.
func (s *Scanner) Quoted() (text []byte, escaped, ok bool) {
	b, i := s.Text, s.Pos
	if i >= len(b) || b[i] != '"' {
		return nil, false, false
	}
	for i++; ; {
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return nil, false, false
		}
		switch b[i] {
		case '"':
			from := s.Pos
			s.Pos = i + 1
			return b[from:s.Pos:s.Pos], escaped, true
		case '\\':
			escaped = true
			r, n := unescape(b[i:])
			if n == 0 || isHalf(r) && !s.Halves {
				return nil, false, false
			}
			i += n
		default:
			return nil, false, false
		}
	}
}

// Word consumes a word, such as true.
func (s *Scanner) Word(word string) bool {
	if len(s.Text)-s.Pos < len(word) || string(s.Text[s.Pos:s.Pos+len(word)]) != word {
		return false
	}
	s.Pos += len(word)
	return true
}

// Number consumes a number and returns its text. integer reports that it has neither fraction nor exponent.
func (s *Scanner) Number() (text []byte, integer, ok bool) {
	from := s.Pos
	if s.at() == '-' {
		s.Pos++
	}
	switch c := s.at(); {
	case c == '0':
		s.Pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return nil, false, false
	}
	integer = true
	if s.at() == '.' {
		integer = false
		s.Pos++
		if s.digits() == 0 {
			return nil, false, false
		}
	}
	if s.at()|0x20 == 'e' {
		integer = false
		s.Pos++
		if c := s.at(); c == '+' || c == '-' {
			s.Pos++
		}
		if s.digits() == 0 {
			return nil, false, false
		}
	}
	return s.Text[from:s.Pos:s.Pos], integer, true
}

func (s *Scanner) at() byte {
	if s.Pos < len(s.Text) {
		return s.Text[s.Pos]
	}
	return 0
}

func (s *Scanner) digits() int {
	from := s.Pos
	for s.Pos < len(s.Text) && s.Text[s.Pos]-'0' < 10 {
		s.Pos++
	}
	return s.Pos - from
}
