package parse

import (
	"github.com/divandb/divan/query/sql/ast"
)

// target reads an item of a select list: *, or an expression with an optional alias.
func (p *parser) target() (ast.Target, error) {
	if t := p.peek(); t.Op("*") {
		p.take()
		return ast.Target{Expr: &ast.Column{At: ast.At(t.Off), Star: true}}, nil
	}
	e, err := p.expr()
	if err != nil {
		return ast.Target{}, err
	}
	t := ast.Target{Expr: e}
	if p.acceptWord("as") {
		t.Alias, err = p.label()
	} else if n := p.peek(); n.BareLabel() {
		p.take()
		t.Alias = n.Text
	}
	return t, err
}

// targets reads a select list, such as the one of RETURNING.
func (p *parser) targets() ([]ast.Target, error) {
	var out []ast.Target
	err := p.list(func() error {
		t, err := p.target()
		out = append(out, t)
		return err
	})
	return out, err
}

// into reads INTO [TEMPORARY|TEMP|UNLOGGED] [TABLE] name.
func (s *skeleton) into(out *ast.Select) error {
	p := s.p
	at := ast.At(p.take().Off)
	if out.Into != nil {
		return p.unexpectedAt(p.toks[p.i-1])
	}
	for p.acceptWord("local") || p.acceptWord("global") || p.acceptWord("temporary") || p.acceptWord("temp") ||
		p.acceptWord("unlogged") {
	}
	p.acceptWord("table")
	name, err := p.qualified()
	out.Into = &ast.Table{At: at, Name: name}
	return err
}

// groupItem reads an item of GROUP BY.
func (p *parser) groupItem() (ast.Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.peek()
	set := &ast.GroupingSet{At: ast.At(t.Off)}
	switch next := p.peekAt(1); {
	case t.Is("(") && next.Is(")"):
		p.i += 2
		set.Kind = "empty"
		return set, nil
	case t.Words("rollup", "cube") && next.Is("("):
		p.take()
		set.Kind = t.Text
		var err error
		set.Items, err = p.bracketList()
		return set, err
	case t.Word("grouping") && next.Word("sets"):
		p.i += 2
		set.Kind = "grouping sets"
		return set, p.inBrackets(func() error {
			return p.list(func() error {
				it, err := p.groupItem()
				set.Items = append(set.Items, it)
				return err
			})
		})
	}
	return p.expr()
}

// windows reads the WINDOW clause.
func (p *parser) windows(s *ast.Select) error {
	if !p.acceptWord("window") {
		return nil
	}
	return p.list(func() error {
		name, err := p.name()
		if err != nil {
			return err
		}
		if err := p.expectWords("as"); err != nil {
			return err
		}
		w, err := p.window()
		if err != nil {
			return err
		}
		s.Windows = append(s.Windows, ast.WindowDef{Name: name, Window: w})
		return nil
	})
}

// tables skips a token and reads the items of a FROM list. If single is set it reads one item with its joins in
// parentheses.
func (p *parser) tables(single bool) ([]ast.FromItem, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	s := &skeleton{p: p, clause: tableList, from: true, only: true, single: single}
	s.text.WriteString("select ")
	s.placeholder(nil)
	s.word("from", 1)
	out := &ast.Select{}
	if err := s.read(out); err != nil {
		return nil, err
	}
	tree, err := s.parse()
	if err != nil {
		return nil, err
	}
	err = s.build(out, tree)
	return out.From, err
}
