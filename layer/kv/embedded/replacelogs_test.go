package embedded_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv/embedded"
)

// openWithLog returns an open store with rows that are only in its log, and the name of that log.
func openWithLog(t *testing.T) (e *embedded.Engine, dir, log string) {
	t.Helper()
	dir = writtenStore(t, 1)
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := writeRows(t, e, 'g', 0); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs { // the one with most of the rows
		if info, err := os.Stat(name); err == nil && info.Size() > 100_000 {
			log = name
		}
	}
	if log == "" {
		t.Fatal("no log has the rows", logs)
	}
	return e, dir, log
}

// killed opens the store as after a kill, and checks the rows.
func killed(t *testing.T, dir string, prefixes ...byte) {
	t.Helper()
	e, err := embedded.Open(copyOf(t, dir), embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, p := range prefixes {
		if n := len(unreadable(t, e, p, 0)); n > 0 {
			t.Errorf("%d rows of %c cannot be read", n, p)
		}
	}
}

// listing returns the state of a directory, to detect changes of its files.
func listing(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, f := range files {
		info, err := f.Info()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err == nil {
			fmt.Fprintln(&list, f.Name(), info.Size(), info.ModTime())
		}
	}
	return list.String()
}

// A log that is damaged while the store is open loses nothing once Verify has run: its whole content is in memory.
func TestVerify_damagedLog(t *testing.T) {
	oneGoroutine(t)
	for _, fault := range []string{"changed", "cut", "missing"} {
		for _, by := range []string{"Verify", "Checkpoint"} {
			t.Run(fault+" "+by, func(t *testing.T) {
				e, dir, log := openWithLog(t)
				var err error
				switch fault {
				case "changed":
					damageAt(t, log, 50_000)
				case "cut":
					err = os.Truncate(log, 50_000)
				case "missing":
					err = os.Remove(log)
				}
				if err != nil {
					t.Fatal(err)
				}
				if by == "Verify" {
					if faults, _ := verify(t, e); len(faults) > 0 {
						t.Errorf("Verify says %v", faults)
					}
				} else {
					copied := filepath.Join(t.TempDir(), "copy")
					if err := e.Checkpoint(t.Context(), copied); err != nil {
						t.Fatal(err)
					}
					killed(t, copied, 'a', 'g')
				}
				killed(t, dir, 'a', 'g')
				for p := byte('h'); p < 'm'; p++ { // enough to make Pebble reuse the log's file
					if err := writeRows(t, e, p, 0); err != nil {
						t.Fatal(err)
					}
					if err := e.Pebble().Flush(); err != nil {
						t.Fatal(err)
					}
				}
				killed(t, dir, 'a', 'g', 'h', 'l')
			})
		}
	}
}

// Verify reports files that only the next start needs, and the store is degraded until they are back.
func TestVerify_vitalFiles(t *testing.T) {
	oneGoroutine(t)
	for _, pattern := range []string{"MANIFEST-*", "marker.manifest.*", "marker.format-version.*"} {
		t.Run(pattern, func(t *testing.T) {
			e, dir, _ := openWithLog(t)
			names, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			name := names[len(names)-1]
			removeAll(t, dir, "copy-of-MANIFEST-*") // or it would replace the manifest
			if err := os.Rename(name, filepath.Join(dir, "away")); err != nil {
				t.Fatal(err)
			}
			faults, _ := verify(t, e)
			if len(faults) != 1 || !strings.Contains(faults[0].What, "missing") {
				t.Errorf("Verify says %v", faults)
			}
			if d := e.Degraded(); len(d) != 1 || !strings.HasPrefix(d[0], "store_damaged: ") {
				t.Errorf("degraded: %q", d)
			}
			if err := os.Rename(filepath.Join(dir, "away"), name); err != nil {
				t.Fatal(err)
			}
			if faults, _ := verify(t, e); len(faults) > 0 || len(e.Degraded()) > 0 {
				t.Errorf("after the file is back: %v, %q", faults, e.Degraded())
			}
		})
	}
}
