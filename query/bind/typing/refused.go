package typing

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Equatable reports whether values of a type can be compared for equality, as DISTINCT and GROUP BY do.
func Equatable(t types.OID) bool {
	if elem := types.ElemOf(t); elem != 0 {
		return Equatable(elem)
	}
	return t != types.JSON && t != types.JSONPathType && t != types.Void
}

// Sortable reports whether a type has an order.
func Sortable(t types.OID) bool {
	if elem := types.ElemOf(t); elem != 0 {
		return Sortable(elem)
	}
	return Equatable(t) && t != types.Xid && t != types.Cid && t != types.AclItem
}

// NoEquality returns the error for values that are not Equatable.
func NoEquality(t types.OID, off int) error {
	return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an equality operator for type %s",
		types.NameOf(t)).At(off)
}

// NoOrder returns the error for values that are not Sortable.
func NoOrder(t types.OID, off int) error {
	return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an ordering operator for type %s",
		types.NameOf(t)).At(off).WithHint("Use an explicit ordering operator or modify the query.")
}

// NoEqualityIn returns the error for a column that is not Equatable.
func NoEqualityIn(s *ast.Select, column int, t types.OID) error {
	off := -1
	if len(s.Targets) > column {
		off = ast.Start(s.Targets[column].Expr)
	}
	return NoEquality(t, off)
}

// NeedsWithin returns the error for an ordered-set aggregate without WITHIN GROUP.
func NeedsWithin(name string, off int) error {
	return sqlstate.New(sqlstate.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", name).At(off)
}

// NotComposite returns the error for a value of a type that has no columns.
func NotComposite(t types.OID) error {
	return sqlstate.New(sqlstate.WrongObjectType, "type %s is not composite", types.NameOf(t))
}

// Polymorphic returns the error for a call whose arguments, all literals, do not tell the type of its result.
func Polymorphic(at int) error {
	return sqlstate.New(sqlstate.DatatypeMismatch,
		"could not determine polymorphic type because input has type unknown").At(at)
}
