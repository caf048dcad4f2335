package query_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestScripts_PostgreSQL sends the statements of clients and tools in testdata/scripts to a live PostgreSQL 15 that has
// the same relations as tables and views with the same rows. Its answers must be the recorded ones. Statements marked
// "-- differs: why" must only have the same columns; those marked "-- differs: refused" are refused by one of the two.
// Positions of errors and hints are not compared, because Divan has more of them.
func TestScripts_PostgreSQL(t *testing.T) {
	url := pgtest.URL(t)
	s := exectest.NewStore()
	scriptCities(s)
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://postgres@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	admin := connect(t, url+" default_query_exec_mode=simple_protocol")
	for _, sql := range []string{"DROP DATABASE IF EXISTS cities", "CREATE DATABASE cities",
		"DROP ROLE IF EXISTS ann",
		"DROP ROLE IF EXISTS divan", "CREATE ROLE ann SUPERUSER LOGIN", "CREATE ROLE divan SUPERUSER LOGIN",
		"ALTER DATABASE cities OWNER TO divan"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	theirs := strings.Replace(url, "dbname=postgres", "dbname=cities", 1)
	as := func(user string) string { return strings.Replace(theirs, "user=postgres", "user="+user, 1) }
	copyRelations(t, ours, connect(t, as("divan")+" default_query_exec_mode=simple_protocol"))
	for _, name := range []string{"jdbc", "tools", "asyncpg", "django", "knex", "pgcli", "sqlalchemy", "grafana",
		"metabase",
		"superset", "duckdb", "npgsql", "dbeaver"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "scripts", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := pgconn.ParseConfig(as("ann"))
			if err != nil {
				t.Fatal(err)
			}
			var notices []string
			cfg.OnNotice = noteIn(&notices)
			conn, err := pgconn.ConnectConfig(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			for _, b := range scriptBlocks(t, string(text)) {
				notices = nil
				got := strings.TrimRight(ask(t, conn, b.src, b.params, &notices), "\n")
				same := levelAnswer(got) == levelAnswer(b.want)
				if same == (b.differs != "") || !sameColumns(got, b.want) && !strings.HasPrefix(b.differs, "refused") {
					t.Errorf("%s\nPostgreSQL answers\n%s\nrecorded is\n%s", b.src, got, b.want)
				}
			}
		})
	}
}

// sameColumns reports whether answers begin with the same column names. An answer without rows has none.
func sameColumns(got, want string) bool {
	a, _, _ := strings.Cut(got, "\n")
	b, _, _ := strings.Cut(want, "\n")
	return a == b || strings.HasPrefix(a, "(") || strings.HasPrefix(b, "(")
}

// objectOID matches the OID of an object that is not built in.
var objectOID = regexp.MustCompile(`\b[1-9][0-9]{4,}\b`)

// levelAnswer removes the positions of errors, the hints and the OIDs of objects from an answer.
func levelAnswer(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "HINT: ") {
			line = strings.TrimRight(scriptPlace.ReplaceAllString(line, "$1: "), "\n")
			out = append(out, objectOID.ReplaceAllString(line, "OID"))
		}
	}
	return strings.Join(out, "\n")
}

// copyRelations creates all relations as tables and views on another server, with their rows and comments.
func copyRelations(t *testing.T, from, to *pgx.Conn) {
	t.Helper()
	exec := func(sql string) {
		t.Helper()
		if _, err := to.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	type relation struct {
		Schema, Name, Kind, About, SchemaAbout string
		Columns, Types                         []string
	}
	rows, err := from.Query(t.Context(), `
		SELECT n.nspname AS schema, c.relname AS name, c.relkind::text AS kind,
			coalesce(obj_description(c.oid, 'pg_class'), '') AS about,
			coalesce(obj_description(n.oid, 'pg_namespace'), '') AS schemaabout,
			array_agg(quote_ident(a.attname) ORDER BY a.attnum) AS columns,
			array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum) AS types
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE a.attnum > 0 AND c.relkind IN ('r', 'v') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
		GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	relations, err := pgx.CollectRows(rows, pgx.RowToStructByName[relation])
	if err != nil {
		t.Fatal(err)
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	for _, r := range relations {
		full := pgx.Identifier{r.Schema, r.Name}.Sanitize()
		results, err := from.PgConn().Exec(t.Context(), "SELECT * FROM "+full).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		nothing := make([]string, len(r.Types))
		for i, typ := range r.Types {
			nothing[i] = "NULL::" + typ
		}
		body := "SELECT " + strings.Join(nothing, ", ") + " WHERE false"
		for _, row := range results[0].Rows {
			values := slices.Clone(nothing)
			for i, v := range row {
				if v != nil {
					values[i] = quote(string(v)) + "::" + r.Types[i]
				}
			}
			body += " UNION ALL SELECT " + strings.Join(values, ", ")
		}
		exec("CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{r.Schema}.Sanitize())
		kind := "TABLE"
		if r.Kind == "v" {
			kind = "VIEW"
		}
		exec("CREATE " + kind + " " + full + " (" + strings.Join(r.Columns, ", ") + ") AS " + body)
		exec("COMMENT ON " + kind + " " + full + " IS " + quote(r.About))
		exec("COMMENT ON SCHEMA " + pgx.Identifier{r.Schema}.Sanitize() + " IS " + quote(r.SchemaAbout))
	}
	var keys []string
	if err := from.QueryRow(t.Context(), `
		SELECT array_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
			pg_get_constraintdef(oid)) ORDER BY conname) FROM pg_constraint WHERE contype = 'p'`).Scan(&keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		exec(key)
	}
	exec("ALTER TABLE docs ALTER doc SET NOT NULL")
}
