package direct

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script/internal/jstext"
)

// Parse parses as direct functions those sources for which that is possible.
func Parse(sources []string) *Functions {
	d := new(Functions)
	for _, source := range sources {
		p := parser{Lexer: jstext.Lexer{Source: source}, d: d}
		known := len(d.names)
		body, ok := p.function()
		if !ok {
			d.names = d.names[:known]
			d.functions = append(d.functions, nil)
			continue
		}
		d.functions = append(d.functions, &function{body})
	}
	return d
}

// parser parses a source as a direct function. Its methods return false if it is not one; what they accept has the
// same meaning in JavaScript.
type parser struct {
	jstext.Lexer
	token   jstext.Token
	newline bool   // before the current token
	param   string // the name of the document parameter
	depth   int
	d       *Functions
}

const (
	// maxSource is the longest source that is parsed, and maxDepth its deepest nesting.
	maxSource = 4 << 10
	maxDepth  = jstext.MaxDepth
	// maxNames is how many members of the document functions may read together: each member is compared with all of
	// them.
	maxNames = 32
)

// inherited are the members that every object inherits.
var inherited = []string{
	"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "constructor",
	"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}

// notNames are words that neither the document nor the function may be named: the body uses them with another
// meaning, and "async" begins another kind of function.
var notNames = []string{"emit", "undefined", "null", "true", "false", "async", "arguments", "eval", "let", "this",
	"Array"}

// advance moves to the next token. It returns false for characters that may be part of names in ways that the lexer
// does not know, and for line ends other than \n.
func (p *parser) advance() bool {
	from := p.Pos
	p.token = p.Next()
	between := p.Source[from:p.token.At]
	p.newline = strings.Contains(between, "\n")
	return !strings.ContainsAny(between, "\r\u2028\u2029")
}

func (p *parser) is(text string) bool {
	return p.token.Kind == jstext.TokenSymbol && p.token.Text == text || p.token.Kind == jstext.TokenWord &&
		p.token.Text == text
}

// take consumes the token if it is text.
func (p *parser) take(text string) bool { return p.is(text) && p.advance() }

// operator consumes adjacent characters.
func (p *parser) operator(text string) bool {
	if p.token.Kind != jstext.TokenSymbol || !strings.HasPrefix(p.Source[p.token.At:], text) {
		return false
	}
	for range text {
		if !p.advance() {
			return false
		}
	}
	return true
}

// name consumes a plain name.
func (p *parser) name() (string, bool) {
	t := p.token
	if t.Kind != jstext.TokenWord ||
		strings.ContainsFunc(t.Text, func(r rune) bool { return r >= utf8.RuneSelf || r == '\\' }) {
		return "", false
	}
	return t.Text, p.advance()
}

// function parses the whole source.
func (p *parser) function() (body []node, ok bool) {
	if len(p.Source) > maxSource || !p.advance() {
		return nil, false
	}
	arrow := true
	if p.take("function") {
		arrow = false
		if !p.is("(") {
			if name, ok := p.name(); !ok || slices.Contains(notNames, name) {
				return nil, false
			}
		}
	}
	switch {
	case p.take("("):
		if p.param, ok = p.name(); !ok || !p.take(")") {
			return nil, false
		}
	case !arrow:
		return nil, false
	default:
		if p.param, ok = p.name(); !ok {
			return nil, false
		}
	}
	if slices.Contains(notNames, p.param) || jstext.IsOperator(p.param) || arrow && (p.newline || !p.operator("=>")) {
		return nil, false
	}
	if arrow && p.is("emit") {
		body = make([]node, 1)
		body[0], ok = p.emit()
	} else {
		body, ok = p.block()
	}
	if !ok {
		return nil, false
	}
	for p.is(";") {
		if !p.advance() {
			return nil, false
		}
	}
	return body, p.token.Kind == jstext.TokenEnd
}

// block parses statements in braces.
func (p *parser) block() (body []node, ok bool) {
	if !p.take("{") {
		return nil, false
	}
	for !p.is("}") {
		if body, ok = p.statement(body); !ok {
			return nil, false
		}
	}
	return body, p.advance()
}

// statement parses a statement and appends it to body.
func (p *parser) statement(body []node) ([]node, bool) {
	if p.depth++; p.depth > maxDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	switch {
	case p.is(";"):
		return body, p.advance()
	case p.is("{"):
		inner, ok := p.block()
		return append(body, inner...), ok
	case p.is("if"):
		n, ok := p.condition()
		return append(body, n), ok
	case p.is("return"):
		n := node{kind: nodeReturn}
		if !p.advance() || p.newline && !p.is("}") { // a value on another line is not returned
			return nil, false
		}
		if p.is("emit") {
			call, ok := p.emit()
			if !ok {
				return nil, false
			}
			n.body = []node{call}
		}
		return append(body, n), p.endOfStatement()
	case p.is("emit"):
		n, ok := p.emit()
		return append(body, n), ok && p.endOfStatement()
	}
	return nil, false
}

// endOfStatement consumes a semicolon, or checks that JavaScript would insert one here.
func (p *parser) endOfStatement() bool {
	if p.is(";") {
		return p.advance()
	}
	return p.is("}") || p.newline && (p.is("emit") || p.is("if") || p.is("return") || p.is("else"))
}

func (p *parser) condition() (n node, ok bool) {
	n = node{kind: nodeIf, kids: make([]node, 1)}
	if !p.take("if") || !p.take("(") {
		return n, false
	}
	if n.kids[0], ok = p.expression(); !ok || !p.take(")") {
		return n, false
	}
	if n.body, ok = p.statement(nil); !ok || !p.is("else") {
		return n, ok
	}
	if !p.advance() {
		return n, false
	}
	n.otherwise, ok = p.statement(nil)
	return n, ok
}

func (p *parser) emit() (n node, ok bool) {
	n = node{kind: nodeEmit}
	if !p.take("emit") || !p.is("(") {
		return n, false
	}
	n.kids, ok = p.list("(", ")", p.expression)
	return n, ok && len(n.kids) <= 2
}

// list parses comma-separated items between brackets.
func (p *parser) list(open, end string, item func() (node, bool)) (items []node, ok bool) {
	if !p.take(open) {
		return nil, false
	}
	for !p.is(end) {
		n, ok := item()
		if !ok {
			return nil, false
		}
		items = append(items, n)
		if !p.is(end) && (!p.take(",") || p.is(end)) {
			return nil, false
		}
	}
	return items, p.advance()
}

// expression parses a value, or values with && and ||, where && binds tighter.
func (p *parser) expression() (node, bool) {
	if p.depth++; p.depth > maxDepth {
		return node{}, false
	}
	defer func() { p.depth-- }()
	return p.binary("||", nodeOr, func() (node, bool) { return p.binary("&&", nodeAnd, p.comparison) })
}

func (p *parser) binary(operator string, kind nodeKind, operand func() (node, bool)) (node, bool) {
	left, ok := operand()
	for ok && p.operator(operator) {
		var right node
		right, ok = operand()
		left = node{kind: kind, kids: []node{left, right}}
	}
	return left, ok
}

func (p *parser) comparison() (node, bool) {
	left, ok := p.unary()
	if !ok {
		return left, false
	}
	if p.is("in") {
		return p.has(&left)
	}
	for _, o := range []struct {
		text string
		kind nodeKind
		not  bool
	}{{"===", nodeSame, false}, {"!==", nodeSame, true}, {"==", nodeEqual, false}, {"!=", nodeEqual, true}} {
		if !p.operator(o.text) {
			continue
		}
		right, ok := p.unary()
		n := node{kind: o.kind, kids: []node{left, right}}
		if o.not {
			n = node{kind: nodeNot, kids: []node{n}}
		}
		return n, ok
	}
	return left, true
}

// has parses the right side of in, whose left side must be a string.
func (p *parser) has(left *node) (n node, ok bool) {
	if left.kind != nodeLiteral || left.value.kind != plainString || !p.advance() || !p.is(p.param) {
		return n, false
	}
	if n, ok = p.unary(); !ok {
		return n, false
	}
	text, ok := jsontext.AppendUnescaped(nil, left.value.json[1:len(left.value.json)-1], jsontext.KeepHalf)
	name := string(text)
	switch {
	case !ok || slices.Contains(inherited, name):
		return n, false
	case n.kind == nodeDocument:
		ok = p.read(&n, name)
	case n.kind == nodePath:
		n.path = append(n.path, name)
	default:
		return n, false
	}
	n.kind = nodeHas
	return n, ok
}

func (p *parser) unary() (n node, ok bool) {
	kind := nodeNot
	switch {
	case p.take("!"):
	case p.take("typeof"):
		kind = nodeType
	default:
		return p.primary()
	}
	if p.depth++; p.depth > maxDepth {
		return n, false
	}
	defer func() { p.depth-- }()
	if n, ok = p.unary(); !ok {
		return n, false
	}
	return node{kind: kind, kids: []node{n}}, true
}

func (p *parser) primary() (n node, ok bool) {
	switch t := p.token; {
	case t.Kind == jstext.TokenValue:
		if n.value, ok = literal(t.Text); !ok {
			return n, false
		}
		return n, p.advance() && p.endOfValue()
	case p.is("["):
		n.kind = nodeArray
		n.kids, ok = p.list("[", "]", p.expression)
		return n, ok && p.endOfValue()
	case p.is("{"):
		return p.object()
	case p.is("("):
		if !p.advance() {
			return n, false
		}
		n, ok = p.expression()
		return n, ok && p.take(")") && p.endOfValue()
	}
	word, ok := p.name()
	switch {
	case !ok:
		return n, false
	case word == p.param:
		return p.path()
	case word == "Array":
		return p.isArray()
	case word == "undefined":
		n.value.kind = plainUndefined
	case word == "null" || word == "true" || word == "false":
		n.value = plainOf([]byte(word))
	default:
		return n, false
	}
	return n, p.endOfValue()
}

// isArray parses Array.isArray(x) after its first word.
func (p *parser) isArray() (n node, ok bool) {
	n.kind = nodeIsArray
	if !p.take(".") || !p.take("isArray") || !p.is("(") {
		return n, false
	}
	n.kids, ok = p.list("(", ")", p.expression)
	return n, ok && len(n.kids) == 1 && p.endOfValue()
}

// endOfValue reports whether the value ends here.
func (p *parser) endOfValue() bool {
	return p.is("in") || p.token.Kind == jstext.TokenSymbol && strings.Contains(",)]};|&=!", p.token.Text)
}

// path parses the document or a member of it.
func (p *parser) path() (n node, ok bool) {
	n.kind = nodeDocument
	for {
		var name string
		switch {
		case p.is("."):
			if !p.advance() {
				return n, false
			}
			if name, ok = p.name(); !ok {
				return n, false
			}
		case p.is("["):
			if !p.advance() || p.token.Kind != jstext.TokenValue {
				return n, false
			}
			if name, ok = quotedText(p.token.Text); !ok || !p.advance() || !p.take("]") {
				return n, false
			}
		default:
			return n, p.endOfValue()
		}
		if slices.Contains(inherited, name) {
			return n, false
		}
		if n.kind == nodePath {
			n.path = append(n.path, name)
			continue
		}
		n.kind = nodePath
		if !p.read(&n, name) {
			return n, false
		}
	}
}

// read makes a node one of a member of the document. It returns false if there are too many.
func (p *parser) read(n *node, name string) bool {
	if n.name = slices.Index(p.d.names, name); n.name < 0 {
		if n.name = len(p.d.names); n.name == maxNames {
			return false
		}
		p.d.names = append(p.d.names, name)
	}
	return true
}

// object parses an object in braces.
func (p *parser) object() (n node, ok bool) {
	n.kind = nodeObject
	n.kids, ok = p.list("{", "}", func() (node, bool) {
		var name string
		if p.token.Kind == jstext.TokenValue {
			if name, ok = quotedText(p.token.Text); !ok || !p.advance() {
				return node{}, false
			}
		} else if name, ok = p.name(); !ok {
			return node{}, false
		}
		// In JavaScript, names that are array indexes come first, in numeric order; __proto__ and toJSON have a
		// special meaning.
		if name == "" || name[0]-'0' < 10 || name == "__proto__" || name == "toJSON" || slices.Contains(n.path, name) ||
			!p.take(":") {
			return node{}, false
		}
		n.path = append(n.path, name)
		return p.expression()
	})
	return n, ok && p.endOfValue()
}

// literal parses a small integer, or a string without escapes.
func literal(source string) (plain, bool) {
	if text, ok := quotedText(source); ok {
		return plain{kind: plainString, json: jsontext.AppendQuoted(nil, text)}, true
	}
	n, ok := jstext.SmallInt([]byte(source))
	text := strconv.Itoa(int(n))
	return plain{kind: plainNumber, json: []byte(text)}, ok && text == source
}

func quotedText(source string) (string, bool) {
	n := len(source)
	if n < 2 || source[0] != '"' && source[0] != '\'' || source[n-1] != source[0] {
		return "", false
	}
	text := source[1 : n-1]
	return text, utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || r < ' ' || rune(source[0]) == r })
}
