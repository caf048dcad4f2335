// Package refuse refuses statements that can be parsed but not run, with 0A000, a position, and a hint what to do
// instead. Statements that are invalid are refused by package bind.
package refuse

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
)

// MaxDepth is how deeply a bound expression may nest. An operator of the parser may become two levels.
const MaxDepth = 2 * parse.MaxDepth

// writeHints tell how to do over HTTP what a statement would write.
var writeHints = map[string]string{
	"insert":   "POST the document to the database over HTTP.",
	"update":   "PUT the document with its _rev over HTTP.",
	"delete":   "DELETE the document with its _rev over HTTP.",
	"merge":    "POST the documents to _bulk_docs over HTTP.",
	"create":   "A database is made by PUT /name, a view by PUT of a design document.",
	"alter":    "Change the design document over HTTP.",
	"drop":     "Delete the database or the design document over HTTP.",
	"truncate": "Delete the documents over HTTP.",
}

// userHint tells where users are stored.
const userHint = `Users are documents of _users, written over HTTP. ALTER USER name PASSWORD 'text' changes a password.`

// User returns the error for a statement about users.
func User(verb, object string, off int) error {
	return sqlstate.Unsupported(off, userHint, "%s %s is not supported", strings.ToUpper(verb), strings.ToUpper(object))
}

func refuseWrite(verb string, off int) error {
	hint := "SQL reads only; everything else is done over the HTTP API."
	if h, ok := writeHints[verb]; ok {
		hint = "SQL reads only. " + h
	}
	return sqlstate.Unsupported(off, hint, "%s is not supported", strings.ToUpper(verb))
}

// Readable returns the query that a statement runs: a SELECT, or the query of EXPLAIN, COPY, DECLARE or PREPARE. It
// returns nil for statements about the session, and for those that run a prepared statement. It refuses statements that
// write and others that cannot be run.
func Readable(st ast.Statement) (*ast.Query, error) {
	switch s := st.(type) {
	case *ast.Query:
		return s, nil
	case *ast.Declare:
		return s.Query, nil
	case *ast.Insert:
		return nil, refuseWrite("insert", s.Pos())
	case *ast.Update:
		return nil, refuseWrite("update", s.Pos())
	case *ast.Delete:
		return nil, refuseWrite("delete", s.Pos())
	case *ast.Refused:
		if slices.Contains([]string{"user", "role", "group"}, s.Object) {
			return nil, User(s.Verb, s.Object, s.Pos())
		}
		return nil, refuseWrite(s.Verb, s.Pos())
	case *ast.Prepare:
		return Readable(s.Statement)
	case *ast.Explain:
		return explained(s)
	case *ast.Copy:
		switch {
		case s.From:
			return nil, sqlstate.Unsupported(s.Pos(), "POST documents to _bulk_docs over HTTP.",
				"COPY FROM is not supported")
		case s.Target == "":
			return nil, sqlstate.Unsupported(s.TargetPos.Pos(), `Use COPY ... TO STDOUT, or psql's \copy.`,
				"COPY to a file or program is not supported")
		}
		return Readable(s.Statement)
	case *ast.LockTable:
		if s.Mode != "access share" {
			return nil, sqlstate.Unsupported(s.Pos(),
				"Writers cannot be locked out. Read in a REPEATABLE READ transaction, or use "+
					"an advisory lock.", "LOCK TABLE in %s mode is not supported", strings.ToUpper(s.Mode))
		}
	case *ast.Transaction:
		if strings.Contains(s.Verb, "prepare") {
			return nil, sqlstate.Unsupported(s.Pos(), "Use COMMIT or ROLLBACK.", "two-phase commit is not supported")
		}
	}
	return nil, nil
}

func explained(e *ast.Explain) (*ast.Query, error) {
	switch s := e.Statement.(type) {
	case *ast.Query:
		return s, nil
	case *ast.Declare:
		return s.Query, nil
	case *ast.Execute:
		return nil, nil
	}
	if _, err := Readable(e.Statement); err != nil {
		return nil, err
	}
	return nil, sqlstate.Unsupported(e.Pos(), "EXPLAIN a SELECT.", "EXPLAIN of this statement is not supported")
}

// Clauses refuses the clauses of a query that cannot be run.
func Clauses(s *ast.Select) error {
	switch {
	case s.Into != nil:
		return sqlstate.Unsupported(s.Into.Pos(), "Write documents over the HTTP API.", "SELECT INTO is not supported")
	case s.WithTies:
		return sqlstate.Unsupported(s.Limit.Pos(), "Use ONLY.", "FETCH FIRST WITH TIES is not supported")
	case len(s.Locks) > 0:
		return sqlstate.Unsupported(s.Locks[0].Pos(), "Documents are not locked; a write checks the revision.",
			"row locks are not supported")
	}
	return nil
}

// CTE returns the query of a WITH item.
func CTE(c *ast.CTE) (*ast.Select, error) {
	q, err := Readable(c.Statement)
	switch {
	case err != nil:
		return nil, err
	case c.Search:
		return nil, sqlstate.Unsupported(c.Pos(), "Order by a column that the query computes.",
			"the SEARCH clause is not supported")
	case c.Cycle:
		return nil, sqlstate.Unsupported(c.Pos(), "Keep the path in an array, and test it.",
			"the CYCLE clause is not supported")
	}
	return q.Select, nil
}

// Call refuses clauses of function calls that are not supported.
func Call(n *ast.Call) error {
	if n.Over != nil && len(n.Order) > 0 && !n.Within {
		return sqlstate.Unsupported(n.Pos(), "", "aggregate ORDER BY is not implemented for window functions")
	}
	return nil
}

// Table refuses clauses of an item of FROM that are not supported.
func Table(it ast.FromItem) error {
	switch n := it.(type) {
	case *ast.Table:
		if n.Sample != nil {
			return sqlstate.Unsupported(n.Sample.Pos(), "Use LIMIT.", "TABLESAMPLE is not supported")
		}
	case *ast.Join:
		if n.Name != "" || n.UsingAlias != "" {
			return sqlstate.Unsupported(n.Pos(), "Name the tables inside.", "an alias of a join is not supported")
		}
	}
	return nil
}

// Syntax returns an error that PostgreSQL's grammar or parse analysis reports as a syntax error.
func Syntax(off int, format string, args ...any) *sqlstate.Error {
	return sqlstate.New(sqlstate.SyntaxError, format, args...).At(off)
}
