// Package e2e tests the built binary from outside: over HTTP, over the Postgres wire, through real clients, and as a
// process. It imports nothing of Divan.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// divan is the program under test, built once by TestMain. DIVAN_TEST_BINARY names one that is built already.
var divan string

// built is where binaries are built.
var built string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "divan-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	// Tests that wait most of the time may be more than processors.
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(fmt.Sprint(max(waitAtOnce, runtime.GOMAXPROCS(0)))) // a number is always taken
	}
	if divan = os.Getenv("DIVAN_TEST_BINARY"); divan != "" {
		return m.Run()
	}
	divan = filepath.Join(dir, "divan")
	build := exec.Command("go", "build", "-o", divan, "../cmd/divan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as docs/clauses.md promises, "Program"
	if testCluster != "" {
		build = exec.Command("go", "build", "-tags", "fdb", "-o", divan, "../cmd/divan")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// waitAtOnce is how many tests that wait run at once.
const waitAtOnce = 4

// mostlyWaits says that a test waits for most of its time, for what nodes do after seconds, and takes little of the
// processors: it runs beside others like it, after all that do not. On a FoundationDB that they would share it does
// not.
func mostlyWaits(t *testing.T) {
	t.Helper()
	if testCluster == "" {
		t.Parallel()
	}
}

// need skips a test on a machine that lacks a program, or fails it where everything has to be there (CI sets
// DIVAN_TEST_ALL).
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
