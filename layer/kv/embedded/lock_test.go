package embedded_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// TestLock checks that two engines never share a store, whatever happens to its file names.
func TestLock(t *testing.T) {
	open := func(t *testing.T, o embedded.Options) (dir string, e *embedded.Engine) {
		dir = filepath.Join(t.TempDir(), "store")
		e, err := embedded.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		set(t, e, "a", "1")
		return dir, e
	}
	do := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(t *testing.T, dir string, o embedded.Options) {
		t.Helper()
		if e, err := embedded.Open(dir, o); err == nil {
			_ = e.Close()
			t.Error("opened a second time")
		} else if !strings.Contains(err.Error(), "in use") {
			t.Error(err)
		}
	}
	// stopped checks that nothing is acknowledged any more, and nothing is read from files that may be another
	// engine's.
	stopped := func(t *testing.T, e *embedded.Engine) {
		t.Helper()
		tx := e.Begin(t.Context())
		tx.Set([]byte("b"), []byte("2"))
		if err := tx.Commit(); !kv.IsCode(err, kv.CodeIOError) {
			t.Errorf("a commit to a store that is lost: %v", err)
		}
		if e.Failed() == nil {
			t.Error("the engine did not fail")
		}
	}
	quietly := embedded.Options{Logger: slogDiscard()}
	for name, o := range map[string]embedded.Options{"directory": quietly, "LOCK alone": quietly.WithLockFileOnly()} {
		t.Run(name, func(t *testing.T) {
			t.Run("twice", func(t *testing.T) {
				dir, _ := open(t, o)
				refused(t, dir, o)
			})
			t.Run("two paths", func(t *testing.T) {
				dir, e := open(t, o)
				link := filepath.Join(t.TempDir(), "link")
				do(t, os.Symlink(filepath.Dir(dir), link))
				refused(t, filepath.Join(link, "store"), o)
				do(t, e.Close())
				if v := get(t, mustOpen(t, filepath.Join(link, "store"), o), "a"); v != "1" {
					t.Errorf("a is %q", v)
				}
			})
			t.Run("symbolic link that changes", func(t *testing.T) {
				link := filepath.Join(t.TempDir(), "link")
				dir, other := t.TempDir(), t.TempDir()
				do(t, os.Symlink(dir, link))
				e := mustOpen(t, link, o)
				set(t, e, "a", "1")
				do(t, os.Remove(link))
				do(t, os.Symlink(other, link))
				set(t, e, "a", "2")
				do(t, e.Pebble().Flush()) // creates files
				do(t, e.Close())
				if files, err := os.ReadDir(other); err != nil || len(files) > 0 {
					t.Errorf("%v in the other directory: %v", files, err)
				}
				if v := get(t, mustOpen(t, dir, o), "a"); v != "2" {
					t.Errorf("a is %q", v)
				}
			})
			t.Run("directory moved", func(t *testing.T) {
				dir, e := open(t, o)
				do(t, os.Rename(dir, dir+".moved"))
				stopped(t, e)
			})
			t.Run("directory replaced", func(t *testing.T) {
				dir, e := open(t, o)
				do(t, os.Rename(dir, dir+".moved"))
				do(t, os.Mkdir(dir, 0o755))
				go func() { _ = e.Pebble().Flush() }() // it would create files, and blocks for ever
				<-e.Failing()
				stopped(t, e)
				if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
					t.Errorf("%v in the new directory: %v", files, err)
				}
			})
			t.Run("released", func(t *testing.T) {
				dir, e := open(t, o)
				do(t, e.Close())
				mustOpen(t, dir, o)
			})
		})
	}
	t.Run("LOCK removed", func(t *testing.T) {
		dir, e := open(t, quietly)
		do(t, os.Remove(filepath.Join(dir, "LOCK")))
		refused(t, dir, quietly)
		set(t, e, "a", "2")
		if found, err := embedded.Inspect(dir); err != nil || runtime.GOOS == "linux" && found.Holder != os.Getpid() {
			t.Errorf("the holder is %d, not %d: %v", found.Holder, os.Getpid(), err)
		}
	})
	t.Run("LOCK replaced", func(t *testing.T) {
		dir, e := open(t, quietly)
		do(t, os.Remove(filepath.Join(dir, "LOCK")))
		do(t, os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600))
		refused(t, dir, quietly)
		set(t, e, "a", "2")
	})
	t.Run("LOCK alone removed", func(t *testing.T) {
		dir, e := open(t, quietly.WithLockFileOnly())
		do(t, os.Remove(filepath.Join(dir, "LOCK")))
		stopped(t, e)
	})
	t.Run("LOCK alone replaced", func(t *testing.T) {
		dir, e := open(t, quietly.WithLockFileOnly())
		do(t, os.Remove(filepath.Join(dir, "LOCK")))
		do(t, os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600))
		stopped(t, e)
	})
}
