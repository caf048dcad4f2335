package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// query reads a query without parentheses around it (select_no_parens), or with (select_with_parens).
func (p *parser) query() (*ast.Select, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	at := p.here()
	with, recursive, err := p.with()
	if err != nil {
		return nil, err
	}
	return p.queryAfterWith(at, with, recursive)
}

// queryAfterWith reads the part after a WITH list: the set operations, then ORDER BY, LIMIT and locks.
func (p *parser) queryAfterWith(at ast.At, with []ast.CTE, recursive bool) (*ast.Select, error) {
	s, err := p.setOperation(precUnion)
	if err != nil {
		return nil, err
	}
	if len(with) > 0 {
		if len(s.With) > 0 {
			return nil, lex.SyntaxError(at.Pos(), "multiple WITH clauses not allowed")
		}
		s.With, s.Recursive, s.At = with, recursive, at
	}
	return s, p.tail(s)
}

// queryInBrackets reads (query).
func (p *parser) queryInBrackets() (q *ast.Select, err error) {
	err = p.inBrackets(func() error {
		q, err = p.query()
		return err
	})
	return q, err
}

// Precedences of the set operations.
const (
	precUnion = iota + 1 // UNION and EXCEPT
	precIntersect
)

// setOperation reads queries joined by UNION, EXCEPT and INTERSECT, which binds more tightly (select_clause).
func (p *parser) setOperation(min int) (*ast.Select, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		t := p.peek()
		prec := 0
		switch {
		case t.Words("union", "except"):
			prec = precUnion
		case t.Word("intersect"):
			prec = precIntersect
		}
		if prec < min || prec == 0 {
			return left, nil
		}
		if err := p.deep(n); err != nil {
			return nil, err
		}
		p.take()
		s := &ast.Select{At: left.At, OpPos: ast.At(t.Off),
			Op: map[string]ast.SetOp{"union": ast.Union, "except": ast.Except, "intersect": ast.Intersect}[t.Text]}
		if s.All = p.acceptWord("all"); !s.All {
			p.acceptWord("distinct")
		}
		s.Left = left
		if s.Right, err = p.setOperation(prec + 1); err != nil {
			return nil, err
		}
		left = s
	}
}

// operand reads one SELECT, VALUES, TABLE, or a query in parentheses.
func (p *parser) operand() (*ast.Select, error) {
	t := p.peek()
	switch {
	case t.Is("("):
		return p.queryInBrackets()
	case t.Word("select"):
		return p.core()
	case t.Word("values"):
		return p.values()
	case t.Word("table"):
		p.take()
		table, err := p.relation()
		return &ast.Select{At: ast.At(t.Off), Targets: []ast.Target{{Expr: &ast.Column{At: ast.At(t.Off), Star: true}}},
			From: []ast.FromItem{table}}, err
	}
	return nil, p.unexpected()
}

// values reads VALUES (...), (...).
func (p *parser) values() (*ast.Select, error) {
	s := &ast.Select{At: ast.At(p.take().Off)}
	return s, p.list(func() error {
		row, err := p.bracketList()
		if err != nil {
			return err
		}
		if len(s.Values) > 0 && len(s.Values[0]) != len(row) {
			return lex.SyntaxError(row[0].Pos(), "VALUES lists must all be the same length")
		}
		s.Values = append(s.Values, row)
		return nil
	})
}

// tail reads ORDER BY, then LIMIT, OFFSET and FETCH FIRST; row locks may come before or after those.
func (p *parser) tail(s *ast.Select) error {
	if t := p.peek(); t.Word("order") {
		order, err := p.orderBy()
		if err != nil {
			return err
		}
		if len(s.OrderBy) > 0 {
			return lex.SyntaxError(order[0].Expr.Pos(), "multiple ORDER BY clauses not allowed")
		}
		s.OrderBy = order
	}
	if err := p.locks(s); err != nil {
		return err
	}
	if err := p.limits(s); err != nil {
		return err
	}
	if len(s.Locks) == 0 {
		return p.locks(s)
	}
	return nil
}

// limits reads LIMIT or FETCH FIRST, and OFFSET, in any order.
func (p *parser) limits(s *ast.Select) error {
	var limited, skipped bool
	for {
		t := p.peek()
		switch {
		case t.Words("limit", "fetch") && !limited:
			limited = true
			limit, ties, err := p.limit()
			if err != nil {
				return err
			}
			if s.Limit != nil && limit != nil {
				return lex.SyntaxError(limit.Pos(), "multiple LIMIT clauses not allowed")
			}
			if ties && len(s.OrderBy) == 0 {
				return lex.SyntaxError(-1, "WITH TIES cannot be specified without ORDER BY clause")
			}
			if limit != nil {
				s.Limit, s.WithTies = limit, ties
			}
		case t.Word("offset") && !skipped:
			skipped = true
			p.take()
			skip, err := p.expr()
			if err != nil {
				return err
			}
			if s.Offset != nil {
				return lex.SyntaxError(skip.Pos(), "multiple OFFSET clauses not allowed")
			}
			s.Offset = skip
			if !p.acceptWord("rows") {
				p.acceptWord("row")
			}
		default:
			return nil
		}
	}
}

// limit reads LIMIT n, LIMIT ALL or FETCH FIRST|NEXT [n] ROW|ROWS ONLY|WITH TIES.
func (p *parser) limit() (n ast.Expr, ties bool, err error) {
	t := p.take()
	if t.Word("limit") {
		if p.acceptWord("all") {
			return nil, false, nil
		}
		if n, err = p.expr(); err != nil {
			return nil, false, err
		}
		if p.peek().Is(",") {
			return nil, false, lex.SyntaxError(t.Off, "LIMIT #,# syntax is not supported").
				WithHint("Use separate LIMIT and OFFSET clauses.")
		}
		if l, ok := n.(*ast.Literal); ok && l.Kind == ast.Null {
			return nil, false, nil
		}
		return n, false, nil
	}
	if !p.acceptWord("first") && !p.acceptWord("next") {
		return nil, false, p.unexpected()
	}
	n = &ast.Literal{At: ast.At(t.Off), Kind: ast.Integer, Text: "1"}
	switch f := p.peek(); {
	case f.Words("row", "rows"):
	case f.Op("-") || f.Op("+"):
		p.take()
		c := p.take()
		if c.Kind != lex.Integer && c.Kind != lex.Number {
			return nil, false, p.unexpectedAt(c)
		}
		if n, err = p.constant(c); err == nil && f.Op("-") {
			n = &ast.Operator{At: ast.At(f.Off), Op: "-", Args: []ast.Expr{n}}
		}
	default:
		n, err = p.primary()
	}
	if err != nil {
		return nil, false, err
	}
	if !p.acceptWord("rows") && !p.acceptWord("row") {
		return nil, false, p.unexpected()
	}
	if p.acceptWords("with", "ties") {
		return n, true, nil
	}
	return n, false, p.expectWords("only")
}

// locks reads FOR UPDATE and the other locking clauses.
func (p *parser) locks(s *ast.Select) error {
	for p.peek().Word("for") {
		l := ast.Lock{At: ast.At(p.take().Off)}
		switch {
		case p.acceptWord("update"):
			l.Strength = "UPDATE"
		case p.acceptWord("no"):
			l.Strength = "NO KEY UPDATE"
			if err := p.expectWords("key", "update"); err != nil {
				return err
			}
		case p.acceptWord("share"):
			l.Strength = "SHARE"
		case p.acceptWord("key"):
			l.Strength = "KEY SHARE"
			if err := p.expectWords("share"); err != nil {
				return err
			}
		case len(s.Locks) == 0 && p.acceptWord("read"):
			return p.expectWords("only")
		default:
			return p.unexpected()
		}
		if p.acceptWord("of") {
			if err := p.list(func() error {
				l.OfPlaces = append(l.OfPlaces, p.here())
				name, err := p.qualified()
				l.Of = append(l.Of, name)
				return err
			}); err != nil {
				return err
			}
		}
		if p.acceptWord("nowait") {
			l.Wait = "nowait"
		} else if p.acceptWords("skip", "locked") {
			l.Wait = "skip locked"
		}
		s.Locks = append(s.Locks, l)
	}
	return nil
}

// with reads an optional WITH [RECURSIVE] and its queries.
func (p *parser) with() (list []ast.CTE, recursive bool, err error) {
	if !p.peek().Word("with") {
		return nil, false, nil
	}
	p.take()
	recursive = p.acceptWord("recursive")
	err = p.list(func() error {
		c := ast.CTE{At: p.here()}
		if c.Name, err = p.name(); err != nil {
			return err
		}
		if c.Columns, err = p.columnNames(); err != nil {
			return err
		}
		if err := p.expectWords("as"); err != nil {
			return err
		}
		if p.acceptWord("not") {
			c.Materialize, err = "never", p.expectWords("materialized")
		} else if p.acceptWord("materialized") {
			c.Materialize = "always"
		}
		if err != nil {
			return err
		}
		if err := p.inBrackets(func() error {
			c.Statement, err = p.preparable()
			return err
		}); err != nil {
			return err
		}
		if err := p.searchAndCycle(&c); err != nil {
			return err
		}
		list = append(list, c)
		return nil
	})
	return list, recursive, err
}

// searchAndCycle reads SEARCH DEPTH|BREADTH FIRST BY columns SET name and CYCLE columns SET mark [TO x DEFAULT y] USING
// path.
func (p *parser) searchAndCycle(c *ast.CTE) error {
	if p.ahead("search", "depth") || p.ahead("search", "breadth") {
		p.i += 2
		c.Search = true
		if err := p.expectWords("first", "by"); err != nil {
			return err
		}
		if _, err := p.names(); err != nil {
			return err
		}
		if err := p.expectWords("set"); err != nil {
			return err
		}
		if _, err := p.name(); err != nil {
			return err
		}
	}
	if !p.acceptWord("cycle") {
		return nil
	}
	c.Cycle = true
	if _, err := p.names(); err != nil {
		return err
	}
	if err := p.expectWords("set"); err != nil {
		return err
	}
	if _, err := p.name(); err != nil {
		return err
	}
	if p.acceptWord("to") {
		if _, err := p.primary(); err != nil {
			return err
		}
		if err := p.expectWords("default"); err != nil {
			return err
		}
		if _, err := p.primary(); err != nil {
			return err
		}
	}
	if err := p.expectWords("using"); err != nil {
		return err
	}
	_, err := p.name()
	return err
}

// preparable reads a statement that is allowed in WITH, PREPARE and COPY: a query, INSERT, UPDATE or DELETE.
func (p *parser) preparable() (ast.Statement, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	at := p.here()
	with, recursive, err := p.with()
	if err != nil {
		return nil, err
	}
	switch t := p.peek(); t.Text {
	case "insert", "update", "delete":
		if t.Kind == lex.Ident {
			return p.write(at, with, recursive)
		}
	case "merge":
		if t.Kind == lex.Ident {
			return nil, sqlstate.Unsupported(t.Off, "POST the documents to _bulk_docs over HTTP.",
				"MERGE is not supported")
		}
	}
	q, err := p.queryAfterWith(at, with, recursive)
	if err != nil {
		return nil, err
	}
	return &ast.Query{Select: q}, nil
}
