package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// tablePrimary reads one item of FROM without joins: a name, a function, a query, or a join in parentheses (table_ref).
func (p *parser) tablePrimary() (ast.FromItem, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.peek()
	lateral := p.acceptWord("lateral")
	switch {
	case p.peek().Is("("):
		if p.queryIn() {
			return p.derived(lateral)
		}
		if lateral {
			p.take()
			return nil, p.unexpected()
		}
		return p.joinInBrackets()
	case p.ahead("rows", "from") && p.peekAt(2).Is("("):
		return p.rowsFrom(ast.At(t.Off), lateral)
	case p.peek().Word("xmltable") && p.peekAt(1).Is("("):
		return nil, sqlstate.Unsupported(p.peek().Off, "Documents are JSON.", "XMLTABLE is not supported")
	case p.peek().Word("only"):
		if !lateral {
			return p.tableWithAlias()
		}
	case lateral || p.functionAhead():
		f := &ast.FuncTable{At: p.here(), Lateral: lateral}
		call, err := p.tableFunction()
		if err != nil {
			return nil, err
		}
		f.Calls = []ast.FuncCall{{Expr: call}}
		return f, p.functionAlias(f)
	}
	return p.tableWithAlias()
}

// functionAhead reports whether a function comes next rather than a table: a name followed by a parenthesis, or a word
// that is a call by itself.
func (p *parser) functionAhead() bool {
	t := p.peek()
	if _, ok := sessionValues[t.Text]; ok && t.Kind == lex.Ident {
		return true
	}
	if !t.Label() || t.Category == keyword.Reserved && t.Kind == lex.Ident && wordy[t.Text] == nil {
		return false
	}
	if t.Kind == lex.Ident && t.Category == keyword.TypeFunctionName {
		return true // cannot be a table's name; the parser of the call reports what is missing
	}
	for i := 1; ; i += 2 {
		if !p.peekAt(i).Is(".") {
			return p.peekAt(i).Is("(")
		}
	}
}

// tableFunction reads a call without FILTER and OVER (func_expr_windowless).
func (p *parser) tableFunction() (ast.Expr, error) {
	t := p.peek()
	if t.Kind == lex.Ident {
		if _, ok := sessionValues[t.Text]; ok && !(t.Text == "current_schema" && p.peekAt(1).Is("(")) {
			return p.sessionValue(sessionValues[t.Text])
		}
		if read := wordy[t.Text]; read != nil && t.Text != "grouping" && p.peekAt(1).Is("(") {
			p.take()
			return read(p, ast.At(t.Off))
		}
	}
	if !t.FunctionName() && !(t.ColumnName() && p.peekAt(1).Is(".")) {
		return nil, p.unexpected()
	}
	p.take()
	c := &ast.Call{At: ast.At(t.Off), Name: []string{t.Text}}
	for p.acceptPunct(".") {
		part, err := p.label()
		if err != nil {
			return nil, err
		}
		c.Name = append(c.Name, part)
	}
	err := p.inBrackets(func() error { return p.callInside(c) })
	return c, err
}

// derived reads (query) [AS] alias.
func (p *parser) derived(lateral bool) (ast.FromItem, error) {
	d := &ast.Derived{At: p.here(), Lateral: lateral}
	var err error
	if d.Query, err = p.queryInBrackets(); err != nil {
		return nil, err
	}
	if d.Alias, err = p.alias(); err != nil {
		return nil, err
	}
	if d.Alias.Name == "" {
		what, example := "subquery", "(SELECT ...)"
		if d.Query.Values != nil {
			what, example = "VALUES", "(VALUES ...)"
		}
		return nil, lex.SyntaxError(d.Pos(), "%s in FROM must have an alias", what).
			WithHint("For example, FROM %s [AS] foo.", example)
	}
	return d, nil
}

// joinInBrackets reads (a JOIN b ...) [[AS] alias].
func (p *parser) joinInBrackets() (ast.FromItem, error) {
	items, err := p.tables(true)
	if err != nil {
		return nil, err
	}
	j, ok := items[0].(*ast.Join)
	if !ok || j.Name != "" { // a single table, or a join that has an alias already
		return nil, p.unexpected()
	}
	if err := p.expectPunct(")"); err != nil {
		return nil, err
	}
	a, err := p.alias()
	if err == nil && a.Name != "" {
		named := *j
		named.Alias = a
		return &named, nil
	}
	return j, err
}

// rowsFrom reads ROWS FROM (f(x) [AS (name type, ...)], ...).
func (p *parser) rowsFrom(at ast.At, lateral bool) (ast.FromItem, error) {
	p.i += 2
	f := &ast.FuncTable{At: at, RowsFrom: true, Lateral: lateral}
	if err := p.inBrackets(func() error {
		return p.list(func() error {
			call, err := p.tableFunction()
			if err != nil {
				return err
			}
			c := ast.FuncCall{Expr: call}
			if p.acceptWord("as") {
				if c.Columns, c.Types, err = p.columnDefs(); err != nil {
					return err
				}
			}
			f.Calls = append(f.Calls, c)
			return nil
		})
	}); err != nil {
		return nil, err
	}
	return f, p.functionAlias(f)
}

// functionAlias reads [WITH ORDINALITY] and the alias of a function, which may be a column definition list.
func (p *parser) functionAlias(f *ast.FuncTable) (err error) {
	f.Ordinality = p.acceptWords("with", "ordinality")
	as := p.acceptWord("as")
	if !as || !p.peek().Is("(") {
		t := p.peek()
		if !t.ColumnName() {
			if as {
				return p.unexpected()
			}
			return nil
		}
		p.take()
		f.Alias.Name = t.Text
		if !p.peek().Is("(") {
			return nil
		}
		if n := p.peekAt(2); n.Is(",") || n.Is(")") {
			f.Alias.Columns, err = p.columnNames()
			return err
		}
	}
	f.Alias.Columns, f.Types, err = p.columnDefs()
	return err
}

// columnDefs reads (name type [COLLATE name], ...).
func (p *parser) columnDefs() (names []string, types []ast.TypeName, err error) {
	err = p.inBrackets(func() error {
		return p.list(func() error {
			name, err := p.name()
			if err != nil {
				return err
			}
			typ, err := p.typeName()
			if err != nil {
				return err
			}
			if p.acceptWord("collate") {
				if _, err := p.qualified(); err != nil {
					return err
				}
			}
			names, types = append(names, name), append(types, typ)
			return nil
		})
	})
	return names, types, err
}

// relation reads [ONLY] name [*].
func (p *parser) relation() (*ast.Table, error) {
	t := &ast.Table{At: p.here()}
	if p.acceptWord("only") {
		t.Only = true
		if p.peek().Is("(") {
			return t, p.inBrackets(func() (err error) {
				t.At = p.here()
				t.Name, err = p.tableName()
				return err
			})
		}
		t.At = p.here()
	}
	var err error
	if t.Name, err = p.tableName(); err != nil {
		return nil, err
	}
	if p.peek().Op("*") && !t.Only {
		p.take()
	}
	return t, nil
}

// tableName reads a name of up to three parts.
func (p *parser) tableName() ([]string, error) {
	off := p.here()
	parts, err := p.qualified()
	if err == nil && len(parts) > maxParts-1 {
		return nil, tooManyParts(off.Pos(), parts)
	}
	return parts, err
}

// tableWithAlias reads a table with its alias and TABLESAMPLE.
func (p *parser) tableWithAlias() (ast.FromItem, error) {
	t, err := p.relation()
	if err != nil {
		return nil, err
	}
	if t.Alias, err = p.alias(); err != nil {
		return nil, err
	}
	if !p.peek().Word("tablesample") {
		return t, nil
	}
	at := p.here()
	p.take()
	c := &ast.Call{At: at}
	if c.Name, err = p.qualified(); err != nil {
		return nil, err
	}
	if c.Args, err = p.bracketList(); err != nil {
		return nil, err
	}
	if p.acceptWord("repeatable") {
		if _, err := p.bracketList(); err != nil {
			return nil, err
		}
	}
	t.Sample = c
	return t, nil
}

// alias reads an optional [AS] name [(columns)].
func (p *parser) alias() (a ast.Alias, err error) {
	as := p.acceptWord("as")
	t := p.peek()
	if !t.ColumnName() {
		if as {
			return a, p.unexpected()
		}
		return a, nil
	}
	p.take()
	a.Name = t.Text
	a.Columns, err = p.columnNames()
	return a, err
}
