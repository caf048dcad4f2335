package typing

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// NoEquality returns the error for a column whose type has no equality.
func NoEquality(s *ast.Select, column int) error {
	off := -1
	if len(s.Targets) > column {
		off = ast.Start(s.Targets[column].Expr)
	}
	return sqlstate.New(sqlstate.UndefinedFunction, "could not identify an equality operator for type json").At(off)
}

// NotComposite returns the error for a value of a type that has no columns.
func NotComposite(t types.OID) error {
	return sqlstate.New(sqlstate.WrongObjectType, "type %s is not composite", types.NameOf(t))
}
