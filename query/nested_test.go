package query_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestServer_Nested checks that deeply nested statements are run, not only parsed.
func TestServer_Nested(t *testing.T) {
	const depth = 1200
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	nest := func(open, core, end string) string {
		return strings.Repeat(open, depth) + core + strings.Repeat(end, depth)
	}
	for name, src := range map[string]string{
		"brackets": "SELECT " + nest("(", "1", ")"),
		"sum":      "SELECT 1" + strings.Repeat(" + 1", depth) + " > 1",
		"sums":     "SELECT " + nest("(1 + ", "1", ")"),
		"not":      "SELECT " + nest("NOT ", "true", ""),
		"and or":   "SELECT " + nest("(true AND ", "true", ")") + " OR " + nest("(false OR ", "false", ")"),
		"concat":   "SELECT 'a'" + strings.Repeat(" || 'a'", depth),
		"case":     "SELECT " + nest("CASE WHEN true THEN ", "1", " END"),
		"coalesce": "SELECT " + nest("coalesce(NULL, ", "1", ")"),
		"casts":    "SELECT 1" + strings.Repeat("::int::text", depth/2),
		"scalars":  "SELECT " + nest("(SELECT ", "1", ")"),
		"derived":  "SELECT * FROM " + nest("(SELECT * FROM ", "(SELECT 1) x", ") x"),
		"unions":   "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", depth),
		"union in": nest("(SELECT 1 UNION ", "SELECT 1", ")"),
		"arrays":   "SELECT " + nest("(ARRAY[", "1", "])[1]"),
		"in":       "SELECT " + nest("true IN (", "true", ")"),
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := conn.Query(t.Context(), src)
			if err != nil {
				t.Fatalf("%.200v", err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil || n == 0 {
				t.Errorf("%d rows: %.300v", n, err)
			}
		})
	}
}
