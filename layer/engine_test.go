package layer_test

import (
	"log/slog"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// mustEngine opens an empty engine that is closed after the test: the embedded one, or FoundationDB if the test binary
// includes it and fdbtest.Variable names a cluster. With faultkv.TimeVariable, transactions are limited to that time of
// the engine's own clock.
func mustEngine(tb testing.TB) kv.Engine {
	tb.Helper()
	if fdbtest.Enabled() {
		return faultkv.ShortInSuite(tb, fdbtest.Range(tb))
	}
	e, err := embedded.Open(tb.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return faultkv.ShortInSuite(tb, e)
}

// mustEngineWith is mustEngine. If snapshots is false, it hides the engine's support for snapshots.
func mustEngineWith(tb testing.TB, snapshots bool) kv.Engine {
	tb.Helper()
	if snapshots {
		return mustEngine(tb)
	}
	return withoutSnapshots{mustEngine(tb)}
}
