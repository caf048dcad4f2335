package datetime

import "strings"

// kind is the form of a field.
type kind uint8

const (
	numberField  kind = iota // digits, possibly with a decimal point
	dateField                // digits with separators and possibly letters; also the name of a zone
	clockField               // digits and colons
	wordField                // letters
	signedField              // a sign and digits, colons, points and dashes
	specialField             // a sign and letters
)

// field is one part of a text in lower case; raw keeps its case.
type field struct {
	kind      kind
	text, raw string
}

// Limits of a text, the same as PostgreSQL's (MAXDATELEN and MAXDATEFIELDS in its datetime.h).
const (
	longestText = 128
	mostFields  = 25
)

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func blank(c byte) bool  { return strings.IndexByte(" \t\n\r\v\f", c) >= 0 }

// scanner splits a text into fields.
type scanner struct {
	s  string
	at int
}

func (s *scanner) peek() byte {
	if s.at < len(s.s) {
		return s.s[s.at]
	}
	return 0
}

func (s *scanner) skip(in func(byte) bool) {
	for s.at < len(s.s) && in(s.s[s.at]) {
		s.at++
	}
}

// scan splits a text into fields as PostgreSQL does (ParseDateTime in its datetime.c). ok is false if it has no fields
// or too many.
func scan(text string) (fields []field, ok bool) {
	s := &scanner{s: text}
	room := longestText
	for {
		s.skip(blank)
		if s.at == len(s.s) {
			return fields, true
		}
		if len(fields) == mostFields {
			return nil, false
		}
		start, c := s.at, s.peek()
		f := field{}
		switch {
		case digit(c):
			f.kind = s.numbers()
		case c == '.':
			s.at++
			s.skip(digit)
		case letter(c):
			f.kind = s.letters()
		case c == '+' || c == '-':
			s.at++
			s.skip(blank)
			from := s.at
			switch c := s.peek(); {
			case digit(c):
				f.kind = signedField
				s.skip(func(c byte) bool { return digit(c) || c == ':' || c == '.' || c == '-' })
			case letter(c):
				f.kind = specialField
				s.skip(letter)
			default:
				return nil, false
			}
			f.raw = text[start:start+1] + text[from:s.at]
		case c > ' ' && c < 0x7f:
			s.at++ // other punctuation only separates fields
			continue
		default:
			return nil, false
		}
		if f.raw == "" {
			f.raw = text[start:s.at]
		}
		if room -= len(f.raw) + 1; room < 0 {
			return nil, false
		}
		f.text = strings.ToLower(f.raw)
		fields = append(fields, f)
	}
}

// numbers reads a field that begins with a digit.
func (s *scanner) numbers() kind {
	s.skip(digit)
	switch mark := s.peek(); mark {
	case ':':
		s.skip(func(c byte) bool { return digit(c) || c == ':' || c == '.' })
		return clockField
	case '-', '/', '.':
		s.at++
		if !digit(s.peek()) {
			s.skip(func(c byte) bool { return digit(c) || letter(c) || c == mark })
			return dateField
		}
		s.skip(digit)
		if s.peek() == mark {
			s.skip(func(c byte) bool { return digit(c) || c == mark })
			return dateField
		}
		if mark != '.' {
			return dateField
		}
	}
	return numberField
}

// letters reads a field that begins with a letter: a word, a date such as Jan-08-1999, or the name of a zone.
func (s *scanner) letters() kind {
	start := s.at
	s.skip(letter)
	switch c := s.peek(); {
	case c == '-' || c == '/' || c == '.':
	case c == '+' || digit(c):
		if find(momentWords, strings.ToLower(s.s[start:s.at])).class != unknownWord {
			return wordField
		}
	default:
		return wordField
	}
	s.skip(func(c byte) bool { return digit(c) || letter(c) || strings.IndexByte("+-/_.:", c) >= 0 })
	return dateField
}
