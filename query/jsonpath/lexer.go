package jsonpath

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/divandb/divan/query/sqlstate"
)

type tokenKind uint8

const (
	tEnd tokenKind = iota
	tIdent
	tString
	tNumber
	tInteger
	tVariable
	tOp // its text says which
)

type token struct {
	kind tokenKind
	text string // decoded
	raw  string
}

// maxLength is the longest accepted path in bytes.
const maxLength = 64 << 10

// special lists the characters that end an identifier.
const special = "?%$.[]{}()|&!=<>@#,*:-+/"

const blank = " \t\n\r\f"

// lex splits a text into tokens.
func lex(s string) ([]token, error) {
	if len(s) > maxLength {
		return nil, sqlstate.New(sqlstate.ProgramLimitExceeded, "jsonpath is longer than %d bytes", maxLength)
	}
	var out []token
	for i := 0; ; {
		for i < len(s) && strings.IndexByte(blank, s[i]) >= 0 {
			i++
		}
		if strings.HasPrefix(s[i:], "/*") {
			end := strings.Index(s[i+2:], "*/")
			if end < 0 {
				return nil, sqlstate.New(sqlstate.SyntaxError, "unexpected end of comment at end of jsonpath input")
			}
			i += end + 4
			continue
		}
		if i >= len(s) {
			return append(out, token{}), nil
		}
		t, n, err := next(s[i:])
		if err != nil {
			return nil, err
		}
		t.raw = s[i : i+n]
		out = append(out, t)
		i += n
	}
}

// operators lists the operators of several characters, the longest first.
var operators = []string{"**", "&&", "||", "==", "!=", "<>", "<=", ">="}

// next reads the token at the beginning of s and returns its length.
func next(s string) (token, int, error) {
	switch c := s[0]; {
	case c == '"':
		text, n, err := quoted(s)
		return token{kind: tString, text: text}, n, err
	case c == '$':
		if len(s) > 1 && s[1] == '"' {
			text, n, err := quoted(s[1:])
			return token{kind: tVariable, text: text}, n + 1, err
		}
		text, n, err := word(s[1:])
		if n == 0 || err != nil {
			return token{kind: tOp, text: "$"}, 1, err
		}
		return token{kind: tVariable, text: text}, n + 1, nil
	case c >= '0' && c <= '9', c == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		return number(s)
	}
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return token{kind: tOp, text: op}, len(op), nil
		}
	}
	if strings.IndexByte(special, s[0]) >= 0 {
		return token{kind: tOp, text: s[:1]}, 1, nil
	}
	text, n, err := word(s)
	return token{kind: tIdent, text: text}, n, err
}

// number reads a number. A name must not follow it directly.
func number(s string) (token, int, error) {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	n := digits(0)
	kind := tInteger
	junk := func(n int) (token, int, error) {
		_, size := utf8.DecodeRuneInString(s[min(n, len(s)):])
		return token{}, 0, sqlstate.New(sqlstate.SyntaxError,
			`trailing junk after numeric literal at or near "%s" of jsonpath input`, s[:min(n+size, len(s))])
	}
	if n > 1 && s[0] == '0' {
		return junk(1)
	}
	if n < len(s) && s[n] == '.' {
		// In 1.type() the number is 1; in 1. and 1.5 the point is part of the number.
		if end := digits(n + 1); end > n+1 || n+1 >= len(s) || !identifier(s[n+1:]) || exponent(s[n+1:]) {
			kind, n = tNumber, end
		} else {
			return junk(n + 1)
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		at := n + 1
		if at < len(s) && (s[at] == '+' || s[at] == '-') {
			at++
		}
		end := digits(at)
		if end == at && at > n+1 {
			return token{}, 0, sqlstate.New(sqlstate.SyntaxError,
				`invalid numeric literal at or near "%s" of jsonpath input`, s[:at])
		}
		if end == at {
			return junk(at)
		}
		kind, n = tNumber, end
	}
	if n < len(s) && identifier(s[n:]) {
		return junk(n)
	}
	return token{kind: kind, text: s[:n]}, n, nil
}

// exponent reports whether s begins with the exponent of a number.
func exponent(s string) bool {
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	if len(s) > 1 && (s[1] == '+' || s[1] == '-') {
		return true
	}
	return len(s) > 1 && s[1] >= '0' && s[1] <= '9'
}

// identifier reports whether s begins with a character of a name.
func identifier(s string) bool {
	return s[0] != '"' && strings.IndexByte(special+blank, s[0]) < 0
}

// word reads an unquoted name.
func word(s string) (string, int, error) {
	var out []byte
	i := 0
	for i < len(s) && strings.IndexByte(special+blank+`"`, s[i]) < 0 {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		var n int
		var err error
		if out, n, err = escape(out, s[i:]); err != nil {
			return "", 0, err
		}
		i += n
	}
	return string(out), i, nil
}

// quoted reads a string in quotes.
func quoted(s string) (string, int, error) {
	var out []byte
	for i := 1; i < len(s); {
		switch s[i] {
		case '"':
			return string(out), i + 1, nil
		case '\\':
			var n int
			var err error
			if out, n, err = escape(out, s[i:]); err != nil {
				return "", 0, err
			}
			i += n
		default:
			out = append(out, s[i])
			i++
		}
	}
	return "", 0, sqlstate.New(sqlstate.SyntaxError, "unexpected end of quoted string at end of jsonpath input")
}

// escape reads an escape sequence and returns its length.
func escape(out []byte, s string) ([]byte, int, error) {
	if len(s) < 2 {
		return out, 0, sqlstate.New(sqlstate.SyntaxError, "unexpected end after backslash at end of jsonpath input")
	}
	switch c := s[1]; c {
	case 'b':
		return append(out, '\b'), 2, nil
	case 'f':
		return append(out, '\f'), 2, nil
	case 'n':
		return append(out, '\n'), 2, nil
	case 'r':
		return append(out, '\r'), 2, nil
	case 't':
		return append(out, '\t'), 2, nil
	case 'v':
		return append(out, '\v'), 2, nil
	case 'x':
		if len(s) >= 4 {
			if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
				r, err := checked(out, rune(v))
				return r, 4, err
			}
		}
		return out, 0, sqlstate.New(
			sqlstate.SyntaxError,
			`invalid hexadecimal character sequence at or near "%s" of jsonpath input`,
			s[:2],
		)
	case 'u':
		r, n := unicodeEscape(s)
		if n == 0 {
			return out, 0, sqlstate.New(
				sqlstate.SyntaxError,
				`invalid Unicode escape sequence at or near "%s" of jsonpath input`,
				s[:2],
			)
		}
		if utf16.IsSurrogate(r) {
			low, m := unicodeEscape(s[n:])
			if r = utf16.DecodeRune(r, low); m == 0 || r == utf8.RuneError {
				return out, 0, sqlstate.New(sqlstate.InvalidTextRepresentation,
					"invalid input syntax for type jsonpath").
					WithDetail("Unicode low surrogate must follow a high surrogate.")
			}
			n += m
		}
		out, err := checked(out, r)
		return out, n, err
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	return append(out, s[1:1+n]...), 1 + n, nil
}

func checked(out []byte, r rune) ([]byte, error) {
	if r == 0 {
		return out, sqlstate.New(sqlstate.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail(`\u0000 cannot be converted to text.`)
	}
	return utf8.AppendRune(out, r), nil
}

// unicodeEscape reads \uXXXX or \u{X...}.
func unicodeEscape(s string) (rune, int) {
	if !strings.HasPrefix(s, `\u`) {
		return 0, 0
	}
	digits, n := "", 0
	if strings.HasPrefix(s, `\u{`) {
		end := strings.IndexByte(s, '}')
		if end < 4 || end > 9 {
			return 0, 0
		}
		digits, n = s[3:end], end+1
	} else if len(s) >= 6 {
		digits, n = s[2:6], 6
	}
	v, err := strconv.ParseUint(digits, 16, 21)
	if err != nil || v > utf8.MaxRune {
		return 0, 0
	}
	return rune(v), n
}
