// Package fdbtest opens a real FoundationDB cluster for tests: the one whose cluster file DIVAN_TEST_FDB_CLUSTER_FILE
// names. That cluster must be used only for tests, because they erase it.
package fdbtest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
)

// Variable is the environment variable with the path of the test cluster's file.
const Variable = "DIVAN_TEST_FDB_CLUSTER_FILE"

// Enabled reports whether this binary has the engine and the variable is set.
func Enabled() bool { return fdb.Available && os.Getenv(Variable) != "" }

// ClusterFile returns the test cluster's file. Without one the test is skipped.
func ClusterFile(tb testing.TB) string {
	tb.Helper()
	if !Enabled() {
		tb.Skipf("needs FoundationDB: %s=/path/of/fdb.cluster go test -tags fdb (the cluster is erased); without "+
			"it, the same suite runs on the embedded engine",
			Variable)
	}
	return os.Getenv(Variable)
}

// Whole opens the whole key space for one test, which may erase it. Other tests on this machine wait, also in other
// processes.
func Whole(tb testing.TB) kv.Engine {
	tb.Helper()
	file := ClusterFile(tb)
	lock(tb, file, true)
	return open(tb, file)
}

// Range opens an empty part of the key space as if it were the whole, for one test, and erases it after the test. Any
// number of tests may have one at the same time.
func Range(tb testing.TB) kv.Engine {
	tb.Helper()
	file := ClusterFile(tb)
	lock(tb, file, false)
	e := confine(open(tb, file), append([]byte("test"), rand.Text()[:12]...))
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.ClearRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
			return struct{}{}, nil
		})
		if err != nil {
			tb.Errorf("erasing the test's keys: %v", err)
		}
	})
	return e
}

// AnotherFile returns a copy of the test cluster's file, for an engine with different options: engines with the same
// file share the client's.
func AnotherFile(tb testing.TB) string {
	tb.Helper()
	content, err := os.ReadFile(ClusterFile(tb))
	if err != nil {
		tb.Fatal(err)
	}
	name := filepath.Join(tb.TempDir(), "fdb.cluster")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

func open(tb testing.TB, file string) kv.Engine {
	tb.Helper()
	// The long timeout tells a busy machine from an unreachable cluster.
	e, err := fdb.Open(fdb.Options{ClusterFile: file, Timeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}
