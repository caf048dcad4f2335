package query_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// told waits for the next notification and returns it.
func told(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := conn.WaitForNotification(ctx)
	if err != nil {
		t.Fatalf("no notification: %v", err)
	}
	return n.Channel + ":" + n.Payload
}

// Clients' own channels, here and in PostgreSQL.
func TestNotify_Clients(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	for name, url := range map[string]string{"divan": "postgres://ann@" + addr + "/cities", "postgres": pgtest.URL(t)} {
		t.Run(name, func(t *testing.T) {
			a, b := connect(t, url), connect(t, url)
			run := func(conn *pgx.Conn, sql string) {
				t.Helper()
				if _, err := conn.Exec(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			run(a, "LISTEN news; LISTEN other")
			run(b, "BEGIN; NOTIFY news, 'one'; NOTIFY news, 'one'; SELECT pg_notify('news', 'two'); SAVEPOINT s; "+
				"NOTIFY news, 'undone'; ROLLBACK TO s; NOTIFY other; COMMIT")
			for _, want := range []string{"news:one", "news:two", "other:"} {
				if got := told(t, a); got != want {
					t.Errorf("got notification %s, want %s", got, want)
				}
			}
			// There is no notification after a rollback, inside a transaction, or after UNLISTEN.
			run(b, "BEGIN; NOTIFY news, 'rolled back'; ROLLBACK")
			run(a, "BEGIN; SELECT 1")
			run(b, "NOTIFY news, 'later'")
			run(a, "SELECT pg_sleep(0)")
			short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			if err := a.PgConn().WaitForNotification(short); err == nil {
				t.Error("notified inside a transaction")
			}
			cancel()
			a = connect(t, url)
			run(a, "LISTEN news")
			run(a, "NOTIFY news, 'mine'")
			if got := told(t, a); got != "news:mine" {
				t.Errorf("got notification %s of its own", got)
			}
			run(a, "UNLISTEN *; LISTEN last")
			run(b, "NOTIFY news, 'x'; NOTIFY last")
			if got := told(t, a); got != "last:" {
				t.Errorf("told %s", got)
			}
			var channels string
			if err := a.QueryRow(t.Context(),
				"SELECT string_agg(c, ' ') FROM pg_listening_channels() c").Scan(
				&channels); err != nil || channels != "last" {
				t.Errorf("listening to %q, %v", channels, err)
			}
			for _, c := range []struct{ sql, code string }{
				{"SELECT pg_notify('', 'x')", "22023"}, {"SELECT pg_notify(repeat('x', 64), 'x')", "22023"},
				{"SELECT pg_notify('x', repeat('x', 8000))", "22023"},
				{"NOTIFY news, 5", "42601"}, {"LISTEN", "42601"},
			} {
				if _, err := a.Exec(t.Context(), c.sql); code(err) != c.code {
					t.Errorf("%s: %v, want %s", c.sql, err, c.code)
				}
			}
		})
	}
}

// The channel changes is the feed of the database.
func TestNotify_Feed(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	if _, err := conn.Exec(t.Context(), "LISTEN changes"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"x", "y", "z"} {
		db.Put(id, `{}`)
		seq, found := strings.CutPrefix(told(t, conn), "changes:")
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT id FROM changes WHERE seq >= $1", seq).Scan(&got); err != nil ||
			got != id || !found {
			t.Errorf("notified of %q (%v) after %s was written: %v", got, err, id, seq)
		}
	}
	if _, err := conn.Exec(t.Context(), "NOTIFY changes"); code(err) != "42501" {
		t.Errorf("NOTIFY changes: %v", err)
	}
	// In a transaction it is delayed, and one notification covers all changes.
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		db.Put("w", `{}`)
	}
	var last string
	for last == "" || last != seqOf(t, conn) {
		last = seqOf(t, conn)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	for {
		if seq := strings.TrimPrefix(told(t, conn), "changes:"); seq == last {
			break
		}
	}
}

func seqOf(t *testing.T, conn *pgx.Conn) (seq string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT max(seq) FROM changes").Scan(&seq); err != nil {
		t.Fatal(err)
	}
	return seq
}

// Notifications do not disturb a session that runs statements.
func TestNotify_WhileBusy(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	url := "postgres://ann@" + addr + "/cities"
	a, b := connect(t, url), connect(t, url)
	if _, err := a.Exec(t.Context(), "LISTEN news"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 300 && err == nil; i++ {
			_, err = b.Exec(t.Context(), "NOTIFY news, 'x'")
		}
		done <- err
	}()
	for range 300 {
		var n int
		if err := a.QueryRow(t.Context(), "SELECT count(*) FROM docs").Scan(&n); err != nil || n != 5 {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := told(t, a); got != "news:x" {
		t.Errorf("told %s", got)
	}
	// Listeners that disconnect without UNLISTEN leave nothing behind.
	if err := a.PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(t.Context(), "NOTIFY news"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
