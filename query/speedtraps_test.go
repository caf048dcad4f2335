package query_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/work"
)

var hashJoin = regexp.MustCompile(`Hash (Semi |Anti )?Join`)

// IS NOT DISTINCT FROM joins by a hash table, as an equality does.
func TestJoins_NotDistinct(t *testing.T) {
	s := exectest.NewStore()
	s.Create("postgres").Put("d1", `{"v":1}`)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, sql := range []string{
		"SELECT 1 FROM docs a JOIN docs b ON a.doc->'v' IS NOT DISTINCT FROM b.doc->'v'",
		"SELECT 1 FROM docs a WHERE EXISTS (SELECT 1 FROM docs b WHERE a.doc->'v' IS NOT DISTINCT FROM b.doc->'v')",
		"SELECT 1 FROM docs a WHERE NOT EXISTS (SELECT 1 FROM docs b WHERE b.doc->>'v' IS NOT DISTINCT FROM a.doc->>'v')",
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN "+sql)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if plan := strings.Join(lines, "\n"); err != nil || !hashJoin.MatchString(plan) {
			t.Errorf("%s: %v\n%s", sql, err, plan)
		}
	}
}

// little returns a connection to a server whose statements have 1 MB of memory, and the space of their files.
func little(t *testing.T) (*pgx.Conn, *spill.Space) {
	t.Helper()
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, func(o *query.Options) { o.Memory, o.Temp = work.Limits{Statement: 1 << 20}, space })
	return connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol"), space
}

// The result of an aggregate without GROUP BY must fit into memory, so writing its input to a file first would only
// make the error late.
func TestSpill_OneLargeResult(t *testing.T) {
	conn, space := little(t)
	_, err := conn.Exec(t.Context(), "SELECT string_agg(repeat('x', 100), ',') FROM generate_series(1, 100000)")
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "53200" {
		t.Errorf("%v, want 53200", err)
	}
	if _, peak, _ := space.Used(); peak != 0 {
		t.Errorf("%d bytes were written", peak)
	}
}

// One row decides a comparison with ANY or ALL of a query by an order, so the others are neither kept nor compared: a
// query of more rows than fit into memory writes no file, and many comparisons with it do not take long.
func TestAny_Extreme(t *testing.T) {
	conn, space := little(t)
	var all, some int
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE x >= ALL (SELECT y FROM
		generate_series(1, 100000) y)), count(*) FILTER (WHERE x > ANY (SELECT -y FROM generate_series(-100000, -1) y))
		FROM generate_series(1, 100000) x`).Scan(&all, &some)
	if err != nil || all != 1 || some != 99999 {
		t.Errorf("%d and %d rows, want 1 and 99999: %v", all, some, err)
	}
	if _, peak, _ := space.Used(); peak != 0 {
		t.Errorf("%d bytes were written", peak)
	}
}
