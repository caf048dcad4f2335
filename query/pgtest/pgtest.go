// Package pgtest gives tests a PostgreSQL 15 to compare answers with. What it answers is right, whatever has been
// recorded anywhere.
package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where Debian's package has the server's programs.
const bin = "/usr/lib/postgresql/15/bin"

// URL returns the connection string of a PostgreSQL 15: of the server that DIVAN_TEST_POSTGRES names, else of one that
// is started for this test from the programs that are installed, without TCP and with its data in a directory of its
// own. Where there is none, the test is skipped, or fails when DIVAN_TEST_ALL is set.
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
	// Not t.TempDir, whose parents another user may not enter; and a socket's path has to be short.
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
		// The server keeps pg_ctl's output open, so that a pipe would not end.
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
