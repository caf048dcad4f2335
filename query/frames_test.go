package query_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestFrames_PostgreSQL compares aggregates over all kinds of frames with PostgreSQL: those that can remove rows, those
// computed by a tree, and those that are recomputed.
func TestFrames_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	aggregates := []string{
		"max(n)", "min(d)", "sum(n)", "sum(d)", "avg(d)", "count(n)", "stddev(n)", "var_pop(d)", "bool_and(n > 0)",
		"bool_or(n > 6)", "bit_and(n)", "bit_or(n)", "bit_xor(n)", "max(n::text)", "sum(d::float8)", "array_agg(n)",
		"string_agg(n::text, ',')", "max(d) FILTER (WHERE n > 0)", "sum(d) FILTER (WHERE n > 0)",
		"sum(make_interval(days => n))", "max(ARRAY[n, i])",
	}
	frames := []string{
		"ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
		"ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING", "ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING",
		"RANGE BETWEEN 2 PRECEDING AND CURRENT ROW", "RANGE BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW",
		"ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW",
		"GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP",
		"ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES",
		"ROWS BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES",
	}
	for _, frame := range frames {
		orders := []string{"i", "n", "n DESC NULLS LAST"}
		if strings.HasPrefix(frame, "ROWS") {
			orders = []string{"i", "n, i", "n DESC, i"} // the order of peers is undefined
		}
		for _, order := range orders {
			for _, agg := range aggregates {
				sql := "SELECT i, " + agg + " OVER (ORDER BY " + order + " " + frame + ") FROM (VALUES (1,3,1.5)," +
					"(2,null,2.25),(3,7,null),(4,7,-3.125),(5,-2,10),(6,0,0.00),(7,7,1e3),(8,1,4),(9,null,4.0),(10,5,2)" +
					") v(i,n,d) ORDER BY i"
				got := result(t.Context(), ours, sql, nil, false)
				if want := result(t.Context(), theirs, sql, nil, false); got != want {
					t.Errorf("%s\ngot\n%s\nwant\n%s", sql, got, want)
				}
			}
		}
	}
}
