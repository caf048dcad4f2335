package query_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestParameters_JSON checks that parameters that are compared with jsonb are read as JSON, here and in PostgreSQL, in
// both formats. A text that is not JSON is a string here.
func TestParameters_JSON(t *testing.T) {
	url := pgtest.URL(t)
	theirs := connect(t, url)
	s := exectest.NewStore()
	corpusDocs(t, s.Create("postgres"), connect(t, url+" default_query_exec_mode=simple_protocol"))
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres")
	ids := func(conn *pgx.Conn, where string, args ...any) string {
		rows, err := conn.Query(t.Context(), "SELECT id FROM by.v WHERE "+where+" ORDER BY id", args...)
		if err != nil {
			return err.Error()
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return code(err)
		}
		return fmt.Sprint(found)
	}
	for _, c := range []struct {
		where string
		args  []any
	}{
		{"key = $1", []any{42}}, {"key = $1", []any{1.5}}, {"key = $1", []any{true}}, {"key = $1", []any{`"Oslo"`}},
		{"key = $1", []any{map[string]int{"b": 2, "a": 1}}}, {"key = $1", []any{[]int{1, 2}}}, {"key = $1", []any{nil}},
		{"key > $1 AND key < $2", []any{2990, 2992}}, {"key BETWEEN $1 AND $2", []any{1, 2}},
		{"key IN ($1, $2)", []any{1, "true"}},
		{"key = ANY($1)", []any{[]int{1, 42}}}, {"key = ANY($1)", []any{[]string{`"Oslo"`, "1"}}},
		{"value = $1", []any{7}},
		{"key = $1::jsonb", []any{10}}, {"key = $1", []any{[]byte(`{"a":1}`)}},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeCacheStatement} {
			args := append([]any{mode}, c.args...)
			if got, want := ids(ours, c.where, args...), ids(theirs, c.where, args...); got != want {
				t.Errorf("%s with %v, mode %v: %s, not %s", c.where, c.args, mode, got, want)
			}
		}
	}
	for _, c := range []struct {
		arg  any
		want string
	}{{"Oslo", "[d13]"}, {"0042", "[d12]"}, {"", "[d30]"}} {
		if got := ids(ours, "key = $1", c.arg); got != c.want {
			t.Errorf("key = %q: %s, not %s", c.arg, got, c.want)
		}
	}
	if got := ids(ours, "key = ANY($1)", []string{"Oslo", "1"}); got != "[d01 d13]" {
		t.Errorf("an array of texts: %s", got)
	}
	if got := ids(ours, "key = $1::jsonb", "Oslo"); got != "22P02" {
		t.Errorf("a text cast to jsonb must be JSON: %s", got)
	}
}
