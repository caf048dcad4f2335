package collate

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks JSON text token by token. It accepts exactly RFC 8259, which the edge has checked before for emitted
// keys but not for keys from a query.
type scanner struct {
	data []byte
	pos  int
	// step hears of every few KB that were read; nil for texts known to be short. seen is up to where it has heard.
	step func(n int) error
	seen int
}

// stepBytes is how much is read between two calls of step.
const stepBytes = 4 << 10

// stepped tells step how far the scanner has come.
func (s *scanner) stepped() error {
	if s.step == nil {
		return nil
	}
	n := s.pos - s.seen
	if n >= 0 && n < stepBytes {
		return nil
	}
	s.seen = s.pos
	return s.step(max(n, 0))
}

// ahead tells step of n bytes that were read without moving the scanner.
func (s *scanner) ahead(n int) error {
	if s.step == nil || n < stepBytes {
		return nil
	}
	return s.step(n)
}

// peek skips space and returns the next byte without taking it, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end fails unless only space is left.
func (s *scanner) end() error {
	s.peek()
	if s.pos != len(s.data) {
		return ErrSyntax
	}
	return nil
}

// literal takes word, whose first byte the caller has seen.
func (s *scanner) literal(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return ErrSyntax
	}
	s.pos += len(word)
	return nil
}

// number takes one number and returns its text; integer says that it has neither fraction nor exponent.
func (s *scanner) number() (text []byte, integer bool, err error) {
	d, i := s.data, s.pos
	start := i
	integer = true
	if i < len(d) && d[i] == '-' {
		i++
	}
	first := i
	i = digits(d, i)
	if i == first || (d[first] == '0' && i > first+1) {
		return nil, false, ErrSyntax
	}
	if i < len(d) && d[i] == '.' {
		integer = false
		j := digits(d, i+1)
		if j == i+1 {
			return nil, false, ErrSyntax
		}
		i = j
	}
	if i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		integer = false
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		j := digits(d, i)
		if j == i {
			return nil, false, ErrSyntax
		}
		i = j
	}
	s.pos = i
	return d[start:i], integer, nil
}

func digits(d []byte, i int) int {
	for i < len(d) && d[i]-'0' < 10 {
		i++
	}
	return i
}

// text takes one string and returns its UTF-8. Where nothing is escaped that is a part of the input, otherwise it is
// built in buf. A lone surrogate and invalid UTF-8 become U+FFFD.
func (s *scanner) text(buf []byte) (text, newbuf []byte, err error) {
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		return nil, buf, ErrSyntax
	}
	d := s.data
	i := s.pos + 1
	start := i
	for i < len(d) && d[i] != '"' && d[i] != '\\' && d[i] >= 0x20 {
		i++
	}
	if i < len(d) && d[i] == '"' {
		s.pos = i + 1
		return d[start:i], buf, nil
	}
	buf = append(buf[:0], d[start:i]...)
	for i < len(d) {
		c := d[i]
		switch {
		case c == '"':
			s.pos = i + 1
			return buf, buf, nil
		case c < 0x20:
			return nil, buf, ErrSyntax
		case c != '\\':
			buf = append(buf, c)
			i++
			continue
		}
		var r rune
		if r, i = unescape(d, i); i < 0 {
			return nil, buf, ErrSyntax
		}
		buf = utf8.AppendRune(buf, r)
	}
	return nil, buf, ErrSyntax
}

// unescape decodes the escape at d[i] and returns the index behind it, -1 if there is none.
func unescape(d []byte, i int) (rune, int) {
	if i+1 >= len(d) {
		return 0, -1
	}
	switch c := d[i+1]; c {
	case '"', '\\', '/':
		return rune(c), i + 2
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
	default:
		return 0, -1
	}
	r := hex4(d, i+2)
	if r < 0 {
		return 0, -1
	}
	i += 6
	if !utf16.IsSurrogate(r) {
		return r, i
	}
	if i+1 < len(d) && d[i] == '\\' && d[i+1] == 'u' {
		low := hex4(d, i+2)
		if low < 0 {
			return 0, -1
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, i + 6
		}
	}
	return utf8.RuneError, i
}

func hex4(d []byte, i int) rune {
	if i+4 > len(d) {
		return -1
	}
	var r rune
	for _, c := range d[i : i+4] {
		switch {
		case c-'0' < 10:
			c -= '0'
		case c-'a' < 6:
			c -= 'a' - 10
		case c-'A' < 6:
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// skip passes over one value without looking at it closely; what it accepts beyond JSON the encoder refuses later.
func (s *scanner) skip(depth int) error {
	if depth > MaxDepth {
		return ErrDepth
	}
	switch c := s.peek(); c {
	case '{', '[':
		return s.skipContainer(c, depth)
	case '"':
		return s.skipText()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		_, _, err := s.number()
		return err
	}
}

func (s *scanner) skipContainer(open byte, depth int) error {
	closing := open + 2 // '[' and ']', '{' and '}' are two apart
	s.pos++
	if s.peek() == closing {
		s.pos++
		return nil
	}
	for {
		if open == '{' {
			if s.peek() != '"' {
				return ErrSyntax
			}
			if err := s.skipText(); err != nil {
				return err
			}
			if s.peek() != ':' {
				return ErrSyntax
			}
			s.pos++
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case closing:
			s.pos++
			return nil
		default:
			return ErrSyntax
		}
	}
}

func (s *scanner) skipText() error {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			i++
		case '"':
			s.pos = i + 1
			return nil
		}
	}
	return ErrSyntax
}
