package query_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
)

// count returns the result of SELECT count(*).
func count(t *testing.T, conn *pgx.Conn, from string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

func TestSnapshot_Transaction(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, c := range []struct {
		begin  string
		stands bool
	}{
		{"BEGIN", false}, {"BEGIN ISOLATION LEVEL READ COMMITTED", false},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", true},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE", true}, {"BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", true},
		{"SET default_transaction_isolation = 'serializable'; BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
			true},
	} {
		run(c.begin)
		docs, changes, names := count(t, conn, "docs"), count(t, conn, "changes"), count(t, conn, "by.city")
		db.Put("x"+c.begin, `{"name":"X"}`)
		for _, from := range []struct {
			name string
			was  int
		}{{"docs", docs}, {"changes", changes}, {"by.city", names}} {
			if n := count(t, conn, from.name); (n == from.was) != c.stands {
				t.Errorf("%s: %s had %d rows, and then %d", c.begin, from.name, from.was, n)
			}
		}
		run("COMMIT; RESET default_transaction_isolation")
		if n := count(t, conn, "docs"); n != docs+1 {
			t.Errorf("after %s there are %d documents, not %d", c.begin, n, docs+1)
		}
	}
	if err := exectest.AllClosed(t.Context()); err != nil {
		t.Errorf("a snapshot is open: %v", err)
	}
}

// TestSnapshot_Closed checks that the end of a transaction releases its snapshot, and so does the end of a statement
// that took one.
func TestSnapshot_Closed(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM docs; "
	for _, sql := range []string{
		begin + "COMMIT", begin + "ROLLBACK", begin + "SELECT id FROM docs; COMMIT", begin +
			"SAVEPOINT a; SELECT 1/0", begin,
		"SELECT id FROM docs UNION ALL SELECT id FROM changes", "SELECT id FROM docs WHERE id < 'b' OR id > " +
			"'o' LIMIT 1",
		"SELECT 1/length(id) FROM docs UNION ALL SELECT 1/0 FROM docs", "SELECT id FROM conflicts",
		"EXPLAIN ANALYZE SELECT id FROM docs UNION ALL SELECT id FROM docs",
		"EXPLAIN SELECT id FROM docs UNION ALL SELECT id FROM docs",
		"SELECT a.id FROM docs a JOIN changes b ON a.id = b.id",
		"SELECT id FROM docs WHERE id IN (SELECT id FROM changes)",
		begin + "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM docs UNION ALL SELECT id FROM docs; FETCH 1 FROM c; " +
			"COMMIT; FETCH 1 FROM c",
	} {
		conn, err := pgx.Connect(t.Context(), "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err := conn.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		<-conn.PgConn().CleanupDone()
	}
	if err := exectest.AllClosed(t.Context()); err != nil {
		t.Errorf("a snapshot is open: %v", err)
	}
}

// TestSnapshot_Subquery checks that a sub-query reads the moment of its statement, however late it is first run.
func TestSnapshot_Subquery(t *testing.T) {
	s := exectest.NewStore()
	db := cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	before := count(t, conn, "docs")
	if _, err := conn.Exec(t.Context(), "BEGIN; DECLARE c CURSOR FOR SELECT CASE WHEN id > 'c' THEN "+
		"(SELECT count(*) FROM docs) END FROM docs; FETCH 1 FROM c"); err != nil {
		t.Fatal(err)
	}
	db.Put("x", `{"name":"X"}`)
	var n int
	if err := conn.QueryRow(t.Context(), "FETCH 1 FROM c").Scan(&n); err != nil || n != before {
		t.Errorf("%d documents, not %d: %v", n, before, err)
	}
}

// unpinnable is a Catalog of databases without snapshots.
type unpinnable struct{ exec.Catalog }

type plainDatabase struct{ exec.Database }

func (u unpinnable) Database(ctx context.Context, name string) (exec.Database, error) {
	db, err := u.Catalog.Database(ctx, name)
	return plainDatabase{db}, err
}

func TestSnapshot_Refused(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, func(o *query.Options) {
		o.Catalog = func(context.Context, query.Principal) (exec.Catalog, error) { return unpinnable{s}, nil }
	})
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	if count(t, conn, "docs") == 0 || count(t, conn, "(SELECT id FROM docs UNION ALL SELECT id FROM docs) x") == 0 {
		t.Error("statements outside of such a transaction found nothing")
	}
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		_, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL "+level+"; SELECT relname FROM pg_class LIMIT 1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = conn.Exec(t.Context(), "SELECT id FROM docs"); code(err) != "0A000" {
			t.Errorf("%s without snapshots: %v", level, err)
		}
		if _, err = conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// forgetful is a Catalog of databases whose snapshots have expired.
type forgetful struct{ exec.Catalog }

type forgetfulDatabase struct{ exec.Database }

type forgetfulSnapshot struct{ exec.Snapshot }

func (f forgetful) Database(ctx context.Context, name string) (exec.Database, error) {
	db, err := f.Catalog.Database(ctx, name)
	return forgetfulDatabase{db}, err
}

func (d forgetfulDatabase) Snapshot(ctx context.Context, views []exec.ViewUse, exact bool) (exec.Snapshot, error) {
	s, err := d.Database.(exec.Snapshotter).Snapshot(ctx, views, exact)
	return forgetfulSnapshot{s}, err
}

func (forgetfulSnapshot) AllDocs(context.Context, exec.DocsRead) (exec.Rows, error) {
	return nil, &exec.ReadError{Kind: exec.Expired, Message: "snapshot too old"}
}

// The error says so if a store keeps snapshots only for a few seconds.
func TestSnapshot_Expired(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, func(o *query.Options) {
		o.Catalog = func(context.Context, query.Principal) (exec.Catalog, error) { return forgetful{s}, nil }
	})
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	_, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM docs")
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Code != "72000" || pe.Hint == "" {
		t.Errorf("a read of an expired snapshot: %#v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK; SELECT id FROM docs"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestSnapshot_Idle(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, func(o *query.Options) { o.SnapshotIdle = time.Nanosecond })
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	if _, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT id FROM docs"); err != nil {
		t.Fatal(err)
	}
	if err := exectest.AllClosed(t.Context()); err != nil {
		t.Fatalf("the snapshot of an idle transaction is not given up: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT id FROM docs"); code(err) != "72000" {
		t.Errorf("a read after it: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if count(t, conn, "docs") == 0 {
		t.Error("the session has not recovered")
	}
}

func TestIdleInTransaction(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	if _, err := conn.Exec(t.Context(), "SET idle_in_transaction_session_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	if count(t, conn, "docs") == 0 { // idle, but not in a transaction
		t.Fatal("nothing found")
	}
	if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	_, err := conn.PgConn().ReceiveMessage(t.Context())
	if code(err) != "25P03" {
		t.Errorf("an idle transaction got %v", err)
	}
}
