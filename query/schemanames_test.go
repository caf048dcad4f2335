package query_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
)

// The views of a design document named public are in the schema public, after the relations of the database. Those of
// a design document named like a system schema cannot be read, and the hint says why.
func TestViews_NamesOfSchemas(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("db")
	db.Put("a", "{}")
	for _, v := range [][2]string{{"public", "mine"}, {"public", "docs"}, {"divan", "theirs"}, {"pg_catalog", "pg_theirs"},
		{"one", "twice"}, {"two", "twice"}, {"one", "single"}} {
		db.AddView(v[0], v[1], "", func(id string, _ json.RawMessage, emit func(key, value string)) {
			emit(`"`+v[0]+`"`, "1")
		})
	}
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	for _, c := range []struct{ sql, want string }{
		{`SELECT key FROM public.mine`, `"public"`},
		{`SELECT key FROM mine`, `"public"`},
		{`SELECT id FROM docs`, "a"},
		{`SELECT key FROM single`, `"one"`},
		{`SELECT key FROM theirs`, `42P01 relation "theirs" does not exist`},
		{`SELECT key FROM divan.theirs`, `42P01 relation "divan.theirs" does not exist: SQL does not see the views of ` +
			`"_design/divan", which has the name of a system schema. Give the design document another name.`},
		{`SELECT key FROM pg_catalog.pg_theirs`, `42P01 relation "pg_catalog.pg_theirs" does not exist: SQL does not ` +
			`see the views of "_design/pg_catalog", which has the name of a system schema. Give the design document ` +
			`another name.`},
		{`SELECT key FROM twice`, `42P09 view name "twice" is ambiguous: Design documents "one" and "two" both have it: ` +
			`write schema.twice.`},
		{`SELECT string_agg(relnamespace::regnamespace || '.' || relname || ' ' || pg_table_is_visible(oid), ' '
			ORDER BY relnamespace::regnamespace::text, relname) FROM pg_class
			WHERE relname IN ('mine', 'theirs', 'twice', 'single', 'docs')`,
			"one.single true one.twice true public.docs true public.mine true two.twice true"},
	} {
		got := ""
		results, err := conn.PgConn().Exec(t.Context(), c.sql).ReadAll()
		var refused *pgconn.PgError
		switch {
		case errors.As(err, &refused):
			got = refused.Code + " " + refused.Message
			if refused.Hint != "" {
				got += ": " + refused.Hint
			}
		case err != nil:
			t.Fatal(err)
		default:
			for _, row := range results[0].Rows {
				got += strings.TrimSpace(string(row[0]))
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, not %s", c.sql, got, c.want)
		}
	}
}
