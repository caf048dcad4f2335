package sql

import (
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"github.com/divandb/divan/query/sqlstate"
)

func (d *decoder) exprs(list []sqlparser.Expr) ([]expr, error) {
	out := make([]expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = d.expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d *decoder) expr(tree sqlparser.Expr) (expr, error) {
	switch e := tree.(type) {
	case *sqlparser.SQLVal:
		i, err := strconv.Atoi(strings.TrimPrefix(string(e.Val), ":v"))
		if err != nil || i >= len(d.constants) {
			return nil, errShape("constant " + string(e.Val))
		}
		c := d.constants[i]
		if c.tok == tParam {
			v, err := strconv.Atoi(c.text)
			if err != nil || v < 1 || v > 65535 {
				return nil, sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s", c.text).At(c.off)
			}
			return &param{at(c.off), v}, nil
		}
		return &literal{at(c.off), c.tok, c.text}, nil
	case *sqlparser.ColName:
		n, err := d.note(e.Name.String())
		if err != nil {
			return nil, err
		}
		return &column{at: at(n.off), parts: n.name, star: n.star}, nil
	case *sqlparser.ParenExpr:
		return d.expr(e.Expr)
	case sqlparser.ValTuple:
		if len(e) == 1 {
			return d.expr(e[0])
		}
	case *sqlparser.AndExpr:
		return d.logic("and", e.Left, e.Right)
	case *sqlparser.OrExpr:
		return d.logic("or", e.Left, e.Right)
	case *sqlparser.NotExpr:
		x, err := d.expr(e.Expr)
		if err != nil {
			return nil, err
		}
		return &logic{at(x.offset()), "not", []expr{x}}, nil
	case *sqlparser.ComparisonExpr:
		return d.in(e)
	case *sqlparser.RangeCond:
		list, err := d.exprs([]sqlparser.Expr{e.Left, e.From, e.To})
		if err != nil {
			return nil, err
		}
		return &between{at: at(list[0].offset()), not: e.Operator == sqlparser.NotBetweenStr, x: list[0], low: list[1], high: list[2]}, nil
	case *sqlparser.CaseExpr:
		return d.caseExpr(e)
	case *sqlparser.ExistsExpr:
		sel, err := d.selectStatement(e.Subquery.Select)
		if err != nil {
			return nil, err
		}
		return &subquery{sel.at, "exists", sel}, nil
	case *sqlparser.Subquery:
		sel, err := d.selectStatement(e.Select)
		if err != nil {
			return nil, err
		}
		return &subquery{sel.at, "scalar", sel}, nil
	case *sqlparser.FuncExpr:
		return d.call(e)
	}
	return nil, errShape("expression")
}

// logic flattens a chain of one word, so that a thousand ORs do not nest.
func (d *decoder) logic(op string, left, right sqlparser.Expr) (expr, error) {
	var operands []sqlparser.Expr
	for {
		operands = append(operands, right)
		var l, r sqlparser.Expr
		if a, ok := left.(*sqlparser.AndExpr); ok && op == "and" {
			l, r = a.Left, a.Right
		} else if o, ok := left.(*sqlparser.OrExpr); ok && op == "or" {
			l, r = o.Left, o.Right
		} else {
			break
		}
		left, right = l, r
	}
	operands = append(operands, left)
	args := make([]expr, 0, len(operands))
	for i := len(operands) - 1; i >= 0; i-- {
		x, err := d.expr(operands[i])
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	return &logic{at(args[0].offset()), op, args}, nil
}

func (d *decoder) in(e *sqlparser.ComparisonExpr) (expr, error) {
	x, err := d.expr(e.Left)
	if err != nil {
		return nil, err
	}
	not := e.Operator == sqlparser.NotInStr
	switch list := e.Right.(type) {
	case sqlparser.ValTuple:
		items, err := d.exprs(list)
		if err != nil {
			return nil, err
		}
		return &inList{at: at(x.offset()), not: not, x: x, list: items}, nil
	case *sqlparser.Subquery:
		sel, err := d.selectStatement(list.Select)
		if err != nil {
			return nil, err
		}
		var q expr = &quantified{at: at(x.offset()), op: "=", x: x, y: &subquery{sel.at, "scalar", sel}}
		if not {
			q = &logic{at(x.offset()), "not", []expr{q}}
		}
		return q, nil
	}
	return nil, errShape("IN")
}

func (d *decoder) caseExpr(e *sqlparser.CaseExpr) (expr, error) {
	out := &caseExpr{at: -1}
	var err error
	if e.Expr != nil {
		if out.operand, err = d.expr(e.Expr); err != nil {
			return nil, err
		}
	}
	for _, w := range e.Whens {
		var x when
		if x.cond, err = d.expr(w.Cond); err != nil {
			return nil, err
		}
		if x.result, err = d.expr(w.Val); err != nil {
			return nil, err
		}
		out.whens = append(out.whens, x)
	}
	if e.Else != nil {
		out.other, err = d.expr(e.Else)
	}
	out.at = at(out.whens[0].cond.offset())
	return out, err
}

// call decodes everything that was written as a call, by the kind of its note.
func (d *decoder) call(f *sqlparser.FuncExpr) (expr, error) {
	n, err := d.note(f.Name.String())
	if err != nil {
		return nil, err
	}
	trees := make([]sqlparser.Expr, len(f.Exprs))
	for i := range f.Exprs {
		if trees[i], err = arg(f, i); err != nil {
			return nil, err
		}
	}
	args, err := d.exprs(trees)
	if err != nil {
		return nil, err
	}
	p := at(n.off)
	need := func(k int) error {
		if len(args) < k {
			return errShape("call")
		}
		return nil
	}
	switch n.kind {
	case noteChain:
		if len(args) != len(n.ops)+1 {
			return nil, errShape("operators")
		}
		left := args[0]
		for i, op := range n.ops {
			left = &operator{at(op.off), op.op, []expr{left, args[i+1]}}
		}
		return left, nil
	case notePrefix:
		return &operator{p, n.text, args}, need(1)
	case noteCast:
		if err := need(1); err != nil {
			return nil, err
		}
		return &cast{p, args[0], n.typ}, nil
	case noteCollate:
		if err := need(1); err != nil {
			return nil, err
		}
		return &collation{p, args[0], n.name}, nil
	case noteIs:
		if err := need(1); err != nil {
			return nil, err
		}
		t := &isTest{at: p, what: n.text, not: n.not, x: args[0]}
		if n.text == "distinct" {
			if err := need(2); err != nil {
				return nil, err
			}
			t.y = args[1]
		}
		return t, nil
	case noteLike:
		if err := need(2); err != nil {
			return nil, err
		}
		l := &like{at: p, kind: n.text, not: n.not, x: args[0], pattern: args[1]}
		if len(args) > 2 {
			l.escape = args[2]
		}
		return l, nil
	case noteBetween:
		if err := need(3); err != nil {
			return nil, err
		}
		return &between{at: p, not: n.not, symmetric: true, x: args[0], low: args[1], high: args[2]}, nil
	case noteQuantify:
		if err := need(2); err != nil {
			return nil, err
		}
		return &quantified{p, n.text, n.star, args[0], args[1]}, nil
	case noteArray:
		return &arrayLit{p, args}, nil
	case noteRow:
		return &rowLit{p, args}, nil
	case noteArraySub:
		if err := need(1); err != nil {
			return nil, err
		}
		if s, ok := args[0].(*subquery); ok {
			return &subquery{p, "array", s.sel}, nil
		}
	case noteSubscript:
		return d.subscript(n, args)
	case noteField:
		if err := need(1); err != nil {
			return nil, err
		}
		return &field{p, args[0], n.text}, nil
	case noteAll:
		return &limitAll{p}, nil
	case noteEmpty:
		return &emptyTarget{p}, nil
	case noteCall:
		return d.callNote(n, args)
	}
	return nil, errShape("call")
}

func (d *decoder) subscript(n *note, args []expr) (expr, error) {
	s := &subscript{at: at(n.off), slice: n.star}
	i := 1
	if n.args&1 != 0 && i < len(args) {
		s.idx = args[i]
		i++
	}
	if n.star {
		s.low, s.idx = s.idx, nil
		if n.args&2 != 0 && i < len(args) {
			s.idx = args[i]
		}
	}
	if len(args) == 0 {
		return nil, errShape("subscript")
	}
	s.x = args[0]
	return s, nil
}

// callNote divides the arguments of a call: arguments, its own ORDER BY, FILTER, then the window.
func (d *decoder) callNote(n *note, args []expr) (expr, error) {
	c := &call{at: at(n.off), name: n.name, distinct: n.distinct, star: n.star, variadic: n.variadic}
	total := n.args + n.orders + n.partitions
	if n.filter {
		total++
	}
	if len(args) != total {
		return nil, errShape("call")
	}
	c.args, args = args[:n.args], args[n.args:]
	take := func() []orderItem {
		items := make([]orderItem, n.orders)
		for i, s := range n.orderSpecs {
			items[i] = orderItem{args[i], s.desc, s.nullsFirst}
		}
		args = args[n.orders:]
		return items
	}
	if !n.over && n.orders > 0 {
		c.order = take()
	}
	if n.filter {
		c.filter, args = args[0], args[1:]
	}
	if n.over {
		c.over = &window{partition: args[:n.partitions]}
		args = args[n.partitions:]
		c.over.order = take()
	}
	return c, nil
}
