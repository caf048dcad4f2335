package query_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// Tools connect to postgres or template1 to look around. If there are no such databases, they have only the system
// schemas.
func TestSession_MaintenanceDatabases(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	for _, name := range []string{"postgres", "template1"} {
		conn := connect(t, "postgres://ann@"+addr+"/"+name)
		var database, names string
		var tables int
		err := conn.QueryRow(t.Context(), `SELECT current_database(),
			(SELECT string_agg(datname || CASE WHEN datistemplate THEN '*' ELSE '' END, ' ') FROM pg_database),
			(SELECT count(*) FROM pg_tables WHERE schemaname = 'public')`).Scan(&database, &names, &tables)
		if err != nil || database != name || tables != 0 || names != "cities divan postgres template1*" {
			t.Errorf("%s: %q, databases %q, %d tables, %v", name, database, names, tables, err)
		}
		if _, err := conn.Exec(t.Context(), "SELECT id FROM docs"); err == nil ||
			!strings.Contains(err.Error(), "42P01") {
			t.Errorf("%s has documents: %v", name, err)
		}
		if _, err := conn.Exec(t.Context(), "SELECT * FROM divan.sessions"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A database of that name takes precedence.
	s.Create("postgres").Put("a", `{}`)
	conn := connect(t, "postgres://ann@"+addr+"/postgres")
	var id string
	if err := conn.QueryRow(t.Context(), "SELECT id FROM docs").Scan(&id); err != nil || id != "a" {
		t.Errorf("%q, %v", id, err)
	}
}

// The endless feed is not listed, so that a tool that shows the first rows of every relation does not wait for ever.
func TestCatalog_FollowIsNotListed(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	for _, sql := range []string{
		"SELECT count(*) FROM pg_class WHERE relname LIKE '%follow%'",
		"SELECT count(*) FROM pg_type WHERE typname LIKE '%follow%'",
		"SELECT count(*) FROM information_schema.tables WHERE table_name LIKE '%follow%'",
		"SELECT count(*) FROM information_schema.columns WHERE table_name LIKE '%follow%'",
		"SELECT count(*) FROM pg_index i, pg_class c WHERE c.oid = i.indexrelid AND c.relname LIKE '%follow%'",
	} {
		var n int
		if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", sql, n, err)
		}
	}
	var id string
	if err := conn.QueryRow(t.Context(), "SELECT id FROM changes_follow LIMIT 1").Scan(&id); err != nil || id == "" {
		t.Errorf("following: %q, %v", id, err)
	}
	// The right side of a join is read to its end, which a feed does not have.
	err := conn.QueryRow(t.Context(), "SELECT c.id FROM generate_series(1, 2), changes_follow c LIMIT 1").Scan(&id)
	if err == nil || !strings.Contains(err.Error(), "0A000") {
		t.Errorf("a function joined with a feed: %v", err)
	}
	err = conn.QueryRow(t.Context(), "SELECT c.id FROM changes_follow c, generate_series(1, 2) LIMIT 1").Scan(&id)
	if err != nil {
		t.Errorf("a feed joined with a function: %v", err)
	}
}
