package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgtest"
)

// COPY FROM STDIN reads what PostgreSQL reads, and refuses what it refuses.
func TestCopyFrom_PostgreSQL(t *testing.T) {
	theirs := connect(t, pgtest.URL(t)+" default_query_exec_mode=simple_protocol")
	if _, err := theirs.Exec(t.Context(), "CREATE TEMP TABLE docs (id text PRIMARY KEY, doc jsonb NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	ours := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, conn := range []*pgx.Conn{ours, theirs} {
		if _, err := conn.Exec(t.Context(), "INSERT INTO docs (id, doc) VALUES ('there', '{}')"); err != nil {
			t.Fatal(err)
		}
	}
	var binary bytes.Buffer
	_, err := theirs.PgConn().CopyTo(t.Context(), &binary,
		`COPY (VALUES ('b1', '{"x": 1}'::jsonb), ('b2', '{}')) TO STDOUT (FORMAT binary)`)
	if err != nil {
		t.Fatal(err)
	}
	whole := binary.String()
	for _, c := range []struct{ sql, data string }{
		{"COPY docs (id, doc) FROM STDIN", "a\t{\"x\":1}\nb\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{\"x\":1}\r\nb\t{}\r\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{\"x\":1}\rb\t{}"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{\"x\":1}\n\\.\nb\tnonsense\n"},
		{"COPY docs (doc, id) FROM STDIN", "{\"x\":\"\\\\t\\\\u00e9\"}\ta\\tb\\\\c\\x41\\101\\q\n"},
		{"COPY docs (id, doc) FROM STDIN (DELIMITER '|', NULL 'nil')", "a|{\"x\": \"p\\|q\"}\n"},
		{"COPY docs (id, doc) FROM STDIN", ""},
		{"COPY docs (id, doc) FROM STDIN", "a\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\tc\n"},
		{"COPY docs (id, doc) FROM STDIN", "\\N\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\na\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\nthere\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\nb\t{}\nc\t{}\nb\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\nb\t\\N\nwrong\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\n" + strings.Repeat("long", 50) + "\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\nb\t" + strings.Repeat("long", 50) + "\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "\"a\nb\",{}\nthere,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "b,{}\n\"a\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\t{}\nb\t{}\r\n"},
		{"COPY docs (id, doc) FROM STDIN", "a\xff\t{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "a,\"{\"\"x\"\": \"\"1,2\"\"}\"\nb,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER)", "x,y\n\"a\nb\",{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER match)", "id,doc\na,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER match)", "id,x\na,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER match)", "id\na,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '\\')", "'a\\'b';{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "\"a,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "a\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "a,\"{\n}\"\nb,{}\nc\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "a,\"{\n}\"\nb,\"\n\n{\"\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, HEADER)", "id,doc\r\na,\"{\r\n}\"\r\nb\r\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", ",{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv)", "\"\"x,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, NULL 'n', FORCE_NOT_NULL (id))", "n,{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, NULL 'n', FORCE_NULL (id))", "\"n\",{}\n"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT csv, FORCE_NULL (nope))", ""},
		{"COPY docs (id) FROM STDIN (FORMAT csv, FORCE_NULL (doc))", ""},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", whole},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", whole[:len(whole)-2]},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", whole[:len(whole)-4]},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", whole + "x"},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", whole[:15]},
		{"COPY docs (id, doc) FROM STDIN (FORMAT binary)", "nonsense"},
		{"COPY docs (id) FROM STDIN (FORMAT binary)", whole},
		{"COPY docs (id, nope) FROM STDIN", ""},
		{"COPY docs (id, id) FROM STDIN", ""},
		{"COPY nope FROM STDIN", ""},
	} {
		var got [2]string
		for i, conn := range []*pgx.Conn{ours, theirs} {
			got[i] = copied(t.Context(), conn, c.sql, c.data)
		}
		if got[0] != got[1] {
			t.Errorf("%s\n%q\n got %s\nwant %s", c.sql, c.data, got[0], got[1])
		}
	}
	if err := theirs.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// copied runs a COPY FROM in a transaction that is rolled back, and returns its tag or error, and the documents.
func copied(ctx context.Context, conn *pgx.Conn, sql, data string) string {
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return err.Error()
	}
	defer func() { _, _ = conn.Exec(ctx, "ROLLBACK") }()
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader(data), sql)
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		where := pe.Where
		if i := strings.Index(where, "COPY docs"); i > 0 {
			where = where[i:] // after the place in a jsonb
		}
		return fmt.Sprintf("%s %s, %s", pe.Code, pe.Message, where)
	}
	if err != nil {
		return err.Error()
	}
	return tag.String() + "\n" +
		result(ctx, conn, "SELECT id, doc - '_id' - '_rev' AS doc FROM docs ORDER BY id", nil, false)
}

// A COPY FROM that the client ends, or that is followed by other statements, leaves the connection usable.
func TestCopyFrom_Protocol(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	_, err := conn.PgConn().CopyFrom(t.Context(), failing{}, "COPY docs (id) FROM STDIN")
	if code(err) != "57014" {
		t.Error(err)
	}
	if out := psql(t, addr, "cities", "-At", "-c", `\copy docs (id, doc) from pstdin`); !strings.Contains(out, "COPY 0") {
		t.Error(out)
	}
	if n := count(t, conn, "docs"); n != 5 {
		t.Errorf("%d documents", n)
	}
	rows := [][]any{{"new1", map[string]int{"x": 1}}, {"new2", map[string]int{"x": 2}}}
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"docs"}, []string{"id", "doc"}, pgx.CopyFromRows(rows))
	if err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	if n := count(t, conn, "docs"); n != 7 {
		t.Errorf("%d documents", n)
	}
	// Errors in the data are found at the end; nothing has been written.
	_, err = conn.PgConn().CopyFrom(t.Context(), strings.NewReader("new3\t{}\nnew1\t{}\n"), "COPY docs FROM STDIN")
	if code(err) != "23505" {
		t.Error(err)
	}
	if n := count(t, conn, "docs"); n != 7 {
		t.Errorf("%d documents", n)
	}
}

// With divan.copy_batch, COPY FROM writes several transactions: data of any size, and what is committed stays after an
// error. Without it, data that the store cannot take in one transaction is refused before it has been sent.
func TestCopyFrom_Batches(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(prefix string, n, size int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "%s%06d\t{\"x\": %q}\n", prefix, i, strings.Repeat("x", size))
		}
		return out.String()
	}
	copyFrom := func(data string) (string, error) {
		tag, err := conn.PgConn().CopyFrom(t.Context(), strings.NewReader(data), "COPY docs FROM STDIN")
		return tag.String(), err
	}
	large := lines("large", 150, 100_000)
	var pe *pgconn.PgError
	if _, err := copyFrom(large); !errors.As(err, &pe) || pe.Code != "54000" || !strings.Contains(pe.Hint, "copy_batch") {
		t.Errorf("15 MB in one transaction: %v", err)
	}
	if n := count(t, conn, "docs"); n != 5 {
		t.Errorf("%d documents", n)
	}
	exec("SET divan.copy_batch = 40")
	if tag, err := copyFrom(large); err != nil || tag != "COPY 150" {
		t.Errorf("%s, %v", tag, err)
	}
	// The error is in the third batch of 40.
	_, err := copyFrom(lines("more", 100, 10) + "more000000\t{}\n" + lines("never", 100, 10))
	if !errors.As(err, &pe) || pe.Code != "23505" || !strings.Contains(pe.Where, "committed 80 rows") {
		t.Errorf("a duplicate: %v", err)
	}
	if n := count(t, conn, "docs"); n != 5+150+80 {
		t.Errorf("%d documents", n)
	}
	if _, err = copyFrom(lines("last", 50, 10) + "wrong\n"); code(err) != "22P04" {
		t.Errorf("a malformed row: %v", err)
	}
	if n := count(t, conn, "docs"); n != 5+150+80+40 {
		t.Errorf("%d documents", n)
	}
	exec("BEGIN")
	if _, err := copyFrom("a\t{}\n"); code(err) != "25001" {
		t.Errorf("in a block: %v", err)
	}
	exec("ROLLBACK")
	exec("RESET divan.copy_batch; SET default_transaction_read_only = on")
	if _, err := copyFrom("a\t{}\n"); code(err) != "25006" {
		t.Errorf("read only: %v", err)
	}
	if _, err := conn.Exec(t.Context(), "SET divan.copy_batch = -1"); code(err) != "22023" {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no more") }
