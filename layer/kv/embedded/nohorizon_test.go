package embedded_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv/embedded"
)

// removeAll removes the files of a store that match one of the patterns.
func removeAll(t *testing.T, dir string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		names, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s: %v", p, err)
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A store that had a horizon does not open without it, whatever else is missing, and nothing in it changes, unless
// the operator allows it.
func TestHorizon_missing(t *testing.T) {
	tests := map[string][]string{
		"alone":                   {"horizon"},
		"with the logs":           {"horizon", "*.log"},
		"with the marker":         {"horizon", "marker.manifest.*"},
		"with all names":          {"horizon", "marker.*"},
		"with the lock and names": {"horizon", "LOCK", "OPTIONS-*"},
	}
	for name, patterns := range tests {
		t.Run(name, func(t *testing.T) {
			open := t.TempDir()
			e := mustOpen(t, open, embedded.Options{})
			set(t, e, "k", "v")
			set(t, e, "l", "v")
			dir := copyOf(t, open)
			removeAll(t, dir, patterns...)
			before := files(t, dir)
			refused := func(e *embedded.Engine, err error) {
				t.Helper()
				if err == nil {
					_ = e.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "horizon is missing") ||
					!strings.Contains(err.Error(), "accept-missing-horizon") || strings.Contains(err.Error(), "\n") {
					t.Fatalf("opened without: %v", err)
				}
			}
			refused(embedded.Open(dir, embedded.Options{Logger: quiet(t)}))
			refused(embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false))
			_, err := embedded.Inspect(dir)
			refused(nil, err)
			for name, text := range files(t, dir) {
				if name != "LOCK" && before[name] != text {
					t.Errorf("%s has changed", name)
				}
				delete(before, name)
			}
			if len(before) > 0 {
				t.Errorf("missing: %v", before)
			}
			if name != "alone" {
				return
			}
			if err := os.WriteFile(filepath.Join(dir, "accept-missing-horizon"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the permission is needed once
				e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
				if err != nil {
					t.Fatal(err)
				}
				if get(t, e, "k") != "v" || get(t, e, "l") != "v" {
					t.Error("rows are missing")
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "accept-missing-horizon")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the operator's permission still exists: %v", err)
			}
			removeAll(t, dir, "horizon")
			refused(embedded.Open(dir, embedded.Options{Logger: quiet(t)}))
		})
	}
}

// An open store has its whole horizon in memory: Verify and Close write it again if it was removed.
func TestHorizon_removedWhileOpen(t *testing.T) {
	for _, how := range []string{"verify", "close"} {
		t.Run(how, func(t *testing.T) {
			open := t.TempDir()
			dir := open
			l := &logged{}
			e, err := embedded.Open(open, embedded.Options{Logger: slog.New(slog.NewTextHandler(l, nil))})
			if err != nil {
				t.Fatal(err)
			}
			set(t, e, "k", "v")
			removeAll(t, open, "horizon")
			if how == "verify" {
				if faults, _ := verify(t, e); len(faults) > 0 {
					t.Errorf("%v", faults)
				}
				set(t, e, "l", "v")
				dir = copyOf(t, open)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if l.with("written again") != 1 {
				t.Error("nothing was logged")
			}
			if e, err = embedded.Open(dir, embedded.Options{Logger: quiet(t)}); err != nil {
				t.Fatal(err)
			}
			if get(t, e, "k") != "v" {
				t.Error("a row is missing")
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Pebble removes an old manifest by itself: damage to it does not matter.
func TestHorizon_oldManifest(t *testing.T) {
	for _, damage := range []bool{true, false} {
		dir := crashedStore(t, 20)
		for range 2 {
			e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
			if err != nil {
				t.Fatal(err)
			}
			set(t, e, "after", "1")
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
		if err != nil || len(manifests) < 2 {
			t.Fatal("no old manifest", manifests, err)
		}
		old := manifests[0]
		if filepath.Base(old) > filepath.Base(manifests[1]) {
			old = manifests[1]
		}
		if damage {
			damageAt(t, old, 10)
		} else if err := os.Remove(old); err != nil {
			t.Fatal(err)
		}
		e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
		if err != nil {
			t.Fatal(err)
		}
		if v := get(t, e, "k019"); len(v) != 1000 {
			t.Errorf("%d bytes", len(v))
		}
		if faults, _ := verify(t, e); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
