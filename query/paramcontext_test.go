package query_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// TestBind_context compares the context of errors in the values of parameters with a live PostgreSQL 15.
func TestBind_context(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)).PgConn()
	s := exectest.NewStore()
	s.Create("context")
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/context").PgConn()
	for _, c := range []struct {
		value  string
		format int16
	}{{"x", 0}, {"", 0}, {"\xff", 0}, {"\x00\x01", 1}} {
		context := func(conn *pgconn.PgConn) string {
			result := conn.ExecParams(t.Context(), "SELECT $1::int4", [][]byte{[]byte(c.value)}, nil,
				[]int16{c.format}, nil).Read()
			var e *pgconn.PgError
			if !errors.As(result.Err, &e) {
				t.Fatalf("%q: %v", c.value, result.Err)
			}
			return e.Where
		}
		if got, want := context(ours), context(theirs); got != want {
			t.Errorf("%q: context %q, want %q", c.value, got, want)
		}
	}
}
