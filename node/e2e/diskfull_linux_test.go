package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mountSmall puts a file system of its own, of size bytes, on dir.
func mountSmall(t *testing.T, dir string, size int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("a small file system cannot be mounted here (it wants root): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// The disk fills up under load. The node says so to whoever writes and in /_up, goes on reading, and stops when asked. With more room it starts again,
// by itself, and has every document that was acknowledged.
func TestProgram_DiskFull(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mountSmall(t, data, 48<<20)
	storage := "storage: {engine: embedded, cache: 4MiB, listen: '" + freeAddr(t) + "', secret: abc}\n"
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(storage), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	other := t.TempDir()
	uses := strings.NewReplacer("embedded", "remote", "listen", "address", "cache: 4MiB, ", "").Replace(storage)
	if err := os.WriteFile(filepath.Join(other, "node.yaml"), []byte(uses), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := launch(t, other, freePorts...)
	remote.waitReady()

	c := p.client()
	c.ok("PUT", "/ledger", "")
	c.ok("PUT", "/ledger/_design/d", `{"views":{"round":{"map":"function (doc) { if (doc.text) emit(doc.round, null) }"}}}`)
	acked := map[string]int{}
	docs := make([]ledgerDoc, 200)
	var refused *bulkRow
	for batch := 0; refused == nil && batch < 2000; batch++ {
		for i := range docs {
			id := batch*len(docs) + i
			docs[i] = ledgerDoc{ID: fmt.Sprintf("r0-%06d", id), Text: fmt.Sprintf("document %d of round 0", id)}
		}
		rows, err := bulk(c, "ledger", docs)
		if err != nil { // the request as a whole was refused
			if r := c.do("PUT", "/ledger/one", `{}`); r.status != 507 {
				t.Fatalf("%v, and then %d %s", err, r.status, r.body)
			}
			break
		}
		for _, row := range rows {
			if row.Error != "" {
				refused = &row
			} else {
				acked[row.ID] = 0
			}
		}
	}
	t.Logf("%d documents fit", len(acked))
	if refused != nil && refused.Error != "insufficient_storage" {
		t.Errorf("a document is refused with %+v", *refused)
	}
	for name, node := range map[string]*process{"the node with the store": p, "one that uses it": remote} {
		client := node.client()
		if r := client.do("PUT", "/ledger/one", `{}`); r.status != 507 || !strings.Contains(string(r.body), "insufficient_storage") {
			t.Errorf("%s: a write is answered %d %s", name, r.status, r.body)
		}
		if r := client.do("GET", "/ledger/r0-000000", ""); r.status != 200 {
			t.Errorf("%s: a read is answered %d %s", name, r.status, r.body)
		}
		if r := client.do("GET", "/_up", ""); r.status != 503 || !strings.Contains(string(r.body), "disk of the store is full") {
			t.Errorf("%s: _up is answered %d %s", name, r.status, r.body)
		}
	}
	if !strings.Contains(p.stderr.String(), "the store no longer accepts writes") {
		t.Error("the log does not say it")
	}
	remote.stop(syscall.SIGTERM)
	p.stop(syscall.SIGTERM)

	// Without room the next start may fail, but it says why and breaks nothing.
	p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	select {
	case <-p.exited:
		if text := p.stderr.String(); p.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(text, "no space left") {
			t.Errorf("a start without room ends with %d:\n%s", p.cmd.ProcessState.ExitCode(), text)
		}
	case line := <-p.stdout.out:
		t.Logf("it starts without room: %s", line)
		p.kill()
	case <-time.After(startTimeout):
		t.Fatal("a start without room hangs")
	}
	if err := syscall.Mount("tmpfs", data, "tmpfs", syscall.MS_REMOUNT, "size=512m"); err != nil {
		t.Fatal(err)
	}
	p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	checkLedger(t, p.client(), acked)
	p.client().ok("PUT", "/ledger/one", `{}`)
	p.client().ok("GET", "/_up", "")
}
