package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/sqlstate"
)

// What is explained is one statement, so that nothing else is run: what follows an EXPLAIN and a semicolon would be.
func TestExplaining(t *testing.T) {
	const several, twice, none, empty = "only one statement", "an EXPLAIN already", "no plan", "no statement"
	for text, refusal := range map[string]string{
		"select 1": "", "delete from docs": "", "(select 1)": "", "-- a; b\nselect 1": "", "select 1;": "", "select 1 ; ; ": "",
		"select ';', $$;$$, $a$ ; $a$, \";\", E'\\';' /* ; /* ; */ ; */ -- ;": "",

		"select 1; delete from docs":               several,
		"select '1\\'; delete from docs -- '":      several,
		"select $a$ $b$ $a$; delete from docs":     several,
		"select 1 -- ;\n; delete from docs":        several,
		"select 1 /* /* */ */; delete from docs":   several,
		"delete from docs; select (":               several,
		"begin; delete from docs; commit":          several,
		"explain select 1; delete from docs":       several,
		"; delete from docs; delete from docs":     several,
		"explain delete from docs":                 twice,
		"explain (analyze) delete from docs":       twice,
		"EXPLAIN ANALYZE delete from docs":         twice,
		"begin":                                    none,
		"drop table docs":                          none,
		"copy docs to stdout":                      none,
		"set a = 1":                                none,
		"call divan.drop('docs')":                  none,
		"":                                         empty,
		"-- select 1":                              empty,
		" ; /* select 1 */ ;":                      empty,
		"; delete from docs":                       several, // after an EXPLAIN of nothing
		"analyze delete from docs":                 none,
		"select (":                                 "",
		"select 'a":                                "",
		"(analyze) delete from docs; select":       several,
		"select 1 /* not closed; delete from docs": "",
	} {
		for _, analyze := range []bool{false, true} {
			got, prefix, err := query.Explaining(t.Context(), text, analyze)
			var failed *sqlstate.Error
			switch {
			case refusal == "" && (err != nil || got[prefix:] != text || !strings.HasPrefix(got, "EXPLAIN (") ||
				strings.Contains(got[:prefix], "ANALYZE") != analyze):
				t.Errorf("%q: %q, %v", text, got, err)
			case refusal != "" && (!errors.As(err, &failed) || !strings.Contains(failed.Message, refusal) || got != ""):
				t.Errorf("%q: %q, %v, want %q", text, got, err, refusal)
			}
		}
	}
}

// EXPLAIN runs nothing, also not what a LIMIT depends on.
func TestExplain_RunsNothing(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	ss := openSession(t, s, "cities")
	for _, limit := range []string{
		"LIMIT (SELECT 1/0)", "OFFSET (SELECT 1/0)", "LIMIT (SELECT length(pg_sleep(3600)::text))",
		"OFFSET length(pg_sleep(3600)::text)", "FETCH FIRST (SELECT 1/0) ROWS WITH TIES",
	} {
		if _, err := run(t.Context(), ss, "EXPLAIN SELECT id FROM docs ORDER BY id "+limit, 100); err != nil {
			t.Errorf("%s: %v", limit, err)
		}
	}
	rows, err := run(t.Context(), ss, "SELECT id FROM docs ORDER BY id LIMIT (SELECT 2) OFFSET (SELECT 1)", 100)
	if err != nil || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}
