package jsonpath

import (
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/regex"
	"github.com/divandb/divan/query/sqlstate"
)

// maxDepth is how deeply a path may nest.
const maxDepth = 500

type parser struct {
	toks []token
	i    int
	// filters and subscripts count the enclosing ones: @ and last are only valid inside them.
	filters, subscripts, depth int
}

// Parse reads a path.
func Parse(text string) (*Path, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	if len(toks) == 1 {
		return nil, sqlstate.New(sqlstate.InvalidTextRepresentation, `invalid input syntax for type jsonpath: "%s"`,
			text)
	}
	p := &parser{toks: toks}
	out := &Path{}
	// A mode is a word that does not make up the whole path.
	if t := p.peek(); t.kind == tIdent {
		switch strings.ToLower(t.text) {
		case "strict":
			out.Strict = true
			p.i++
		case "lax":
			p.i++
		}
	}
	if out.Expr, err = p.or(); err != nil {
		return nil, err
	}
	if p.peek().kind != tEnd {
		return nil, p.unexpected()
	}
	return out, nil
}

func (p *parser) peek() token { return p.toks[p.i] }

func (p *parser) unexpected() error {
	t := p.peek()
	if t.kind == tEnd || t.kind == tIdent { // PostgreSQL's error comes after the whole name
		return sqlstate.New(sqlstate.SyntaxError, "syntax error at end of jsonpath input")
	}
	return sqlstate.New(sqlstate.SyntaxError, `syntax error at or near "%s" of jsonpath input`, t.raw)
}

func (p *parser) op(symbols ...string) bool {
	t := p.peek()
	return t.kind == tOp && slices.Contains(symbols, t.text)
}

func (p *parser) accept(symbol string) bool {
	if p.op(symbol) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(symbol string) error {
	if !p.accept(symbol) {
		return p.unexpected()
	}
	return nil
}

// word reports whether the next token is the key word w.
func (p *parser) word(w string) bool {
	t := p.peek()
	return t.kind == tIdent && strings.EqualFold(t.text, w)
}

func (p *parser) acceptWord(w string) bool {
	if p.word(w) {
		p.i++
		return true
	}
	return false
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "jsonpath nests more than %d levels deep", maxDepth)
	}
	return nil
}

// or reads a predicate or an expression. Which one it is, is only known afterwards.
func (p *parser) or() (*Node, error) {
	return p.logic("||", Or, func() (*Node, error) { return p.logic("&&", And, p.condition) })
}

func (p *parser) logic(symbol string, kind Kind, operand func() (*Node, error)) (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for p.op(symbol) {
		if !left.predicate() {
			return nil, p.unexpected()
		}
		p.i++
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if !right.predicate() {
			return nil, p.unexpected()
		}
		left = &Node{Kind: kind, Left: left, Right: right}
	}
	return left, nil
}

var comparisons = []string{"==", "!=", "<>", "<", "<=", ">", ">="}

// condition reads ! predicate, a comparison, or an expression.
func (p *parser) condition() (*Node, error) {
	if p.accept("!") {
		if !p.op("(") && !p.word("exists") {
			return nil, p.unexpected()
		}
		x, err := p.accessor()
		if err != nil {
			return nil, err
		}
		if !x.predicate() {
			return nil, p.unexpected()
		}
		return &Node{Kind: Not, Left: x}, nil
	}
	left, err := p.sum()
	if err != nil || left.predicate() {
		return left, err
	}
	switch t := p.peek(); {
	case p.op(comparisons...):
		p.i++
		op := t.text
		if op == "<>" {
			op = "!="
		}
		right, err := p.sum()
		if err == nil && right.predicate() {
			err = p.unexpected()
		}
		return &Node{Kind: Compare, Text: op, Left: left, Right: right}, err
	case p.acceptWord("starts"):
		if !p.acceptWord("with") {
			return nil, p.unexpected()
		}
		t := p.peek()
		kind := String
		switch t.kind {
		case tVariable:
			kind = Variable
		case tString:
		default:
			return nil, p.unexpected()
		}
		p.i++
		return &Node{Kind: StartsWith, Left: left, Right: &Node{Kind: kind, Text: t.text}}, nil
	case p.acceptWord("like_regex"):
		return p.likeRegex(left)
	}
	return left, nil
}

func (p *parser) likeRegex(left *Node) (*Node, error) {
	t := p.peek()
	if t.kind != tString {
		return nil, p.unexpected()
	}
	p.i++
	n := &Node{Kind: LikeRegex, Text: t.text, Left: left}
	if p.acceptWord("flag") {
		f := p.peek()
		if f.kind != tString {
			return nil, p.unexpected()
		}
		p.i++
		for _, c := range f.text {
			switch {
			case strings.ContainsRune("ismqx", c):
			default:
				return nil, sqlstate.New(sqlstate.SyntaxError, "invalid input syntax for type jsonpath").
					WithDetail(`Unrecognized flag character "%s" in LIKE_REGEX predicate.`, string(c))
			}
			if !strings.ContainsRune(n.Flags, c) {
				n.Flags += string(c)
			}
		}
	}
	if strings.Contains(n.Flags, "x") && !strings.Contains(n.Flags, "q") {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported,
			"XQuery \"x\" flag (expanded regular expressions) is not implemented")
	}
	if _, err := regex.Compile(n.Regexp()); err != nil {
		return nil, sqlstate.New(sqlstate.InvalidRegularExpression, "invalid regular expression: %s", err)
	}
	return n, nil
}

// sum reads operands joined by + and -, product reads operands joined by *, / and %.
func (p *parser) sum() (*Node, error) { return p.arithmetic(p.product, "+", "-") }

func (p *parser) product() (*Node, error) { return p.arithmetic(p.unary, "*", "/", "%") }

func (p *parser) arithmetic(operand func() (*Node, error), symbols ...string) (*Node, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for p.op(symbols...) {
		if left.predicate() {
			return nil, p.unexpected()
		}
		op := p.peek().text
		p.i++
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if right.predicate() {
			return nil, p.unexpected()
		}
		left = &Node{Kind: Arithmetic, Text: op, Left: left, Right: right}
	}
	return left, nil
}

func (p *parser) unary() (*Node, error) {
	if !p.op("+", "-") {
		return p.accessor()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	op := p.peek().text
	p.i++
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	switch {
	case x.predicate():
		return nil, p.unexpected()
	case x.Kind == Number && x.Next == nil && op == "-":
		if negative, ok := strings.CutPrefix(x.Text, "-"); ok {
			return &Node{Kind: Number, Text: negative}, nil
		}
		return &Node{Kind: Number, Text: "-" + x.Text}, nil
	case x.Kind == Number && x.Next == nil:
		return x, nil
	}
	return &Node{Kind: Unary, Text: op, Left: x}, nil
}

// accessor reads a primary with the accessors after it.
func (p *parser) accessor() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	parentheses := p.op("(")
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	if n.predicate() && parentheses && p.acceptWord("is") {
		if !p.acceptWord("unknown") {
			return nil, p.unexpected()
		}
		return &Node{Kind: IsUnknown, Left: n}, nil
	}
	if n.Kind == Exists && !parentheses {
		return n, nil
	}
	last := n
	for last.Next != nil {
		last = last.Next
	}
	for count := 0; p.op(".", "[", "?"); count++ {
		if count > maxLength/2 {
			return nil, p.unexpected()
		}
		a, err := p.step()
		if err != nil {
			return nil, err
		}
		last.Next, last = a, a
	}
	return n, nil
}

func (p *parser) primary() (*Node, error) {
	t := p.peek()
	p.i++
	switch t.kind {
	case tString:
		return &Node{Kind: String, Text: t.text}, nil
	case tNumber, tInteger:
		return &Node{Kind: Number, Text: t.text}, nil
	case tVariable:
		return &Node{Kind: Variable, Text: t.text}, nil
	case tOp:
		switch t.text {
		case "$":
			return &Node{Kind: Root}, nil
		case "@":
			if p.filters == 0 {
				return nil, sqlstate.New(sqlstate.SyntaxError, "@ is not allowed in root expressions")
			}
			return &Node{Kind: Current}, nil
		case "(":
			n, err := p.or()
			if err != nil {
				return nil, err
			}
			return n, p.expect(")")
		}
	case tIdent:
		switch t.text {
		case "null":
			return &Node{Kind: Null}, nil
		case "true", "false":
			return &Node{Kind: Bool, Text: t.text}, nil
		}
		switch strings.ToLower(t.text) {
		case "last":
			if p.subscripts == 0 {
				return nil, sqlstate.New(sqlstate.SyntaxError, "LAST is allowed only in array subscripts")
			}
			return &Node{Kind: Last}, nil
		case "exists":
			if err := p.expect("("); err != nil {
				return nil, err
			}
			x, err := p.sum()
			if err == nil && x.predicate() {
				err = p.unexpected()
			}
			if err != nil {
				return nil, err
			}
			return &Node{Kind: Exists, Left: x}, p.expect(")")
		}
	}
	p.i--
	return nil, p.unexpected()
}

var methods = []string{"abs", "size", "type", "floor", "double", "ceiling", "keyvalue"}

// step reads one accessor.
func (p *parser) step() (*Node, error) {
	switch {
	case p.accept("["):
		return p.index()
	case p.accept("?"):
		if err := p.expect("("); err != nil {
			return nil, err
		}
		p.filters++
		x, err := p.or()
		p.filters--
		if err == nil && !x.predicate() {
			err = p.unexpected()
		}
		if err != nil {
			return nil, err
		}
		return &Node{Kind: Filter, Left: x}, p.expect(")")
	}
	p.i++ // the point
	t := p.peek()
	switch {
	case p.accept("*"):
		return &Node{Kind: AnyKey}, nil
	case p.accept("**"):
		return p.any()
	case t.kind == tString:
		p.i++
		return &Node{Kind: Key, Text: t.text}, nil
	case t.kind != tIdent:
		return nil, p.unexpected()
	}
	p.i++
	name := strings.ToLower(t.text)
	if !p.op("(") {
		return &Node{Kind: Key, Text: t.text}, nil
	}
	switch {
	case slices.Contains(methods, name):
		p.i++
		return &Node{Kind: Method, Text: name}, p.expect(")")
	case name == "datetime":
		p.i++
		n := &Node{Kind: Datetime}
		if s := p.peek(); s.kind == tString {
			p.i++
			n.Text, n.Flags = s.text, "template"
		}
		return n, p.expect(")")
	}
	return nil, p.unexpected()
}

// any reads the levels of .**.
func (p *parser) any() (*Node, error) {
	n := &Node{Kind: Any, To: Unbounded}
	if !p.accept("{") {
		return n, nil
	}
	level := func() (int, error) {
		if p.acceptWord("last") {
			return Unbounded, nil
		}
		t := p.peek()
		v, err := strconv.ParseInt(t.text, 10, 32)
		if t.kind != tInteger || err != nil {
			return 0, p.unexpected()
		}
		p.i++
		return int(v), nil
	}
	var err error
	if n.From, err = level(); err != nil {
		return nil, err
	}
	n.To = n.From
	if p.acceptWord("to") {
		if n.To, err = level(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("}")
}

// index reads the subscripts of an array.
func (p *parser) index() (*Node, error) {
	if p.accept("*") {
		return &Node{Kind: AnyItem}, p.expect("]")
	}
	n := &Node{Kind: Index}
	p.subscripts++
	defer func() { p.subscripts-- }()
	for {
		var s Subscript
		var err error
		if s.From, err = p.sum(); err != nil {
			return nil, err
		}
		if p.acceptWord("to") {
			if s.To, err = p.sum(); err != nil {
				return nil, err
			}
		}
		if s.From.predicate() || s.To != nil && s.To.predicate() {
			return nil, p.unexpected()
		}
		n.Subscripts = append(n.Subscripts, s)
		if !p.accept(",") {
			return n, p.expect("]")
		}
	}
}

// Regexp is the pattern of like_regex and its flags.
func (n *Node) Regexp() (string, regex.Flags) {
	has := func(flag string) bool { return strings.Contains(n.Flags, flag) }
	if has("q") {
		return n.Text, regex.Flags{Syntax: regex.Literal, Fold: has("i")}
	}
	return n.Text, regex.Flags{Fold: has("i"), NewlineStop: !has("s"), NewlineAnchors: has("m")}
}
