package sql

import (
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"github.com/divandb/divan/query/sqlstate"
)

// decoder turns the library's tree back into PostgreSQL's meaning with the help of the notes.
type decoder struct {
	notes     []note
	constants []constant
}

// errShape is the error of a tree that the rewriting pass cannot have asked for: a bug, answered as a syntax error.
func errShape(what string) error {
	return sqlstate.New(sqlstate.SyntaxError, "syntax error").WithDetail("unexpected %s", what)
}

// note finds the note that a name of the rewritten text stands for.
func (d *decoder) note(name string) (*note, error) {
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 || i >= len(d.notes) {
		return nil, errShape("name " + name)
	}
	return &d.notes[i], nil
}

func (d *decoder) selectStatement(tree sqlparser.SelectStatement) (*selectStmt, error) {
	switch s := tree.(type) {
	case *sqlparser.Select:
		return d.sel(s)
	case *sqlparser.ParenSelect:
		return d.selectStatement(s.Select)
	case *sqlparser.Union:
		return d.union(s)
	}
	return nil, errShape("statement")
}

func (d *decoder) union(u *sqlparser.Union) (*selectStmt, error) {
	left, err := d.selectStatement(u.Left)
	if err != nil {
		return nil, err
	}
	right, err := d.selectStatement(u.Right)
	if err != nil {
		return nil, err
	}
	s := &selectStmt{at: left.at, left: left, right: right, unionAll: u.Type == sqlparser.UnionAllStr}
	// WITH stands before the whole union, and was noted at its first SELECT.
	s.with, s.recursive, left.with, left.recursive = left.with, left.recursive, nil, false
	return s, d.orderAndLimit(s, u.OrderBy, u.Limit)
}

func (d *decoder) sel(s *sqlparser.Select) (*selectStmt, error) {
	out := &selectStmt{distinct: s.Distinct != ""}
	targets := s.SelectExprs
	if len(s.Comments) > 0 {
		n, err := d.note(strings.Trim(string(s.Comments[0]), "/*"))
		if err != nil {
			return nil, err
		}
		out.at, out.with, out.recursive = at(n.off), n.ctes, n.recursive
		for _, e := range targets[:n.distinctOn] {
			a, ok := e.(*sqlparser.AliasedExpr)
			if !ok {
				return nil, errShape("DISTINCT ON")
			}
			x, err := d.expr(a.Expr)
			if err != nil {
				return nil, err
			}
			out.distinctOn = append(out.distinctOn, x)
		}
		targets = targets[n.distinctOn:]
		if n.values {
			if out.values, err = d.values(targets); err != nil {
				return nil, err
			}
			return out, d.orderAndLimit(out, s.OrderBy, s.Limit)
		}
	}
	for _, e := range targets {
		t, keep, err := d.target(e)
		if err != nil {
			return nil, err
		}
		if keep {
			out.targets = append(out.targets, t)
		}
	}
	for _, t := range s.From {
		item, err := d.table(t)
		if err != nil {
			return nil, err
		}
		if item != nil {
			out.from = append(out.from, item)
		}
	}
	var err error
	if s.Where != nil {
		if out.where, err = d.expr(s.Where.Expr); err != nil {
			return nil, err
		}
	}
	for _, e := range s.GroupBy {
		x, err := d.expr(e)
		if err != nil {
			return nil, err
		}
		out.groupBy = append(out.groupBy, x)
	}
	if s.Having != nil {
		if out.having, err = d.expr(s.Having.Expr); err != nil {
			return nil, err
		}
	}
	return out, d.orderAndLimit(out, s.OrderBy, s.Limit)
}

// values takes the rows of VALUES out of the select list they came in.
func (d *decoder) values(targets sqlparser.SelectExprs) ([][]expr, error) {
	rows := make([][]expr, len(targets))
	for i, e := range targets {
		t, _, err := d.target(e)
		if err != nil {
			return nil, err
		}
		row, ok := t.expr.(*rowLit)
		if !ok {
			return nil, errShape("VALUES")
		}
		rows[i] = row.items
	}
	return rows, nil
}

func (d *decoder) target(e sqlparser.SelectExpr) (target, bool, error) {
	switch e := e.(type) {
	case *sqlparser.StarExpr:
		return target{expr: &column{star: true, at: -1}}, true, nil
	case *sqlparser.AliasedExpr:
		x, err := d.expr(e.Expr)
		if err != nil {
			return target{}, false, err
		}
		if _, none := x.(*emptyTarget); none {
			return target{}, false, nil
		}
		t := target{expr: x}
		if !e.As.IsEmpty() {
			n, err := d.note(e.As.String())
			if err != nil {
				return t, false, err
			}
			t.alias = n.alias
		}
		return t, true, nil
	}
	return target{}, false, errShape("select list")
}

// emptyTarget stands for a select list without columns.
type emptyTarget struct{ at }

func (d *decoder) orderAndLimit(s *selectStmt, order sqlparser.OrderBy, limit *sqlparser.Limit) error {
	for _, o := range order {
		item := orderItem{desc: o.Direction == sqlparser.DescScr}
		item.nullsFirst = item.desc
		e := o.Expr
		if f, ok := e.(*sqlparser.FuncExpr); ok {
			n, err := d.note(f.Name.String())
			if err != nil {
				return err
			}
			if n.kind == noteOrder {
				item.nullsFirst = n.orderSpecs[0].nullsFirst
				if e, err = arg(f, 0); err != nil {
					return err
				}
			}
		}
		var err error
		if item.expr, err = d.expr(e); err != nil {
			return err
		}
		s.orderBy = append(s.orderBy, item)
	}
	if limit == nil {
		return nil
	}
	var err error
	if limit.Rowcount != nil {
		x, err := d.expr(limit.Rowcount)
		if err != nil {
			return err
		}
		if _, all := x.(*limitAll); !all {
			s.limit = x
		}
	}
	if limit.Offset != nil {
		s.skip, err = d.expr(limit.Offset)
	}
	return err
}

// limitAll stands for LIMIT ALL.
type limitAll struct{ at }

func (d *decoder) table(t sqlparser.TableExpr) (fromItem, error) {
	switch t := t.(type) {
	case *sqlparser.ParenTableExpr:
		if len(t.Exprs) != 1 {
			return nil, errShape("FROM")
		}
		return d.table(t.Exprs[0])
	case *sqlparser.JoinTableExpr:
		return d.join(t)
	case *sqlparser.AliasedTableExpr:
		switch e := t.Expr.(type) {
		case sqlparser.TableName:
			if e.Name.String() == "dual" {
				return nil, nil // the library's word for no FROM
			}
			n, err := d.note(e.Name.String())
			if err != nil {
				return nil, err
			}
			switch n.kind {
			case noteTable:
				return &tableRef{at: at(n.off), name: n.name, alias: n.alias, columns: n.columns}, nil
			case noteFuncTable:
				if len(n.body.targets) != 1 {
					return nil, errShape("function in FROM")
				}
				return &funcTable{at: at(n.off), call: n.body.targets[0].expr, alias: n.alias, columns: n.columns, types: n.types,
					ordinality: n.ordinality}, nil
			}
			return nil, errShape("table")
		case *sqlparser.Subquery:
			sel, err := d.selectStatement(e.Select)
			if err != nil {
				return nil, err
			}
			n, err := d.note(t.As.String())
			if err != nil {
				return nil, err
			}
			return &subselect{at: at(n.off), sel: sel, alias: n.alias, columns: n.columns, lateral: n.lateral}, nil
		}
	}
	return nil, errShape("FROM")
}

func (d *decoder) join(t *sqlparser.JoinTableExpr) (fromItem, error) {
	left, err := d.table(t.LeftExpr)
	if err != nil {
		return nil, err
	}
	right, err := d.table(t.RightExpr)
	if err != nil {
		return nil, err
	}
	f, ok := t.Condition.On.(*sqlparser.FuncExpr)
	if !ok {
		return nil, errShape("join")
	}
	n, err := d.note(f.Name.String())
	if err != nil {
		return nil, err
	}
	j := &join{at: at(n.off), kind: n.text, left: left, right: right, using: n.columns, natural: n.not}
	if len(f.Exprs) > 0 {
		on, err := arg(f, 0)
		if err != nil {
			return nil, err
		}
		if j.on, err = d.expr(on); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// arg is the i-th argument of a call.
func arg(f *sqlparser.FuncExpr, i int) (sqlparser.Expr, error) {
	if i < len(f.Exprs) {
		if a, ok := f.Exprs[i].(*sqlparser.AliasedExpr); ok && a.As.IsEmpty() {
			return a.Expr, nil
		}
	}
	return nil, errShape("call")
}
