package actors_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
)

// A node whose store refuses watches says so. Its listeners are woken even so.
func TestDegraded_TooManyWatches(t *testing.T) {
	engine, err := embedded.Open(t.TempDir(), embedded.Options{CacheBytes: 8 << 20, MaxWatches: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { sandbox.Close() })
	store, err := layer.Open(t.Context(), engine, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := startOn(t, store, "n1")
	db := create(t, store, "cities", 16)
	if d := s.Degraded(); d != nil {
		t.Fatalf("degraded without listeners: %q", d)
	}
	ch, cancel := s.Listen(actors.Of(db), shardsOf(t, db)...)
	defer cancel()
	eventually(t, func() string {
		if d := s.Degraded(); len(d) != 1 || !strings.HasPrefix(d[0], "too_many_watches: ") {
			return strings.Join(d, "\n") + ", with too many watches"
		}
		return ""
	})
	drain(ch)
	put(t, db, `{"_id":"a"}`)
	receives(t, ch, "a commit in a shard that may not be watched")
}
