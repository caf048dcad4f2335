package jstext

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Scan is a place in a JSON text. Its methods report false for what is no JSON, and for what is rare and left to the
// JavaScript engine: escapes in names, members that are there twice, surrogates, and more than MaxDepth levels.
type Scan struct {
	Text []byte
	Pos  int
}

// MaxDepth is how deep values may be nested that are read here.
const MaxDepth = 50

// Space passes over white space and tells the next character, 0 at the end.
func (s *Scan) Space() byte {
	for s.Pos < len(s.Text) {
		switch c := s.Text[s.Pos]; c {
		case ' ', '\n', '\r', '\t':
			s.Pos++
		default:
			return c
		}
	}
	return 0
}

// next takes a character that must follow.
func (s *Scan) next(c byte) bool {
	if s.Space() != c {
		return false
	}
	s.Pos++
	return true
}

// string takes a string and returns its text with the quotes.
func (s *Scan) string() (text []byte, escaped, ok bool) {
	if s.Pos >= len(s.Text) || s.Text[s.Pos] != '"' {
		return nil, false, false
	}
	from := s.Pos
	for s.Pos++; s.Pos < len(s.Text); s.Pos++ {
		switch c := s.Text[s.Pos]; {
		case c == '"':
			s.Pos++
			return s.Text[from:s.Pos:s.Pos], escaped, true
		case c == '\\':
			escaped = true
			s.Pos++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// skip passes over a value.
func (s *Scan) skip(depth int) bool {
	switch c := s.Space(); c {
	case '"':
		_, _, ok := s.string()
		return ok
	case '{', '[':
		return s.container(c, depth, func([]byte) bool { return s.skip(depth + 1) })
	case 't':
		return s.Word("true")
	case 'f':
		return s.Word("false")
	case 'n':
		return s.Word("null")
	}
	_, ok := s.Number()
	return ok
}

// Word takes a word such as true.
func (s *Scan) Word(w string) bool {
	if !bytes.HasPrefix(s.Text[s.Pos:], []byte(w)) {
		return false
	}
	s.Pos += len(w)
	return true
}

// Number takes the characters that a number is made of.
func (s *Scan) Number() (text []byte, ok bool) {
	from := s.Pos
	for s.Pos < len(s.Text) {
		c := s.Text[s.Pos]
		if c-'0' >= 10 && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		s.Pos++
	}
	return s.Text[from:s.Pos:s.Pos], s.Pos > from
}

// container takes an object or array, and has item take what follows each comma: a member's value, whose quoted name it
// is given, or an element.
func (s *Scan) container(open byte, depth int, item func(name []byte) bool) bool {
	if depth > MaxDepth {
		return false
	}
	end := open + 2 // '[' and ']', '{' and '}' are two apart
	s.Pos++
	if s.Space() == end {
		s.Pos++
		return true
	}
	for {
		var name []byte
		if open == '{' {
			s.Space()
			var escaped, ok bool
			if name, escaped, ok = s.string(); !ok || escaped || !s.next(':') {
				return false
			}
		}
		if !item(name) {
			return false
		}
		switch s.Space() {
		case ',':
			s.Pos++
		case end:
			s.Pos++
			return true
		default:
			return false
		}
	}
}

// Members sets into[i] to the text of the member names[i] of the object that text is, nil where there is none. It
// reports false where one of them is there twice, and where text is no object, or none that is read here.
func Members(text []byte, names []string, into [][]byte) bool {
	clear(into)
	s := Scan{Text: text}
	if s.Space() != '{' {
		return false
	}
	ok := s.container('{', 0, func(quoted []byte) bool {
		s.Space()
		from := s.Pos
		if !s.skip(1) {
			return false
		}
		name := quoted[1 : len(quoted)-1]
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
	s.Space()
	return ok && s.Pos == len(s.Text)
}

// Member is the text of a member of the object that text begins with, nil where there is none. ok is false where it
// is there twice, and for what is not read here.
func Member(text []byte, wanted string) (json []byte, ok bool) {
	s := Scan{Text: text}
	ok = s.container('{', 0, func(quoted []byte) bool {
		s.Space()
		from := s.Pos
		if !s.skip(1) {
			return false
		}
		if string(quoted[1:len(quoted)-1]) == wanted {
			if json != nil {
				return false
			}
			json = s.Text[from:s.Pos:s.Pos]
		}
		return true
	})
	return json, ok
}

// AppendCanonical writes the JSON value that text begins with as JSON.stringify does. ok is false for what is not read
// here.
func AppendCanonical(dst, text []byte) (out []byte, ok bool) {
	s := Scan{Text: text}
	return s.append(dst, 0)
}

// append takes a value and writes it as JSON.stringify does.
func (s *Scan) append(dst []byte, depth int) ([]byte, bool) {
	switch c := s.Space(); c {
	case '"':
		return s.appendString(dst)
	case '[':
		return s.appendContainer(dst, '[', depth)
	case '{':
		return s.appendContainer(dst, '{', depth)
	case 't', 'f', 'n':
		from := s.Pos
		ok := s.skip(depth)
		return append(dst, s.Text[from:s.Pos]...), ok
	}
	text, ok := s.Number()
	if !ok {
		return dst, false
	}
	if n, ok := SmallInt(text); ok {
		return strconv.AppendInt(dst, int64(n), 10), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return AppendFloat(dst, f), err == nil
}

func (s *Scan) appendString(dst []byte) ([]byte, bool) {
	text, escaped, ok := s.string()
	if !ok || !utf8.Valid(text) {
		return dst, false
	}
	if !escaped {
		return append(dst, text...), true
	}
	if bytes.Contains(text, []byte(`\ud`)) || bytes.Contains(text, []byte(`\uD`)) {
		return dst, false // surrogates, which may be alone
	}
	plain, ok := Unescape(make([]byte, 0, len(text)), text[1:len(text)-1])
	return AppendQuoted(dst, plain), ok
}

// maxMembers is how many members an object that is written may have: they are compared with each other.
const maxMembers = 32

func (s *Scan) appendContainer(dst []byte, open byte, depth int) ([]byte, bool) {
	dst = append(dst, open)
	var names [][]byte
	first := true
	ok := s.container(open, depth, func(name []byte) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if open == '{' {
			for _, other := range names {
				if bytes.Equal(other, name) {
					return false
				}
			}
			names = append(names, name)
			// Names that are indexes come first in JavaScript, in their order.
			if len(names) > maxMembers || name[1]-'0' < 10 || !utf8.Valid(name) {
				return false
			}
			dst = append(append(dst, name...), ':')
		}
		var ok bool
		dst, ok = s.append(dst, depth+1)
		return ok
	})
	return append(dst, open+2), ok
}
