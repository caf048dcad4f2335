package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
)

// Clients that write all columns of a row assign rev too: NULL when they insert, and what they have read afterwards.
func TestWrites_Revision(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	var rev, next string
	const insert = "INSERT INTO docs (id, rev, doc) VALUES ($1, $2, $3) RETURNING rev"
	if err := conn.QueryRow(t.Context(), insert, "n", nil, map[string]int{"x": 1}).Scan(&rev); err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE docs SET id = $1, rev = $2, doc = $3 WHERE id = $1 RETURNING rev"
	if err := conn.QueryRow(t.Context(), update, "n", rev, map[string]int{"x": 2}).Scan(&next); err != nil || next == rev {
		t.Fatalf("%s after %s: %v", next, rev, err)
	}
	doc := map[string]int{}
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{update, []any{"n", rev, doc}, "40001"}, // has been changed since
		{update, []any{"n", "no revision", doc}, "428C9"},
		{update, []any{"n", nil, doc}, ""},
		{insert, []any{"m", rev, doc}, "428C9"},
		{"INSERT INTO docs (id, rev, doc) SELECT id || 'x', rev, doc FROM docs RETURNING rev", nil, "428C9"},
		{"INSERT INTO docs (id, rev, doc) VALUES ('n', NULL, '{}') ON CONFLICT (id) DO UPDATE SET rev = $1, " +
			"doc = '{}' RETURNING rev", []any{rev}, "40001"},
		{"INSERT INTO docs (id, rev, doc) VALUES ('n', NULL, '{}') ON CONFLICT (id) DO UPDATE SET rev = docs.rev, " +
			"id = docs.id, doc = '{}' RETURNING rev", nil, ""},
	} {
		if err := conn.QueryRow(t.Context(), c.sql, c.args...).Scan(&next); code(err) != c.want {
			t.Errorf("%s %v: %v, want %q", c.sql, c.args, err, c.want)
		}
	}
}

// EXECUTE of a statement with RETURNING outside a block commits it and returns its rows.
func TestWrites_Execute(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	for _, sql := range []string{
		"PREPARE put(text, jsonb) AS INSERT INTO docs (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET " +
			"doc = excluded.doc RETURNING id, doc->>'v'",
		"PREPARE grow(text) AS UPDATE docs SET doc['v'] = '3' WHERE id = $1 RETURNING id, doc->>'v'",
		"PREPARE del(text) AS DELETE FROM docs WHERE id = $1 RETURNING id, doc->>'v'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		for _, c := range []struct{ sql, want string }{
			{`EXECUTE put('n', '{"v": 1}')`, "1"}, {`EXECUTE put('n', '{"v": 2}')`, "2"}, {`EXECUTE grow('n')`, "3"},
			{`EXECUTE del('n')`, "3"},
		} {
			var id, v string
			if err := conn.QueryRow(t.Context(), c.sql, mode).Scan(&id, &v); err != nil || id != "n" || v != c.want {
				t.Errorf("%s: %s %s, %v", c.sql, id, v, err)
			}
		}
		tag, err := conn.Exec(t.Context(), "EXECUTE del('n')", mode)
		if err != nil || tag.String() != "DELETE 0" {
			t.Errorf("%s, %v", tag, err)
		}
	}
}

// The error of a NULL shows the row, with the beginning of its values.
func TestWrites_Null(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	long := strings.Repeat("é", 40)
	for sql, want := range map[string]string{
		"INSERT INTO docs (id, doc) VALUES ('n', NULL)":                 "Failing row contains (n, null, null).",
		"INSERT INTO docs VALUES ('oslo', NULL) ON CONFLICT DO NOTHING": "Failing row contains (oslo, null, null).",
		"INSERT INTO docs (id, doc) VALUES (NULL, '{\"a\": 1}')":        `Failing row contains (null, null, {"a": 1}).`,
		"INSERT INTO docs (id, doc) VALUES ('x" + long + "', NULL)":     "Failing row contains (x" + long[:62] + "..., null, null).",
		"INSERT INTO docs (id, doc) SELECT NULL, '{}'":                  "Failing row contains (null, null, {}).",
		"UPDATE docs SET doc = NULL, rev = rev WHERE id = 'oslo'":       "Failing row contains (oslo, 1-abc, null).",
		"UPDATE docs SET doc = doc -> 'nothing' WHERE id = 'oslo'":      "Failing row contains (oslo, 1-abc, null).",
		"INSERT INTO docs VALUES ('oslo', '{}') ON CONFLICT (id) DO UPDATE SET doc = NULL": "Failing row contains " +
			"(oslo, 1-abc, null).",
	} {
		var pe *pgconn.PgError
		if _, err := conn.Exec(t.Context(), sql); !errors.As(err, &pe) || pe.Code != "23502" || pe.Detail != want {
			t.Errorf("%s: %+v, want %s", sql, pe, want)
		}
	}
}
