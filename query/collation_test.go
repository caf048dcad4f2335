package query_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
)

// swedes is a database whose ids and names do not sort by bytes.
func swedes(t *testing.T) (*pgx.Conn, string) {
	s := exectest.NewStore()
	db := s.Create("people")
	for _, id := range []string{"zeta", "öberg", "åkerman", "Adam", "adam", "ärling"} {
		db.Put(id, `{"name":"`+id+`"}`)
	}
	_, addr := start(t, s, nil)
	url := "postgres://ann@" + addr + "/people"
	return connect(t, url), url
}

func list(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(sql, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(sql, err)
	}
	return strings.Join(out, " ")
}

// TestCollation_Documents sorts and compares documents. Their ids would be read as a wrong key range if a collation
// were ignored.
func TestCollation_Documents(t *testing.T) {
	conn, _ := swedes(t)
	for sql, want := range map[string]string{
		`SELECT id FROM docs ORDER BY id`:                                             "Adam adam zeta ärling åkerman öberg",
		`SELECT id FROM docs ORDER BY id COLLATE "C"`:                                 "Adam adam zeta ärling åkerman öberg",
		`SELECT id FROM docs ORDER BY id COLLATE "sv-x-icu"`:                          "adam Adam zeta åkerman ärling öberg",
		`SELECT id FROM docs ORDER BY doc->>'name' COLLATE "sv-x-icu" DESC LIMIT 2`:   "öberg ärling",
		`SELECT id FROM docs ORDER BY doc->>'name' COLLATE "de-x-icu"`:                "adam Adam åkerman ärling öberg zeta",
		`SELECT id COLLATE "sv-x-icu" FROM docs ORDER BY 1 OFFSET 2`:                  "zeta åkerman ärling öberg",
		`SELECT id FROM docs WHERE id COLLATE "de-x-icu" < 'b' ORDER BY id`:           "Adam adam ärling åkerman",
		`SELECT id FROM docs WHERE id < 'b' COLLATE "de-x-icu" ORDER BY id`:           "Adam adam ärling åkerman",
		`SELECT id FROM docs WHERE 'b' COLLATE "de-x-icu" > id ORDER BY id`:           "Adam adam ärling åkerman",
		`SELECT id FROM docs WHERE id COLLATE "sv-x-icu" BETWEEN 'å' AND 'ä'`:         "åkerman",
		`SELECT id FROM docs WHERE id COLLATE "sv-x-icu" = 'adam'`:                    "adam",
		`SELECT id FROM docs WHERE id COLLATE "sv-x-icu" IN ('adam', 'ADAM')`:         "adam",
		`VALUES ('Z'), ('b' COLLATE "en-x-icu"), ('a') ORDER BY 1`:                    "a b Z",
		`SELECT c FROM (VALUES ('Z'), ('b' COLLATE "en-x-icu")) v(c) ORDER BY c`:      "b Z",
		`SELECT min(id COLLATE "sv-x-icu") FROM docs`:                                 "adam",
		`SELECT n FROM (SELECT id COLLATE "sv-x-icu" AS n FROM docs) d ORDER BY n`:    "adam Adam zeta åkerman ärling öberg",
		`SELECT n FROM (SELECT id COLLATE "sv-x-icu" AS n FROM docs) d WHERE n > 'z'`: "zeta ärling åkerman öberg",
	} {
		if got := list(t, conn, sql); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}

// TestCollation_Explain checks that a sort shows its collation, that a comparison under a collation is a filter, and
// that equality and "C" still read a range.
func TestCollation_Explain(t *testing.T) {
	conn, _ := swedes(t)
	for _, c := range []struct {
		sql      string
		has, not []string
	}{
		{`SELECT id FROM docs ORDER BY id COLLATE "sv-x-icu" DESC`, []string{`Sort Key: id COLLATE "sv-x-icu" DESC`},
			nil},
		{`SELECT n FROM (SELECT id COLLATE "sv-x-icu" AS n FROM docs) d ORDER BY n`,
			[]string{`Sort Key: n COLLATE "sv-x-icu"`}, nil},
		{`SELECT id FROM docs ORDER BY id COLLATE "C"`, nil, []string{"Sort"}},
		{`SELECT id FROM docs WHERE id < 'b' COLLATE "de-x-icu"`, []string{`Filter: (id < 'b' COLLATE "de-x-icu")`},
			[]string{"Range"}},
		{`SELECT id FROM docs WHERE id COLLATE "de-x-icu" >= 'b'`, []string{`Filter: (id COLLATE "de-x-icu" >= 'b')`},
			[]string{"Range"}},
		{`SELECT id FROM docs WHERE id COLLATE "de-x-icu" = 'b'`, nil, []string{"Filter"}},
		{`SELECT id FROM docs WHERE id COLLATE "C" >= 'b'`, nil, []string{"Filter"}},
	} {
		got := list(t, conn, "EXPLAIN (COSTS OFF) "+c.sql)
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s: no %s in %s", c.sql, s, got)
			}
		}
		for _, s := range c.not {
			if strings.Contains(got, s) {
				t.Errorf("%s: %s in %s", c.sql, s, got)
			}
		}
	}
}

// TestCollation_Refused checks that queries whose answer might be wrong are refused.
func TestCollation_Refused(t *testing.T) {
	conn, _ := swedes(t)
	for sql, want := range map[string]string{
		`SELECT id FROM docs ORDER BY id COLLATE "nothing"`:                                                                          `42704 collation "nothing" for encoding "UTF8" does not exist`,
		`SELECT id FROM docs ORDER BY (doc->'name') COLLATE "sv-x-icu"`:                                                              "42804 collations are not supported by type jsonb",
		`SELECT id FROM docs ORDER BY id COLLATE "ru-x-icu"`:                                                                         `0A000 collation "ru-x-icu" is not supported`,
		`SELECT id FROM docs ORDER BY id COLLATE "de-u-co-phonebk-x-icu"`:                                                            `0A000 collation "de-u-co-phonebk-x-icu" is not supported`,
		`SELECT lower(id COLLATE "tr-x-icu") FROM docs`:                                                                              "0A000 the collation of a locale is not supported in lower",
		`SELECT id FROM docs WHERE id COLLATE "tr-x-icu" ILIKE 'I%'`:                                                                 "0A000 the collation of a locale is not supported in ~~*",
		`SELECT id FROM docs WHERE doc->'name' < 'b' COLLATE "sv-x-icu"`:                                                             "0A000 the collation of a locale is not supported in a comparison with jsonb",
		`SELECT nullif(id, 'a' COLLATE "sv-x-icu") FROM docs`:                                                                        "0A000 the collation of a locale is not supported in the second argument of NULLIF",
		`SELECT 1 FROM docs ORDER BY ARRAY[id COLLATE "sv-x-icu"]`:                                                                   "0A000 the collation of a locale is not supported in the order of arrays and rows",
		`SELECT r FROM (SELECT ROW(id COLLATE "sv-x-icu") AS r FROM docs) d ORDER BY r`:                                              "0A000 the collation of a locale is not supported in the order of arrays and rows",
		`SELECT x FROM unnest(ARRAY['a' COLLATE "sv-x-icu"]) x ORDER BY x`:                                                           "0A000 the collation of a locale is not supported in an argument of a function in FROM",
		`SELECT id FROM docs WHERE id COLLATE "sv-x-icu" < doc->>'name' COLLATE "de-x-icu"`:                                          `42P21 collation mismatch between explicit collations "sv-x-icu" and "de-x-icu"`,
		`SELECT (id COLLATE "sv-x-icu") || (id COLLATE "de-x-icu") FROM docs`:                                                        `42P21 collation mismatch between explicit collations "sv-x-icu" and "de-x-icu"`,
		`SELECT n FROM (SELECT a || b AS n FROM (SELECT id COLLATE "sv-x-icu" a, id COLLATE "de-x-icu" b FROM docs) x) y ORDER BY n`: "42P22 could not determine which collation to use for string comparison",
	} {
		_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			t.Errorf("%s: %v, want %s", sql, err, want)
			continue
		}
		if got := pe.Code + " " + pe.Message; got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
		if pe.Code == "0A000" && pe.Hint == "" {
			t.Errorf("%s: no hint", sql)
		}
	}
}

// TestCollation_Catalog checks that all collations in pg_collation can be used, and that PostgreSQL describes them in
// the same way.
func TestCollation_Catalog(t *testing.T) {
	conn, url := swedes(t)
	const all = `SELECT concat_ws('|', collname, collprovider, collisdeterministic, collencoding, colliculocale, collcollate) FROM pg_collation`
	ours := strings.Fields(list(t, conn, all))
	if len(ours) < 500 {
		t.Fatalf("%d collations", len(ours))
	}
	for _, name := range strings.Fields(list(t, conn, `SELECT collname FROM pg_collation`)) {
		if got := list(t, conn,
			`SELECT id FROM docs WHERE id COLLATE "`+name+`" < 'a' COLLATE pg_catalog."`+name+
				`"`); strings.Contains(got, "zeta") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if pg := os.Getenv("DIVAN_TEST_POSTGRES"); pg != "" {
		theirs := strings.Fields(list(t, connect(t, pg), all))
		for _, c := range ours {
			if !slices.Contains(theirs, c) {
				t.Errorf("PostgreSQL has no %s", c)
			}
		}
	}
	out, err := exec.CommandContext(t.Context(), "psql", "-X", url, "-c", `\dOS sv-x*`).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs psql")
	}
	if err != nil || !strings.Contains(string(out), "sv-x-icu") {
		t.Errorf(`\dOS: %v: %s`, err, out)
	}
}
