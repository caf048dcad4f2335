// Package jstext reads and writes texts as JavaScript does: JSON, and the tokens of sources. It runs nothing. For
// JSON without JavaScript's special rules see package layer/jsontext.
package jstext

import "strings"

// WrapFunctions rewrites a source so that a function without a name at the start of a statement becomes an
// expression:
//
//	var one = 1; function (doc) { emit(one) }   becomes   var one = 1; ;(function (doc) { emit(one) });
//
// The first form is not valid JavaScript, but CouchDB's engine is patched to accept it, and the value of such a
// script is its last function. Line numbers do not change. ok is false if there is nothing to rewrite.
func WrapFunctions(source string) (out string, ok bool) {
	l := Lexer{Source: source}
	var b strings.Builder
	copied, wrapping := 0, false
	for {
		previous, depth := l.previous, l.depth
		t := l.Next()
		switch {
		case t.Kind == TokenEnd:
			b.WriteString(source[copied:])
			return b.String(), ok
		case t.Text == "function" && depth == 0 && !wrapping && endsStatement(previous) && l.peek() == '(':
			b.WriteString(source[copied:t.At] + ";(")
			copied, wrapping, ok = t.At, true, true
		case t.Text == "}" && l.depth == 0 && wrapping:
			b.WriteString(source[copied:l.Pos] + ");")
			copied, wrapping = l.Pos, false
		}
	}
}

// endsStatement reports whether a new statement can begin after t.
func endsStatement(t Token) bool {
	switch t.Kind {
	case TokenEnd: // the start of the source
		return true
	case TokenValue:
		return true
	case TokenWord:
		return t.Text != "async" && !beforeOperand[t.Text]
	}
	return t.Text == ";" || t.Text == "}" || t.Text == ")" || t.Text == "]"
}

// IsOperator reports whether word is a word that an operand follows, such as return.
func IsOperator(word string) bool { return beforeOperand[word] }

// beforeOperand are the words that an operand follows, so that a slash after them begins a regular expression.
var beforeOperand = map[string]bool{
	"return": true, "typeof": true, "instanceof": true, "in": true, "of": true, "new": true, "delete": true,
	"void": true, "throw": true, "case": true, "do": true, "else": true, "yield": true, "await": true, "default": true,
	"extends": true,
}

// TokenKind is the kind of a token.
type TokenKind byte

// The kinds of tokens.
const (
	TokenEnd    TokenKind = iota
	TokenWord             // names and keywords
	TokenValue            // numbers, strings, templates, regular expressions
	TokenSymbol           // one character
)

// Token is a word, a value or a character of a source, and its position.
type Token struct {
	Kind TokenKind
	Text string
	At   int
}

// Lexer splits JavaScript into tokens, as far as necessary to tell code from strings, comments, templates and regular
// expressions. It accepts any text and always reaches the end.
type Lexer struct {
	Source   string
	Pos      int
	previous Token
	depth    int // of brackets of all kinds
	// templates holds, for each open template, the depth outside of its ${}.
	templates []int
}

// Next returns the next token; at the end of the source its kind is TokenEnd.
func (l *Lexer) Next() Token {
	l.space()
	t := Token{At: l.Pos}
	if l.Pos < len(l.Source) {
		t.Kind = l.scan()
		t.Text = l.Source[t.At:l.Pos]
	}
	l.previous = t
	return t
}

// peek returns the next character that is neither space nor comment, 0 at the end.
func (l *Lexer) peek() byte {
	ahead := *l
	ahead.space()
	if ahead.Pos >= len(ahead.Source) {
		return 0
	}
	return ahead.Source[ahead.Pos]
}

func (l *Lexer) space() {
	for l.Pos < len(l.Source) {
		rest := l.Source[l.Pos:]
		switch {
		case rest[0] <= ' ':
			l.Pos++
		case strings.HasPrefix(rest, "//"):
			l.until("\n")
		case strings.HasPrefix(rest, "/*"):
			l.Pos += 2
			l.until("*/")
		default:
			return
		}
	}
}

// until moves past the next end, or to the end of the source.
func (l *Lexer) until(end string) {
	i := strings.Index(l.Source[l.Pos:], end)
	if i < 0 {
		l.Pos = len(l.Source)
		return
	}
	l.Pos += i + len(end)
}

func (l *Lexer) scan() TokenKind {
	c := l.Source[l.Pos]
	switch {
	case isWord(c):
		for l.Pos < len(l.Source) && isWord(l.Source[l.Pos]) {
			l.Pos++
		}
		if c-'0' < 10 {
			return TokenValue
		}
		return TokenWord
	case c == '"' || c == '\'':
		l.Pos++
		l.quoted(c)
		return TokenValue
	case c == '`':
		l.Pos++
		l.template()
		return TokenValue
	case c == '/' && l.operandFollows():
		l.regexp()
		return TokenValue
	}
	l.Pos++
	switch c {
	case '(', '[', '{':
		l.depth++
	case ')', ']', '}':
		l.depth--
		if n := len(l.templates); c == '}' && n > 0 && l.templates[n-1] == l.depth {
			l.templates = l.templates[:n-1]
			l.template()
			return TokenValue
		}
	}
	return TokenSymbol
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '\\' || c >= 0x80 || c-'0' < 10 || c-'a' < 26 || c-'A' < 26
}

// operandFollows reports whether a slash here begins a regular expression instead of dividing.
func (l *Lexer) operandFollows() bool {
	switch p := l.previous; p.Kind {
	case TokenEnd:
		return true
	case TokenValue:
		return false
	case TokenWord:
		return beforeOperand[p.Text]
	default:
		return p.Text != ")" && p.Text != "]" && p.Text != "}"
	}
}

// quoted moves past the closing quote.
func (l *Lexer) quoted(quote byte) {
	for l.Pos < len(l.Source) {
		c := l.Source[l.Pos]
		l.Pos++
		switch c {
		case '\\':
			l.Pos = min(l.Pos+1, len(l.Source))
		case quote, '\n':
			return
		}
	}
}

// template moves to the end of a template, or into its next ${}. The text before ${ counts as a value, after which a
// slash divides; a regular expression right there is too rare to support.
func (l *Lexer) template() {
	for l.Pos < len(l.Source) {
		c := l.Source[l.Pos]
		l.Pos++
		switch {
		case c == '\\':
			l.Pos = min(l.Pos+1, len(l.Source))
		case c == '`':
			return
		case c == '$' && l.Pos < len(l.Source) && l.Source[l.Pos] == '{':
			l.Pos++
			l.templates = append(l.templates, l.depth)
			l.depth++
			return
		}
	}
}

// regexp moves past a regular expression without its flags, which become a word.
func (l *Lexer) regexp() {
	class := false
	for l.Pos++; l.Pos < len(l.Source); l.Pos++ {
		switch c := l.Source[l.Pos]; {
		case c == '\\':
			l.Pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n', c == '/' && !class:
			l.Pos++
			return
		}
	}
	l.Pos = min(l.Pos, len(l.Source))
}
