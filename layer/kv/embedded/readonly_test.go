package embedded_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// files returns the contents of a directory by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[n.Name()] = string(b)
	}
	return all
}

// A store is read without changing any of its files, including its log. Nothing can be written, and no engine can
// open it for writing meanwhile.
func TestOpenReadOnly(t *testing.T) {
	oneGoroutine(t)
	dir := writtenStore(t, 1)
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeRows(t, e, 'c', 7); err != nil { // in the log only
		t.Fatal(err)
	}
	if _, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false); err == nil ||
		!strings.Contains(err.Error(), "in use") {
		t.Errorf("a store that is in use opens for reading: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	for range 2 {
		r, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(unreadable(t, r, 'c', 7)) + len(unreadable(t, r, 'f', 0)); n > 0 {
			t.Errorf("%d rows cannot be read", n)
		}
		if err := writeRows(t, r, 'c', 8); err == nil || kv.Retryable(err) {
			t.Errorf("a write ends with %v", err)
		}
		if _, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)}); err == nil ||
			!strings.Contains(err.Error(), "in use") {
			t.Errorf("a store that is read opens for writing: %v", err)
		}
		if faults, read := verify(t, r); len(faults) > 0 || read.Blocks == 0 {
			t.Errorf("Verify says %v, %v", faults, read)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files(t, dir) {
		if before[name] != content {
			t.Errorf("%s has changed", name)
		}
		delete(before, name)
	}
	if len(before) > 0 {
		t.Errorf("files missing: %d", len(before))
	}
	if _, err := embedded.OpenReadOnly(t.TempDir(), embedded.Options{Logger: quiet(t)}, false); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("where there is no store: %v", err)
	}
}

// Rows before and after the damage in a log can be saved, although the store no longer opens, and Verify reports what
// is lost.
func TestOpenReadOnly_salvagesLogs(t *testing.T) {
	oneGoroutine(t)
	dir := writtenStore(t, 1)
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []byte("xyz") {
		if err := writeRows(t, e, p, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	found := false
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for i := 300; i < 310 && !found; i++ { // one that does not cross a block of the log
			if at := bytes.Index(b, rowValue('y', i, 0)); at >= 0 {
				damageAt(t, log, int64(at))
				found = true
			}
		}
	}
	if !found {
		t.Fatal("the row is in no log")
	}
	if _, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Fatalf("without salvage: %v", err)
	}
	r, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if n := len(unreadable(t, r, 'x', 0)) + len(unreadable(t, r, 'a', 0)); n > 0 {
		t.Errorf("%d rows in front of the damage cannot be read", n)
	}
	if n := len(unreadable(t, r, 'z', 0)); n > 0 {
		t.Errorf("%d rows behind the damage cannot be read", n)
	}
	faults, _ := verify(t, r)
	if len(faults) != 1 || !faults[0].LeftOut || !strings.HasSuffix(faults[0].File, ".log") {
		t.Errorf("Verify says %v", faults)
	}
}

// Pebble's record of its options holds no data: if it is damaged, the store opens anyway.
func TestOpen_damagedOptions(t *testing.T) {
	oneGoroutine(t)
	dir := writtenStore(t, 1)
	for _, open := range []func() (*embedded.Engine, error){
		func() (*embedded.Engine, error) {
			return embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false)
		},
		func() (*embedded.Engine, error) { return embedded.Open(dir, embedded.Options{Logger: quiet(t)}) },
		func() (*embedded.Engine, error) { return embedded.Open(dir, embedded.Options{Logger: quiet(t)}) },
	} {
		names, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			if err := os.WriteFile(name, make([]byte, 3000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(unreadable(t, e, 'a', 0)); n > 0 {
			t.Errorf("%d rows cannot be read", n)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
