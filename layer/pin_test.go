package layer_test

import (
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// TestStore_Pin: a pinned store is read as it was, and takes no writes.
func TestStore_Pin(t *testing.T) {
	s := mustStore(t, mustEngineWith(t, true), layer.Options{})
	if _, err := s.Create(t.Context(), "before", layer.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pinned, release, ok, err := s.Pin(t.Context())
	if fdbtest.Enabled() { // which holds no snapshots
		if ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		return
	}
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if _, err := s.Create(t.Context(), "after", layer.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pinned.Database(t.Context(), "before"); err != nil {
		t.Error(err)
	}
	if _, err := pinned.Database(t.Context(), "after"); layer.KindOf(err) != layer.NotFound {
		t.Errorf("a database that was created later: %v", err)
	}
	if _, err := pinned.Create(t.Context(), "written", layer.CreateOptions{}); err == nil {
		t.Error("a pinned store has been written to")
	}
	release()
	release()
	if _, err := pinned.Database(t.Context(), "another"); err == nil || layer.KindOf(err) == layer.NotFound {
		t.Errorf("a released store was read: %v", err)
	}
}
