package e2e_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Data directories written by earlier binaries (testdata/oldstores) are opened, have all their data, can be written,
// indexed and compacted, and pass divan verify.
func TestProgram_OldStores(t *testing.T) {
	needEmbedded(t)
	stores, err := filepath.Glob("testdata/oldstores/*.tar.gz")
	if err != nil || len(stores) < 3 {
		t.Fatalf("%d old stores, %v", len(stores), err)
	}
	everyFormat(t, stores)
	for _, store := range stores {
		name := strings.TrimSuffix(filepath.Base(store), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, store, filepath.Join(dir, "data"))
			if out, _ := command(t, dir, 0, "check", "-data", "data"); !strings.Contains(out,
				"starting the node upgrades its layout") {
				t.Errorf("check says %q", out)
			}
			p := startEmbedded(t, dir)
			c := p.client()
			sameAnswers(t, c, strings.TrimSuffix(store, ".tar.gz")+".answers.gz")
			if out, _ := command(t, dir, 0, "verify", "-digests", "-url", p.http()); !strings.Contains(out,
				"nothing is damaged") {
				t.Errorf("verify says %q", out)
			}
			for _, db := range []string{"plain", "sharded", "imported"} {
				if db == "imported" && c.status("GET", "/imported", "") == 404 {
					continue // the first binaries could not import
				}
				writeOld(t, c, db)
			}
			writeOldPartition(t, c)
			if out, _ := command(t, dir, 0, "verify", "-digests", "-url", p.http()); !strings.Contains(out,
				"nothing is damaged") {
				t.Errorf("verify says %q after writes and compaction", out)
			}
			p.stop(syscall.SIGTERM)
			p = startEmbedded(t, dir)
			if text := p.client().do("GET", "/plain/files/a.txt", "").body; string(text) != "hello" {
				t.Errorf("the attachment is %q after another start", text)
			}
			p.stop(syscall.SIGTERM)
		})
	}
}

// everyFormat fails unless there is a store of each format before the current one, which divan version names.
func everyFormat(t *testing.T, stores []string) {
	t.Helper()
	var format int
	for line := range strings.Lines(output(t, "", 0, "version")) {
		_, _ = fmt.Sscanf(line, "data format %d;", &format) // the other lines have none
	}
	if format < 7 {
		t.Fatalf("divan version names the format %d", format)
	}
	for f := 1; f < format; f++ {
		if !slices.ContainsFunc(stores, func(s string) bool {
			return strings.HasPrefix(filepath.Base(s), fmt.Sprintf("format-%d-", f))
		}) {
			t.Errorf("there is no store of format %d", f)
		}
	}
}

// writeOld writes to a database, queries its view, and compacts it completely.
func writeOld(t *testing.T, c *client, db string) {
	t.Helper()
	var doc struct {
		Rev string `json:"_rev"`
	}
	c.into("/"+db+"/files", &doc)
	c.ok("PUT", "/"+db+"/files", `{"n":81,"_rev":"`+doc.Rev+`","_attachments":{"a.txt":{"stub":true}}}`)
	c.ok("PUT", "/"+db+"/new", `{"n":9000}`)
	var view struct {
		Rows []struct{ Value struct{ Max float64 } }
	}
	c.into("/"+db+"/_design/v/_view/n", &view)
	if len(view.Rows) != 1 || view.Rows[0].Value.Max != 9000 {
		t.Errorf("%s: the view is %+v after a write", db, view)
	}
	c.ok("POST", "/"+db+"/_compact", "{}")
	for running := true; running; {
		var info struct {
			Compacting bool `json:"compact_running"`
		}
		c.into("/"+db, &info)
		running = info.Compacting
	}
	if s := c.status("GET", "/"+db+"/files?rev="+doc.Rev, ""); s != 404 {
		t.Errorf("%s: a superseded revision exists after compaction: %d", db, s)
	}
	if text := c.do("GET", "/"+db+"/files/a.txt", "").body; string(text) != "hello" {
		t.Errorf("%s: the attachment is %q after compaction", db, text)
	}
}

// writeOldPartition writes to a partition, and checks that its documents are counted, as they were not by the first
// binaries.
func writeOldPartition(t *testing.T, c *client) {
	t.Helper()
	count := func(when string) {
		t.Helper()
		var info struct {
			DocCount int `json:"doc_count"`
			Sizes    struct{ Active int }
		}
		var rows struct{ Rows []struct{ ID string } }
		c.into("/parts/_partition/p", &info)
		c.into("/parts/_partition/p/_all_docs", &rows)
		if info.DocCount != len(rows.Rows) || info.Sizes.Active <= 0 {
			t.Errorf("%s: the partition has %d documents, and says %+v", when, len(rows.Rows), info)
		}
	}
	count("old")
	c.ok("PUT", "/parts/p:new", `{"n":1}`)
	c.ok("POST", "/parts/_compact", "{}")
	count("written")
}

// sameAnswers repeats the requests made to an old binary, and compares the responses.
func sameAnswers(t *testing.T, c *client, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	asked := 0
	for ; lines.Scan(); asked++ {
		path := lines.Text()
		if !lines.Scan() {
			t.Fatalf("%s has no answer", path)
		}
		if strings.Contains(lines.Text(), `"not_implemented"`) {
			continue // the old binary could not answer it
		}
		got := c.do("GET", path, "", "Accept", "application/json").body
		if !sameAnswer(t, lines.Text(), strings.ReplaceAll(string(got), "\n", "")) {
			t.Errorf("GET %s\nanswers  %.2000s\nanswered %.2000s", path, got, lines.Text())
		}
	}
	if err := lines.Err(); err != nil || asked < 25 {
		t.Errorf("%d answers, %v", asked, err)
	}
}

func sameAnswer(t *testing.T, a, b string) bool {
	t.Helper()
	var was, is any
	if json.Unmarshal([]byte(a), &was) != nil || json.Unmarshal([]byte(b), &is) != nil {
		return a == b
	}
	return reflect.DeepEqual(was, is)
}

// unpack unpacks a directory.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o700)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", h.Name, err))
		}
	}
}
