package lex

import (
	"errors"
	"strings"

	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// MaxStatement is the longest accepted statement in bytes, as long as a message of the protocol can be. Longer ones are
// refused unread.
const MaxStatement = 16 << 20

// lexer splits PostgreSQL's SQL into tokens.
type lexer struct {
	src string
	pos int
}

// tokenSize is the memory that a token takes in bytes, including what the parser keeps for it.
const tokenSize = 64

// lexAhead is the number of tokens for which memory is reserved at a time.
const lexAhead = 64

// Tokens returns the tokens of src, followed by one of kind EOF. If src cannot be split any further, the last token is
// Bad and failed says why. It is not returned as err because, as in PostgreSQL, an earlier error of the parser comes
// first.
func Tokens(w *work.Work, src string) (tokens []Token, failed *sqlstate.Error, err error) {
	if len(src) > MaxStatement {
		return nil, nil, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"statement of %d bytes is longer than the limit of %d", len(src), MaxStatement)
	}
	if err := sqlstate.CheckUTF8(src); err != nil {
		return nil, nil, err
	}
	l := &lexer{src: src}
	tokens = make([]Token, 0, min(len(src)/4+2, lexAhead))
	for {
		if len(tokens)%lexAhead == 0 {
			if err := w.Hold(lexAhead * tokenSize); err != nil {
				return nil, nil, err
			}
		}
		t, err := l.next()
		if errors.As(err, &failed) {
			return append(tokens, Token{Kind: Bad, Off: max(failed.Pos-1, 0), End: len(src)}), failed, nil
		}
		if err := w.Step(1); err != nil {
			return nil, nil, err
		}
		tokens = append(tokens, t)
		if t.Kind == EOF {
			return tokens, nil, nil
		}
	}
}

// at returns the byte at an offset from the current position, or 0 past the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

// SyntaxError returns a syntax error at a byte offset; -1 means no position.
func SyntaxError(off int, format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.SyntaxError, format, args...).At(off)
}

// near returns an error that quotes the text between two offsets, as PostgreSQL's scanner does.
func (l *lexer) near(from, to int, what string) *sqlstate.Error {
	if from >= len(l.src) {
		return SyntaxError(from, "%s at end of input", what)
	}
	return SyntaxError(from, "%s at or near \"%s\"", what, l.src[from:max(to, from)])
}

// rest returns an error that quotes everything from an offset on.
func (l *lexer) rest(from int, what string) *sqlstate.Error { return l.near(from, len(l.src), what) }

// skipBlank skips white space and comments. Comments nest.
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

// maxOperator is the length of the longest operator, as in PostgreSQL. maxRun limits operators that touch each other,
// as in 1+++++2.
const (
	maxOperator = 63
	maxRun      = 1024
)

const operatorChars = "+-*/<>=~!@#%^&|`?"

func (l *lexer) next() (Token, error) {
	if err := l.skipBlank(); err != nil {
		return Token{}, err
	}
	start := l.pos
	make := func(k Kind, text string) (Token, error) {
		return Token{Kind: k, Text: text, Off: start, End: l.pos}, nil
	}
	c := l.at(0)
	switch {
	case l.pos >= len(l.src):
		return make(EOF, "")
	case c == '\'':
		s, err := l.stringConstant(start, false, "quoted string")
		if err != nil {
			return Token{}, err
		}
		return make(String, s)
	case (c == 'e' || c == 'E') && l.at(1) == '\'':
		l.pos++
		s, err := l.stringConstant(start, true, "quoted string")
		if err != nil {
			return Token{}, err
		}
		return make(String, s)
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
			return Token{}, err
		}
		return make(Bits, string(c|0x20)+s)
	case (c == 'u' || c == 'U') && l.at(1) == '&' && (l.at(2) == '\'' || l.at(2) == '"'):
		return l.unicodeEscaped(start)
	case c == '"':
		s, err := l.quoted(start)
		if err != nil {
			return Token{}, err
		}
		return make(Quoted, s)
	case identStart(c):
		for l.pos < len(l.src) && identPart(l.src[l.pos]) {
			l.pos++
		}
		name := keyword.Fold(l.src[start:l.pos])
		return word(name, start, l.pos), nil
	case digit(c), c == '.' && digit(l.at(1)):
		return l.number(start)
	case c == '$':
		return l.dollar(start)
	case c == ':' && l.at(1) == ':', c == ':' && l.at(1) == '=', c == '.' && l.at(1) == '.':
		l.pos += 2
		return make(Punct, l.src[start:l.pos])
	case strings.IndexByte("()[],;.:", c) >= 0:
		l.pos++
		return make(Punct, string(c))
	case strings.IndexByte(operatorChars, c) >= 0:
		op, err := l.operator()
		if err != nil {
			return Token{}, err
		}
		if op == "=>" {
			return make(Punct, op)
		}
		return make(Operator, op)
	}
	return Token{}, l.near(start, start+1, "syntax error")
}

// word returns the token of a name or key word.
func word(name string, off, end int) Token {
	c, bare := keyword.Lookup(name)
	return Token{Kind: Ident, Category: c, bare: bare, Text: name, Off: off, End: end}
}

// number reads an integer, or a number with a decimal point or an exponent.
func (l *lexer) number(start int) (Token, error) {
	kind := Integer
	for digit(l.at(0)) {
		l.pos++
	}
	// "1..2" is two tokens.
	if l.at(0) == '.' && l.at(1) != '.' {
		kind = Number
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
			kind = Number
			l.pos += n
			for digit(l.at(0)) {
				l.pos++
			}
		} else if n == 2 {
			return Token{}, l.near(start, l.pos+n, "trailing junk after numeric literal")
		}
	}
	if identStart(l.at(0)) {
		end := l.pos
		for end < len(l.src) && identPart(l.src[end]) {
			end++
		}
		return Token{}, l.near(start, end, "trailing junk after numeric literal")
	}
	return Token{Kind: kind, Text: l.src[start:l.pos], Off: start, End: l.pos}, nil
}

// dollar reads a parameter or a dollar-quoted string.
func (l *lexer) dollar(start int) (Token, error) {
	if digit(l.at(1)) {
		l.pos++
		n := l.digits(len(l.src), 10)
		if identStart(l.at(0)) {
			end := l.pos
			for end < len(l.src) && identPart(l.src[end]) {
				end++
			}
			return Token{}, l.near(start, end, "trailing junk after parameter")
		}
		return Token{Kind: Param, Text: n, Off: start, End: l.pos}, nil
	}
	end := l.pos + 1
	for end < len(l.src) && identPart(l.src[end]) && l.src[end] != '$' {
		end++
	}
	if end >= len(l.src) || l.src[end] != '$' {
		return Token{}, l.near(start, start+1, "syntax error")
	}
	tag := l.src[start : end+1]
	close := strings.Index(l.src[end+1:], tag)
	if close < 0 {
		return Token{}, l.rest(start, "unterminated dollar-quoted string")
	}
	l.pos = end + 1 + close + len(tag)
	return Token{Kind: String, Text: l.src[end+1 : end+1+close], Off: start, End: l.pos}, nil
}

// operator reads the longest run of operator characters. It stops at the beginning of a comment, and drops a trailing +
// or - unless the run has a character that no operator of standard SQL contains (section 4.1.3).
func (l *lexer) operator() (string, error) {
	start := l.pos
	for l.pos < len(l.src) && strings.IndexByte(operatorChars, l.src[l.pos]) >= 0 {
		if l.pos > start && (l.at(0) == '-' && l.at(1) == '-' || l.at(0) == '/' && l.at(1) == '*') {
			break
		}
		// Each cut reads the run again, so its length must be limited.
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
