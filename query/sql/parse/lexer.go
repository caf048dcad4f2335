package parse

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// MaxStatement is the longest statement in bytes. Longer ones are refused before a byte of them is looked at.
const MaxStatement = 1 << 20

// lexer cuts PostgreSQL's SQL into tokens.
type lexer struct {
	src string
	pos int
}

// tokenSize is what a token takes of memory, in bytes, with what matchBrackets knows of it.
const tokenSize = 64

// lexAhead is for how many tokens memory is taken at a time.
const lexAhead = 64

// lex returns the tokens of src with a tEOF at the end. Where src cannot be cut any further, the last token is a tBad and failed says why: a
// parser that does not get so far has another complaint, as in PostgreSQL.
func lex(w *work.Work, src string) (tokens []token, failed *sqlstate.Error, err error) {
	if len(src) > MaxStatement {
		return nil, nil, sqlstate.New(sqlstate.ProgramLimitExceeded, "statement of %d bytes is longer than the limit of %d", len(src), MaxStatement)
	}
	if i := strings.IndexByte(src, 0); i >= 0 || !utf8.ValidString(src) {
		return nil, nil, sqlstate.New(sqlstate.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
	}
	l := &lexer{src: src}
	tokens = make([]token, 0, min(len(src)/4+2, lexAhead))
	for {
		if len(tokens)%lexAhead == 0 {
			if err := w.Hold(lexAhead * tokenSize); err != nil {
				return nil, nil, err
			}
		}
		t, err := l.next()
		if errors.As(err, &failed) {
			return append(tokens, token{Kind: tBad, Off: max(failed.Pos-1, 0), End: len(src)}), failed, nil
		}
		if err := w.Step(1); err != nil {
			return nil, nil, err
		}
		tokens = append(tokens, t)
		if t.Kind == tEOF {
			return tokens, nil, nil
		}
	}
}

// at returns the byte at an offset from the current place, 0 past the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

func syntaxError(off int, format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.SyntaxError, format, args...).At(off)
}

// near is an error of the text between two offsets, which PostgreSQL's scanner shows.
func (l *lexer) near(from, to int, what string) *sqlstate.Error {
	if from >= len(l.src) {
		return syntaxError(from, "%s at end of input", what)
	}
	return syntaxError(from, "%s at or near \"%s\"", what, l.src[from:max(to, from)])
}

// rest is an error of everything from an offset on.
func (l *lexer) rest(from int, what string) *sqlstate.Error { return l.near(from, len(l.src), what) }

// skipBlank passes over white space and comments; comments nest.
func (l *lexer) skipBlank() error {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			l.pos++
		case c == '-' && l.at(1) == '-':
			if i := strings.IndexAny(l.src[l.pos:], "\n\r"); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.src)
			}
		case c == '/' && l.at(1) == '*':
			start, depth := l.pos, 0
			for {
				switch {
				case l.pos >= len(l.src):
					return l.rest(start, "unterminated /* comment")
				case l.at(0) == '/' && l.at(1) == '*':
					depth++
					l.pos += 2
					continue
				case l.at(0) == '*' && l.at(1) == '/':
					depth--
					l.pos += 2
				default:
					l.pos++
					continue
				}
				if depth == 0 {
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

func identStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

func identPart(c byte) bool { return identStart(c) || digit(c) || c == '$' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// maxOperator is the longest operator, as in PostgreSQL; maxRun bounds operators that touch each other, as in 1+++++2.
const (
	maxOperator = 63
	maxRun      = 1024
)

const operatorChars = "+-*/<>=~!@#%^&|`?"

func (l *lexer) next() (token, error) {
	if err := l.skipBlank(); err != nil {
		return token{}, err
	}
	start := l.pos
	make := func(k tokenKind, text string) (token, error) {
		return token{Kind: k, Text: text, Off: start, End: l.pos}, nil
	}
	c := l.at(0)
	switch {
	case l.pos >= len(l.src):
		return make(tEOF, "")
	case c == '\'':
		s, err := l.stringConstant(start, false, "quoted string")
		if err != nil {
			return token{}, err
		}
		return make(tString, s)
	case (c == 'e' || c == 'E') && l.at(1) == '\'':
		l.pos++
		s, err := l.stringConstant(start, true, "quoted string")
		if err != nil {
			return token{}, err
		}
		return make(tString, s)
	case (c == 'n' || c == 'N') && l.at(1) == '\'':
		// N'text' is NCHAR 'text'.
		l.pos++
		return word("nchar", start, l.pos), nil
	case (c|0x20 == 'b' || c|0x20 == 'x') && l.at(1) == '\'':
		l.pos++
		what := "bit string literal"
		if c|0x20 == 'x' {
			what = "hexadecimal string literal"
		}
		s, err := l.stringConstant(start, false, what)
		if err != nil {
			return token{}, err
		}
		return make(tBits, string(c|0x20)+s)
	case (c == 'u' || c == 'U') && l.at(1) == '&' && (l.at(2) == '\'' || l.at(2) == '"'):
		return l.unicodeEscaped(start)
	case c == '"':
		s, err := l.quoted(start)
		if err != nil {
			return token{}, err
		}
		return make(tQuoted, s)
	case identStart(c):
		for l.pos < len(l.src) && identPart(l.src[l.pos]) {
			l.pos++
		}
		name := foldCase(l.src[start:l.pos])
		return word(name, start, l.pos), nil
	case digit(c), c == '.' && digit(l.at(1)):
		return l.number(start)
	case c == '$':
		return l.dollar(start)
	case c == ':' && l.at(1) == ':', c == ':' && l.at(1) == '=', c == '.' && l.at(1) == '.':
		l.pos += 2
		return make(tPunct, l.src[start:l.pos])
	case strings.IndexByte("()[],;.:", c) >= 0:
		l.pos++
		return make(tPunct, string(c))
	case strings.IndexByte(operatorChars, c) >= 0:
		op, err := l.operator()
		if err != nil {
			return token{}, err
		}
		if op == "=>" {
			return make(tPunct, op)
		}
		return make(tOperator, op)
	}
	return token{}, l.near(start, start+1, "syntax error")
}

// word makes the token of a name or key word.
func word(name string, off, end int) token {
	c, bare := keyword.Lookup(name)
	return token{Kind: tIdent, category: c, bare: bare, Text: name, Off: off, End: end}
}

// foldCase lowers ASCII letters only, as PostgreSQL does for UTF-8.
func foldCase(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if b[j] >= 'A' && b[j] <= 'Z' {
					b[j] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

// stringConstant reads from the opening quote, with continuation over a line break and, for E”, escapes. start is where its token begins.
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
				if !utf8.Valid(out) || strings.IndexByte(string(out), 0) >= 0 {
					return "", sqlstate.New(sqlstate.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
				}
				return string(out), nil
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

// continued moves to after the quote of a string that goes on behind white space with a line break.
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

// escape reads a backslash escape of an E” string.
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

// appendRune adds a character given by its number; a high surrogate needs the escape of a low one behind it.
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

// unicodeEscaped reads U&'...' or U&"..." and the UESCAPE that may follow.
func (l *lexer) unicodeEscaped(start int) (token, error) {
	l.pos += 2
	kind, quote := tString, l.pos
	var raw string
	var err error
	if l.at(0) == '"' {
		kind = tQuoted
		raw, err = l.quoted(start)
	} else {
		raw, err = l.stringConstant(start, false, "quoted string")
	}
	if err != nil {
		return token{}, err
	}
	end := l.pos
	escape, err := l.uescape()
	if err != nil {
		return token{}, err
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
		place := quote + 1 + from // of a text without doubled quotes before the escape
		if bad != nil || len(n) != want {
			return token{}, syntaxError(min(place, end), "invalid Unicode escape").WithHint(`Unicode escapes must be \XXXX or \+XXXXXX.`)
		}
		r := rune(v)
		if r >= 0xd800 && r < 0xdc00 && inner.at(0) == escape {
			inner.pos++
			low, bad := strconv.ParseUint(inner.digits(4, 16), 16, 32)
			if bad != nil || low < 0xdc00 || low >= 0xe000 {
				return token{}, syntaxError(min(place, end), "invalid Unicode surrogate pair")
			}
			r = (r-0xd800)<<10 + rune(low) - 0xdc00 + 0x10000
		}
		if !utf8.ValidRune(r) || r == 0 {
			return token{}, syntaxError(min(place, end), "invalid Unicode escape value")
		}
		out = utf8.AppendRune(out, r)
	}
	return token{Kind: kind, Text: string(out), Off: start, End: l.pos}, nil
}

// uescape reads UESCAPE 'c' where it stands next and returns the escape character.
func (l *lexer) uescape() (byte, error) {
	const uescape = "uescape"
	after := l.pos
	if err := l.skipBlank(); err != nil {
		return 0, err
	}
	if end := l.pos + len(uescape); end > len(l.src) || foldCase(l.src[l.pos:end]) != uescape || end < len(l.src) && identPart(l.src[end]) {
		l.pos = after
		return '\\', nil
	}
	l.pos += len(uescape)
	c, err := l.next()
	if err != nil {
		return 0, err
	}
	if c.Kind != tString {
		return 0, l.near(c.Off, c.End, "UESCAPE must be followed by a simple string literal")
	}
	if len(c.Text) != 1 || strings.ContainsAny(c.Text, "+'\" \t\n\r\f0123456789abcdefABCDEF") {
		return 0, l.near(c.Off, c.End, "invalid Unicode escape character")
	}
	return c.Text[0], nil
}

func (l *lexer) number(start int) (token, error) {
	kind := tInteger
	for digit(l.at(0)) {
		l.pos++
	}
	// "1..2" is two tokens.
	if l.at(0) == '.' && l.at(1) != '.' {
		kind = tNumber
		l.pos++
		for digit(l.at(0)) {
			l.pos++
		}
	}
	if l.at(0)|0x20 == 'e' {
		n := 1
		if l.at(1) == '+' || l.at(1) == '-' {
			n = 2
		}
		if digit(l.at(n)) {
			kind = tNumber
			l.pos += n
			for digit(l.at(0)) {
				l.pos++
			}
		} else if n == 2 {
			return token{}, l.near(start, l.pos+n, "trailing junk after numeric literal")
		}
	}
	if identStart(l.at(0)) {
		end := l.pos
		for end < len(l.src) && identPart(l.src[end]) {
			end++
		}
		return token{}, l.near(start, end, "trailing junk after numeric literal")
	}
	return token{Kind: kind, Text: l.src[start:l.pos], Off: start, End: l.pos}, nil
}

// dollar reads a parameter or a dollar-quoted string.
func (l *lexer) dollar(start int) (token, error) {
	if digit(l.at(1)) {
		l.pos++
		n := l.digits(len(l.src), 10)
		if identStart(l.at(0)) {
			end := l.pos
			for end < len(l.src) && identPart(l.src[end]) {
				end++
			}
			return token{}, l.near(start, end, "trailing junk after parameter")
		}
		return token{Kind: tParam, Text: n, Off: start, End: l.pos}, nil
	}
	end := l.pos + 1
	for end < len(l.src) && identPart(l.src[end]) && l.src[end] != '$' {
		end++
	}
	if end >= len(l.src) || l.src[end] != '$' {
		return token{}, l.near(start, start+1, "syntax error")
	}
	tag := l.src[start : end+1]
	close := strings.Index(l.src[end+1:], tag)
	if close < 0 {
		return token{}, l.rest(start, "unterminated dollar-quoted string")
	}
	l.pos = end + 1 + close + len(tag)
	return token{Kind: tString, Text: l.src[end+1 : end+1+close], Off: start, End: l.pos}, nil
}

// operator reads the longest run of operator characters, without a comment's beginning, and without a trailing + or - unless the
// run has one of the characters that SQL's own operators have not (section 4.1.3).
func (l *lexer) operator() (string, error) {
	start := l.pos
	for l.pos < len(l.src) && strings.IndexByte(operatorChars, l.src[l.pos]) >= 0 {
		if l.pos > start && (l.at(0) == '-' && l.at(1) == '-' || l.at(0) == '/' && l.at(1) == '*') {
			break
		}
		// Each cut reads the run again, so that its length must have a bound.
		if l.pos++; l.pos-start > maxRun {
			return "", l.near(start, l.pos, "operator too long")
		}
	}
	if !strings.ContainsAny(l.src[start:l.pos], "~!@#%^&|`?") {
		for l.pos-start > 1 && (l.src[l.pos-1] == '+' || l.src[l.pos-1] == '-') {
			l.pos--
		}
	}
	if l.pos-start > maxOperator {
		return "", l.near(start, l.pos, "operator too long")
	}
	if op := l.src[start:l.pos]; op != "!=" {
		return op, nil
	}
	return "<>", nil
}
