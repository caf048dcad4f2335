package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// mountSmall mounts a file system of size bytes on dir.
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

// The disk fills up under load, and then to its last byte with other data. The nodes report it to writers and in /_up,
// continue to serve reads, and stop when asked. The node with the store also starts. With free space they accept writes
// again, without a restart, and every acknowledged document exists.
func TestProgram_DiskFull(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mountSmall(t, data, 64<<20)
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
	c.ok("PUT", "/ledger/_design/d",
		`{"views":{"round":{"map":"function (doc) { if (doc.text) emit(doc.round, null) }"}}}`)
	c.ok("PUT", "/scratch", "")
	c.ok("PUT", "/scratch/doomed", `{}`)
	outside := filepath.Join(data, "outside")
	if err := os.WriteFile(outside, make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	acked := fillWithDocuments(t, c)
	t.Logf("%d documents fit", len(acked))
	full := func(client *client) {
		t.Helper()
		// The store's own compactions free space, too.
		r := client.do("PUT", "/scratch/one", `{}`)
		for n := 0; r.status != 507 && n < 100; n++ {
			fillOutside(t, outside)
			r = client.do("PUT", fmt.Sprintf("/scratch/%d", time.Now().UnixNano()), `{}`)
		}
		if r.status != 507 || !strings.Contains(string(r.body), "insufficient_storage") {
			t.Errorf("a write is answered %d %s", r.status, r.body)
		}
		checkDocuments(t, client, acked)
	}
	full(c)
	full(remote.client())
	// Its compactions may free space again, so there is more to write, and to fill from outside.
	for _, client := range []*client{c, remote.client()} {
		waitDegraded(t, client, "disk_full", func() {
			fillOutside(t, outside)
			client.do("PUT", fmt.Sprintf("/scratch/x%d", time.Now().UnixNano()), `{}`)
		})
	}
	if !strings.Contains(p.stderr.whole(), "writes are refused") {
		t.Error("the log does not report it")
	}
	var doomed struct {
		Rev string `json:"_rev"`
	}
	c.into("/scratch/doomed", &doomed)
	// The data from outside may have displaced the ballast, too. With only that much space, a deletion is possible.
	info, err := os.Stat(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(outside, info.Size()-4<<20); err != nil {
		t.Fatal(err)
	}
	c.ok("DELETE", "/scratch/doomed?rev="+doomed.Rev, "")
	remote.stop(syscall.SIGTERM)
	p.kill()

	for range 2 { // the second time, the ballast is gone too
		fillOutside(t, outside)
		p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
		p.waitReady()
		fillOutside(t, outside)
		full(p.client())
		p.stop(syscall.SIGTERM)
	}
	fillOutside(t, outside)
	p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	full(p.client())
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	writeUntilTaken(t, p.client())
	checkLedger(t, p.client(), acked)
	p.client().ok("GET", "/_up", "")
	p.stop(syscall.SIGTERM)
}

// A disk that will soon be full needs attention for as long as it is so low. The node serves, and probes are not told.
func TestProgram_DiskLow(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mountSmall(t, data, 160<<20)
	p := launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	outside := filepath.Join(data, "outside")
	var space syscall.Statfs_t
	if err := syscall.Statfs(data, &space); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(outside, make([]byte, int64(space.Bavail)*space.Bsize-43<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c := p.client()
	told := func(want string) {
		t.Helper()
		eventually(t, "the state is "+want, 20*time.Second, func() bool {
			return c.object("GET", "/_dashboard/api/overview", "")["state"] == want
		})
	}
	told("degraded")
	out, err := exec.Command(divan, "status", "-url", p.http()).CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 || !strings.Contains(string(out), "MB left") {
		t.Errorf("divan status: %v\n%s", err, out)
	}
	if up := c.object("GET", "/_up", ""); up["status"] != "ok" {
		t.Errorf("/_up: %v", up)
	}
	c.ok("PUT", "/there-is-room", "")
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	told("ok")
}

// fillWithDocuments writes until the store refuses, and returns what was acknowledged.
func fillWithDocuments(t *testing.T, c *client) map[string]int {
	t.Helper()
	acked := map[string]int{}
	docs := make([]ledgerDoc, 200)
	for batch := range 5000 {
		for i := range docs {
			id := batch*len(docs) + i
			docs[i] = ledgerDoc{ID: fmt.Sprintf("r0-%06d", id), Text: fmt.Sprintf("document %d of round 0", id)}
		}
		rows, err := bulk(c, "ledger", docs)
		if err != nil { // the request as a whole was refused
			switch r := c.do("PUT", fmt.Sprintf("/scratch/one%d", batch), `{}`); r.status {
			case 507:
				return acked
			case 201: // it is smaller
				continue
			default:
				t.Fatalf("%v, and then %d %s", err, r.status, r.body)
			}
		}
		refused := false
		for _, row := range rows {
			switch row.Error {
			case "":
				acked[row.ID] = 0
			case "insufficient_storage":
				refused = true
			default:
				t.Fatalf("a document is refused with %+v", row)
			}
		}
		if refused {
			return acked
		}
	}
	t.Fatal("the disk never fills up")
	return nil
}

// checkDocuments checks every acknowledged document. It does not use the view, whose index does not fit.
func checkDocuments(t *testing.T, c *client, acked map[string]int) {
	t.Helper()
	var all struct{ Rows []struct{ ID string } }
	c.into("/ledger/_all_docs", &all)
	there := map[string]bool{}
	for _, row := range all.Rows {
		there[row.ID] = true
	}
	for id := range acked {
		if !there[id] {
			t.Fatalf("%s is lost", id)
		}
	}
}

// fillOutside fills the disk to its last byte.
func fillOutside(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 1<<20); len(buf) > 0; {
		if _, err := f.Write(buf); errors.Is(err, syscall.ENOSPC) {
			buf = buf[:len(buf)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// waitDegraded waits until /_up gives a reason with that name.
func waitDegraded(t *testing.T, c *client, name string, provoke func()) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		r := c.do("GET", "/_up", "")
		if r.status == 200 && strings.Contains(string(r.body), `"degraded"`) &&
			strings.Contains(string(r.body), `"`+name+`: `) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("_up never says %s: %d %s", name, r.status, r.body)
		}
		provoke()
	}
}

// writeUntilTaken writes until a write is accepted.
func writeUntilTaken(t *testing.T, c *client) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for r := c.do("PUT", "/ledger/r0-999999", `{"text":"document 999999 of round 0"}`); r.status != 201; r =
		c.do("PUT", "/ledger/r0-999999", `{"text":"document 999999 of round 0"}`) {
		if r.status != 507 || time.Now().After(deadline) {
			t.Fatalf("a write with free space is answered %d %s", r.status, r.body)
		}
	}
}

// On a small disk filled by documents, twice, deleting a database and deleting documents with a compaction free space:
// writes continue in the same process, and nothing else is lost.
func TestProgram_DiskFullMakesRoom(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	for _, megabytes := range []int{32, 64} { // 32 is the smallest size for which this is guaranteed
		t.Run(fmt.Sprintf("%d MB", megabytes), func(t *testing.T) { testMakesRoom(t, megabytes) })
	}
}

func testMakesRoom(t *testing.T, megabytes int) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mountSmall(t, data, megabytes<<20)
	p := start(t, dir)
	c := p.client()
	c.ok("PUT", "/kept", "")
	for i := range 20 {
		c.ok("PUT", fmt.Sprintf("/kept/d%d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	// fill writes until the store refuses, and at least a good part of the disk's size: space is available only some
	// seconds after it was freed.
	fill := func(db string) (revs map[string]string) {
		t.Helper()
		revs = map[string]string{}
		deadline := time.Now().Add(startTimeout)
		for batch := 0; time.Now().Before(deadline); batch++ {
			docs := make([]map[string]any, 100)
			for i := range docs {
				text := make([]byte, 3000)
				for j := range text {
					text[j] = 'a' + byte(rand.IntN(26))
				}
				docs[i] = map[string]any{"_id": fmt.Sprintf("%d-%d", batch, i), "text": string(text)}
			}
			rows, err := bulk(c, db, docs)
			if err != nil {
				if len(revs) < 80*megabytes ||
					c.do("PUT", fmt.Sprintf("/%s/%d", db, time.Now().UnixNano()), `{}`).status != 507 {
					continue
				}
				return revs
			}
			for _, row := range rows {
				if row.Error == "" {
					revs[row.ID] = row.Rev
				}
			}
		}
		t.Fatalf("%d documents fit, or the disk never fills up", len(revs))
		return nil
	}
	writeUntilTaken := func(how string) {
		t.Helper()
		deadline := time.Now().Add(2 * time.Minute) // a compaction reads and writes everything
		for {
			r := c.do("PUT", fmt.Sprintf("/kept/%d", time.Now().UnixNano()),
				fmt.Sprintf(`{"text":%q}`, strings.Repeat(how, 1000)))
			if r.status == 201 {
				return
			}
			if r.status != 507 || time.Now().After(deadline) {
				t.Fatalf("after %s a write is answered %d %s", how, r.status, r.body)
			}
		}
	}
	c.ok("PUT", "/first", "")
	c.ok("PUT", "/second", "")
	fill("first")
	c.ok("DELETE", "/first", "")
	writeUntilTaken("the deletion of a database")
	revs := fill("second")
	docs := make([]map[string]any, 0, 500)
	remove := func() {
		t.Helper()
		rows, err := bulk(c, "second", docs)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Error != "" {
				t.Fatalf("a deletion is refused: %+v", row)
			}
		}
		docs = docs[:0]
	}
	for id, rev := range revs {
		if docs = append(docs, map[string]any{"_id": id, "_rev": rev, "_deleted": true}); len(docs) == cap(docs) {
			remove()
		}
	}
	remove()
	c.ok("POST", "/second/_compact", "{}")
	writeUntilTaken("the deletion of documents")
	for i := range 20 {
		c.ok("GET", fmt.Sprintf("/kept/d%d", i), "")
	}
	p.stop(syscall.SIGTERM)
}

// On a disk that is too small for the guarantees about full disks, the node reports that.
func TestProgram_SmallDisk(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	mountSmall(t, filepath.Join(dir, "data"), 16<<20)
	p := start(t, dir)
	waitDegraded(t, p.client(), "disk_small", func() {})
	p.stop(syscall.SIGTERM)
}

// A node whose disk is mounted read-only starts, answers reads, refuses writes, and accepts them once the disk is
// mounted read-write. Without a store it does not start, and says why.
func TestProgram_ReadOnlyDisk(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	data := filepath.Join(disk, "data")
	mountSmall(t, disk, 64<<20)
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|flags,
			fmt.Sprintf("size=%d", 64<<20)); err != nil {
			t.Fatal(err)
		}
	}
	p := launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	p.client().ok("PUT", "/db", "")
	p.client().ok("PUT", "/db/doc", `{}`)
	p.kill()

	remount(syscall.MS_RDONLY)
	p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	c := p.client()
	c.ok("GET", "/db/doc", "")
	if r := c.do("PUT", "/db/other", `{}`); r.status != 507 || !strings.Contains(string(r.body), "cannot be written") {
		t.Errorf("a write is answered %d %s", r.status, r.body)
	}
	waitDegraded(t, c, "store_unwritable", func() {})
	p.stop(syscall.SIGTERM)
	p = launch(t, dir, append([]string{"-data", data}, freePorts...)...)
	p.waitReady()
	c = p.client()
	remount(0)
	deadline := time.Now().Add(startTimeout)
	for r := c.do("PUT", "/db/other", `{}`); r.status != 201; r = c.do("PUT", "/db/other", `{}`) {
		if r.status != 507 || time.Now().After(deadline) {
			t.Fatalf("a write to the writable disk is answered %d %s", r.status, r.body)
		}
	}
	c.ok("GET", "/db/doc", "")
	p.stop(syscall.SIGTERM)

	remount(syscall.MS_RDONLY)
	p = launch(t, dir, append([]string{"-data", filepath.Join(disk, "none")}, freePorts...)...)
	if status := p.wait(startTimeout); status != 1 || strings.Count(strings.TrimSpace(p.stderr.whole()), "\n") > 0 {
		t.Errorf("a start without a store ends with %d:\n%s", status, p.stderr)
	}
}

// A statement that needs more temporary files than the disk has space for fails alone: writes are not refused
// meanwhile.
func TestProgram_DiskFullOfTempFiles(t *testing.T) {
	needEmbedded(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	mountSmall(t, data, 96<<20)
	const settings = "storage: {ballast: 0, cache: 4MiB}\nsql: {statement_memory: 1MiB}\n"
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir)
	c := p.client()
	c.ok("PUT", "/ledger", "")
	done := make(chan error, 1)
	go func() {
		conn, err := pgx.Connect(t.Context(), "postgres://tester@"+p.ready["sql"]+"/ledger")
		if err == nil {
			defer conn.Close(t.Context())
			_, err = conn.Exec(t.Context(),
				"SELECT g, repeat('y', 1000) FROM generate_series(1, 200000) g ORDER BY md5(g::text)")
		}
		done <- err
	}()
	for n := 0; ; n++ {
		if r := c.do("PUT", fmt.Sprintf("/ledger/%d", n), `{}`); r.status != 201 {
			t.Fatalf("write %d is answered %d %s, with %v bytes of temporary files", n, r.status, r.body,
				metric(t, p, "divan_sql_temp_bytes"))
		}
		select {
		case err := <-done:
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != "53100" || e.Hint == "" {
				t.Errorf("the statement ends with %v", err)
			}
			eventually(t, "its temporary files are gone", startTimeout, func() bool {
				return metric(t, p, "divan_sql_temp_bytes") == 0
			})
			p.stop(syscall.SIGTERM)
			return
		default:
		}
	}
}
