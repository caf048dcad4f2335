package layer_test

import (
	"bytes"
	"testing"

	"github.com/divandb/divan/layer"
)

// All nodes of a store are the same installation, and no other store is.
func TestStore_Installation(t *testing.T) {
	e := mustEngine(t)
	first, second := mustStore(t, e, layer.Options{}), mustStore(t, e, layer.Options{})
	other := mustStore(t, mustEngine(t), layer.Options{})
	if len(first.UUID()) != 32 || len(first.Secret()) != 32 {
		t.Errorf("uuid %q, secret of %d bytes", first.UUID(), len(first.Secret()))
	}
	if first.UUID() != second.UUID() || !bytes.Equal(first.Secret(), second.Secret()) {
		t.Error("two nodes on one store differ")
	}
	if first.UUID() == other.UUID() || bytes.Equal(first.Secret(), other.Secret()) {
		t.Error("two stores are the same")
	}
}
