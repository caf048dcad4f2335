// Package pgtest gives tests a PostgreSQL 15 server to compare answers with. Tests against recorded answers are in the
// packages themselves.
package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where Debian's package installs the server programs.
const bin = "/usr/lib/postgresql/15/bin"

// URL returns the connection string of a PostgreSQL 15 server: the one that DIVAN_TEST_POSTGRES names, otherwise one
// that is started for this test from the installed programs, without TCP and with a data directory of its own. If
// neither exists, the test is skipped, or fails if DIVAN_TEST_ALL is set.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("DIVAN_TEST_POSTGRES"); url != "" {
		return url
	}
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
		if os.Getenv("DIVAN_TEST_ALL") != "" {
			t.Fatalf("PostgreSQL 15 is not installed: %v", err)
		}
		t.Skip("PostgreSQL 15 is not installed")
	}
	// Not t.TempDir: another user may not be able to enter its parents, and the path of a socket must be short.
	dir, err := os.MkdirTemp("", "pgtest") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as, err := asUser(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		// Not a pipe: the server inherits pg_ctl's output and would keep it open.
		out, err := os.Create(filepath.Join(dir, program+".out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(out.Name())
			t.Fatalf("%s: %v\n%s", program, err, text)
		}
	}
	data := filepath.Join(dir, "data")
	run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o",
		"-k "+dir+
			" -c listen_addresses= -c fsync=off -c shared_buffers=16MB -c timezone=UTC -c log_timezone=UTC", "start")
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop") })
	return "host=" + dir + " user=postgres dbname=postgres sslmode=disable"
}
