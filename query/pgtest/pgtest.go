// Package pgtest gives tests, and the benchmark, a PostgreSQL 15 server to compare with. Tests against recorded answers
// are in the packages themselves.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is where Debian's package installs the server programs.
const bin = "/usr/lib/postgresql/15/bin"

// ErrNotInstalled is returned by Start if the server programs are missing.
var ErrNotInstalled = errors.New("PostgreSQL 15 is not installed; Debian's package is postgresql-15")

// URL returns the connection string of a PostgreSQL 15 server: the one that DIVAN_TEST_POSTGRES names, otherwise one
// that is started for this test from the installed programs, without TCP and with a data directory of its own. If
// neither exists, the test is skipped, or fails if DIVAN_TEST_ALL is set.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("DIVAN_TEST_POSTGRES"); url != "" {
		return url
	}
	url, stop, err := Start("listen_addresses=", "fsync=off", "shared_buffers=16MB")
	switch {
	case errors.Is(err, ErrNotInstalled) && os.Getenv("DIVAN_TEST_ALL") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return url
}

// Start starts a PostgreSQL 15 server with settings of the form name=value and a new data directory. It returns the
// connection string of its Unix socket, and a function that ends the server and removes the directory.
func Start(settings ...string) (url string, stop func() error, err error) {
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
		return "", nil, ErrNotInstalled
	}
	// Not the temporary directory of a test: another user may not be able to enter its parents, and the path of a
	// socket must be short.
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return "", nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	as, err := asUser(dir)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	run := func(program string, args ...string) error {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		// Not a pipe: the server inherits pg_ctl's output and would keep it open.
		out, err := os.Create(filepath.Join(dir, program+".out"))
		if err != nil {
			return err
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(out.Name()) // only for the message
			return fmt.Errorf("%s: %w\n%s", program, err, text)
		}
		return nil
	}
	data := filepath.Join(dir, "data")
	options := "-k " + dir + " -c timezone=UTC -c log_timezone=UTC"
	for _, s := range settings {
		options += " -c " + s
	}
	err = run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if err == nil {
		err = run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start")
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	stop = func() error {
		return errors.Join(run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"), remove())
	}
	return "host=" + dir + " user=postgres dbname=postgres sslmode=disable", stop, nil
}
