package parse

import (
	"github.com/divandb/divan/query/sql/ast"
)

// write reads INSERT, UPDATE or DELETE after its WITH list.
func (p *parser) write(at ast.At, with []ast.CTE, recursive bool) (ast.Statement, error) {
	switch t := p.take(); t.Text {
	case "insert":
		s := &ast.Insert{At: at, With: with, Recursive: recursive}
		return s, p.insert(s)
	case "update":
		s := &ast.Update{At: at, With: with, Recursive: recursive}
		return s, p.update(s)
	default:
		s := &ast.Delete{At: at, With: with, Recursive: recursive}
		return s, p.delete(s)
	}
}

// insert reads INTO table [AS alias] [(columns)] [OVERRIDING ...] query | DEFAULT VALUES [ON CONFLICT ...] [RETURNING
// ...].
func (p *parser) insert(s *ast.Insert) (err error) {
	if err := p.expectWords("into"); err != nil {
		return err
	}
	s.Table = &ast.Table{At: p.here()}
	if s.Table.Name, err = p.tableName(); err != nil {
		return err
	}
	if p.acceptWord("as") {
		if s.Table.Alias.Name, err = p.name(); err != nil {
			return err
		}
	}
	if p.peek().Is("(") && !p.queryIn() {
		if err := p.inBrackets(func() error {
			s.Columns, err = p.setTargets()
			return err
		}); err != nil {
			return err
		}
	}
	if len(s.Columns) == 0 && p.acceptWords("default", "values") {
		return p.afterInsert(s)
	}
	if p.acceptWord("overriding") {
		switch {
		case p.acceptWord("system"):
			s.Overriding = "system"
		case p.acceptWord("user"):
			s.Overriding = "user"
		default:
			return p.unexpected()
		}
		if err := p.expectWords("value"); err != nil {
			return err
		}
	}
	if s.Source, err = p.query(); err != nil {
		return err
	}
	return p.afterInsert(s)
}

func (p *parser) afterInsert(s *ast.Insert) (err error) {
	if p.ahead("on", "conflict") {
		if s.Conflict, err = p.conflict(); err != nil {
			return err
		}
	}
	s.Returning, err = p.returning()
	return err
}

// conflict reads ON CONFLICT [(columns) [WHERE ...] | ON CONSTRAINT name] DO NOTHING | DO UPDATE SET ... [WHERE ...].
func (p *parser) conflict() (*ast.Conflict, error) {
	c := &ast.Conflict{At: p.here()}
	p.i += 2
	c.Target = p.here()
	var err error
	if p.peek().Is("(") {
		if err := p.inBrackets(func() error {
			return p.list(func() error { return p.indexColumn(c) })
		}); err != nil {
			return nil, err
		}
		if p.acceptWord("where") {
			if c.Where, err = p.expr(); err != nil {
				return nil, err
			}
		}
	} else if p.acceptWords("on", "constraint") {
		if c.Constraint, err = p.name(); err != nil {
			return nil, err
		}
	}
	if err := p.expectWords("do"); err != nil {
		return nil, err
	}
	if p.acceptWord("nothing") {
		return c, nil
	}
	if err := p.expectWords("update", "set"); err != nil {
		return nil, err
	}
	if c.Set, err = p.assignments(); err != nil {
		return nil, err
	}
	if p.acceptWord("where") {
		c.SetWhere, err = p.expr()
	}
	return c, err
}

// indexColumn reads a column or an expression of the conflict target, with the collation and operator class that may
// follow it.
func (p *parser) indexColumn(c *ast.Conflict) error {
	e, err := p.primary()
	if err != nil {
		return err
	}
	c.Columns = append(c.Columns, e)
	if p.acceptWord("collate") {
		if _, err := p.qualified(); err != nil {
			return err
		}
	}
	if p.peek().ColumnName() {
		_, err = p.qualified()
	}
	return err
}

// update reads table [[AS] alias] SET ... [FROM ...] [WHERE ...] [RETURNING ...].
func (p *parser) update(s *ast.Update) (err error) {
	if s.Table, err = p.written(); err != nil {
		return err
	}
	if err := p.expectWords("set"); err != nil {
		return err
	}
	if s.Set, err = p.assignments(); err != nil {
		return err
	}
	if p.peek().Word("from") {
		if s.From, err = p.tables(false); err != nil {
			return err
		}
	}
	if s.Where, err = p.whereOrCurrent(); err != nil {
		return err
	}
	s.Returning, err = p.returning()
	return err
}

// delete reads FROM table [[AS] alias] [USING ...] [WHERE ...] [RETURNING ...].
func (p *parser) delete(s *ast.Delete) (err error) {
	if err := p.expectWords("from"); err != nil {
		return err
	}
	if s.Table, err = p.written(); err != nil {
		return err
	}
	if p.peek().Word("using") {
		if s.Using, err = p.tables(false); err != nil {
			return err
		}
	}
	if s.Where, err = p.whereOrCurrent(); err != nil {
		return err
	}
	s.Returning, err = p.returning()
	return err
}

// written reads the table of UPDATE or DELETE. SET is not taken for its alias.
func (p *parser) written() (*ast.Table, error) {
	t, err := p.relation()
	if err != nil {
		return nil, err
	}
	if p.acceptWord("as") || p.peek().ColumnName() && !p.peek().Word("set") {
		t.Alias.Name, err = p.name()
	}
	return t, err
}

// assignments reads column = value and (columns) = row, separated by commas.
func (p *parser) assignments() ([]ast.Assignment, error) {
	var out []ast.Assignment
	err := p.list(func() error {
		var a ast.Assignment
		var err error
		if a.Row = p.peek().Is("("); a.Row {
			err = p.inBrackets(func() error {
				a.Targets, err = p.setTargets()
				return err
			})
		} else {
			var t ast.SetTarget
			t, err = p.setTarget()
			a.Targets = []ast.SetTarget{t}
		}
		if err != nil {
			return err
		}
		if err := p.expectOp("="); err != nil {
			return err
		}
		a.Value, err = p.expr()
		out = append(out, a)
		return err
	})
	return out, err
}

func (p *parser) setTargets() ([]ast.SetTarget, error) {
	var out []ast.SetTarget
	err := p.list(func() error {
		t, err := p.setTarget()
		out = append(out, t)
		return err
	})
	return out, err
}

// setTarget reads a column with the subscripts and fields after it.
func (p *parser) setTarget() (ast.SetTarget, error) {
	t := ast.SetTarget{At: p.here()}
	var err error
	if t.Name, err = p.name(); err != nil {
		return t, err
	}
	for {
		el, err := p.indirectionPart(nil)
		if el == nil || err != nil {
			return t, err
		}
		t.Path = append(t.Path, el)
	}
}

// whereOrCurrent reads WHERE condition or WHERE CURRENT OF cursor.
func (p *parser) whereOrCurrent() (ast.Expr, error) {
	if !p.acceptWord("where") {
		return nil, nil
	}
	at := p.here()
	if p.acceptWords("current", "of") {
		name, err := p.name()
		return &ast.CurrentOf{At: at, Cursor: name}, err
	}
	return p.expr()
}

func (p *parser) returning() ([]ast.Target, error) {
	if !p.acceptWord("returning") {
		return nil, nil
	}
	return p.targets()
}
