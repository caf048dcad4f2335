package bind_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// database has one design document with two views, and no documents.
type database struct{ exec.Database }

var design = exec.Design{Name: "by", Views: []exec.View{{Name: "city", Reduce: "_count"}, {Name: "year"}}}

func (database) Design(_ context.Context, name string) (exec.Design, error) {
	if name != design.Name {
		return exec.Design{}, &exec.ReadError{Kind: exec.NotFound, Message: "missing"}
	}
	return design, nil
}

func (database) Designs(context.Context) ([]exec.Design, error) { return []exec.Design{design}, nil }

// resolver resolves names in that database.
type resolver struct{}

func (resolver) Database(context.Context) (exec.Database, error) { return database{}, nil }
func (resolver) DatabaseName() string                            { return "cities" }
func (resolver) Relation(string, string) exec.Relation           { return nil }
func (resolver) HasSchema(schema string) bool                    { return schema == "pg_catalog" }
func (resolver) SearchPath() []string                            { return []string{"public"} }
func (resolver) RelationOID(string, string) int64                { return 16384 }
func (resolver) UpdateMode() exec.UpdateMode                     { return exec.UpdateTrue }

// describe binds a statement, and returns its columns and parameters, or its error.
func describe(t *testing.T, sql string, given ...types.OID) string {
	t.Helper()
	w := work.New(t.Context(), nil, 0, nil)
	defer w.Close()
	stmt, err := parse.Statement(w, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	bound, err := bind.Bind(w, stmt.(*ast.Query), resolver{}, nil, given)
	var e *sqlstate.Error
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("%s at %d: %s", e.Code, e.Pos, e.Message)
	case err != nil:
		t.Fatalf("%s: %v", sql, err)
	}
	var out []string
	for _, c := range bound.Columns {
		text := c.Name + " " + types.NameOf(c.Type)
		if c.Mod >= 0 {
			text += fmt.Sprintf(" mod %d", c.Mod)
		}
		if c.Origin.Relation != 0 {
			text += fmt.Sprintf(" of column %d", c.Origin.Column)
		}
		out = append(out, text)
	}
	for i, p := range bound.Params {
		text := fmt.Sprintf("$%d %s", i+1, types.NameOf(p))
		if bound.Loose(i) {
			text += " loose"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// TestBind checks the names, types, modifiers and origins of columns, and the types that parameters get. The corpus of
// package query compares whole statements with PostgreSQL.
func TestBind(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, doc FROM docs", "id text of column 1, doc jsonb of column 3"},
		{"SELECT * FROM by.city", "id text of column 1, key jsonb of column 2, value jsonb of column 3, " +
			"doc jsonb of column 4"},
		{"SELECT d.id || 'x', d.id FROM docs d", "?column? text, id text of column 1"},
		{"SELECT x FROM (SELECT id AS x FROM docs) q", "x text of column 1"},
		{"SELECT count(*), max(value) FROM by.city", "count bigint, max jsonb"},
		{"SELECT 1, 2147483648, 9223372036854775808, 1.5, 'a', NULL, true",
			"?column? integer, ?column? bigint, ?column? numeric, ?column? numeric, ?column? text, ?column? text, " +
				"?column? boolean"},
		{"SELECT 1::numeric(10,2), 'a'::varchar(5), 'a'::varchar(5)::varchar",
			"numeric numeric mod 655366, varchar character varying mod 9, varchar character varying"},
		{"SELECT COALESCE(1::numeric(4,1), 2::numeric(4,1)), COALESCE(1::numeric(4,1), 2)",
			"coalesce numeric mod 262149, coalesce numeric"},
		{"SELECT NULLIF(1::smallint, 2), NULLIF(1, 2.0), NULLIF('a'::varchar, 'b')",
			"nullif smallint, nullif numeric, nullif text"},
		{"SELECT 1 UNION SELECT 2.5", "?column? numeric"},
		{"SELECT 1 UNION SELECT $1", "?column? integer, $1 integer"},
		{"SELECT $1 UNION SELECT $2", "?column? text, $1 text, $2 text"},
		{"SELECT id FROM docs WHERE doc->'n' > $1", "id text of column 1, $1 jsonb loose"},
		{"SELECT id FROM docs WHERE doc->>'n' = $1", "id text of column 1, $1 text"},
		{"SELECT id FROM docs WHERE (doc->>'n')::int = ANY ($1)", "id text of column 1, $1 integer[]"},
		{"SELECT id FROM docs WHERE (id, (doc->>'n')::int) > ($1, $2)", "id text of column 1, $1 text, $2 integer"},
		{"SELECT ($1, $2) = (SELECT 1, date '2020-01-01')", "?column? boolean, $1 integer, $2 date"},
		{"SELECT $1 + 1, $2 || 'x', $3::date, -$4::numeric",
			"?column? integer, ?column? text, date date, ?column? numeric, $1 integer, $2 text, $3 date, $4 numeric"},
		{"SELECT 1 LIMIT $1 OFFSET $2", "?column? integer, $1 bigint, $2 bigint"},
		{"SELECT id, rev, doc FROM docs GROUP BY id", "id text of column 1, rev text of column 2, doc jsonb of column 3"},
		{"SELECT * FROM ROWS FROM (generate_series(1, 2), upper('a')) WITH ORDINALITY",
			"generate_series integer, upper text, ordinality bigint"},
		{"SELECT concat(VARIADIC ARRAY[1, 2])", "concat text"},
	} {
		if got := describe(t, c.sql); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
	if got, want := describe(t, "SELECT $1, $2", types.Int8, types.Unknown), "?column? bigint, ?column? text, "+
		"$1 bigint, $2 text"; got != want {
		t.Errorf("with declared types: got %s, want %s", got, want)
	}
}

// TestBind_Errors checks codes, positions (byte offsets from 1) and messages.
func TestBind_Errors(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT nope FROM docs", `42703 at 8: column "nope" does not exist`},
		{"SELECT 1 FROM nope", `42P01 at 15: relation "nope" does not exist`},
		{"SELECT 1 FROM by.nope", `42P01 at 15: relation "by.nope" does not exist`},
		{"SELECT x.id FROM docs d", `42P01 at 8: missing FROM-clause entry for table "x"`},
		{"SELECT id FROM docs, by.city", `42702 at 8: column reference "id" is ambiguous`},
		{"SELECT rev FROM docs GROUP BY doc", `42803 at 8: column "docs.rev" must appear in the GROUP BY clause or be ` +
			`used in an aggregate function`},
		{"SELECT key, value FROM by.city GROUP BY key", `42803 at 13: column "city.value" must appear in the GROUP BY ` +
			`clause or be used in an aggregate function`},
		{"SELECT doc FROM docs GROUP BY ROLLUP (id)", `42803 at 8: column "docs.doc" must appear in the GROUP BY ` +
			`clause or be used in an aggregate function`},
		{"SELECT id FROM docs LIMIT rev", "42804 at 27: argument of LIMIT must be type bigint, not type text"},
		{"SELECT id FROM docs LIMIT length(id)", "42P10 at 34: argument of LIMIT must not contain variables"},
		{"SELECT (1, 2) = (SELECT 1)", "42601 at 15: subquery has too few columns"},
		{"SELECT (1, 2) IN (SELECT 1, 2, 3)", "42601 at 15: subquery has too many columns"},
		{"SELECT (1, 2) + (SELECT 1, 2)", "42804 at 15: row comparison operator must yield type boolean, not type integer"},
		{"SELECT 1 UNION SELECT now()::date", "42804 at 23: UNION types integer and date cannot be matched"},
		{"SELECT concat(VARIADIC 1)", "42804 at 24: VARIADIC argument must be an array"},
		{"SELECT 1 = ANY (1)", "42809 at 10: op ANY/ALL (array) requires array on right side"},
		{"WITH t(a, b) AS (SELECT 1) SELECT a FROM t", `42P10 at 6: WITH query "t" has 1 columns available but 2 ` +
			`columns specified`},
		{"SELECT id FROM docs WINDOW w AS (ORDER BY nope)", `42703 at 43: column "nope" does not exist`},
		{"SELECT rank() OVER (ORDER BY generate_series(1, 2)) FROM docs",
			"0A000 at 30: window function calls cannot contain set-returning function calls"},
		{"SELECT $1::int + $1::date", "42846 at 20: cannot cast type integer to date"},
	} {
		if got := describe(t, c.sql); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// A cached statement is bound again only if its names mean something else.
func TestBound_Refreshed(t *testing.T) {
	w := work.New(t.Context(), nil, 0, nil)
	defer w.Close()
	stmt, err := parse.Statement(w, "SELECT key FROM by.city")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := bind.Bind(w, stmt.(*ast.Query), resolver{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := bound.Refreshed(w, resolver{}); err != nil || again == nil || !bound.UsesStore() {
		t.Errorf("nothing has changed, but: %v, %v", again, err)
	}
	saved := slices.Clone(design.Views)
	defer func() { design.Views = saved }()
	design.Views[0].Reduce = "_sum"
	if again, err := bound.Refreshed(w, resolver{}); again != nil || err != nil {
		t.Errorf("the view has another reduction, but: %v, %v", again, err)
	}
	design.Views = design.Views[1:]
	if _, err := bound.Refreshed(w, resolver{}); err == nil {
		t.Error("the view is gone, but there is no error")
	}
}
