package embedded_test

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/kvtest"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(tb testing.TB) kv.Engine { return mustOpen(tb, tb.TempDir(), embedded.Options{}) })
}

// TestAtomics_forgetful runs with so little memory that hardly any row is cached.
func TestAtomics_forgetful(t *testing.T) {
	kvtest.RunAtomics(t, func(tb testing.TB) kv.Engine {
		return mustOpen(tb, tb.TempDir(), embedded.Options{CacheBytes: 64 << 10})
	})
}
