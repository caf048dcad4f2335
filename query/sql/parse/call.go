package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// call reads the arguments of a function and the clauses that may follow: WITHIN GROUP, FILTER and OVER.
func (p *parser) call(at ast.At, name []string) (ast.Expr, error) {
	c := &ast.Call{At: at, Name: name}
	if err := p.inBrackets(func() error { return p.callInside(c) }); err != nil {
		return nil, err
	}
	if t := p.peek(); p.acceptWord("within") {
		if err := p.expectWords("group"); err != nil {
			return nil, err
		}
		switch {
		case len(c.Order) > 0:
			return nil, lex.SyntaxError(t.Off, "cannot use multiple ORDER BY clauses with WITHIN GROUP")
		case c.Distinct:
			return nil, lex.SyntaxError(t.Off, "cannot use DISTINCT with WITHIN GROUP")
		case c.Variadic:
			return nil, lex.SyntaxError(t.Off, "cannot use VARIADIC with WITHIN GROUP")
		}
		c.Within = true
		if err := p.inBrackets(func() (err error) {
			c.Order, err = p.orderBy()
			return err
		}); err != nil {
			return nil, err
		}
	}
	if p.acceptWord("filter") {
		if err := p.inBrackets(func() (err error) {
			if err = p.expectWords("where"); err == nil {
				c.Filter, err = p.expr()
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	if p.acceptWord("over") {
		if t := p.peek(); !t.Is("(") {
			name, err := p.name()
			c.Over = &ast.Window{At: ast.At(t.Off), Name: name}
			return c, err
		}
		w, err := p.window()
		if err != nil {
			return nil, err
		}
		c.Over = w
	}
	return c, nil
}

// callInside reads the inside of the parentheses of a call.
func (p *parser) callInside(c *ast.Call) error {
	switch {
	case p.peek().Op("*"):
		p.take()
		c.Star = true
		return nil
	case p.peek().Is(")"):
		return nil
	case p.acceptWord("distinct"):
		c.Distinct = true
	case p.acceptWord("all"):
	}
	if err := p.argument(c); err != nil {
		return err
	}
	if err := p.arguments(c); err != nil {
		return err
	}
	if p.peek().Word("order") {
		var err error
		c.Order, err = p.orderBy()
		return err
	}
	return nil
}

// arguments reads further arguments, each after a comma.
func (p *parser) arguments(c *ast.Call) error {
	for !c.Variadic && p.acceptPunct(",") {
		if err := p.argument(c); err != nil {
			return err
		}
	}
	return nil
}

// argument reads one argument (func_arg_expr): [VARIADIC] x, or name => x.
func (p *parser) argument(c *ast.Call) error {
	if !c.Distinct && p.acceptWord("variadic") {
		c.Variadic = true
	}
	t := p.peek()
	if n := p.peekAt(1); t.FunctionName() && (n.Is("=>") || n.Is(":=")) {
		p.i += 2
		for _, a := range c.Args {
			if have, ok := a.(*ast.NamedArg); ok && have.Name == t.Text {
				return lex.SyntaxError(t.Off, `argument name "%s" used more than once`, t.Text)
			}
		}
		x, err := p.expr()
		c.Args = append(c.Args, &ast.NamedArg{At: ast.At(t.Off), Name: t.Text, Value: x})
		return err
	}
	if n := len(c.Args); n > 0 {
		if _, ok := c.Args[n-1].(*ast.NamedArg); ok {
			return lex.SyntaxError(t.Off, "positional argument cannot follow named argument")
		}
	}
	return p.arg(c)
}

// orderBy reads ORDER BY with its items.
func (p *parser) orderBy() ([]ast.OrderItem, error) {
	if err := p.expectWords("order", "by"); err != nil {
		return nil, err
	}
	var items []ast.OrderItem
	err := p.list(func() error {
		e, err := p.expr()
		if err != nil {
			return err
		}
		it := ast.OrderItem{Expr: e}
		switch {
		case p.acceptWord("asc"):
		case p.acceptWord("desc"):
			it.Desc = true
		case p.acceptWord("using"):
			t := p.peek()
			if t.Kind != lex.Operator && !t.Word("operator") {
				return p.unexpected()
			}
			it.UsingAt = ast.At(t.Off)
			if it.Using, err = p.operatorSymbol(); err != nil {
				return err
			}
			it.Desc = it.Using == ">" || it.Using == "~>~"
		}
		it.NullsFirst = it.Desc
		if p.acceptWords("nulls", "first") {
			it.NullsFirst = true
		} else if p.acceptWords("nulls", "last") {
			it.NullsFirst = false
		}
		items = append(items, it)
		return nil
	})
	return items, err
}

// window reads ([name] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) window() (*ast.Window, error) {
	w := &ast.Window{At: p.here()}
	err := p.inBrackets(func() (err error) {
		if t := p.peek(); t.ColumnName() && !t.Words("partition", "range", "rows", "groups") {
			p.take()
			w.Base = t.Text
		}
		if p.acceptWord("partition") {
			if err = p.expectWords("by"); err != nil {
				return err
			}
			if w.Partition, err = p.exprs(); err != nil {
				return err
			}
		}
		if p.peek().Word("order") {
			if w.Order, err = p.orderBy(); err != nil {
				return err
			}
		}
		if p.peek().Words("range", "rows", "groups") {
			w.Frame, err = p.frame()
		}
		return err
	})
	return w, err
}

// frame reads ROWS|RANGE|GROUPS bound or BETWEEN bound AND bound, and EXCLUDE.
func (p *parser) frame() (*ast.Frame, error) {
	t := p.take()
	f := &ast.Frame{At: ast.At(t.Off), Mode: t.Text}
	between := p.acceptWord("between")
	var err error
	if f.Start, err = p.bound(); err != nil {
		return nil, err
	}
	f.End = ast.Bound{At: f.Start.At, Kind: ast.CurrentRow}
	if between {
		if err := p.expectWords("and"); err != nil {
			return nil, err
		}
		if f.End, err = p.bound(); err != nil {
			return nil, err
		}
	}
	if err := checkFrame(f, between); err != nil {
		return nil, err
	}
	if !p.acceptWord("exclude") {
		return f, nil
	}
	switch {
	case p.acceptWords("current", "row"):
		f.Exclude = "current row"
	case p.acceptWord("group"):
		f.Exclude = "group"
	case p.acceptWord("ties"):
		f.Exclude = "ties"
	case p.acceptWords("no", "others"):
	default:
		return nil, p.unexpected()
	}
	return f, nil
}

// checkFrame refuses frames whose bounds are in the wrong order, with PostgreSQL's messages.
func checkFrame(f *ast.Frame, between bool) error {
	bad := func(at ast.At, text string) error {
		return sqlstate.New(sqlstate.WindowingError, "%s", text).At(at.Pos())
	}
	switch {
	case f.Start.Kind == ast.UnboundedFollowing:
		return bad(f.Start.At, "frame start cannot be UNBOUNDED FOLLOWING")
	case !between && f.Start.Kind == ast.Following:
		return bad(f.Start.At, "frame starting from following row cannot end with current row")
	case f.End.Kind == ast.UnboundedPreceding:
		return bad(f.End.At, "frame end cannot be UNBOUNDED PRECEDING")
	case f.Start.Kind == ast.CurrentRow && f.End.Kind == ast.Preceding:
		return bad(f.End.At, "frame starting from current row cannot have preceding rows")
	case f.Start.Kind == ast.Following && (f.End.Kind == ast.Preceding || f.End.Kind == ast.CurrentRow):
		return bad(f.End.At, "frame starting from following row cannot have preceding rows")
	}
	return nil
}

func (p *parser) bound() (ast.Bound, error) {
	b := ast.Bound{At: p.here()}
	switch {
	case p.acceptWords("unbounded", "preceding"):
		b.Kind = ast.UnboundedPreceding
		return b, nil
	case p.acceptWords("unbounded", "following"):
		b.Kind = ast.UnboundedFollowing
		return b, nil
	case p.acceptWords("current", "row"):
		b.Kind = ast.CurrentRow
		return b, nil
	}
	var err error
	if b.Offset, err = p.expr(); err != nil {
		return b, err
	}
	switch {
	case p.acceptWord("preceding"):
		b.Kind = ast.Preceding
	case p.acceptWord("following"):
		b.Kind = ast.Following
	default:
		return b, p.unexpected()
	}
	return b, nil
}
