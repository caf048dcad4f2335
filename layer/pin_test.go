package layer_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
)

// TestStore_Pin checks that reads of a pinned store do not change, and that it refuses writes.
func TestStore_Pin(t *testing.T) {
	for _, snapshots := range []bool{true, false} {
		for _, moves := range []bool{false, true} {
			t.Run(fmt.Sprintf("snapshots=%v,moves=%v", snapshots, moves), func(t *testing.T) {
				pins(t, mustStore(t, mustEngineWith(t, snapshots), layer.Options{}), layer.PinOptions{Moves: moves})
			})
		}
	}
}

func pins(t *testing.T, s *layer.Store, o layer.PinOptions) {
	if _, err := s.Create(t.Context(), "before", layer.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pinned, release, err := s.Pin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
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
		t.Error("a pinned store accepts writes")
	}
	release()
	release()
	if _, err := pinned.Database(t.Context(), "another"); err == nil || layer.KindOf(err) == layer.NotFound {
		t.Errorf("a released store was read: %v", err)
	}
}
