package query_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestCatalog_PostgreSQL compares the rows of the catalogue with those of a live PostgreSQL 15: rows that are in both
// must be the same. Drivers find types by their OIDs and decode values by what they read there.
func TestCatalog_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	corpusDocs(t, s.Create("postgres"), theirs)
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, c := range []struct {
		name string
		sql  string // the first column identifies rows
		// all requires PostgreSQL to have every row of ours, least is the minimum number of common rows.
		all   bool
		least int
		// but lists rows and columns that differ on purpose, with the reason.
		but map[string]string
		// zero lists columns that may be 0 where PostgreSQL refers to something that does not exist here.
		zero []string
	}{
		{name: "pg_type", all: true, least: 60, sql: `
			SELECT oid, typname, typnamespace::regnamespace, typlen, typbyval, typtype, typcategory, typispreferred,
			       typisdefined,
			       typdelim, typrelid, typelem, typarray, typalign, typnotnull, typbasetype, typtypmod,
			       typndims, typcollation
			FROM pg_type WHERE oid < 10000`, zero: []string{"typarray"}},
		{name: "pg_attribute of the catalogue", all: true, least: 500, sql: `
			SELECT attrelid::regclass || '.' ||
				attname, atttypid::regtype, attnum, attnotnull, attlen, atttypmod, attbyval, attalign,
			       attisdropped, attidentity, attgenerated, attndims >= 0
			FROM pg_attribute WHERE attrelid < 10000 AND attnum > 0
			AND attname NOT IN ('stxddependencies', 'stxdexpr', 'stxdmcv', 'stxdndistinct', 'subskiplsn',
				'srsublsn') -- of types that we have not`},
		{name: "pg_class of the catalogue", all: true, least: 60, sql: `
			SELECT oid, relname, relnamespace::regnamespace, relkind, relnatts, relpersistence, relispartition,
			       relrowsecurity
			FROM pg_class WHERE oid < 10000 AND relkind = 'r'`},
		{name: "pg_namespace", least: 2, sql: `SELECT nspname, oid < 10000 FROM pg_namespace`},
		{name: "pg_am", least: 1, all: true, sql: `SELECT oid, amname, amtype FROM pg_am`},
		{name: "pg_language", sql: `SELECT lanname, lanispl, lanpltrusted FROM pg_language`},
		{name: "pg_collation", least: 1, sql: `
			SELECT oid, collname, collprovider, collisdeterministic FROM pg_collation WHERE oid < 10000`},
		{name: "pg_attribute of docs", least: 3, all: true, sql: `
			SELECT attname, atttypid::regtype, attnum, attlen, atttypmod, attisdropped, atthasdef
			FROM pg_attribute WHERE attrelid = 'docs'::regclass AND attnum > 0`},
		{name: "information_schema.columns of docs", least: 3, all: true, sql: `
			SELECT column_name, ordinal_position, data_type, udt_schema, udt_name, character_maximum_length,
			       numeric_precision,
			       datetime_precision, is_identity, is_generated, column_default
			FROM information_schema.columns WHERE table_name = 'docs' AND table_schema = 'public'`},
		{name: "information_schema.columns of the catalogue", least: 900, all: true, sql: `
			SELECT table_schema || '.' || table_name || '.' || column_name, ordinal_position, is_nullable
			FROM information_schema.columns WHERE table_schema IN ('pg_catalog', 'information_schema')`},
		{name: "pg_proc", least: 200, sql: `
			SELECT proname || '(' || pg_get_function_identity_arguments(oid) ||
				')', prorettype::regtype, proretset, prokind
			FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace`, but: map[string]string{
			`"inet_client_addr()" prorettype`: "there is no inet",
			`"inet_server_addr()" prorettype`: "there is no inet"}},
		{name: "pg_settings", least: 150, sql: `
			SELECT lower(name), vartype, unit, min_val, max_val, context, enumvals FROM pg_settings
			WHERE name NOT IN ('server_version_num', 'archive_library')`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, names := rowsByKey(t.Context(), t, ours, c.sql)
			want, _ := rowsByKey(t.Context(), t, theirs, c.sql)
			both := 0
			for _, key := range slices.Sorted(maps.Keys(got)) {
				w := want[key]
				switch {
				case w == nil && c.all:
					t.Errorf("%s is not PostgreSQL's", key)
				case w != nil:
					both++
				}
				for i := range w {
					gone := got[key][i] == `"0"` && slices.Contains(c.zero, names[i])
					if got[key][i] != w[i] && !gone && c.but[key+" "+names[i]] == "" {
						t.Errorf("%s has %s %s, and in PostgreSQL %s", key, names[i], got[key][i], w[i])
					}
				}
			}
			if both < c.least {
				t.Errorf("%d of %d rows are in both", both, len(got))
			}
		})
	}
}

// rowsByKey returns the rows of a query as texts by their first column, and the names of the columns.
func rowsByKey(ctx context.Context, t *testing.T, conn *pgx.Conn, sql string) (map[string][]string, []string) {
	t.Helper()
	results, err := conn.PgConn().Exec(ctx, strings.TrimSpace(sql)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range results[0].FieldDescriptions {
		names = append(names, f.Name)
	}
	out := map[string][]string{}
	for _, row := range results[0].Rows {
		var texts []string
		for _, v := range row {
			text := "NULL"
			if v != nil {
				text = fmt.Sprintf("%q", v)
			}
			texts = append(texts, text)
		}
		out[texts[0]] = texts
	}
	return out, names
}
