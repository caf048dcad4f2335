package embedded_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded"
)

// crashedStore returns a store as after a kill, with some keys.
func crashedStore(t *testing.T, keys int) (dir string) {
	open := t.TempDir()
	e := mustOpen(t, open, embedded.Options{})
	for i := range keys {
		set(t, e, fmt.Sprintf("k%03d", i), strings.Repeat("v", 1000))
	}
	return copyOf(t, open)
}

// TestHorizon_torn checks that a power cut may tear every mark that was not synced, and one that was being synced.
// Without any intact mark the file is damaged.
func TestHorizon_torn(t *testing.T) {
	slots := func(n ...int) func(b []byte) {
		return func(b []byte) {
			for _, i := range n {
				clear(b[i*len(b)/4+20 : (i+1)*len(b)/4])
			}
		}
	}
	tests := map[string]struct {
		damage  func(b []byte)
		refused bool
	}{
		"none":                      {slots(), false},
		"both unsynced":             {slots(2, 3), false},
		"both unsynced, one synced": {slots(2, 3, 0), false},
		"the other synced":          {slots(2, 3, 1), false},
		"both synced":               {slots(0, 1), true},
		"all":                       {slots(0, 1, 2, 3), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := crashedStore(t, 20)
			// so that both synced slots are used
			e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "horizon")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tt.damage(b)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			e, err = embedded.Open(dir, embedded.Options{Logger: quiet(t)})
			if tt.refused {
				if err == nil || !strings.Contains(err.Error(), "the file horizon is not readable") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			if v := get(t, e, "k019"); len(v) != 1000 {
				t.Errorf("%d bytes", len(v))
			}
		})
	}
}

// TestHorizon_firstFormat checks that a store of a program that wrote the file's first format, or no horizon, opens
// and is protected from then on.
func TestHorizon_firstFormat(t *testing.T) {
	crashedStore := func(t *testing.T) (dir string) {
		open := t.TempDir()
		e := mustOpen(t, open, embedded.Options{})
		if err := e.Pebble().Delete(embedded.HorizonKey, pebble.Sync); err != nil { // the key did not exist then
			t.Fatal(err)
		}
		for i := range 20 {
			set(t, e, fmt.Sprintf("k%03d", i), strings.Repeat("v", 1000))
		}
		return copyOf(t, open)
	}
	old := func(t *testing.T, dir string, version uint64) []byte {
		manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
		if err != nil || len(manifests) == 0 {
			t.Fatal("no manifest", err)
		}
		name := manifests[len(manifests)-1]
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		castagnoli := crc32.MakeTable(crc32.Castagnoli)
		b := binary.BigEndian.AppendUint64([]byte{1}, version)
		b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(text, castagnoli))
		b = append(b, filepath.Base(name)...)
		return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	}
	tests := map[string]struct {
		version uint64
		none    bool
		refused string
	}{
		"none":             {none: true},
		"as it was":        {version: 1},
		"a later version":  {version: 1 << 62, refused: "acknowledged commits are lost"},
		"another manifest": {version: 0, refused: "not what was written"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := crashedStore(t)
			b := old(t, dir, tt.version)
			if tt.version == 0 {
				b[len(b)-8-len("MANIFEST-000001")] ^= 1 // the checksum's last byte
				copy(b[len(b)-4:],
					binary.BigEndian.AppendUint32(nil, crc32.Checksum(b[:len(b)-4], crc32.MakeTable(crc32.Castagnoli))))
			}
			file := filepath.Join(dir, "horizon")
			err := os.WriteFile(file, b, 0o600)
			if tt.none {
				err = os.Remove(file)
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("%v, want %q", err, tt.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := get(t, e, "k019"); len(v) != 1000 {
				t.Errorf("%d bytes", len(v))
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if b, err = os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("DHZ2")) {
				t.Errorf("the file begins with %q: %v", b[:min(4, len(b))], err)
			}
		})
	}
}

// TestHorizon_copied checks that a checkpoint is protected like the store.
func TestHorizon_copied(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	for i := range 20 {
		set(t, e, fmt.Sprintf("k%03d", i), strings.Repeat("v", 1000))
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := e.Checkpoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal("no log", err)
	}
	info, err := os.Stat(logs[len(logs)-1])
	if err == nil {
		err = os.Truncate(logs[len(logs)-1], info.Size()-500)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)}); err == nil ||
		!strings.Contains(err.Error(), "is damaged") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy whose log was cut: %v", err)
	}
}
