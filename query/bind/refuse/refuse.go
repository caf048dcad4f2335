// Package refuse refuses statements that can be parsed but not run, with 0A000, a position, and a hint what to do
// instead. Statements that are invalid are refused by package bind.
package refuse

import (
	"cmp"
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
	"merge":    "Use INSERT ... ON CONFLICT.",
	"create":   "A database is made by PUT /name, a view by PUT of a design document.",
	"alter":    "Change the design document over HTTP.",
	"drop":     "Delete the database or the design document over HTTP.",
	"truncate": "DELETE the documents.",
}

// userHint tells where users are stored.
const userHint = `Users are documents of _users, written over HTTP. ALTER USER name PASSWORD 'text' changes a password.`

// User returns the error for a statement about users.
func User(verb, object string, off int) error {
	return sqlstate.Unsupported(off, userHint, "%s %s is not supported", strings.ToUpper(verb), strings.ToUpper(object))
}

func refuseWrite(verb string, off int) error {
	hint := "SQL reads and writes documents; everything else is done over the HTTP API."
	if h, ok := writeHints[verb]; ok {
		hint = h
	}
	return sqlstate.Unsupported(off, hint, "%s is not supported", strings.ToUpper(verb))
}

// Readable returns the query that a statement runs: a SELECT, or the query of EXPLAIN, COPY, DECLARE or PREPARE. It
// returns nil for statements about the session, those that run a prepared statement, and INSERT, UPDATE and DELETE. It
// refuses statements that cannot be run.
func Readable(st ast.Statement) (*ast.Query, error) {
	switch s := st.(type) {
	case *ast.Query:
		return s, nil
	case *ast.Declare:
		return declared(s)
	case *ast.Insert, *ast.Update, *ast.Delete:
		return nil, nil
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
		case s.From && s.Target != "" && s.Filtered:
			return nil, sqlstate.Unsupported(s.Where.Pos(), "Leave out the rows before they are sent.",
				"COPY FROM with WHERE is not supported")
		case s.From && s.Target != "":
			return nil, nil
		case s.From:
			return nil, sqlstate.Unsupported(s.TargetPos.Pos(), `Use COPY ... FROM STDIN, or psql's \copy.`,
				"COPY from a file or program is not supported")
		case s.Target == "":
			return nil, sqlstate.Unsupported(s.TargetPos.Pos(), `Use COPY ... TO STDOUT, or psql's \copy.`,
				"COPY to a file or program is not supported")
		}
		if q, ok := s.Statement.(*ast.Query); ok {
			return q, nil
		}
		return nil, sqlstate.Unsupported(s.Pos(), "Run the statement by itself.",
			"COPY of what a statement writes is not supported")
	case *ast.Transaction:
		if strings.Contains(s.Verb, "prepare") {
			return nil, sqlstate.Unsupported(s.Pos(), "Use COMMIT or ROLLBACK.", "two-phase commit is not supported")
		}
	}
	return nil, nil
}

// Lock refuses the modes of LOCK TABLE that exclude writers.
func Lock(s *ast.LockTable) error {
	if s.Mode == "access share" {
		return nil
	}
	return sqlstate.Unsupported(s.Pos(),
		"Writers cannot be locked out. Read in a REPEATABLE READ transaction, or use an advisory lock.",
		"LOCK TABLE in %s mode is not supported", strings.ToUpper(s.Mode))
}

// declared returns the query of a cursor, unless its options contradict each other.
func declared(s *ast.Declare) (*ast.Query, error) {
	both := func(a, b string) error {
		return sqlstate.New(sqlstate.InvalidCursorDefinition, "cannot specify both %s and %s", a, b)
	}
	switch {
	case s.Scroll && s.NoScroll:
		return nil, both("SCROLL", "NO SCROLL")
	case s.Insensitive && s.Asensitive:
		return nil, both("ASENSITIVE", "INSENSITIVE")
	}
	return s.Query, nil
}

func explained(e *ast.Explain) (*ast.Query, error) {
	switch s := e.Statement.(type) {
	case *ast.Query:
		return s, nil
	case *ast.Declare:
		return declared(s)
	case *ast.Execute, *ast.Insert, *ast.Update, *ast.Delete:
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
		return sqlstate.Unsupported(s.Into.Pos(), "Use INSERT INTO docs (id, doc) SELECT.",
			"SELECT INTO is not supported")
	case s.WithTies && slices.ContainsFunc(s.Locks, func(l ast.Lock) bool { return l.Wait == "skip locked" }):
		return sqlstate.New(sqlstate.SyntaxError, "SKIP LOCKED and WITH TIES options cannot be used together")
	case len(s.Locks) == 0:
	case s.Op != "":
		return notLocked(s, "UNION/INTERSECT/EXCEPT")
	case s.Values != nil:
		return sqlstate.New(sqlstate.FeatureNotSupported, "FOR %s cannot be applied to VALUES", s.Locks[0].Strength)
	case s.Distinct || s.DistinctOn != nil:
		return notLocked(s, "DISTINCT clause")
	case len(s.GroupBy) > 0:
		return notLocked(s, "GROUP BY clause")
	case s.Having != nil:
		return notLocked(s, "HAVING clause")
	}
	return nil
}

// Locked checks the locking clauses of a query: what its select list has, and whether a name is one in FROM.
func Locked(s *ast.Select, aggregates, windows, sets bool, in func(name string) bool) error {
	for _, l := range s.Locks {
		for i, name := range l.Of {
			if last := name[len(name)-1]; !in(last) {
				return sqlstate.New(sqlstate.UndefinedTable, `relation "%s" in FOR %s clause not found in FROM clause`,
					last, l.Strength).At(l.OfPlaces[i].Pos())
			}
		}
	}
	switch {
	case aggregates:
		return notLocked(s, "aggregate functions")
	case windows:
		return notLocked(s, "window functions")
	case sets:
		return notLocked(s, "set-returning functions in the target list")
	}
	return nil
}

// notLocked returns the error for a locking clause of a query with something whose rows are not those of FROM.
func notLocked(s *ast.Select, with string) error {
	return sqlstate.New(sqlstate.FeatureNotSupported, "FOR %s is not allowed with %s", s.Locks[0].Strength, with)
}

// CTE returns the query of a WITH item.
func CTE(c *ast.CTE) (*ast.Select, error) {
	q, ok := c.Statement.(*ast.Query)
	switch {
	case !ok:
		return nil, sqlstate.Unsupported(c.Pos(), "Write in a statement of its own, in the same transaction.",
			"data-modifying statements in WITH are not supported")
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

// Nested refuses an array in an array.
func Nested(it ast.Expr) error {
	if _, nested := it.(*ast.Array); !nested {
		return nil
	}
	return sqlstate.Unsupported(it.Pos(), "Use arrays of one dimension.",
		"arrays of several dimensions are not supported")
}

// SliceOfJSON returns the error for n, a range of a jsonb. PostgreSQL reports it at the first of several subscripts.
func SliceOfJSON(n *ast.Subscript) error {
	for n.Chained {
		n = n.X.(*ast.Subscript)
	}
	err := sqlstate.New(sqlstate.DatatypeMismatch, "jsonb subscript does not support slices")
	if at := cmp.Or(n.Index, n.Low); at != nil {
		return err.At(ast.Start(at))
	}
	return err
}

// Definitions returns the error for a column definition list of a function that has columns of its own.
func Definitions(list []ast.TypeName) error {
	return Syntax(list[0].Pos(), "a column definition list is only allowed for functions returning \"record\"")
}
