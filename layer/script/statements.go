package script

import "strings"

// wrapFunctions rewrites a source so that a function without a name which begins a statement is an expression:
//
//	var one = 1; function (doc) { emit(one) }   becomes   var one = 1; ;(function (doc) { emit(one) });
//
// No JavaScript takes the first, but CouchDB's engine is patched to, and the value of such a script is its last function. It
// changes no line number. ok is false where there is nothing to rewrite.
func wrapFunctions(source string) (out string, ok bool) {
	l := lexer{source: source}
	var b strings.Builder
	copied, wrapping := 0, false
	for {
		previous, depth := l.previous, l.depth
		t := l.next()
		switch {
		case t.kind == tokenEnd:
			b.WriteString(source[copied:])
			return b.String(), ok
		case t.text == "function" && depth == 0 && !wrapping && endsStatement(previous) && l.peek() == '(':
			b.WriteString(source[copied:t.at] + ";(")
			copied, wrapping, ok = t.at, true, true
		case t.text == "}" && l.depth == 0 && wrapping:
			b.WriteString(source[copied:l.pos] + ");")
			copied, wrapping = l.pos, false
		}
	}
}

// endsStatement says whether a new statement can begin behind the token.
func endsStatement(t token) bool {
	switch t.kind {
	case tokenEnd: // nothing stands before
		return true
	case tokenValue:
		return true
	case tokenWord:
		return t.text != "async" && !beforeOperand[t.text]
	}
	return t.text == ";" || t.text == "}" || t.text == ")" || t.text == "]"
}

// beforeOperand are the words behind which an operand follows, so that a slash begins a regular expression.
var beforeOperand = map[string]bool{
	"return": true, "typeof": true, "instanceof": true, "in": true, "of": true, "new": true, "delete": true, "void": true, "throw": true,
	"case": true, "do": true, "else": true, "yield": true, "await": true, "default": true, "extends": true,
}

type tokenKind byte

const (
	tokenEnd    tokenKind = iota
	tokenWord             // names and keywords
	tokenValue            // numbers, strings, templates, regular expressions
	tokenSymbol           // one character
)

type token struct {
	kind tokenKind
	text string
	at   int
}

// lexer cuts JavaScript into tokens, as far as telling code from strings, comments, templates and regular expressions
// needs. It takes any text and always comes to the end.
type lexer struct {
	source   string
	pos      int
	previous token
	depth    int // of brackets of all kinds
	// templates holds for each template that is open the depth outside of its ${}.
	templates []int
}

func (l *lexer) next() token {
	l.space()
	t := token{at: l.pos}
	if l.pos < len(l.source) {
		t.kind = l.scan()
		t.text = l.source[t.at:l.pos]
	}
	l.previous = t
	return t
}

// peek is the next character that is neither space nor comment, 0 at the end.
func (l *lexer) peek() byte {
	ahead := *l
	ahead.space()
	if ahead.pos >= len(ahead.source) {
		return 0
	}
	return ahead.source[ahead.pos]
}

func (l *lexer) space() {
	for l.pos < len(l.source) {
		rest := l.source[l.pos:]
		switch {
		case rest[0] <= ' ':
			l.pos++
		case strings.HasPrefix(rest, "//"):
			l.until("\n")
		case strings.HasPrefix(rest, "/*"):
			l.pos += 2
			l.until("*/")
		default:
			return
		}
	}
}

// until moves behind the next end, or to the end of the source.
func (l *lexer) until(end string) {
	i := strings.Index(l.source[l.pos:], end)
	if i < 0 {
		l.pos = len(l.source)
		return
	}
	l.pos += i + len(end)
}

func (l *lexer) scan() tokenKind {
	c := l.source[l.pos]
	switch {
	case isWord(c):
		for l.pos < len(l.source) && isWord(l.source[l.pos]) {
			l.pos++
		}
		if c-'0' < 10 {
			return tokenValue
		}
		return tokenWord
	case c == '"' || c == '\'':
		l.pos++
		l.quoted(c)
		return tokenValue
	case c == '`':
		l.pos++
		l.template()
		return tokenValue
	case c == '/' && l.operandFollows():
		l.regexp()
		return tokenValue
	}
	l.pos++
	switch c {
	case '(', '[', '{':
		l.depth++
	case ')', ']', '}':
		l.depth--
		if n := len(l.templates); c == '}' && n > 0 && l.templates[n-1] == l.depth {
			l.templates = l.templates[:n-1]
			l.template()
			return tokenValue
		}
	}
	return tokenSymbol
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '\\' || c >= 0x80 || c-'0' < 10 || c-'a' < 26 || c-'A' < 26
}

// operandFollows says whether a slash here begins a regular expression and does not divide.
func (l *lexer) operandFollows() bool {
	switch p := l.previous; p.kind {
	case tokenEnd:
		return true
	case tokenValue:
		return false
	case tokenWord:
		return beforeOperand[p.text]
	default:
		return p.text != ")" && p.text != "]" && p.text != "}"
	}
}

// quoted moves behind the closing quote.
func (l *lexer) quoted(quote byte) {
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		l.pos++
		switch c {
		case '\\':
			l.pos = min(l.pos+1, len(l.source))
		case quote, '\n':
			return
		}
	}
}

// template moves to the end of a template, or into its next ${}. What stands before ${ counts as a value too, and then a slash
// divides; a regular expression at that very place is not worth more.
func (l *lexer) template() {
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		l.pos++
		switch {
		case c == '\\':
			l.pos = min(l.pos+1, len(l.source))
		case c == '`':
			return
		case c == '$' && l.pos < len(l.source) && l.source[l.pos] == '{':
			l.pos++
			l.templates = append(l.templates, l.depth)
			l.depth++
			return
		}
	}
}

// regexp moves behind a regular expression without its flags, which are a word.
func (l *lexer) regexp() {
	class := false
	for l.pos++; l.pos < len(l.source); l.pos++ {
		switch c := l.source[l.pos]; {
		case c == '\\':
			l.pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n', c == '/' && !class:
			l.pos++
			return
		}
	}
	l.pos = min(l.pos, len(l.source))
}
