package script

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// scan is a place in the text of a document. Its methods, which are for direct functions but for space, report false for what is no JSON, and for what they leave
// to the engine.
type scan struct {
	text []byte
	pos  int
}

const (
	// maxDirectDepth is how deep values, and sources, may be nested.
	maxDirectDepth = 50
	// maxDirectBytes is how many bytes of JSON a document may have, and a function may emit for it: direct functions are not timed.
	maxDirectBytes = 1 << 20
)

// space passes over white space and tells the next character, 0 at the end.
func (s *scan) space() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// next takes a character that must follow.
func (s *scan) next(c byte) bool {
	if s.space() != c {
		return false
	}
	s.pos++
	return true
}

// string takes a string and returns its text with the quotes.
func (s *scan) string() (text []byte, escaped, ok bool) {
	if s.pos >= len(s.text) || s.text[s.pos] != '"' {
		return nil, false, false
	}
	from := s.pos
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return s.text[from:s.pos:s.pos], escaped, true
		case c == '\\':
			escaped = true
			s.pos++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// skip passes over a value.
func (s *scan) skip(depth int) bool {
	switch c := s.space(); c {
	case '"':
		_, _, ok := s.string()
		return ok
	case '{', '[':
		return s.container(c, depth, func([]byte) bool { return s.skip(depth + 1) })
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	_, ok := s.number()
	return ok
}

func (s *scan) word(w string) bool {
	if !bytes.HasPrefix(s.text[s.pos:], []byte(w)) {
		return false
	}
	s.pos += len(w)
	return true
}

func (s *scan) number() (text []byte, ok bool) {
	from := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c-'0' >= 10 && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		s.pos++
	}
	return s.text[from:s.pos:s.pos], s.pos > from
}

// container takes an object or array, and has item take what follows each comma: a member's value, whose quoted name it is given, or an element.
func (s *scan) container(open byte, depth int, item func(name []byte) bool) bool {
	if depth > maxDirectDepth {
		return false
	}
	end := open + 2 // '[' and ']', '{' and '}' are two apart
	s.pos++
	if s.space() == end {
		s.pos++
		return true
	}
	for {
		var name []byte
		if open == '{' {
			s.space()
			var escaped, ok bool
			if name, escaped, ok = s.string(); !ok || escaped || !s.next(':') {
				return false
			}
		}
		if !item(name) {
			return false
		}
		switch s.space() {
		case ',':
			s.pos++
		case end:
			s.pos++
			return true
		default:
			return false
		}
	}
}

// index finds the members of the document that functions look at. false where one of them is there twice.
func (e *evaluation) index(names []string) bool {
	if e.members == nil {
		e.members = make([][]byte, len(names))
	}
	clear(e.members)
	s := scan{text: e.doc}
	if s.space() != '{' {
		return false
	}
	ok := s.container('{', 0, func(quoted []byte) bool {
		s.space()
		from := s.pos
		if !s.skip(1) {
			return false
		}
		name := quoted[1 : len(quoted)-1]
		for i, wanted := range names {
			if string(name) == wanted {
				if e.members[i] != nil {
					return false
				}
				e.members[i] = s.text[from:s.pos:s.pos]
				break
			}
		}
		return true
	})
	s.space()
	return ok && s.pos == len(s.text)
}

// member is the text of a member of the object at the scanner, nil where there is none.
func (s *scan) member(wanted string) (json []byte, ok bool) {
	ok = s.container('{', 0, func(quoted []byte) bool {
		s.space()
		from := s.pos
		if !s.skip(1) {
			return false
		}
		if string(quoted[1:len(quoted)-1]) == wanted {
			if json != nil {
				return false
			}
			json = s.text[from:s.pos:s.pos]
		}
		return true
	})
	return json, ok
}

// append takes a value and writes it as JSON.stringify does.
func (s *scan) append(dst []byte, depth int) ([]byte, bool) {
	switch c := s.space(); c {
	case '"':
		return s.appendString(dst)
	case '[':
		return s.appendContainer(dst, '[', depth)
	case '{':
		return s.appendContainer(dst, '{', depth)
	case 't', 'f', 'n':
		from := s.pos
		ok := s.skip(depth)
		return append(dst, s.text[from:s.pos]...), ok
	}
	text, ok := s.number()
	if !ok {
		return dst, false
	}
	if n, ok := smallInt(text); ok {
		return strconv.AppendInt(dst, int64(n), 10), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return appendFloat(dst, f), err == nil
}

func (s *scan) appendString(dst []byte) ([]byte, bool) {
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
	plain, ok := unescape(make([]byte, 0, len(text)), text[1:len(text)-1])
	return appendQuoted(dst, plain), ok
}

// directMembers is how many members an object that is emitted may have: they are compared with each other.
const directMembers = 32

func (s *scan) appendContainer(dst []byte, open byte, depth int) ([]byte, bool) {
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
			if len(names) > directMembers || name[1]-'0' < 10 || !utf8.Valid(name) {
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
