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

// TestStore_Pin_changed checks that a pinned store shows databases as they were, although it shares what the store
// knows of them: one whose configuration changes, and one that is deleted and created again.
func TestStore_Pin_changed(t *testing.T) {
	s := mustStore(t, mustEngineWith(t, true), layer.Options{})
	for _, name := range []string{"changed", "again"} {
		d, err := s.Create(t.Context(), name, layer.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, d, `{"_id":"first"}`)
	}
	pinned, release, err := s.Pin(t.Context(), layer.PinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	changed, err := s.Database(t.Context(), "changed")
	if err != nil {
		t.Fatal(err)
	}
	if err := changed.SetSecurity(t.Context(), []byte(`{"cloudant":{}}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "again", layer.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range []struct {
			of    *layer.Store
			docs  int64
			rules string
		}{{s, 0, `{"cloudant":{}}`}, {pinned, 1, "{}"}} {
			d, err := c.of.Database(t.Context(), "again")
			if err != nil {
				t.Fatal(err)
			}
			if info, err := d.Info(t.Context()); err != nil || info.DocCount != c.docs {
				t.Errorf("%d documents, %v; want %d", info.DocCount, err, c.docs)
			}
			if d, err = c.of.Database(t.Context(), "changed"); err != nil {
				t.Fatal(err)
			}
			if rules, err := d.Security(t.Context()); err != nil || string(rules) != c.rules {
				t.Errorf("security object %s, %v; want %s", rules, err, c.rules)
			}
		}
	}
}
