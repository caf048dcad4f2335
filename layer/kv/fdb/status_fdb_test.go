//go:build fdb

package fdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// ask returns the status that an engine has from its cluster.
func ask(t *testing.T, e kv.Engine, within time.Duration) (fdb.Status, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return e.(interface {
		Status(ctx context.Context) (fdb.Status, error)
	}).Status(ctx)
}

// A cluster says how it is, and is not asked again at once.
func TestStatus(t *testing.T) {
	e := fdbtest.Whole(t)
	s, err := ask(t, e, 10*time.Second)
	if err != nil || !s.Available || s.Health == "" || s.Engine == "" || s.Processes == 0 || s.Reachable == 0 ||
		s.Data == nil || s.Free == nil || s.Limit == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if again, err := ask(t, e, 10*time.Second); err != nil || again.At != s.At {
		t.Errorf("asked again: %+v, %v", again, err)
	}
}

// Whoever asks about a cluster that cannot be reached is told so in time.
func TestStatus_unreachable(t *testing.T) {
	e := mustOpen(t, fdb.Options{ClusterFile: clusterFile(t, "no:body@127.0.0.1:1\n"), Timeout: 500 * time.Millisecond})
	_ = timely(t, "status", func() error {
		s, err := ask(t, e, 300*time.Millisecond)
		if s.Available {
			t.Errorf("%+v", s)
		}
		return err
	})
}
