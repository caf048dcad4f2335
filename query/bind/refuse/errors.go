package refuse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// Recursion returns the error for a query that refers to itself where that is not allowed.
func Recursion(name, what string) *sqlstate.Error {
	return sqlstate.New(sqlstate.InvalidRecursion, `recursive reference to query "%s" %s`, name, what)
}

// moveSet is PostgreSQL's hint.
const moveSet = "You might be able to move the set-returning function into a LATERAL FROM item."

// Set refuses a function that returns rows outside the select list, GROUP BY and ORDER BY, which are allowed, and in
// expressions that do not always evaluate their operands. where is the name of a clause that forbids it.
func Set(n *ast.Call, where string, inAggregate, inWindow, allowed bool) error {
	switch {
	case inAggregate:
		return sqlstate.Unsupported(n.Pos(), moveSet,
			"aggregate function calls cannot contain set-returning function calls")
	case inWindow:
		return sqlstate.Unsupported(n.Pos(), moveSet,
			"window function calls cannot contain set-returning function calls")
	case where != "":
		return sqlstate.Unsupported(n.Pos(), moveSet, "set-returning functions are not allowed in %s", where)
	case !allowed:
		return sqlstate.Unsupported(n.Pos(), "Call it in FROM, or in the select list.",
			"the set-returning function %s is not supported here", n.Name[len(n.Name)-1])
	}
	return nil
}
