package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// randomWord returns a word that does not compress, so that it appears literally in the store's files.
func randomWord(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

// flipIn changes a byte of a text in a store's tables, in place.
func flipIn(t *testing.T, store, text string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(store, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(b, []byte(text))
		if at < 0 {
			continue
		}
		f, err := os.OpenFile(table, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no table contains %.20s", text)
}

// command runs a command of the binary in dir and returns its output.
func command(t *testing.T, dir string, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := launch(t, dir, args...)
	stderr = p.finish(status)
	return p.stdout.String(), stderr
}

// A block with a document is damaged while the node runs. The node reports it in the response for this document only,
// serves and writes everything else, refuses backups, names the document, and can export the rest, even when it is
// stopped and its file system is mounted read-only.
func TestProgram_DamagedBlock(t *testing.T) {
	dir := t.TempDir()
	p := startEmbedded(t, dir)
	c := p.client()
	r := rand.New(rand.NewPCG(3, 4))
	words := map[string]string{}
	for _, db := range []string{"alpha", "beta"} {
		c.ok("PUT", "/"+db, "")
		for i := range 400 {
			id := fmt.Sprintf("/%s/doc%03d", db, i)
			words[id] = randomWord(r, 700)
			c.ok("PUT", id, `{"text":"`+words[id]+`"}`)
		}
	}
	p.stop(syscall.SIGTERM)
	start(t, dir).stop(syscall.SIGTERM) // writes the log into tables
	p = start(t, dir)
	c = p.client()
	store := filepath.Join(p.ready["data"], "store")
	if !filepath.IsAbs(store) {
		store = filepath.Join(dir, "data", "store")
	}
	c.ok("POST", "/_backup", `{"directory":"before"}`)
	if out, _ := command(t, dir, 0, "verify", "-url", p.http()); !strings.Contains(out, "nothing is damaged") {
		t.Errorf("verify of a good store says %q", out)
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir) // with an empty cache
	c = p.client()
	flipIn(t, store, words["/alpha/doc123"])

	if r := c.do("GET", "/alpha/doc123", ""); r.status != 500 || !strings.Contains(string(r.body), `"store_damaged"`) ||
		!strings.Contains(string(r.body), "-skip-damaged") {
		t.Errorf("the damaged document: %d %s", r.status, r.body)
	}
	c.ok("GET", "/alpha/doc300", "")
	for i := range 400 {
		c.ok("GET", fmt.Sprintf("/beta/doc%03d", i), "")
		c.ok("PUT", fmt.Sprintf("/beta/new%03d", i), `{}`)
	}
	c.ok("PUT", "/alpha/new", `{}`)
	if r := c.do("GET", "/_up", ""); r.status != 200 || !strings.Contains(string(r.body), "store_damaged: ") {
		t.Errorf("/_up: %d %s", r.status, r.body)
	}
	if r := c.do("POST", "/_backup", `{"directory":"after"}`); r.status != 500 ||
		!strings.Contains(string(r.body), ".sst: the block of") {
		t.Errorf("a backup of a damaged store: %d %s", r.status, r.body)
	}
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(store), "backups")); err != nil || len(left) != 1 {
		t.Errorf("after a failed backup found %v, %v", left, err)
	}
	out, _ := command(t, dir, 1, "verify", "-url", p.http())
	if !strings.Contains(out, "database alpha: bodies of documents") || !strings.Contains(out, `"doc123"`) ||
		strings.Contains(out, "beta") {
		t.Errorf("verify says %q", out)
	}
	if out, _ := command(t, dir, 0, "verify", "beta", "-url", p.http()); strings.Contains(out, "database beta") {
		t.Errorf("verify of the other database says %q", out)
	}
	out, _ = command(t, dir, 3, "export", "-skip-damaged", "-url", p.http(), "alpha", "online.export")
	if !strings.Contains(out, `document "doc123"`) {
		t.Errorf("export says %q", out)
	}
	command(t, dir, 0, "import", "-url", p.http(), "saved", "online.export")
	lost := strings.Count(out, "document ")
	if n := c.object("GET", "/saved", "")["doc_count"]; fmt.Sprint(n) != fmt.Sprint(401-lost) {
		t.Errorf("%v documents of 401 were saved, %d listed", n, lost)
	}
	if n := strings.Count(p.stderr.whole(), `"what a block held`); n > 1 {
		t.Errorf("the log says it %d times", n)
	}
	p.stop(syscall.SIGTERM)
	checkOffline(t, dir, filepath.Dir(store))
}

// checkOffline checks what can be done with a damaged store without a node.
func checkOffline(t *testing.T, dir, data string) {
	t.Helper()
	readOnly(t, data)
	out, _ := command(t, dir, 1, "check", "-deep", "-data", data)
	if !strings.Contains(out, "database alpha: bodies of documents") || !strings.Contains(out, `"doc123"`) {
		t.Errorf("check -deep says %q", out)
	}
	if _, said := command(t, dir, 1, "export", "-data", data, "alpha",
		"whole.export"); !strings.Contains(said, "-skip-damaged") {
		t.Errorf("export of a damaged database says %q", said)
	}
	out, _ = command(t, dir, 3, "export", "-skip-damaged", "-data", data, "alpha", "offline.export")
	if !strings.Contains(out, `document "doc123"`) {
		t.Errorf("export says %q", out)
	}
	command(t, dir, 0, "export", "-data", data, "beta", "beta.export")
	p := start(t, t.TempDir())
	command(t, dir, 0, "import", "-url", p.http(), "alpha", "offline.export")
	command(t, dir, 0, "import", "-url", p.http(), "beta", "beta.export")
	if n := p.client().object("GET", "/beta", "")["doc_count"]; fmt.Sprint(n) != "800" {
		t.Errorf("%v documents of beta", n)
	}
}

// readOnly mounts a directory read-only over itself, if the user may do so.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if exec.Command("mount", "--bind", dir, dir).Run() != nil {
		return
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", dir).Run(); err != nil {
			t.Error(err)
		}
	})
	if err := exec.Command("mount", "-o", "remount,bind,ro", dir).Run(); err != nil {
		t.Log("not mounted read-only:", err)
	}
}

// The log of a killed node is damaged. The node does not start, check -deep still reports what is damaged in the store,
// and an export is never called complete.
func TestProgram_DamagedLog(t *testing.T) {
	dir := t.TempDir()
	p := startEmbedded(t, dir)
	c := p.client()
	c.ok("PUT", "/alpha", "")
	for i := range 100 {
		c.ok("PUT", fmt.Sprintf("/alpha/doc%03d", i), `{"text":"`+strings.Repeat("x", 2000)+`"}`)
	}
	p.stop(syscall.SIGTERM)
	logs, err := filepath.Glob(filepath.Join(dir, "data", "store", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(logs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(logs[0])
	if out, said := command(t, dir, 1, "check", "-deep"); !strings.Contains(out, name) ||
		!strings.Contains(said, "of 1 database") {
		t.Errorf("check -deep says %q, %q", out, said)
	}
	out, said := command(t, dir, 3, "export", "-skip-damaged", "-data", "data", "alpha", "saved.export")
	if !strings.Contains(out, name) || strings.Contains(said, "complete export") {
		t.Errorf("export says %q, %q", out, said)
	}
}

// A store without one of the empty files whose names lead Pebble to the others is not damaged, but no node starts on
// it, so a check fails with or without -deep.
func TestProgram_CheckMarkers(t *testing.T) {
	dir := t.TempDir()
	p := startEmbedded(t, dir)
	p.client().ok("PUT", "/alpha", "")
	p.stop(syscall.SIGTERM)
	for _, marker := range []string{"format-version", "manifest"} {
		files, err := filepath.Glob(filepath.Join(dir, "data", "store", "marker."+marker+".*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := os.Rename(files[0], filepath.Join(dir, marker)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check"}, {"check", "-deep"}} {
			if _, said := command(t, dir, 1, args...); !strings.Contains(said, "marker."+marker) {
				t.Errorf("%v without the marker of the %s says %q", args, marker, said)
			}
		}
		if err := os.Rename(filepath.Join(dir, marker), files[0]); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, 0, "check", "-deep")
}

// A table is lost as a whole. A node that cannot even read the names of databases says in /_up what is damaged and what
// to do. One that cannot start says which command helps.
func TestProgram_LostTable(t *testing.T) {
	for name, starts := range map[string]bool{"names of databases": true, "everything": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := startEmbedded(t, dir)
			if starts { // the store's own rows are in another table
				p.stop(syscall.SIGTERM)
				p = startEmbedded(t, dir)
			}
			p.client().ok("PUT", "/alpha", "")
			p.stop(syscall.SIGTERM)
			startEmbedded(t, dir).stop(syscall.SIGTERM) // writes what is in the log to a table
			tables, err := filepath.Glob(filepath.Join(dir, "data", "store", "*.sst"))
			if err != nil {
				t.Fatal(err)
			}
			lost := 0
			for _, table := range tables {
				b, err := os.ReadFile(table)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(b, []byte("alpha")) {
					continue
				}
				lost++
				clear(b[len(b)-60:]) // the footer, without which nothing is found
				if err := os.WriteFile(table, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if lost != 1 {
				t.Fatalf("%d tables of %d have the database", lost, len(tables))
			}
			if !starts {
				_, said := command(t, dir, 1, "-http", "127.0.0.1:0", "-sql", "127.0.0.1:0", "-gossip", "127.0.0.1:0")
				if !strings.Contains(said, "; restore a backup, or save the readable data: ") {
					t.Errorf("the node says %q", said)
				}
				return
			}
			c := startEmbedded(t, dir).client()
			eventually(t, "a reason in /_up", 10*time.Second, func() bool {
				a := c.do("GET", "/_up", "")
				return a.status == 503 && strings.Contains(string(a.body), "The store cannot be read") &&
					strings.Contains(string(a.body), "store_damaged: ")
			})
		})
	}
}

// divan check fails if a node could not open the store because a table is missing or was cut short.
func TestProgram_CheckTables(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		startEmbedded(t, dir).stop(syscall.SIGTERM)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "data", "store", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	command(t, dir, 0, "check")
	for _, table := range tables {
		whole, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for what, damage := range map[string]func() error{
			"missing": func() error { return os.Remove(table) },
			"cut":     func() error { return os.Truncate(table, int64(len(whole)/2)) },
		} {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(table), ".sst")
			for _, args := range [][]string{{"check"}, {"check", "-deep"}} {
				if _, said := command(t, dir, 1, args...); !strings.Contains(said, name) {
					t.Errorf("%v with %s %s says %q", args, name, what, said)
				}
			}
			if err := os.WriteFile(table, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	command(t, dir, 0, "check")
}
