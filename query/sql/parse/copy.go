package parse

import (
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// copy reads COPY (query) | table [(columns)] TO | FROM target [[WITH] (options) | old options] [WHERE ...].
func (p *parser) copy() (ast.Statement, error) {
	c := &ast.Copy{At: ast.At(p.take().Off), Format: "text"}
	var err error
	old := p.acceptWord("binary")
	if p.peek().Is("(") {
		err = p.inBrackets(func() error {
			c.Statement, err = p.preparable()
			return err
		})
	} else {
		err = p.copyTable(c)
	}
	if err != nil {
		return nil, err
	}
	if c.From = c.Table != nil && p.acceptWord("from"); !c.From {
		if err := p.expectWords("to"); err != nil {
			return nil, err
		}
	}
	if err := p.copyTarget(c); err != nil {
		return nil, err
	}
	if old {
		c.Format = "binary"
	}
	if p.peek().Word("using") && p.peekAt(1).Word("delimiters") {
		p.take()
	}
	p.acceptWord("with")
	if p.peek().Is("(") {
		err = p.inBrackets(func() error { return p.list(func() error { return p.copyOption(c) }) })
	} else {
		err = p.oldCopyOptions(c)
	}
	if err != nil {
		return nil, err
	}
	if c.From && p.acceptWord("where") {
		if _, err := p.expr(); err != nil {
			return nil, err
		}
	}
	return c, checkCopy(c)
}

// copyTable reads table [(columns)], which is copied as SELECT columns FROM table.
func (p *parser) copyTable(c *ast.Copy) (err error) {
	c.Table = &ast.Table{At: p.here()}
	if c.Table.Name, err = p.tableName(); err != nil {
		return err
	}
	if c.Columns, err = p.columnNames(); err != nil {
		return err
	}
	at := c.Table.At
	q := &ast.Select{At: at, From: []ast.FromItem{c.Table}}
	for _, name := range c.Columns {
		q.Targets = append(q.Targets, ast.Target{Expr: &ast.Column{At: at, Parts: []string{name}}})
	}
	if len(c.Columns) == 0 {
		q.Targets = []ast.Target{{Expr: &ast.Column{At: at, Star: true}}}
	}
	c.Statement = &ast.Query{Select: q}
	return nil
}

// copyTarget reads STDIN, STDOUT, PROGRAM 'command' or 'file'.
func (p *parser) copyTarget(c *ast.Copy) error {
	c.TargetPos = p.here()
	switch t := p.take(); {
	case t.Words("stdin", "stdout"):
		c.Target = t.Text
	case t.Word("program"):
		if n := p.take(); n.Kind != lex.String {
			return p.unexpectedAt(n)
		}
	case t.Kind != lex.String:
		return p.unexpectedAt(t)
	}
	return nil
}

func (p *parser) copyOption(c *ast.Copy) error {
	t := p.take()
	if !t.Label() {
		return p.unexpectedAt(t)
	}
	v := p.peek()
	value := ""
	if v.Kind == lex.String || v.Label() || v.Kind == lex.Integer {
		p.take()
		value = v.Text
	}
	on := value != "off" && value != "false" && value != "0"
	switch t.Text {
	case "format":
		c.Format, c.FormatAt = value, t.Off
	case "delimiter":
		c.Delimiter = value
	case "null":
		c.Null = value
		if value == "" {
			c.Null = "\x00" // not set: checkCopy fills in the default
		}
	case "header":
		c.Header = on
	case "quote":
		c.Quote = value
	case "escape":
		c.Escape = value
	case "force_quote":
		return p.forceQuote(c)
	case "encoding":
		if !strings.EqualFold(strings.ReplaceAll(value, "-", ""), "utf8") {
			return sqlstate.Unsupported(t.Off, "Use UTF8.", "encoding %q is not supported", value)
		}
	case "force_not_null", "force_null", "freeze", "default":
		if !c.From {
			return sqlstate.New(sqlstate.FeatureNotSupported, "COPY %s only available using COPY FROM",
				strings.ReplaceAll(t.Text, "_", " ")).At(t.Off)
		}
		if p.peek().Is("(") {
			_, err := p.columnNames()
			return err
		}
	default:
		return lex.SyntaxError(t.Off, "option %q not recognized", t.Text)
	}
	return nil
}

// forceQuote reads * or (columns).
func (p *parser) forceQuote(c *ast.Copy) (err error) {
	if p.peek().Op("*") {
		p.take()
		c.ForceQuote = []string{"*"}
		return nil
	}
	if !p.peek().Is("(") {
		return p.unexpected()
	}
	c.ForceQuote, err = p.columnNames()
	return err
}

func (p *parser) oldCopyOptions(c *ast.Copy) error {
	for {
		t := p.peek()
		switch {
		case p.acceptWord("csv"):
			c.Format = "csv"
		case p.acceptWord("binary"):
			c.Format = "binary"
		case p.acceptWord("header"):
			c.Header = true
		case t.Word("force") && p.peekAt(1).Word("quote"):
			p.i += 2
			if p.peek().Op("*") {
				p.take()
				c.ForceQuote = []string{"*"}
				continue
			}
			var err error
			if c.ForceQuote, err = p.names(); err != nil {
				return err
			}
		case t.Words("delimiter", "delimiters", "null", "quote", "escape"):
			p.take()
			p.acceptWord("as")
			v := p.take()
			if v.Kind != lex.String {
				return p.unexpectedAt(v)
			}
			switch t.Text {
			case "null":
				c.Null = v.Text
			case "quote":
				c.Quote = v.Text
			case "escape":
				c.Escape = v.Text
			default:
				c.Delimiter = v.Text
			}
		default:
			return nil
		}
	}
}

// checkCopy fills in the defaults of the format and checks the options.
func checkCopy(c *ast.Copy) error {
	switch c.Format {
	case "text", "csv", "binary":
	default:
		return sqlstate.New(sqlstate.InvalidParameterValue, "COPY format %q not recognized", c.Format).At(c.FormatAt)
	}
	if c.Format == "binary" && c.Delimiter != "" {
		return sqlstate.New(sqlstate.SyntaxError, "cannot specify DELIMITER in BINARY mode")
	}
	if c.Format == "binary" && c.Null != "" {
		return sqlstate.New(sqlstate.SyntaxError, "cannot specify NULL in BINARY mode")
	}
	def := func(p *string, text, csv string) {
		if *p == "" {
			*p = text
			if c.Format == "csv" {
				*p = csv
			}
		}
	}
	def(&c.Delimiter, "\t", ",")
	def(&c.Null, `\N`, "\x00")
	def(&c.Quote, `"`, `"`)
	def(&c.Escape, c.Quote, c.Quote)
	if c.Null == "\x00" {
		c.Null = ""
	}
	switch {
	case len(c.Delimiter) != 1:
		return sqlstate.New(sqlstate.FeatureNotSupported, "COPY delimiter must be a single one-byte character")
	case strings.ContainsAny(c.Delimiter, "\n\r"):
		return sqlstate.New(sqlstate.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case len(c.Quote) != 1:
		return sqlstate.New(sqlstate.FeatureNotSupported, "COPY quote must be a single one-byte character")
	case len(c.Escape) != 1:
		return sqlstate.New(sqlstate.FeatureNotSupported, "COPY escape must be a single one-byte character")
	}
	return nil
}
