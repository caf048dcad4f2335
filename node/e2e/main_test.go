// Package e2e tests the built binary from outside: over HTTP, over the Postgres wire, through real clients, and as a process. It imports
// nothing of Divan.
package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// divan is the program under test, built once by TestMain. DIVAN_TEST_BINARY names one that is built already.
var divan string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if divan = os.Getenv("DIVAN_TEST_BINARY"); divan != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "divan-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	divan = filepath.Join(dir, "divan")
	build := exec.Command("go", "build", "-o", divan, "../cmd/divan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as CONTRACT.md promises
	if testCluster != "" {
		build = exec.Command("go", "build", "-tags", "fdb", "-o", divan, "../cmd/divan")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// need skips a test on a machine that lacks a program, or fails it where everything has to be there (CI sets DIVAN_TEST_ALL).
func need(t *testing.T, program, how string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	skip(t, "%s is not installed; %s", program, how)
	return ""
}

func skip(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("DIVAN_TEST_ALL") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
