package layer_test

import (
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// Verify continues if the engine says that a read may succeed when it is repeated, including the first one, which finds
// the databases.
func TestVerify_retries(t *testing.T) {
	s, faulty := mustFaulty(t, faultkv.Options{Seed: 1, Rates: faultkv.Rates{FutureVersion: 0.3, TooOld: 0.02}})
	for _, name := range []string{"a", "b", "c"} {
		put(t, mustCreate(t, s, name, layer.CreateOptions{}), `{"_id":"x"}`)
	}
	for range 20 {
		for name, databases := range map[string]int{"": 3, "b": 1} {
			done, err := s.Verify(t.Context(), layer.VerifyOptions{Database: name, Damage: func(d *layer.Damage) error {
				t.Error(d)
				return nil
			}})
			if err != nil || done.Databases != databases {
				t.Fatalf("verify of %q: %+v, %v", name, done, err)
			}
		}
	}
	if n := faulty.Injected(); n[faultkv.FutureVersion] < 100 || n[faultkv.TooOld] == 0 {
		t.Errorf("faults: %v", n)
	}
}
