package embedded_test

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/kvtest"
)

// currentManifest returns the path of the manifest that Pebble reads.
func currentManifest(t *testing.T, dir string) string {
	t.Helper()
	markers, err := filepath.Glob(filepath.Join(dir, "marker.manifest.*"))
	if err != nil || len(markers) != 1 {
		t.Fatal(markers, err)
	}
	return filepath.Join(dir, markers[0][strings.Index(markers[0], "MANIFEST-"):])
}

func mirrorOf(manifest string) string {
	return filepath.Join(filepath.Dir(manifest), "copy-of-"+filepath.Base(manifest))
}

// If the manifest is damaged, its second copy is used: nothing is lost, whether the store is opened or only read,
// after a kill and after a close. If both are damaged, the error gives no advice that does not help.
func TestManifest_mirror(t *testing.T) {
	closed := crashedStore(t, 20)
	e, err := embedded.Open(closed, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	whole := func(t *testing.T, e *embedded.Engine, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"k000", "k019"} {
			if v := get(t, e, k); len(v) != 1000 {
				t.Errorf("%s has %d bytes", k, len(v))
			}
		}
		if faults, _ := verify(t, e); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, from := range map[string]string{"killed": crashedStore(t, 20), "closed": closed} {
		for _, fault := range kvtest.Spoilings {
			t.Run(name+"/"+fault, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "store")
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				manifest := currentManifest(t, dir)
				kvtest.Spoil(t, mirrorOf(manifest), fault)
				e, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false)
				whole(t, e, err)
				b, err := os.ReadFile(filepath.Join(from, filepath.Base(mirrorOf(manifest))))
				if err == nil {
					err = os.WriteFile(mirrorOf(manifest), b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}

				kvtest.Spoil(t, manifest, fault)
				before := files(t, dir)
				for _, salvage := range []bool{false, true} {
					e, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, salvage)
					whole(t, e, err)
				}
				if !maps.Equal(before, files(t, dir)) {
					t.Error("reading changed the store")
				}
				var log logged
				e, err = embedded.Open(dir, embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				whole(t, e, err)
				if log.with("second copy") != 1 {
					t.Errorf("the log has %q", log.lines)
				}
				if mirrors, _ := filepath.Glob(filepath.Join(dir, "copy-of-*")); len(mirrors) > 2 {
					t.Errorf("copies remain: %q", mirrors)
				}

				manifest = currentManifest(t, dir)
				kvtest.Spoil(t, manifest, fault)
				kvtest.Spoil(t, mirrorOf(manifest), "changed")
				if _, err = embedded.Open(dir, embedded.Options{Logger: quiet(t)}); err == nil ||
					!strings.Contains(err.Error(), filepath.Base(manifest)) ||
					strings.Contains(err.Error(), "skip-damaged") {
					t.Errorf("without both: %v", err)
				}
			})
		}
	}
}

// A running store with a damaged manifest accepts writes. Verify and Checkpoint repair the manifest, and a start
// after a kill works without either.
func TestManifest_spoiledWhileOpen(t *testing.T) {
	for _, fault := range kvtest.Spoilings {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			e := mustOpen(t, dir, embedded.Options{})
			flushed := func(key string) {
				t.Helper()
				set(t, e, key, "v")
				if err := e.Pebble().Flush(); err != nil { // writes to the manifest
					t.Fatal(err)
				}
			}
			opens := func(dir string, keys ...string) {
				t.Helper()
				copied := copyOf(t, dir)
				e, err := embedded.Open(copied, embedded.Options{Logger: quiet(t)})
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range keys {
					if get(t, e, k) != "v" {
						t.Errorf("%s is missing", k)
					}
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
			flushed("a")
			kvtest.Spoil(t, currentManifest(t, dir), fault)
			flushed("b")
			opens(dir, "a", "b")
			if faults, _ := verify(t, e); len(faults) > 0 {
				t.Errorf("%v", faults)
			}
			flushed("c")
			opens(dir, "a", "b", "c")
			kvtest.Spoil(t, currentManifest(t, dir), fault)
			to := filepath.Join(t.TempDir(), "copy")
			if err := e.Checkpoint(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			opens(to, "a", "b", "c")
			kvtest.Spoil(t, currentManifest(t, to), fault)
			opens(to, "a", "b", "c")
		})
	}
}

// copyOf copies an open store to which nobody writes, as a kill would leave it. Pebble still compacts in the
// background: a copy during which files appeared, disappeared or grew is inconsistent, and is repeated.
func copyOf(t *testing.T, dir string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "store")
	for before, after := "", "?"; before != after; {
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		before = listing(t, dir)
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		after = listing(t, dir)
	}
	return to
}
