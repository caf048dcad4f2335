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

// divan is the binary under test, built once by TestMain, or that of DIVAN_TEST_BINARY.
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
	// There may be more tests that mostly wait than processors.
	if f := flag.Lookup("test.parallel"); f != nil {
		_ = f.Value.Set(fmt.Sprint(max(waitAtOnce, runtime.GOMAXPROCS(0)))) // a number is always accepted
	}
	if divan = os.Getenv("DIVAN_TEST_BINARY"); divan != "" {
		return m.Run()
	}
	divan = filepath.Join(dir, "divan")
	build := exec.Command("go", "build", "-o", divan, "../cmd/divan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as docs/clauses.md guarantees, "Program"
	if testCluster != "" {
		build = exec.Command("go", "build", "-tags", "fdb", "-o", divan, "../cmd/divan")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// waitAtOnce is how many waiting tests run concurrently.
const waitAtOnce = 4

// mostlyWaits marks a test that mostly waits for nodes and uses little CPU. It runs concurrently with others like it,
// after all other tests. On a shared FoundationDB it does not.
func mostlyWaits(t *testing.T) {
	t.Helper()
	if testCluster == "" {
		t.Parallel()
	}
}

// need skips a test if a program is missing, or fails it if everything must be present (CI sets DIVAN_TEST_ALL).
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
