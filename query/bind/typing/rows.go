package typing

import (
	"slices"

	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// reopened returns the fields of a row, with literals that became text by default made open again.
func reopened(o *Open, r *exec.RowExpr) []exec.Expr {
	out := slices.Clone(r.Items)
	for i, e := range out {
		c, ok := e.(*exec.Const)
		at, literal := o.Literals[c]
		if ok && literal && !c.Typed && c.Typ == types.Text {
			open := &exec.Const{D: c.D, Typ: types.Unknown}
			o.Literals[open] = at
			out[i] = open
		}
	}
	return out
}

// RowsIn binds a row IN a list of rows, as a disjunction of comparisons.
func (o *Open) RowsIn(not bool, x *exec.RowExpr, list []exec.Expr, off int) (exec.Expr, error) {
	op, out := "=", &exec.Logic{Op: "or"}
	if not {
		op, out.Op = "<>", "and"
	}
	for _, e := range list {
		cond, err := o.CompareRows(op, x, e.(*exec.RowExpr), off)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, cond)
	}
	if len(list) == 1 {
		return out.Args[0], nil
	}
	return out, nil
}

// CompareRows compares (a, b) with (c, d) field by field.
func (o *Open) CompareRows(op string, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	if len(l.Items) != len(r.Items) {
		return nil, sqlstate.New(sqlstate.SyntaxError, "unequal number of entries in row expressions").At(off)
	}
	if len(l.Items) == 0 {
		return nil, sqlstate.Unsupported(off, "", "cannot compare rows of zero length")
	}
	l, r = &exec.RowExpr{Items: reopened(o, l)}, &exec.RowExpr{Items: reopened(o, r)}
	var parts []exec.Expr
	word := "and"
	switch op {
	case "<>":
		word = "or"
		fallthrough
	case "=":
		for i := range l.Items {
			e, err := o.Compare(op, l.Items[i], r.Items[i], off)
			if err != nil {
				return nil, err
			}
			parts = append(parts, e)
		}
		if len(parts) == 1 {
			return parts[0], nil
		}
		return &exec.Logic{Op: word, Args: parts}, nil
	}
	if !Repeatable(l) || !Repeatable(r) {
		return o.rowCompare(op, l, r, off)
	}
	// Use a < c or (a = c and (b < d or ...)), which planning can turn into key ranges.
	last := len(l.Items) - 1
	e, err := o.Compare(op, l.Items[last], r.Items[last], off)
	for i := last - 1; i >= 0 && err == nil; i-- {
		var strict, equal exec.Expr
		if strict, err = o.Compare(op[:1], l.Items[i], r.Items[i], off); err != nil {
			break
		}
		if equal, err = o.Compare("=", l.Items[i], r.Items[i], off); err != nil {
			break
		}
		e = &exec.Logic{Op: "or", Args: []exec.Expr{strict, &exec.Logic{Op: "and", Args: []exec.Expr{equal, e}}}}
	}
	return e, err
}

// DistinctRows binds (a, b) IS DISTINCT FROM (c, d) field by field, or IS NOT DISTINCT FROM.
func (o *Open) DistinctRows(not bool, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	if len(l.Items) != len(r.Items) {
		return nil, sqlstate.New(sqlstate.SyntaxError, "unequal number of entries in row expressions").At(off)
	}
	out := &exec.Logic{Op: "or"}
	if not {
		out.Op = "and"
	}
	right := reopened(o, r)
	for i, x := range reopened(o, l) {
		y := right[i]
		var e exec.Expr
		var err error
		a, isRow := x.(*exec.RowExpr)
		if c, both := y.(*exec.RowExpr); isRow && both {
			e, err = o.DistinctRows(not, a, c, off)
		} else {
			e, err = Distinct(o, not, x, y, off)
		}
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, e)
	}
	switch len(out.Args) {
	case 0:
		return &exec.Const{D: types.NewBool(not), Typ: types.Bool}, nil
	case 1:
		return out.Args[0], nil
	}
	return out, nil
}

// OperateRows binds any operator between a row and the row of a sub-query, as PostgreSQL does.
func (o *Open) OperateRows(op string, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	if funcs.Comparison(op) != nil {
		return o.CompareRows(op, l, r, off)
	}
	var out exec.Expr
	for i, x := range reopened(o, l) {
		var err error
		if out, err = o.Operator(op, []exec.Expr{x, r.Items[i]}, off); err != nil {
			return nil, err
		}
		if t := out.Type(); t != types.Bool {
			return nil, sqlstate.New(sqlstate.DatatypeMismatch,
				"row comparison operator must yield type boolean, not type %s", types.NameOf(t)).At(off)
		}
	}
	if len(l.Items) > 1 {
		return nil, sqlstate.Unsupported(off, "Compare the columns one by one.",
			"could not determine interpretation of row comparison operator %s", op)
	}
	return out, nil
}

// rowCompare is CompareRows for fields that are not computed twice.
func (o *Open) rowCompare(op string, l, r *exec.RowExpr, off int) (exec.Expr, error) {
	out := &exec.RowCompare{Op: op}
	for i := range l.Items {
		x, y, err := o.Comparable(op, l.Items[i], r.Items[i], off)
		if err != nil {
			return nil, err
		}
		coll, err := collation.Comparison(op[:1], off, x, y)
		if err != nil {
			return nil, err
		}
		out.X, out.Y = append(out.X, collation.Without(x)), append(out.Y, collation.Without(y))
		out.Decide, out.Equal = append(out.Decide, funcs.CollatedComparison(op[:1], coll)),
			append(out.Equal, funcs.CollatedComparison("=", nil))
		out.Last = funcs.CollatedComparison(op, coll)
	}
	return out, nil
}
