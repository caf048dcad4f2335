package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestSession_Origin checks that the columns of a result say which column of a relation they show, as in the catalogue.
// JDBC and DBI use it to find keys and columns that may be NULL.
func TestSession_Origin(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	for sql, want := range map[string]string{
		"SELECT id, doc->'name', doc AS d FROM docs":              "docs.id, , docs.doc",
		"SELECT * FROM by.city":                                   "city.id, city.key, city.value, city.doc",
		"SELECT key AS k, count(*) FROM by.city GROUP BY key":     "city.key, ",
		"SELECT q.k FROM (SELECT key AS k FROM by.city) q":        "city.key",
		"WITH c AS (SELECT id FROM docs) SELECT id FROM c":        "docs.id",
		"SELECT id FROM docs UNION ALL SELECT id FROM docs":       "",
		"SELECT pid, state FROM divan.sessions":                   "divan.sessions.pid, divan.sessions.state",
		"SELECT c.oid, n.nspname FROM pg_class c, pg_namespace n": "pg_class.oid, pg_namespace.nspname",
		"SELECT 1, now(), generate_series(1, 2)":                  ", , ",
	} {
		d, err := conn.Prepare(t.Context(), sql, sql)
		if err != nil {
			t.Fatal(err)
		}
		var origins []string
		for _, f := range d.Fields {
			got := ""
			if f.TableOID != 0 {
				err := conn.QueryRow(t.Context(), `SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a
					WHERE a.attrelid = $1::oid AND a.attnum = $2`, f.TableOID, f.TableAttributeNumber).Scan(&got)
				if err != nil {
					got = fmt.Sprintf("%d.%d: %v", f.TableOID, f.TableAttributeNumber, err)
				}
			}
			origins = append(origins, got)
		}
		if got := strings.Join(origins, ", "); got != want {
			t.Errorf("%s: the columns are of %q, want %q", sql, got, want)
		}
	}
}
