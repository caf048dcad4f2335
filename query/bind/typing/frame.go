package typing

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// RowsOffset makes the argument of LIMIT or OFFSET, or the offset of a window frame in the mode ROWS or GROUPS, a
// bigint.
func RowsOffset(o *Open, e exec.Expr, mode string, at int) (exec.Expr, error) {
	if types.CastContext(e.Type(), types.Int8) > types.Assignment {
		return nil, sqlstate.New(sqlstate.DatatypeMismatch, "argument of %s must be type bigint, not type %s", mode,
			types.NameOf(e.Type())).At(at)
	}
	return o.Coerce(e, types.Int8, types.Assignment, at)
}

// NoVariables returns an error if an argument of LIMIT or OFFSET refers to columns of its own query, at the position of
// the first one. at is that of the argument.
func NoVariables(x exec.Expr, what string, places map[*exec.Col]int, at int) error {
	variables := false
	exec.Walk(x, func(x exec.Expr) {
		switch n := x.(type) {
		case *exec.Col:
			if n.Depth > 0 {
				return // of a query around this one
			}
			if place, ok := places[n]; ok && !variables {
				at = place
			}
			variables = true
		case *exec.Subquery:
			variables = variables || n.Correlated
		}
	})
	if !variables {
		return nil
	}
	return sqlstate.New(sqlstate.InvalidColumnReference, "argument of %s must not contain variables", what).At(at)
}

// RangeOffset makes the offset of a window frame in the mode RANGE fit the type of the column in ORDER BY. It also
// returns the function that compares with it.
func RangeOffset(o *Open, e exec.Expr, column types.OID, at int) (exec.Expr, window.InRange, error) {
	typ, in := funcs.InRange(column, e.Type())
	if in != nil {
		e, err := o.Coerce(e, typ, types.Implicit, at)
		return e, in, err
	}
	if typ, in := funcs.InRange(column, types.Unknown); in != nil {
		return nil, nil, sqlstate.New(sqlstate.FeatureNotSupported,
			"RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s",
			types.NameOf(column), types.NameOf(e.Type())).At(at).
			WithHint("Cast the offset value to an appropriate type, such as %s.", types.NameOf(typ))
	}
	return nil, nil, sqlstate.New(sqlstate.FeatureNotSupported,
		"RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", types.NameOf(column)).At(at)
}
