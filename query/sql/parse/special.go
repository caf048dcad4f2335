package parse

import (
	"strconv"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// wordy maps the functions whose arguments SQL separates by words, or restricts, to their parsers. A parser begins at
// the opening parenthesis (func_expr_common_subexpr).
var wordy map[string]func(p *parser, at ast.At) (ast.Expr, error)

func init() {
	named := func(read func(p *parser, c *ast.Call) error, name string) func(*parser, ast.At) (ast.Expr, error) {
		return func(p *parser, at ast.At) (ast.Expr, error) {
			c := &ast.Call{At: at, Name: []string{name}}
			return c, p.inBrackets(func() error { return read(p, c) })
		}
	}
	// PostgreSQL resolves these functions in pg_catalog, and its messages name the schema.
	system := func(read func(p *parser, c *ast.Call) error, name string) func(*parser, ast.At) (ast.Expr, error) {
		return func(p *parser, at ast.At) (ast.Expr, error) {
			c := systemCall(at, name)
			return c, p.inBrackets(func() error { return read(p, c) })
		}
	}
	list := func(p *parser, c *ast.Call) (err error) {
		c.Args, err = p.exprs()
		return err
	}
	wordy = map[string]func(*parser, ast.At) (ast.Expr, error){
		"cast":      (*parser).castCall,
		"coalesce":  named(list, "coalesce"),
		"greatest":  named(list, "greatest"),
		"least":     named(list, "least"),
		"grouping":  named(list, "grouping"),
		"nullif":    named((*parser).nullIf, "nullif"),
		"extract":   system((*parser).extract, "extract"),
		"position":  system((*parser).position, "position"),
		"substring": named((*parser).substring, "substring"),
		"overlay":   named((*parser).overlay, "overlay"),
		"trim":      system((*parser).trim, "btrim"),
		"normalize": system((*parser).normalize, "normalize"),
	}
	for _, w := range []string{"treat", "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi",
		"xmlroot", "xmlserialize"} {
		wordy[w] = func(_ *parser, at ast.At) (ast.Expr, error) {
			return nil, sqlstate.Unsupported(at.Pos(), "Documents are JSON.", "%s is not supported", w)
		}
	}
}

func systemCall(at ast.At, name string, args ...ast.Expr) *ast.Call {
	return &ast.Call{At: at, Name: []string{"pg_catalog", name}, Args: args}
}

func atoi(s string) (int, error) { return strconv.Atoi(s) }

func (p *parser) castCall(at ast.At) (ast.Expr, error) {
	n := &ast.Cast{At: at}
	return n, p.inBrackets(func() (err error) {
		if n.X, err = p.expr(); err != nil {
			return err
		}
		if err = p.expectWords("as"); err == nil {
			n.Type, err = p.typeName()
		}
		return err
	})
}

// arg reads one more argument.
func (p *parser) arg(c *ast.Call) error {
	e, err := p.expr()
	c.Args = append(c.Args, e)
	return err
}

func (p *parser) nullIf(c *ast.Call) error {
	if err := p.arg(c); err != nil {
		return err
	}
	if err := p.expectPunct(","); err != nil {
		return err
	}
	return p.arg(c)
}

// extract reads field FROM x.
func (p *parser) extract(c *ast.Call) error {
	f := p.take()
	if f.Kind != lex.String && f.Kind != lex.Quoted && !(f.Kind == lex.Ident && (f.Category == keyword.None ||
		f.Words("year", "month", "day", "hour", "minute", "second"))) {
		return p.unexpectedAt(f)
	}
	c.Args = []ast.Expr{&ast.Literal{At: ast.At(f.Off), Kind: ast.String, Text: f.Text}}
	if err := p.expectWords("from"); err != nil {
		return err
	}
	return p.arg(c)
}

// position reads x IN y, which is position(y, x).
func (p *parser) position(c *ast.Call) error {
	x, err := p.simpleExpr()
	if err != nil {
		return err
	}
	if err := p.expectWords("in"); err != nil {
		return err
	}
	y, err := p.simpleExpr()
	c.Args = []ast.Expr{y, x}
	return err
}

// substring reads x FROM start FOR length in its forms, x SIMILAR pattern ESCAPE e, or a list.
func (p *parser) substring(c *ast.Call) error {
	if p.peek().Is(")") {
		return nil
	}
	if err := p.argument(c); err != nil {
		return err
	}
	if p.acceptWord("similar") {
		c.Name = []string{"pg_catalog", "substring"}
		if err := p.arg(c); err != nil {
			return err
		}
		if err := p.expectWords("escape"); err != nil {
			return err
		}
		return p.arg(c)
	}
	var from, length ast.Expr
	for p.peek().Words("from", "for") {
		t := p.take()
		if t.Word("from") && from != nil || t.Word("for") && length != nil {
			return p.unexpectedAt(t)
		}
		e, err := p.expr()
		if err != nil {
			return err
		}
		if t.Word("from") {
			from = e
			continue
		}
		length = e
	}
	switch {
	case from == nil && length == nil:
		return p.arguments(c)
	case from == nil:
		from = &ast.Literal{At: ast.At(length.Pos()), Kind: ast.Integer, Text: "1"}
	}
	c.Name = []string{"pg_catalog", "substring"}
	c.Args = append(c.Args, from)
	if length != nil {
		c.Args = append(c.Args, length)
	}
	return nil
}

// overlay reads x PLACING y FROM start [FOR length], or a list.
func (p *parser) overlay(c *ast.Call) error {
	if p.peek().Is(")") {
		return nil
	}
	if err := p.argument(c); err != nil {
		return err
	}
	if !p.acceptWord("placing") {
		return p.arguments(c)
	}
	c.Name = []string{"pg_catalog", "overlay"}
	if err := p.arg(c); err != nil {
		return err
	}
	if err := p.expectWords("from"); err != nil {
		return err
	}
	if err := p.arg(c); err != nil {
		return err
	}
	if p.acceptWord("for") {
		return p.arg(c)
	}
	return nil
}

// trim reads [BOTH|LEADING|TRAILING] [characters] FROM x, or a list.
func (p *parser) trim(c *ast.Call) error {
	if w := p.peek(); w.Words("both", "leading", "trailing") {
		c.Name[1] = map[string]string{"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[w.Text]
		p.take()
	}
	if p.acceptWord("from") {
		list, err := p.exprs()
		c.Args = list
		return err
	}
	x, err := p.expr()
	if err != nil {
		return err
	}
	if p.acceptWord("from") {
		list, err := p.exprs()
		c.Args = append(list, x)
		return err
	}
	c.Args = []ast.Expr{x}
	for p.acceptPunct(",") {
		if err := p.arg(c); err != nil {
			return err
		}
	}
	return nil
}

// normalize reads x [, form].
func (p *parser) normalize(c *ast.Call) error {
	if err := p.arg(c); err != nil || !p.acceptPunct(",") {
		return err
	}
	f := p.take()
	if !f.Words("nfc", "nfd", "nfkc", "nfkd") {
		return p.unexpectedAt(f)
	}
	c.Args = append(c.Args, &ast.Literal{At: ast.At(f.Off), Kind: ast.String, Text: f.Text})
	return nil
}
