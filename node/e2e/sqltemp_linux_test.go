package e2e_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// spills is a statement that writes temporary files for many seconds.
const spills = "SELECT count(*) FROM (SELECT g, repeat('x', 200) FROM generate_series(1, 5000000) g ORDER BY md5(g::text) " +
	"OFFSET 1) q"

// Statements that write temporary files are cancelled, fail for lack of disk, and die with their node. The space is
// free at once, other statements go on, and no file is left after the next start.
func TestSQL_TempFiles(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	temp := filepath.Join(dir, "data", "sql-temp")
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("sql: {statement_memory: 4MiB}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plant := func() {
		t.Helper()
		if err := os.MkdirAll(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"sql-1", "sql-left by hand", "other"} {
			if err := os.WriteFile(filepath.Join(temp, name), make([]byte, 5000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// left checks that there is nothing but the file that is not the node's.
	left := func() {
		t.Helper()
		var names []string
		entries, err := os.ReadDir(temp)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || len(names) > 1 || len(names) == 1 && names[0] != "other" {
			t.Errorf("left are %q, %v", names, err)
		}
	}
	plant()
	p := start(t, dir)
	left()

	// A cancelled statement.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- spill(ctx, p) }()
	waitTemp(t, p, func(n float64) bool { return n > 0 })
	left() // the file has no name
	cancel()
	if err := <-done; err == nil {
		t.Error("the statement was not cancelled")
	}
	waitTemp(t, p, func(n float64) bool { return n == 0 })
	if n := metric(t, p, "divan_sql_spilled_statements_total"); n != 1 {
		t.Errorf("%v statements spilled", n)
	}

	// The node is killed.
	go func() { done <- spill(t.Context(), p) }()
	waitTemp(t, p, func(n float64) bool { return n > 0 })
	p.kill()
	<-done
	left()
	plant()
	p = start(t, dir)
	left()
	p.kill()

	// A full disk.
	if err := os.RemoveAll(temp); err != nil {
		t.Fatal(err)
	}
	mountSmall(t, temp, 1<<20)
	p = start(t, dir)
	var pe *pgconn.PgError
	if err := spill(t.Context(), p); !errors.As(err, &pe) || pe.Code != "53100" {
		t.Errorf("on a full disk: %v", err)
	}
	if n := metric(t, p, "divan_sql_temp_bytes"); n != 0 {
		t.Errorf("%v bytes are left", n)
	}
	if got := mustPsql(t, p, "postgres", "SELECT count(*) FROM generate_series(1, 100000)"); strings.TrimSpace(got) != "100000" {
		t.Errorf("afterwards %q", got)
	}
	c := p.client()
	c.ok("PUT", "/afterwards", "")
	left()
}

// spill runs a statement that needs temporary files.
func spill(ctx context.Context, p *process) error {
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, "postgres://tester@"+net.JoinHostPort(host, port)+"/postgres")
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, spills)
	return err
}

// waitTemp waits for the bytes of temporary files.
func waitTemp(t *testing.T, p *process, ok func(float64) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(metric(t, p, "divan_sql_temp_bytes")); {
		if time.Now().After(end) {
			t.Fatal("the temporary files do not change")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, p *process, name string) float64 {
	t.Helper()
	c := p.client()
	for _, line := range strings.Split(string(c.do("GET", "/metrics", "").body), "\n") {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			v, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
