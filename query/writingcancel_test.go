package query_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
)

// A commit that has begun is not cancelled: the client learns what has become of it.
func TestWriting_CommitCancelled(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("db")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	db.Committed = func(ctx context.Context) error {
		if err := conn.PgConn().CancelRequest(context.Background()); err != nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
			return nil
		}
	}
	in := func(ctx context.Context, sql string) error {
		_, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("copied\t{}\n"), sql)
		return err
	}
	run := func(ctx context.Context, sql string) error {
		_, err := conn.Exec(ctx, sql)
		return err
	}
	prepared := func(ctx context.Context, sql string) error {
		rows, err := conn.Query(ctx, sql, pgx.QueryExecModeExec)
		if err != nil {
			return err
		}
		n := 0
		if _, err = pgx.ForEachRow(rows, []any{new(string)}, func() error { n++; return nil }); n != 500 {
			t.Errorf("%d rows, %v", n, err)
		}
		return err
	}
	docs := 0
	for _, c := range []struct {
		run   func(context.Context, string) error
		sql   string
		wrote int
	}{
		{run, "INSERT INTO docs (id) VALUES ('a')", 1},
		{run, "BEGIN; INSERT INTO docs (id) VALUES ('b'); COMMIT", 1},
		{run, "INSERT INTO docs (id) VALUES ('c'); INSERT INTO docs (id) VALUES ('d')", 2},
		{prepared, "INSERT INTO docs (id) SELECT 'e' || i FROM generate_series(1, 500) i RETURNING id", 500},
		{in, "COPY docs FROM STDIN", 1},
	} {
		if err := c.run(t.Context(), c.sql); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		}
		if docs += c.wrote; count(t, conn, "docs") != docs {
			t.Errorf("%s: %d documents, want %d", c.sql, count(t, conn, "docs"), docs)
		}
	}
	// If the store cannot tell, that is the error, and not the cancellation.
	db.Committed = func(context.Context) error {
		if err := conn.PgConn().CancelRequest(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
		return &exec.ReadError{Kind: exec.Unknown, Message: "the connection has broken"}
	}
	if err := run(t.Context(), "DELETE FROM docs WHERE id = 'a'"); code(err) != "08007" {
		t.Error(err)
	}
}

// halting is the data of a COPY, in parts. It calls between before each part but the first.
type halting struct {
	parts   []string
	between func()
	begun   bool
}

func (h *halting) Read(p []byte) (int, error) {
	if len(h.parts) == 0 {
		return 0, io.EOF
	}
	if h.begun {
		h.between()
	}
	h.begun = true
	n := copy(p, h.parts[0])
	h.parts = h.parts[1:]
	return n, nil
}

// A COPY FROM is cancelled also while it waits for the client.
func TestCopyFrom_cancelled(t *testing.T) {
	s := exectest.NewStore()
	s.Create("db")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	cancel := func() {
		time.Sleep(50 * time.Millisecond) // the server handles the part before
		if err := conn.PgConn().CancelRequest(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	data := &halting{parts: []string{"a\t{}\n", "b\t{}\n"}, between: cancel}
	if _, err := conn.PgConn().CopyFrom(t.Context(), data, "COPY docs FROM STDIN"); code(err) != "57014" {
		t.Error(err)
	}
	if n := count(t, conn, "docs"); n != 0 {
		t.Errorf("%d documents", n)
	}
	// A cancellation that comes too late does not reach the next statement.
	data = &halting{parts: []string{"a\t{}\n"}}
	if _, err := conn.PgConn().CopyFrom(t.Context(), data, "COPY docs FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if n := count(t, conn, "docs"); n != 1 {
		t.Errorf("%d documents", n)
	}
}
