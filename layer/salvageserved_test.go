package layer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// served returns a document with its attachment as GET returns it, or an error.
func served(t *testing.T, d *layer.Database, id string) (string, error) {
	t.Helper()
	doc, err := d.Get(t.Context(), id, layer.GetOptions{})
	if err != nil {
		return "", err
	}
	all := string(doc.AppendJSON(nil))
	for _, a := range doc.Attachments {
		r, err := d.OpenAttachment(t.Context(), id, a, 0, -1)
		if err != nil {
			return "", err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return "", err
		}
		all += a.Name + string(data)
	}
	return all, nil
}

// Whichever block is damaged, a document that can be read completely is saved completely, and Verify does not report
// it, even if the next block is damaged.
func TestStore_Salvage_neighbours(t *testing.T) {
	oneGoroutine(t)
	if fdbtest.Enabled() {
		t.Skip("FoundationDB looks after its own files")
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	o := embedded.Options{Logger: slog.New(slog.DiscardHandler)}
	e, err := embedded.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	var ids []string
	for i := range 12 {
		id := fmt.Sprintf("d%02d", i)
		ids = append(ids, id)
		rev := ""
		for range 2 { // the first one is superseded, until it is compacted
			u, err := d.Upload(t.Context(), id, strings.NewReader(randomText(r, 40_000)), -1, "")
			if err != nil {
				t.Fatal(err)
			}
			edit := edit(t, fmt.Sprintf(`{"_id":%q,"t":%q%s}`, id, randomText(r, 20_000), rev))
			edit.Attachments = []layer.AttachmentEdit{{Name: "a", Upload: u}}
			done, err := d.Put(t.Context(), edit, layer.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rev = fmt.Sprintf(`,"_rev":%q`, done)
		}
	}
	if err := errors.Join(s.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if e, err = embedded.Open(dir, o); err != nil { // which moves the log into a table
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal("no tables", err)
	}
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	largest := slices.MaxFunc(tables, func(a, b string) int { return int(size(a) - size(b)) })
	hit := 0
	for at := int64(10_000); at < size(largest)-20_000; at += 130_000 {
		damaged := copyDir(t, dir)
		file := filepath.Join(damaged, filepath.Base(largest))
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		e, s := openDamaged(t, damaged, true)
		d, err := s.Database(t.Context(), "db")
		if err != nil { // the block of its name: tested by TestStore_Salvage
			if err := errors.Join(s.Close(), e.Close()); err != nil {
				t.Error(err)
			}
			continue
		}
		want := map[string]string{}
		for _, id := range ids {
			if text, err := served(t, d, id); err == nil {
				want[id] = text
			}
		}
		if len(want) < len(ids) {
			hit++
		}
		var named []string
		_, err = s.Verify(t.Context(), layer.VerifyOptions{Damage: func(d *layer.Damage) error {
			if d.Part != "revisions of documents" { // where another branch might be
				named = append(named, d.Documents...)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for id := range want {
			if slices.Contains(named, id) {
				t.Errorf("%d: %s is served whole, and Verify names it", at, id)
			}
		}
		saved := mustStore(t, mustEngine(t), layer.Options{})
		into, err := saved.Import(t.Context(), "db", bytes.NewReader(salvageAll(t, s, "db")))
		if err != nil {
			t.Fatal(err)
		}
		for id, text := range want {
			if got, err := served(t, into, id); err != nil || got != text {
				t.Errorf("%d: %s is served whole, and saved as %.60q: %v", at, id, got, err)
			}
		}
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if hit == 0 {
		t.Error("no document was hit")
	}
}
