package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
)

// copy reads COPY (query) | table [(columns)] TO | FROM target [[WITH] (options) | old options] [WHERE ...].
func (p *parser) copy() (ast.Statement, error) {
	c := &ast.Copy{At: ast.At(p.take().Off), Format: "text"}
	var err error
	var options []copyOption
	if p.peek().Word("binary") {
		options = append(options, copyOption{name: "format", at: p.peek().Off, value: new(p.take().Text)})
	}
	if p.peek().Is("(") && options == nil {
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
	if t := p.peek(); c.Table != nil && (t.Word("delimiters") || t.Word("using") && p.peekAt(1).Word("delimiters")) {
		p.acceptWord("using")
		o := copyOption{name: "delimiter", at: p.take().Off}
		if o.value, err = p.stringValue(); err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	p.acceptWord("with")
	if p.peek().Is("(") {
		err = p.inBrackets(func() error {
			return p.list(func() error {
				o, err := p.copyOption()
				options = append(options, o)
				return err
			})
		})
	} else {
		options, err = p.oldCopyOptions(options)
	}
	if err != nil {
		return nil, err
	}
	if where := p.here(); c.From && p.acceptWord("where") {
		c.Where, c.Filtered = where, true
		if _, err := p.expr(); err != nil {
			return nil, err
		}
	}
	return c, applyCopyOptions(c, options)
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
