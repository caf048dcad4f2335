package layer_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
)

// A name is its last node's as long as that lives, and of those that want it at once one gets it.
func TestStore_TakeName(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	take := func(gossip string, alive ...string) string {
		t.Helper()
		holder, err := s.TakeName(t.Context(), "n", gossip, func(gossip string) bool {
			for _, a := range alive {
				if a == gossip {
					return true
				}
			}
			return false
		})
		if err != nil {
			t.Fatal(err)
		}
		return holder
	}
	for i, c := range []struct {
		gossip string
		alive  []string
		want   string
	}{
		{"a", nil, ""},
		{"a", []string{"a"}, ""},
		{"b", []string{"a"}, "a"},
		{"b", nil, ""},
		{"a", []string{"b"}, "b"},
		{"b", []string{"a", "b"}, ""},
	} {
		if got := take(c.gossip, c.alive...); got != c.want {
			t.Errorf("%d: %s is told of %q, want %q", i, c.gossip, got, c.want)
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for i := range 10 {
		all.Go(func() {
			holder, err := s.TakeName(t.Context(), "m", fmt.Sprint(i), func(string) bool { return true })
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if holder == "" {
				got++
			}
		})
	}
	all.Wait()
	if got != 1 {
		t.Errorf("%d of ten have one name", got)
	}
}
