// Package jsonerror says what is wrong with a text that is not JSON, in the words of PostgreSQL. Texts that
// are JSON are read by package types.
package jsonerror

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/sqlstate"
)

// Of returns PostgreSQL's error for a text that is not JSON: what was expected, and the line up to there.
func Of(text string) error {
	l := &lexer{text: text, line: 1, start: -1, token: 'i'}
	detail := l.document()
	if detail == "" || l.depth > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "stack depth limit exceeded")
	}
	e := sqlstate.New(sqlstate.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail("%s", detail)
	e.Context = fmt.Sprintf("JSON data, line %d: %s", l.line, l.context())
	return e
}

// maxDepth is the limit of encoding/json, which has found that the text is not valid.
const maxDepth = 10000

// lexer finds the error as PostgreSQL's parser does. Its functions return the detail of the message, or "".
type lexer struct {
	text                   string
	line, lineStart, depth int
	start, end             int  // of the token; start is -1 at the end of the text
	token                  byte // its first character, 'w' for a word, 'i' before the first one, 0 at the end
}

// expected is what a parser needed where it found another token.
func (l *lexer) expected(what string) string {
	if l.start < 0 || l.token == 0 {
		return "The input string ended unexpectedly."
	}
	return fmt.Sprintf("Expected %s, but found \"%s\".", what, l.text[l.start:l.end])
}

func (l *lexer) document() string {
	if d := l.next(); d != "" {
		return d
	}
	if d := l.value(); d != "" {
		return d
	}
	if l.token != 0 {
		return l.expected("end of input")
	}
	return ""
}

func (l *lexer) value() string {
	switch l.token {
	case '{':
		return l.list('}', "string or \"}\"", "\",\" or \"}\"", l.member)
	case '[':
		return l.list(']', "", "\",\" or \"]\"", l.value)
	case '"', '0', 'w':
		return l.next()
	}
	return l.expected("JSON value")
}

// list reads the items of an object or an array. first is what may begin an object.
func (l *lexer) list(end byte, first, next string, item func() string) string {
	if l.depth++; l.depth > maxDepth {
		return "too deep"
	}
	if d := l.next(); d != "" {
		return d
	}
	if l.token != end {
		if end == '}' && l.token != '"' {
			return l.expected(first)
		}
		for {
			if d := item(); d != "" {
				return d
			}
			if l.token != ',' {
				break
			}
			if d := l.next(); d != "" {
				return d
			}
		}
	}
	if l.token != end {
		return l.expected(next)
	}
	l.depth--
	return l.next()
}

func (l *lexer) member() string {
	if l.token != '"' {
		return l.expected("string")
	}
	if d := l.next(); d != "" {
		return d
	}
	if l.token != ':' {
		return l.expected("\":\"")
	}
	if d := l.next(); d != "" {
		return d
	}
	return l.value()
}

// next reads a token. The kind of token stays if it is invalid.
func (l *lexer) next() string {
	at := l.end
	for at < len(l.text) && strings.IndexByte(" \t\n\r", l.text[at]) >= 0 {
		if at++; l.text[at-1] == '\n' {
			l.line, l.lineStart = l.line+1, at
		}
	}
	l.start, l.end = at, at
	if at == len(l.text) {
		l.start, l.token = -1, 0
		return ""
	}
	switch c := l.text[at]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		l.end, l.token = at+1, c
		return ""
	case c == '"':
		return l.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return l.number()
	}
	for l.end < len(l.text) && isJSONWord(l.text[l.end]) {
		l.end++
	}
	switch l.text[at:l.end] {
	case "true", "false", "null":
		l.token = 'w'
		return ""
	case "":
		l.end++
	}
	return l.invalid()
}

func (l *lexer) invalid() string {
	return fmt.Sprintf("Token \"%s\" is invalid.", l.text[l.start:l.end])
}

func isJSONWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= utf8.RuneSelf
}

func (l *lexer) quoted() string {
	for at := l.start + 1; at < len(l.text); at++ {
		switch c := l.text[at]; {
		case c == '"':
			l.end, l.token = at+1, '"'
			return ""
		case c < ' ':
			l.end = at
			return fmt.Sprintf("Character with value 0x%02x must be escaped.", c)
		case c != '\\':
			continue
		}
		if at++; at == len(l.text) {
			break
		}
		if l.text[at] == 'u' {
			for range 4 {
				if at++; at == len(l.text) {
					break
				}
				if strings.IndexByte("0123456789abcdefABCDEF", l.text[at]) < 0 {
					l.end = l.after(at)
					return "\"\\u\" must be followed by four hexadecimal digits."
				}
			}
		} else if strings.IndexByte(`"\/bfnrt`, l.text[at]) < 0 {
			l.start, l.end = at, l.after(at)
			return fmt.Sprintf("Escape sequence \"\\%s\" is invalid.", l.text[l.start:l.end])
		}
	}
	l.end = len(l.text)
	return l.invalid()
}

// after returns the end of the character at an offset.
func (l *lexer) after(at int) int {
	_, n := utf8.DecodeRuneInString(l.text[at:])
	return at + n
}

func (l *lexer) number() string {
	at, ok := l.start, true
	digits := func() bool {
		from := at
		for at < len(l.text) && l.text[at] >= '0' && l.text[at] <= '9' {
			at++
		}
		return at > from
	}
	is := func(set string) bool { return at < len(l.text) && strings.IndexByte(set, l.text[at]) >= 0 }
	if is("-") {
		at++
	}
	if is("0") {
		at++
	} else {
		ok = digits()
	}
	if is(".") {
		at++
		ok = digits() && ok
	}
	if is("eE") {
		if at++; is("+-") {
			at++
		}
		ok = digits() && ok
	}
	for ; at < len(l.text) && isJSONWord(l.text[at]); at++ {
		ok = false
	}
	if l.end = at; !ok {
		return l.invalid()
	}
	l.token = '0'
	return ""
}

// context returns the end of the line up to the token, at most 50 bytes.
func (l *lexer) context() string {
	from := l.lineStart
	for l.end-from >= 50 {
		from = l.after(from)
	}
	if from-l.lineStart <= 3 {
		from = l.lineStart
	}
	out := l.text[from:l.end]
	if from > l.lineStart {
		out = "..." + out
	}
	if l.token != 0 && l.end < len(l.text) && l.text[l.end] != '\n' && l.text[l.end] != '\r' {
		out += "..."
	}
	return out
}
