package fdb_test

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
	"github.com/divandb/divan/layer/kv/kvtest"
)

func TestConformance(t *testing.T) {
	e := fdbtest.Whole(t)
	kvtest.Run(t, func(testing.TB) kv.Engine { return e })
}

// TestConformance_options runs the suite with the options that change how the client commits.
func TestConformance_options(t *testing.T) {
	fdbtest.Whole(t)
	e, err := fdb.Open(fdb.Options{ClusterFile: fdbtest.AnotherFile(t), AutomaticIdempotency: true, Tag: "divan-test",
		RetryLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	kvtest.Run(t, func(testing.TB) kv.Engine { return e })
}
