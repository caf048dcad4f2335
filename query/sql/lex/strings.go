package lex

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
)

// String constants and quoted names (PostgreSQL 15, section 4.1.2).

// stringConstant reads from the opening quote. The constant may continue after a line break; after E it has escapes.
// start is where its token begins.
func (l *lexer) stringConstant(start int, escapes bool, what string) (string, error) {
	var out []byte
	l.pos++
	for {
		if l.pos >= len(l.src) {
			return "", l.rest(start, "unterminated "+what)
		}
		c := l.src[l.pos]
		switch {
		case c == '\'' && l.at(1) == '\'':
			out = append(out, '\'')
			l.pos += 2
		case c == '\'':
			l.pos++
			if !l.continued() {
				return string(out), sqlstate.CheckUTF8(string(out))
			}
		case c == '\\' && escapes:
			var err error
			if out, err = l.escape(start, out); err != nil {
				return "", err
			}
		default:
			out = append(out, c)
			l.pos++
		}
	}
}

// continued moves past the opening quote of a continued string, one that follows white space with a line break.
func (l *lexer) continued() bool {
	i, newline := l.pos, false
	for i < len(l.src) && strings.IndexByte(" \t\f\v\n\r", l.src[i]) >= 0 {
		newline = newline || l.src[i] == '\n' || l.src[i] == '\r'
		i++
	}
	if newline && i < len(l.src) && l.src[i] == '\'' {
		l.pos = i + 1
		return true
	}
	return false
}

// escape reads a backslash escape of a string that begins with E.
func (l *lexer) escape(begin int, out []byte) ([]byte, error) {
	start := l.pos
	l.pos++
	c := l.at(0)
	l.pos++
	switch c {
	case 0:
		return nil, l.rest(begin, "unterminated quoted string")
	case 'b':
		return append(out, '\b'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'n':
		return append(out, '\n'), nil
	case 'r':
		return append(out, '\r'), nil
	case 't':
		return append(out, '\t'), nil
	case 'v':
		return append(out, '\v'), nil
	case 'x':
		n := l.digits(2, 16)
		if n == "" {
			return append(out, 'x'), nil
		}
		v, _ := strconv.ParseUint(n, 16, 8)
		return append(out, byte(v)), nil
	case 'u', 'U':
		want := 4
		if c == 'U' {
			want = 8
		}
		n := l.digits(want, 16)
		v, err := strconv.ParseUint(n, 16, 32)
		if len(n) != want || err != nil {
			return nil, sqlstate.New(sqlstate.InvalidEscapeSequence, "invalid Unicode escape").At(start).
				WithHint(`Unicode escapes must be \uXXXX or \UXXXXXXXX.`)
		}
		return l.appendRune(out, rune(v), start)
	}
	if c >= '0' && c <= '7' {
		l.pos--
		v, _ := strconv.ParseUint(l.digits(3, 8), 8, 16)
		return append(out, byte(v)), nil
	}
	return append(out, c), nil
}

// appendRune appends the character with the given code. A high surrogate must be followed by the escape of a low one.
func (l *lexer) appendRune(out []byte, r rune, start int) ([]byte, error) {
	if r >= 0xd800 && r < 0xdc00 {
		at := l.pos
		if l.at(0) == '\\' && l.at(1)|0x20 == 'u' {
			digits := 4
			if l.at(1) == 'U' {
				digits = 8
			}
			l.pos += 2
			low, err := strconv.ParseUint(l.digits(digits, 16), 16, 32)
			if err == nil && low >= 0xdc00 && low < 0xe000 {
				return utf8.AppendRune(out, (r-0xd800)<<10+rune(low)-0xdc00+0x10000), nil
			}
			return nil, l.near(at, l.pos, "invalid Unicode surrogate pair")
		}
		_, n := utf8.DecodeRuneInString(l.src[at:])
		return nil, l.near(at, at+n, "invalid Unicode surrogate pair")
	}
	if r >= 0xdc00 && r < 0xe000 {
		return nil, l.near(start, l.pos, "invalid Unicode surrogate pair")
	}
	if !utf8.ValidRune(r) || r == 0 {
		return nil, l.near(start, l.pos, "invalid Unicode escape value")
	}
	return utf8.AppendRune(out, r), nil
}

// digits reads up to n digits of a base.
func (l *lexer) digits(n, base int) string {
	start := l.pos
	for l.pos < len(l.src) && l.pos-start < n {
		if _, err := strconv.ParseUint(l.src[l.pos:l.pos+1], base, 8); err != nil {
			break
		}
		l.pos++
	}
	return l.src[start:l.pos]
}

// quoted reads from the opening quote of an identifier whose token begins at start.
func (l *lexer) quoted(start int) (string, error) {
	var out []byte
	for l.pos++; ; l.pos++ {
		if l.pos >= len(l.src) {
			return "", l.rest(start, "unterminated quoted identifier")
		}
		c := l.src[l.pos]
		if c == '"' {
			l.pos++
			if l.at(0) != '"' {
				break
			}
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return "", l.near(start, l.pos, "zero-length delimited identifier")
	}
	return string(out), nil
}

// unicodeEscaped reads U&'...' or U&"..." and the UESCAPE clause that may follow.
func (l *lexer) unicodeEscaped(start int) (Token, error) {
	l.pos += 2
	kind, quote := String, l.pos
	var raw string
	var err error
	if l.at(0) == '"' {
		kind = Quoted
		raw, err = l.quoted(start)
	} else {
		raw, err = l.stringConstant(start, false, "quoted string")
	}
	if err != nil {
		return Token{}, err
	}
	end := l.pos
	escape, err := l.uescape()
	if err != nil {
		return Token{}, err
	}
	inner := &lexer{src: raw}
	var out []byte
	for inner.pos < len(raw) {
		c := raw[inner.pos]
		if c != escape {
			out = append(out, c)
			inner.pos++
			continue
		}
		from := inner.pos
		inner.pos++
		want := 4
		switch inner.at(0) {
		case escape:
			out = append(out, escape)
			inner.pos++
			continue
		case '+':
			inner.pos++
			want = 6
		}
		n := inner.digits(want, 16)
		v, bad := strconv.ParseUint(n, 16, 32)
		place := quote + 1 + from // if no quote is doubled before the escape
		if bad != nil || len(n) != want {
			return Token{}, SyntaxError(min(place, end), "invalid Unicode escape").
				WithHint(`Unicode escapes must be \XXXX or \+XXXXXX.`)
		}
		r, second := rune(v), inner.pos
		if r >= 0xd800 && r < 0xdc00 && inner.at(0) == escape {
			inner.pos++
			low, bad := strconv.ParseUint(inner.digits(4, 16), 16, 32)
			if bad != nil || low < 0xdc00 || low >= 0xe000 {
				return Token{}, SyntaxError(min(quote+1+second, end), "invalid Unicode surrogate pair")
			}
			r = (r-0xd800)<<10 + rune(low) - 0xdc00 + 0x10000
		} else if r >= 0xd800 && r < 0xe000 {
			if r < 0xdc00 {
				place = quote + 1 + second
			}
			return Token{}, SyntaxError(min(place, end), "invalid Unicode surrogate pair")
		}
		if !utf8.ValidRune(r) || r == 0 {
			return Token{}, SyntaxError(min(place, end), "invalid Unicode escape value")
		}
		out = utf8.AppendRune(out, r)
	}
	return Token{Kind: kind, Text: string(out), Off: start, End: l.pos}, nil
}

// uescape reads UESCAPE 'c' if it comes next and returns the escape character.
func (l *lexer) uescape() (byte, error) {
	const uescape = "uescape"
	after := l.pos
	if err := l.skipBlank(); err != nil {
		return 0, err
	}
	if end := l.pos + len(uescape); end > len(l.src) || keyword.Fold(l.src[l.pos:end]) != uescape ||
		end < len(l.src) && identPart(l.src[end]) {
		l.pos = after
		return '\\', nil
	}
	l.pos += len(uescape)
	c, err := l.next()
	if err != nil {
		return 0, err
	}
	if c.Kind != String {
		return 0, l.near(c.Off, c.End, "UESCAPE must be followed by a simple string literal")
	}
	if len(c.Text) != 1 || strings.ContainsAny(c.Text, "+'\" \t\n\r\f0123456789abcdefABCDEF") {
		return 0, l.near(c.Off, c.End, "invalid Unicode escape character")
	}
	return c.Text[0], nil
}
