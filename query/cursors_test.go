package query_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgtest"
	"github.com/divandb/divan/query/work"
)

// TestCursors_PostgreSQL moves cursors at random, here and on PostgreSQL.
func TestCursors_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	s := exectest.NewStore()
	corpusDocs(t, s.Create("postgres"), theirs)
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	rnd := rand.New(rand.NewPCG(14, 1))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	number := func() int { return rnd.IntN(9) - 3 }
	for range 300 {
		moves := []string{"BEGIN", "DECLARE c " + pick("", "SCROLL", "SCROLL", "NO SCROLL", "INSENSITIVE SCROLL") +
			" CURSOR " + pick("", "WITH HOLD", "WITHOUT HOLD") + " FOR " +
			pick("SELECT i FROM generate_series(1, 5) i", "SELECT id FROM docs ORDER BY id LIMIT 7",
				"SELECT id, doc->'i' FROM docs WHERE id < 'd05' ORDER BY doc->>'i' DESC", "SELECT 1 AS i", "VALUES (1), (2)",
				"SELECT count(*) AS i FROM docs", "SELECT i FROM generate_series(1, 0) i",
				"SELECT DISTINCT i % 3 AS i FROM generate_series(1, 9) i ORDER BY 1",
				"SELECT i FROM generate_series(1, 2) i UNION ALL SELECT 7")}
		held := strings.Contains(moves[1], "WITH HOLD")
		for i := range 12 {
			if i == 5 && held {
				moves = append(moves, "COMMIT")
			}
			moves = append(moves, pick("FETCH", "FETCH", "MOVE")+" "+pick("NEXT", "PRIOR", "FIRST", "LAST", "ALL",
				"FORWARD ALL", "BACKWARD ALL", "FORWARD", "BACKWARD", fmt.Sprint(number()),
				fmt.Sprintf("FORWARD %d", number()), fmt.Sprintf("BACKWARD %d", number()),
				fmt.Sprintf("ABSOLUTE %d", number()), fmt.Sprintf("RELATIVE %d", number()))+" FROM c")
		}
		moves = append(moves, "SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors", "ROLLBACK", "CLOSE ALL")
		var done []string
		for _, sql := range moves {
			done = append(done, sql)
			got, want := result(t.Context(), ours, sql, nil, false), result(t.Context(), theirs, sql, nil, false)
			if got = place.ReplaceAllString(got, "${1}0: "); got != place.ReplaceAllString(want, "${1}0: ") {
				t.Errorf("%s\ngot\n%s\nwant\n%s", strings.Join(done, ";\n"), got, want)
				for _, conn := range []*pgx.Conn{ours, theirs} {
					_ = result(t.Context(), conn, "ROLLBACK", nil, false)
					_ = result(t.Context(), conn, "CLOSE ALL", nil, false)
				}
				break
			}
		}
	}
}

// TestCursors_spill checks that a cursor keeps far more rows than its statement's memory, and gives the file back.
func TestCursors_spill(t *testing.T) {
	oneGoroutine(t)
	s := exectest.NewStore()
	s.Create("cities")
	space, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	srv, addr := start(t, s, func(o *query.Options) {
		o.Memory, o.Temp = work.Limits{Statement: 1 << 20}, space
	})
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	const rows = 50_000
	fetch := func(what string) int {
		t.Helper()
		var n int
		var text string
		err := conn.QueryRow(t.Context(), "FETCH "+what+" FROM c").Scan(&n, &text)
		if errors.Is(err, pgx.ErrNoRows) {
			return 0
		}
		if err != nil || len(text) != 100+n%50 {
			t.Fatalf("FETCH %s: row %d with %d letters: %v", what, n, len(text), err)
		}
		return n
	}
	for _, declare := range []string{
		"BEGIN; DECLARE c SCROLL CURSOR FOR %s",
		"BEGIN; DECLARE c CURSOR FOR %s",
		"BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR %s; COMMIT; BEGIN",
		"BEGIN; DECLARE c CURSOR WITH HOLD FOR %s; FETCH 3 FROM c; COMMIT; BEGIN",
	} {
		sql := fmt.Sprintf(declare, fmt.Sprintf("SELECT i, repeat('x', 100 + i %% 50) FROM generate_series(1, %d) i", rows))
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if n := fetch("LAST"); n != rows {
			t.Errorf("the last row is %d", n)
		}
		rnd := rand.New(rand.NewPCG(1, 1))
		for range 200 {
			n := 1 + rnd.IntN(rows)
			if got := fetch(fmt.Sprintf("ABSOLUTE %d", n)); got != n {
				t.Fatalf("row %d is %d", n, got)
			}
			if got := fetch("PRIOR"); got != n-1 {
				t.Fatalf("the row before %d is %d", n, got)
			}
		}
		tag, err := conn.Exec(t.Context(), "MOVE LAST FROM c; FETCH BACKWARD ALL FROM c")
		if err != nil || tag.RowsAffected() != rows-1 {
			t.Errorf("%s: %v", tag, err)
		}
		if now, _, _ := srv.TempFiles(); now == 0 {
			t.Error("nothing was spilled")
		}
		if _, err := conn.Exec(t.Context(), "CLOSE c; COMMIT"); err != nil {
			t.Error(err)
		}
		if now, _, _ := srv.TempFiles(); now != 0 {
			t.Errorf("%d bytes of temporary files remain", now)
		}
		if now, peak, _ := srv.Memory(); now > 1<<20 || peak > 4<<20 {
			t.Errorf("%d bytes of memory are held, %d at most", now, peak)
		}
	}
}

// TestCursors_snapshot checks that cursors show the moment of DECLARE in both directions, whatever others write.
func TestCursors_snapshot(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	for i, declare := range []string{"DECLARE c CURSOR FOR", "DECLARE c SCROLL CURSOR FOR",
		"DECLARE c NO SCROLL CURSOR FOR"} {
		if _, err := conn.Exec(t.Context(), "BEGIN; "+declare+" SELECT id FROM docs"); err != nil {
			t.Fatal(err)
		}
		want := count(t, conn, "docs")
		db.Put(fmt.Sprintf("a%d", i), "{}")
		moves := []string{"FORWARD ALL", "BACKWARD ALL", "FORWARD ALL"}
		if strings.Contains(declare, "NO") {
			moves = moves[:1]
		}
		for _, move := range moves {
			if tag, err := conn.Exec(t.Context(), "FETCH "+move+" FROM c"); err != nil || tag.RowsAffected() != int64(want) {
				t.Errorf("%s: FETCH %s: %s, not %d rows: %v", declare, move, tag, want, err)
			}
		}
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-conn.PgConn().CleanupDone()
	if err := exectest.AllClosed(t.Context()); err != nil {
		t.Errorf("a snapshot is open: %v", err)
	}
}

// TestCursors_changed checks that a cursor does not go back to rows other than those that it has returned.
func TestCursors_changed(t *testing.T) {
	s := exectest.NewStore()
	s.Create("cities")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	const sql = "SELECT random() FROM generate_series(1, 9)"
	_, err := conn.Exec(t.Context(), "BEGIN; DECLARE c CURSOR FOR "+sql+"; FETCH 3 FROM c; FETCH PRIOR FROM c")
	if got := code(err); got != "55000" {
		t.Errorf("the error is %v", err)
	}
	var first, again float64
	if _, err = conn.Exec(t.Context(), "ROLLBACK; BEGIN; DECLARE c SCROLL CURSOR FOR "+sql); err == nil {
		if err = conn.QueryRow(t.Context(), "FETCH c").Scan(&first); err == nil {
			if _, err = conn.Exec(t.Context(), "MOVE LAST FROM c"); err == nil {
				err = conn.QueryRow(t.Context(), "FETCH FIRST FROM c").Scan(&again)
			}
		}
	}
	if err != nil || first != again {
		t.Errorf("%v, then %v: %v", first, again, err)
	}
}
