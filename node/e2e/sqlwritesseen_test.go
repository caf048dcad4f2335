package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestSQL_WritesInteractive checks that an interactive view shows what SQL has written once it is committed, without
// an update of the index, and nothing of what was rolled back.
func TestSQL_WritesInteractive(t *testing.T) {
	p, admin := sqlUsers(t)
	admin.ok("PUT", "/db/_design/now", `{"options":{"interactive":true},"views":{"k":{"map":
		"function (doc) { if (doc.k) emit(doc.k, doc.n) }","reduce":"_sum"}}}`)
	admin.ok("GET", "/db/_design/now/_view/k", "") // the index has been built
	conn := connect(t, p, "db", "jan:relax")
	seen := func(want string) {
		t.Helper()
		got := strings.Join(texts(t, conn, `SET divan.update = 'false'; SELECT id, key, value FROM now.k ORDER BY id`), " ")
		if got != want {
			t.Errorf("SQL shows %s, want %s", got, want)
		}
		rows := admin.object("GET", "/db/_design/now/_view/k?reduce=false&update=false", "")["rows"].([]any)
		if n := len(strings.Fields(want)); len(rows) != n {
			t.Errorf("HTTP shows %v, want %d rows", rows, n)
		}
	}
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run(`INSERT INTO docs (id, doc) VALUES ('a', '{"k":1,"n":10}'), ('b', '{"k":2,"n":20}'), ('c', '{"n":1}')`)
	seen("a|1|10 b|2|20")
	run(`UPDATE docs SET doc = jsonb_set(doc, '{k}', '3') WHERE id IN ('a', 'c')`)
	seen("a|3|10 b|2|20 c|3|1")
	run(`BEGIN`)
	run(`DELETE FROM docs WHERE id = 'b'`)
	run(`SAVEPOINT s`)
	run(`UPDATE docs SET doc = '{"k":9}'`)
	run(`ROLLBACK TO s`)
	run(`UPDATE docs SET doc = doc || '{"n":11}' WHERE id = 'a'`)
	run(`COMMIT`)
	seen("a|3|11 c|3|1")
	run(`BEGIN`)
	run(`DELETE FROM docs`)
	run(`ROLLBACK`)
	seen("a|3|11 c|3|1")
	run(`DELETE FROM docs WHERE doc ? 'k'`)
	seen("")
}

// TestSQL_WritesListen checks that a session that listens to changes is told of what another one, and itself, have
// committed by SQL, after the commit, once for a transaction, and not of what was rolled back.
func TestSQL_WritesListen(t *testing.T) {
	p, _ := sqlUsers(t)
	listener, writer := connect(t, p, "db", "jan:relax"), connect(t, p, "db", "jan:relax")
	run := func(conn *pgx.Conn, sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	told := func(ids ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		note, err := listener.WaitForNotification(ctx)
		if err != nil {
			t.Fatalf("not told of %s: %v", ids, err)
		}
		got := texts(t, writer, fmt.Sprintf(`SELECT id FROM changes WHERE seq = '%s'`, note.Payload))
		if note.Channel != "changes" || len(got) != 1 || !strings.Contains(strings.Join(ids, " "), got[0]) {
			t.Errorf("%s %s is the change of %s, want one of %s", note.Channel, note.Payload, got, ids)
		}
	}
	run(listener, `LISTEN changes`)
	run(writer, `INSERT INTO docs (id, doc) VALUES ('a', '{}')`)
	told("a")
	run(writer, `BEGIN`)
	run(writer, `INSERT INTO docs (id, doc) VALUES ('b', '{}'), ('c', '{}')`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	if note, err := listener.WaitForNotification(ctx); err == nil {
		t.Errorf("told of %v before COMMIT", note)
	}
	cancel()
	run(writer, `COMMIT`)
	told("b", "c")
	run(writer, `BEGIN`)
	run(writer, `DELETE FROM docs`)
	run(writer, `ROLLBACK`)
	run(listener, `UPDATE docs SET doc = '{"n":1}' WHERE id = 'a'`)
	told("a")
	run(writer, `DELETE FROM docs WHERE id = 'c'`)
	told("c")
}
