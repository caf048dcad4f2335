package query

import (
	"context"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// Explaining returns the statement that explains a text, in JSON; analyze says whether it also runs it. prefix is how
// many bytes it has before the text. It refuses texts of several statements: those after the first one would be run.
// What is wrong with the statement itself is left to the session that runs it.
func Explaining(ctx context.Context, text string, analyze bool) (statement string, prefix int, err error) {
	explain := "EXPLAIN (FORMAT JSON) "
	if analyze {
		explain = "EXPLAIN (ANALYZE, FORMAT JSON) "
	}
	w := work.New(ctx, nil, 0, nil)
	defer w.Close()
	statement = explain + text
	pieces, _, err := parse.Split(w, text)
	whole, _, wholeErr := parse.Split(w, statement)
	switch {
	case ctx.Err() != nil:
		return "", 0, context.Cause(ctx)
	case len(pieces) > 1 || len(whole) > 1:
		return "", 0, sqlstate.New(sqlstate.SyntaxError, "only one statement can be explained at a time").
			WithHint("Select the one to explain. Nothing was run.")
	case err == nil && len(pieces) == 0:
		return "", 0, sqlstate.New(sqlstate.SyntaxError, "there is no statement to explain")
	case err != nil || wholeErr != nil:
		return statement, len(explain), nil // the session refuses it, and knows the position in characters
	}
	given, givenErr := parse.Statement(w, text)
	parsed, err := parse.Statement(w, statement)
	if _, twice := given.(*ast.Explain); twice {
		return "", 0, sqlstate.New(sqlstate.SyntaxError, "the statement is an EXPLAIN already").
			WithHint("Run it, or leave out its EXPLAIN. Nothing was run.")
	}
	if e, ok := parsed.(*ast.Explain); err == nil && ok && e.Analyze == analyze || givenErr != nil && err != nil {
		return statement, len(explain), nil
	}
	return "", 0, sqlstate.New(sqlstate.SyntaxError, "this statement has no plan").
		WithHint("Only SELECT, VALUES, INSERT, UPDATE and DELETE can be explained. Nothing was run.")
}
