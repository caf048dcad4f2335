package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// The store is copied while documents are written, by the node that has it and by one that uses it. A node started on a
// copy has every document that was acknowledged before, complete, once in the feed and in the view, and can be used.
func TestHTTP_Backup(t *testing.T) {
	needEmbedded(t)
	c := startCluster(t, 2)
	client := c.nodes[0].client()
	client.ok("PUT", "/ledger", "")
	client.ok("PUT", "/ledger/_design/d",
		`{"views":{"round":{"map":"function (doc) { if (doc.text) emit(doc.round, null) }"}}}`)
	docs := make([]ledgerDoc, 30_000)
	for i := range docs {
		docs[i] = ledgerDoc{ID: fmt.Sprintf("r0-%06d", i), Text: fmt.Sprintf("document %d of round 0", i)}
	}
	var count atomic.Int64
	acked := make(chan string, len(docs))
	loaded, begun := make(chan error, 1), make(chan struct{})
	go func() {
		loaded <- load(t, client, "ledger", docs, func(row bulkRow) {
			acked <- row.ID
			if count.Add(1) == 20_000 {
				<-begun // so that the load does not end before the first backup
			}
		})
	}()
	promised := map[string]int{}
	for i, node := range c.nodes {
		for count.Load() < int64(5000*(i+1)) { // each response of the server increments it
			promised[<-acked] = 0
		}
		answer := node.client().object("POST", "/_backup", `{"directory":"monday"}`)
		dir := filepath.Join(node.ready["data"], "backups", "monday")
		if answer["ok"] != true || !strings.HasSuffix(answer["directory"].(string), dir) {
			t.Fatalf("node %d answers %v, want %s", i, answer, dir)
		}
		if i == 0 {
			close(begun)
		}
		copied := launch(t, t.TempDir(), append([]string{"-data", answer["directory"].(string)}, freePorts...)...)
		copied.waitReady()
		checkLedger(t, copied.client(), promised)
		copied.client().ok("PUT", "/ledger/after", `{}`)
		copied.stop(syscall.SIGTERM)
	}
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	client.ok("GET", "/ledger/r0-029999", "")
	if client.status("GET", "/ledger/after", "") != 404 {
		t.Error("the write to the copy is in the store")
	}
}

// Anything but a new directory in storage.backups is refused, and so are clients that are not admins.
func TestHTTP_BackupRefuses(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	admin := p.as("root:sesame")
	if testCluster != "" {
		if r := admin.do("POST", "/_backup", `{"directory":"x"}`); r.status != 501 ||
			!strings.Contains(string(r.body), "fdbbackup") {
			t.Errorf("on FoundationDB: %d %s", r.status, r.body)
		}
		return
	}
	admin.ok("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","password":"relax","roles":[],"type":"user"}`)
	admin.ok("POST", "/_backup", `{"directory":"there"}`)
	root := strings.TrimSuffix(admin.object("POST", "/_backup", `{"directory":"whole"}`)["directory"].(string), "whole")
	for _, c := range []struct {
		by           *client
		method, body string
		status       int
		says         string
	}{
		{p.client(), "POST", `{"directory":"x"}`, 401, "unauthorized"},
		{p.as("jan:relax"), "POST", `{"directory":"x"}`, 401, "unauthorized"},
		{admin, "GET", "", 405, "method_not_allowed"},
		{admin, "POST", `{"directory":"there"}`, 412, "file_exists"},
		{admin, "POST", `{"directory":"` + root + `there"}`, 412, "file_exists"},
		{admin, "POST", ``, 415, "bad_content_type"},
		{admin, "POST", `[]`, 400, "bad_request"},
		{admin, "POST", `{`, 400, "bad_request"},
		{admin, "POST", `{}`, 400, "directory is missing"},
		{admin, "POST", `{"directory":7}`, 400, "directory is missing"},
		{admin, "POST", `{"directory":""}`, 400, "directory is missing"},
		{admin, "POST", `{"directory":"."}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":".."}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"../store"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"a/b"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":".hidden"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"/tmp/elsewhere"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"` + root + `a/b"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"` + root + `../x"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"a\u0000b"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"` + strings.Repeat("x", 300) + `"}`, 400, "storage.backups"},
		{admin, "POST", `{"directory":"` + root + `by-path"}`, 201, "by-path"},
	} {
		if r := c.by.do(c.method, "/_backup", c.body); r.status != c.status ||
			!strings.Contains(string(r.body), c.says) {
			t.Errorf("%s %.60s answers %d %s, want %d and %q", c.method, c.body, r.status, r.body, c.status, c.says)
		}
	}
	left, err := filepath.Glob(filepath.Join(root, "*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(root, ".*"))
	if err != nil || hiddenErr != nil || len(left) != 3 || len(hidden) != 0 {
		t.Errorf("found %v and %v", left, hidden)
	}
}

// Backups that killed nodes left unfinished are removed at the start, but not one that another node is still writing.
func TestProgram_unfinishedBackups(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	backups := filepath.Join(dir, "data", "backups")
	left, held, done := filepath.Join(backups, ".unfinished-1"), filepath.Join(backups, ".unfinished-2"),
		filepath.Join(backups, "monday")
	for _, d := range []string{left, held, done} {
		if err := os.MkdirAll(filepath.Join(d, "store"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "store", "000001.sst"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := lockDirectory(f); err != nil {
		t.Skipf("directories cannot be locked here: %v", err)
	}
	p := start(t, dir)
	for d, want := range map[string]bool{left: false, held: true, done: true} {
		if _, err := os.Stat(filepath.Join(d, "store", "000001.sst")); (err == nil) != want {
			t.Errorf("%s: found %v, want %v", d, err == nil, want)
		}
	}
	p.client().ok("POST", "/_backup", `{"directory":"tuesday"}`)
	p.stop(syscall.SIGTERM)
}
