package fdb_test

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
	"github.com/divandb/divan/layer/kv/kvtest"
)

func TestConformance(t *testing.T) {
	e := fdbtest.Whole(t)
	kvtest.Run(t, func(testing.TB) kv.Engine { return e })
}
