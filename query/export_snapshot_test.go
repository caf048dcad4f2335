package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/divandb/divan/query/exec/exectest"
)

// Several connections read one snapshot, as with DuckDB and pg_dump -j.
func TestSnapshot_Exported(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	_, addr := start(t, s, nil)
	url := "postgres://ann@" + addr + "/cities"
	first, second := connect(t, url), connect(t, url)
	run := func(sql string) {
		t.Helper()
		if _, err := second.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, begin := range []string{"BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ",
		"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs"} {
		if _, err := first.Exec(t.Context(), begin); err != nil {
			t.Fatal(err)
		}
		var id string
		if err := first.QueryRow(t.Context(), "SELECT pg_export_snapshot()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		was := count(t, first, "docs")
		db.Put("x"+begin, `{}`)
		run("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '" + id + "'")
		if n := count(t, second, "docs"); n != was {
			t.Errorf("%s: the second reads %d documents, not %d", begin, n, was)
		}
		if _, err := first.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
		// It can continue to read, but no other session can import the snapshot.
		if n := count(t, second, "docs"); n != was {
			t.Errorf("%s: after its end the second reads %d documents, not %d", begin, n, was)
		}
		run("COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ")
		if _, err := second.Exec(t.Context(), "SET TRANSACTION SNAPSHOT '"+id+"'"); code(err) != "22023" {
			t.Errorf("%s: after its end: %v", begin, err)
		}
		run("ROLLBACK")
		if n := count(t, second, "docs"); n != was+1 {
			t.Errorf("%s: then there are %d documents", begin, n)
		}
	}
	if err := exectest.AllClosed(t.Context()); err != nil {
		t.Errorf("a snapshot is open: %v", err)
	}
}

// Advisory locks exclude sessions, and end with them.
func TestSession_AdvisoryLocks(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	url := "postgres://ann@" + addr + "/cities"
	first, second := connect(t, url), connect(t, url)
	if _, err := first.Exec(t.Context(), "SELECT pg_advisory_lock(7)"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Exec(t.Context(),
		"SET lock_timeout = '20ms'; SELECT pg_advisory_lock(7)"); code(err) != "55P03" {
		t.Errorf("lock_timeout: %v", err)
	}
	if _, err := second.Exec(t.Context(),
		"SET lock_timeout = 0; SET statement_timeout = '20ms'; SELECT pg_advisory_lock(7)"); code(err) != "57014" {
		t.Errorf("statement_timeout: %v", err)
	}
	if _, err := second.Exec(t.Context(), "RESET statement_timeout"); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() {
		_, err := second.Exec(ctx, "SELECT pg_advisory_xact_lock(7)")
		got <- err
	}()
	_ = first.Close(t.Context())
	if err := <-got; err != nil {
		t.Errorf("after the end of the other session: %v", err)
	}
	third := connect(t, url)
	var free bool
	if err := third.QueryRow(t.Context(), "SELECT pg_try_advisory_lock(7)").Scan(&free); err != nil || !free {
		t.Errorf("after the end of the transaction: %v, %v", free, err)
	}
}
