package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
)

// Precedences of PostgreSQL 15 (section 4.1.6 and gram.y), from loosest to tightest.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare // < > = <= >= <>; not associative
	precIn      // BETWEEN IN LIKE ILIKE SIMILAR; not associative
	precOther   // any other operator
	precAdd
	precMul
	precPower
	precAt // AT TIME ZONE
	precCollate
	precUnary
	precCast // ::
)

// infix returns the precedence of the next token as an infix operator, or 0 if it is none.
func (p *parser) infix() int {
	t := p.peek()
	switch t.Kind {
	case lex.Punct:
		if t.Text == "::" {
			return precCast
		}
	case lex.Operator:
		switch t.Text {
		case "<", ">", "=", "<=", ">=", "<>":
			return precCompare
		case "+", "-":
			return precAdd
		case "*", "/", "%":
			return precMul
		case "^":
			return precPower
		}
		return precOther
	case lex.Ident:
		switch t.Text {
		case "or":
			return precOr
		case "and":
			return precAnd
		case "is", "isnull", "notnull":
			return precIs
		case "in", "between", "like", "ilike":
			return precIn
		case "similar":
			if p.peekAt(1).Word("to") {
				return precIn
			}
		case "not":
			if p.peekAt(1).Words("in", "between", "like", "ilike", "similar") {
				return precIn
			}
		case "operator":
			if p.peekAt(1).Is("(") {
				return precOther
			}
		case "at":
			if p.peekAt(1).Word("time") {
				return precAt
			}
		case "collate":
			return precCollate
		}
	}
	return 0
}

// expr reads an expression (a_expr).
func (p *parser) expr() (ast.Expr, error) { return p.climb(precOr, false) }

// simpleExpr reads an expression without AND, OR, NOT and the predicates that are words, such as the one between
// BETWEEN and AND (b_expr).
func (p *parser) simpleExpr() (ast.Expr, error) { return p.climb(precIs, true) }

// climb reads a prefix and then the infix operators whose precedence is at least min.
func (p *parser) climb(min int, simple bool) (ast.Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	left, err := p.prefix(simple)
	if err != nil {
		return nil, err
	}
	// ended is the precedence of the last operator if it is not associative and its right operand has been read.
	ended := 0
	for n := 1; ; n++ {
		prec := p.infix()
		if prec < min || prec == 0 || simple && !p.simpleInfix(prec) {
			return left, nil
		}
		if prec == ended {
			return nil, p.unexpected()
		}
		if err := p.deep(n); err != nil {
			return nil, err
		}
		open := false
		switch prec {
		case precOr, precAnd:
			left, err = p.logic(left, prec, simple)
		case precIs:
			left, open, err = p.is(left, simple)
		case precIn:
			left, open, err = p.inLikeBetween(left)
		case precAt:
			left, err = p.atTimeZone(left)
		case precCollate:
			left, err = p.collate(left)
		case precCast:
			left, err = p.cast(left)
		default:
			left, open, err = p.operation(left, prec, simple)
		}
		if err != nil {
			return nil, err
		}
		ended = 0
		if open && (prec == precIs || prec == precCompare || prec == precIn) {
			ended = prec
		}
	}
}

// simpleInfix reports whether an operator is allowed in a b_expr.
func (p *parser) simpleInfix(prec int) bool {
	switch prec {
	case precIs:
		return p.ahead("is", "distinct") || p.ahead("is", "not", "distinct") || p.ahead("is", "document") ||
			p.ahead("is", "not", "document")
	case precOr, precAnd, precIn, precAt, precCollate:
		return false
	}
	return true
}

// logic reads a AND b AND ... as one node, so that long chains do not nest.
func (p *parser) logic(left ast.Expr, prec int, simple bool) (ast.Expr, error) {
	t := p.peek()
	out := &ast.Logic{At: ast.At(t.Off), Op: t.Text, Args: []ast.Expr{left}}
	for p.acceptWord(t.Text) {
		e, err := p.climb(prec+1, simple)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, e)
	}
	return out, nil
}

// operation reads an infix operator and its right operand, or ANY or ALL. open reports whether it ends with an operand.
func (p *parser) operation(left ast.Expr, prec int, simple bool) (_ ast.Expr, open bool, err error) {
	off := p.here()
	op, err := p.operatorSymbol()
	if err != nil {
		return nil, false, err
	}
	if !simple && p.quantifier() {
		e, err := p.quantified(left, op, off)
		return e, false, err
	}
	right, err := p.climb(prec+1, simple)
	if err != nil {
		return nil, false, err
	}
	return &ast.Operator{At: off, Op: op, Args: []ast.Expr{left, right}}, true, nil
}

// operatorSymbol reads an operator, also in the form OPERATOR(schema.op). A schema other than pg_catalog stays part of
// the symbol, so that no operator matches.
func (p *parser) operatorSymbol() (string, error) {
	t := p.take()
	if t.Kind == lex.Operator {
		return t.Text, nil
	}
	var op string
	return op, p.inBrackets(func() error {
		for p.peek().ColumnName() {
			schema := p.take().Text
			if err := p.expectPunct("."); err != nil {
				return err
			}
			if schema != "pg_catalog" {
				op += schema + "."
			}
		}
		t := p.take()
		if t.Kind != lex.Operator {
			return p.unexpectedAt(t)
		}
		op += t.Text
		return nil
	})
}

// quantifier reports whether ANY, SOME or ALL comes next.
func (p *parser) quantifier() bool { return p.peek().Words("any", "some", "all") }

// quantified reads ANY|SOME|ALL (query or array) after an operator.
func (p *parser) quantified(x ast.Expr, op string, off ast.At) (ast.Expr, error) {
	q := &ast.Quantified{At: off, Op: op, All: p.take().Text == "all", X: x}
	if p.queryIn() {
		sub, err := p.subquery(p.here(), ast.Scalar)
		q.Y = sub
		return q, err
	}
	return q, p.inBrackets(func() (err error) {
		q.Y, err = p.expr()
		return err
	})
}

// is reads the tests that follow IS, and ISNULL and NOTNULL.
func (p *parser) is(left ast.Expr, simple bool) (_ ast.Expr, open bool, err error) {
	t := p.take()
	n := &ast.IsTest{At: ast.At(t.Off), X: left}
	if t.Words("isnull", "notnull") {
		n.What, n.Not = "null", t.Text == "notnull"
		return n, false, nil
	}
	n.Not = p.acceptWord("not")
	switch w := p.take(); {
	case w.Words("null", "true", "false", "unknown", "document", "normalized"):
		n.What = w.Text
		return n, false, nil
	case w.Words("nfc", "nfd", "nfkc", "nfkd"):
		n.What, n.Y = "normalized", &ast.Literal{At: ast.At(w.Off), Kind: ast.String, Text: w.Text}
		return n, false, p.expectWords("normalized")
	case w.Word("distinct"):
		if err := p.expectWords("from"); err != nil {
			return nil, false, err
		}
		n.What = "distinct"
		n.Y, err = p.climb(precIs+1, simple)
		return n, true, err
	default:
		return nil, false, p.unexpectedAt(w)
	}
}

// inLikeBetween reads [NOT] IN, BETWEEN, LIKE, ILIKE and SIMILAR TO.
func (p *parser) inLikeBetween(left ast.Expr) (_ ast.Expr, open bool, err error) {
	off := p.here()
	not := p.acceptWord("not")
	switch t := p.take(); t.Text {
	case "in":
		e, err := p.in(left, not, off)
		return e, false, err
	case "between":
		n := &ast.Between{At: off, Not: not, X: left, Symmetric: p.acceptWord("symmetric")}
		if !n.Symmetric {
			p.acceptWord("asymmetric")
		}
		if n.Low, err = p.simpleExpr(); err != nil {
			return nil, false, err
		}
		if err := p.expectWords("and"); err != nil {
			return nil, false, err
		}
		n.High, err = p.climb(precIn+1, false)
		return n, true, err
	case "similar":
		if err := p.expectWords("to"); err != nil {
			return nil, false, err
		}
		e, err := p.like(left, "similar", not, off)
		return e, true, err
	default:
		if p.quantifier() {
			op := map[string]string{"like": "~~", "ilike": "~~*"}[t.Text]
			if not {
				op = "!" + op
			}
			e, err := p.quantified(left, op, off)
			return e, false, err
		}
		e, err := p.like(left, t.Text, not, off)
		return e, true, err
	}
}

func (p *parser) like(left ast.Expr, kind string, not bool, off ast.At) (ast.Expr, error) {
	n := &ast.Like{At: off, Kind: kind, Not: not, X: left}
	var err error
	if n.Pattern, err = p.climb(precIn+1, false); err != nil {
		return nil, err
	}
	if p.acceptWord("escape") {
		n.Escape, err = p.climb(precIn+1, false)
	}
	return n, err
}

func (p *parser) in(left ast.Expr, not bool, off ast.At) (ast.Expr, error) {
	if p.queryIn() {
		at := p.here()
		sub, err := p.subquery(at, ast.Scalar)
		if err != nil {
			return nil, err
		}
		var q ast.Expr = &ast.Quantified{At: off, Op: "=", X: left, Y: sub}
		if not {
			q = &ast.Logic{At: off, Op: "not", Args: []ast.Expr{q}}
		}
		return q, nil
	}
	list, err := p.bracketList()
	return &ast.InList{At: off, Not: not, X: left, List: list}, err
}

func (p *parser) atTimeZone(left ast.Expr) (ast.Expr, error) {
	t := p.take()
	if err := p.expectWords("time", "zone"); err != nil {
		return nil, err
	}
	zone, err := p.climb(precAt+1, false)
	return systemCall(ast.At(t.Off), "timezone", zone, left), err
}

// collate reads x COLLATE name; the name may have a schema.
func (p *parser) collate(left ast.Expr) (ast.Expr, error) {
	t := p.take()
	name, err := p.qualified()
	return &ast.Collate{At: ast.At(t.Off), X: left, Name: name}, err
}

// cast reads ::type.
func (p *parser) cast(left ast.Expr) (ast.Expr, error) {
	at := ast.At(p.take().Off)
	typ, err := p.typeName()
	return &ast.Cast{At: at, X: left, Type: typ}, err
}

// prefix reads NOT, signs and prefix operators, or a primary.
func (p *parser) prefix(simple bool) (ast.Expr, error) {
	t := p.peek()
	off := ast.At(t.Off)
	switch {
	case t.Word("not") && !simple:
		p.take()
		x, err := p.climb(precNot, false)
		return &ast.Logic{At: off, Op: "not", Args: []ast.Expr{x}}, err
	case t.Op("-") || t.Op("+"):
		p.take()
		x, err := p.climb(precUnary, simple)
		if err != nil {
			return nil, err
		}
		// A sign is part of the number, so that -9223372036854775808 is a bigint.
		if n, ok := x.(*ast.Literal); ok && t.Op("-") && (n.Kind == ast.Integer || n.Kind == ast.Number) {
			return &ast.Literal{At: off, Kind: n.Kind, Text: negative(n.Text)}, nil
		}
		return &ast.Operator{At: off, Op: t.Text, Args: []ast.Expr{x}}, nil
	case t.Kind == lex.Operator && p.infix() == precOther, t.Word("operator") && p.peekAt(1).Is("("):
		op, err := p.operatorSymbol()
		if err != nil {
			return nil, err
		}
		x, err := p.climb(precOther+1, simple)
		return &ast.Operator{At: off, Op: op, Args: []ast.Expr{x}}, err
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	if row, ok := x.(*ast.Row); ok && p.peek().Word("overlaps") && !simple {
		return p.overlaps(row)
	}
	return x, nil
}

// negative flips the sign of a number's text.
func negative(text string) string {
	if text[0] == '-' {
		return text[1:]
	}
	return "-" + text
}

// overlaps reads (a, b) OVERLAPS (c, d), a function of four arguments.
func (p *parser) overlaps(left *ast.Row) (ast.Expr, error) {
	at := ast.At(p.take().Off)
	begin := p.peek()
	if !begin.Is("(") && !begin.Word("row") {
		return nil, p.unexpected()
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	right, ok := x.(*ast.Row)
	if !ok {
		return nil, p.unexpected()
	}
	if len(left.Items) != 2 {
		return nil, lex.SyntaxError(left.Pos(), "wrong number of parameters on left side of OVERLAPS expression")
	}
	if len(right.Items) != 2 {
		return nil, lex.SyntaxError(begin.Off, "wrong number of parameters on right side of OVERLAPS expression")
	}
	return systemCall(at, "overlaps", append(append([]ast.Expr{}, left.Items...), right.Items...)...), nil
}

// exprs reads expressions separated by commas.
func (p *parser) exprs() ([]ast.Expr, error) {
	var out []ast.Expr
	err := p.list(func() error {
		e, err := p.expr()
		out = append(out, e)
		return err
	})
	return out, err
}

// bracketList reads (expression, ...).
func (p *parser) bracketList() (list []ast.Expr, err error) {
	err = p.inBrackets(func() error {
		list, err = p.exprs()
		return err
	})
	return list, err
}
