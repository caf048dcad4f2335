package query_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
)

var update = flag.Bool("update", false, "record the answers of a real PostgreSQL")

// TestOracle_Expressions compares results with recorded ones of a real PostgreSQL 15.
func TestOracle_Expressions(t *testing.T) {
	const file = "testdata/expressions.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := os.Getenv("DIVAN_TEST_POSTGRES")
	if *update {
		if url == "" {
			t.Fatal("-update needs DIVAN_TEST_POSTGRES, the URL of a PostgreSQL 15")
		}
		record(t, file, string(text), url)
		return
	}
	s := exectest.NewStore()
	s.Create("postgres")
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for _, line := range strings.Split(string(text), "\n") {
		expr, want, ok := strings.Cut(line, " => ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if got := answer(t.Context(), conn, expr); got != want {
			t.Errorf("%s\n got %s\nwant %s", expr, got, want)
		}
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// answer returns "type: value" or "!SQLSTATE".
func answer(ctx context.Context, conn *pgx.Conn, expr string) string {
	results, err := conn.PgConn().Exec(ctx, "SELECT "+expr).ReadAll()
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			return "!" + pe.Code
		}
		return "broken: " + err.Error()
	}
	r := results[0]
	var out []string
	for _, row := range r.Rows {
		for i, v := range row {
			text := "NULL"
			if v != nil {
				text = strings.ReplaceAll(string(v), "\n", "\\n")
			}
			out = append(out, fmt.Sprintf("%d: %s", r.FieldDescriptions[i].DataTypeOID, text))
		}
	}
	return strings.Join(out, " | ")
}

func record(t *testing.T, file, text, url string) {
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), "SET timezone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "#") || line == "" {
			b.WriteString(line + "\n")
			continue
		}
		expr, _, _ := strings.Cut(line, " => ")
		b.WriteString(expr + " => " + answer(t.Context(), conn, expr) + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
