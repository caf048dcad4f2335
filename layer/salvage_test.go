package layer_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
	"github.com/divandb/divan/layer/kv/kvtest"
)

// randomText does not compress, so that blocks of the store hold few rows.
func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n*3/4)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

var salvageNames = []string{"one", "two", "three"}

// storeToDamage creates a closed store with three databases, nearly all of it in tables. content is the documents of
// each database by id.
func storeToDamage(t *testing.T) (dir string, content map[string]map[string]string) {
	t.Helper()
	dir = t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	e, err := embedded.Open(dir, embedded.Options{MemTableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := layer.Open(t.Context(), e, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	content = map[string]map[string]string{}
	for _, name := range salvageNames {
		d := mustCreate(t, s, name, layer.CreateOptions{Shards: 2, Security: []byte(`{"admins":{"names":["x"]}}`)})
		for i := range 600 {
			id := fmt.Sprintf("%s-%05d", name, i)
			rev := put(t, d, fmt.Sprintf(`{"_id":%q,"t":%q}`, id, randomText(r, 300)))
			if i%5 == 0 {
				rev = put(t, d, fmt.Sprintf(`{"_id":%q,"_rev":%q,"t":%q}`, id, rev, randomText(r, 100)))
			}
			if i%50 == 7 {
				put(t, d, fmt.Sprintf(`{"_id":%q,"_rev":%q,"_deleted":true}`, id, rev))
			}
			if i%40 == 3 {
				push(t, d, fmt.Sprintf(`{"_id":%q,"t":"other","_revisions":{"start":1,"ids":["abc"]}}`, id))
			}
		}
		for i := range 4 {
			id := fmt.Sprintf("large%d", i)
			u, err := d.Upload(t.Context(), id, strings.NewReader(randomText(r, 250_000)), -1, "")
			if err != nil {
				t.Fatal(err)
			}
			e := edit(t, fmt.Sprintf(`{"_id":%q,"t":%q}`, id, randomText(r, 250_000)))
			e.Attachments = []layer.AttachmentEdit{{Name: "a", Upload: u}}
			if _, err := d.Put(t.Context(), e, layer.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.PutLocal(t.Context(),
				edit(t, fmt.Sprintf(`{"_id":"_local/l%d","t":%q}`, i, randomText(r, 120_000)))); err != nil {
				t.Fatal(err)
			}
		}
		content[name] = contentOf(t, d)
	}
	if err := errors.Join(s.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, content
}

// contentOf renders all documents of a database, each with all leaves, histories and attachments, and the _local
// documents.
func contentOf(t *testing.T, d *layer.Database) map[string]string {
	t.Helper()
	all := map[string]string{}
	pass, err := d.Changes(t.Context(), layer.ChangesOptions{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range pass.Rows {
		if err != nil {
			t.Fatal(err)
		}
		answers, err := d.OpenRevs(t.Context(), c.ID, nil, layer.GetOptions{Revs: true})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, a := range answers {
			fmt.Fprintln(&b, string(a.Doc.AppendJSON(nil)))
			for _, att := range a.Doc.Attachments {
				r, err := d.OpenAttachment(t.Context(), c.ID, att, 0, -1)
				if err != nil {
					t.Fatal(err)
				}
				data, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&b, att.Name, string(data))
			}
		}
		all[c.ID] = b.String()
	}
	locals, err := d.AllDocs(t.Context(), layer.AllDocsOptions{Limit: -1, Only: layer.LocalOnly, IncludeDocs: true})
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range locals.Rows {
		if err != nil {
			t.Fatal(err)
		}
		all[row.ID] = string(row.Doc.Body)
	}
	return all
}

// copyDir copies the files of a directory.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// damageTables damages the tables of a store in a few random places, as a disk does: flipped bits, and ranges of zeros.
func damageTables(t *testing.T, dir string, r *rand.Rand) string {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal("no tables", err)
	}
	var did []string
	for range 1 + r.IntN(3) {
		file := tables[r.IntN(len(tables))]
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := r.IntN(len(b))
		n := []int{0, 512, 4096, 50_000}[r.IntN(4)]
		if n == 0 {
			b[at] ^= 1 << r.IntN(8)
		}
		clear(b[at:min(at+n, len(b))])
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		did = append(did, fmt.Sprintf("%s of %d at %d: %d", filepath.Base(file), len(b), at, n))
	}
	return strings.Join(did, ", ")
}

// covers reports whether the report of what was left out includes id.
func covers(left []layer.Left, id string) bool {
	for _, l := range left {
		if l.Kind == "database" || l.ID == id || l.Last != "" && l.ID <= id && id <= l.Last {
			return true
		}
	}
	return false
}

var namelessNumber = regexp.MustCompile(`#\d+`)

// salvageAll saves a database by its name or, if that is lost, by the number of the database with this name's
// documents.
func salvageAll(t *testing.T, s *layer.Store, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := s.Salvage(t.Context(), name, &b)
	if err == nil {
		return b.Bytes()
	}
	if !layer.IsDamaged(err) {
		t.Fatal(err)
	}
	for _, number := range namelessNumber.FindAllString(err.Error(), -1) {
		b.Reset()
		if err := s.Salvage(t.Context(), number, &b); err != nil {
			t.Fatal(number, err)
		}
		if bytes.Contains(b.Bytes(), []byte(name+"-00")) {
			return b.Bytes()
		}
	}
	t.Fatalf("%s cannot be found: %v", name, err)
	return nil
}

// openDamaged opens a damaged store, as a node would if that is possible and running is set, otherwise for reading
// only.
func openDamaged(t *testing.T, dir string, running bool) (*embedded.Engine, *layer.Store) {
	t.Helper()
	if running {
		e, err := embedded.Open(dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			if s, err := layer.Open(t.Context(), e, layer.Options{}); err == nil {
				return e, s
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	e, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)}, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := layer.Open(t.Context(), e, layer.Options{ReadOnly: true, Salvage: true})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

// Whichever file of a store is damaged, the saved part of each database is correct, and the rest is listed as left out.
func TestStore_Salvage_files(t *testing.T) {
	oneGoroutine(t)
	if fdbtest.Enabled() {
		t.Skip("FoundationDB looks after its own files")
	}
	dir, content := storeToDamage(t)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, f := range files {
		name := f.Name()
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		isTable := strings.HasSuffix(name, ".sst")
		if isTable {
			tables++
		}
		if name == "LOCK" || isTable && tables > 2 {
			continue
		}
		for _, fault := range kvtest.Spoilings {
			if fault != "missing" && info.Size() == 0 {
				continue
			}
			t.Run(name+" "+fault, func(t *testing.T) {
				damaged := copyDir(t, dir)
				kvtest.Spoil(t, filepath.Join(damaged, name), fault)
				e, s := openDamaged(t, damaged, false)
				target := mustStore(t, mustEngine(t), layer.Options{})
				for _, db := range salvageNames {
					var file bytes.Buffer
					err := s.Salvage(t.Context(), db, &file)
					if isTable && layer.IsDamaged(err) {
						continue // its name was there
					}
					if err != nil {
						t.Fatal(err)
					}
					x, err := layer.ReadExport(bytes.NewReader(file.Bytes()))
					if err != nil {
						t.Fatal(err)
					}
					d, err := target.Import(t.Context(), db, bytes.NewReader(file.Bytes()))
					if err != nil {
						t.Fatal(err)
					}
					saved := contentOf(t, d)
					missing := 0
					for id, want := range content[db] {
						if saved[id] != want {
							missing++
							if !covers(x.Left, id) {
								t.Errorf("%s of %s is not as it was, and not listed: %v", id, db, x.Left)
							}
						}
					}
					if strings.HasSuffix(name, ".log") && fault == "changed" && missing > len(content[db])/4 {
						t.Errorf("for one damaged record %d of %d documents of %s are not saved", missing,
							len(content[db]), db)
					}
				}
				if err := errors.Join(s.Close(), e.Close()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Whichever block of a store is damaged, Verify reports it, the saved part of each database is correct, and the rest is
// listed as left out.
func TestStore_Salvage(t *testing.T) {
	oneGoroutine(t)
	if fdbtest.Enabled() {
		t.Skip("FoundationDB looks after its own files")
	}
	trials := 10
	if testing.Short() {
		trials = 3
	}
	dir, content := storeToDamage(t)
	for trial := range trials {
		r := rand.New(rand.NewPCG(uint64(trial), 11))
		damaged := copyDir(t, dir)
		did := damageTables(t, damaged, r)
		e, s := openDamaged(t, damaged, trial%2 == 0)
		target := mustStore(t, mustEngine(t), layer.Options{})
		var told []string
		_, err := s.Verify(t.Context(), layer.VerifyOptions{Damage: func(d *layer.Damage) error {
			told = append(told, d.String())
			return nil
		}})
		if err != nil {
			t.Fatalf("%d: %s: %v", trial, did, err)
		}
		missing := 0
		for _, name := range salvageNames {
			file := salvageAll(t, s, name)
			x, err := layer.ReadExport(bytes.NewReader(file))
			if err != nil {
				t.Fatalf("%d: %s: %v", trial, did, err)
			}
			d, err := target.Import(t.Context(), fmt.Sprintf("%s%d", name, trial), bytes.NewReader(file))
			if err != nil {
				t.Fatalf("%d: %s: %v", trial, did, err)
			}
			saved := contentOf(t, d)
			for id, want := range content[name] {
				if saved[id] == want {
					continue
				}
				missing++
				if !covers(x.Left, id) {
					t.Errorf("%d: %s: %s of %s is not as it was, and not listed: %.100q; %v", trial, did, id, name,
						saved[id], x.Left)
				}
			}
			for id := range saved {
				if _, ok := content[name][id]; !ok {
					t.Errorf("%d: %s: %s of %s is new", trial, did, id, name)
				}
			}
			if len(x.Left) > 0 && len(told) == 0 {
				t.Errorf("%d: %s: left out %v, and Verify tells of nothing", trial, did, x.Left)
			}
		}
		t.Logf("%d: %s: %d of %d documents are not as they were", trial, did, missing, 3*len(content["one"]))
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	}
}
