package e2e_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// finish waits for the end of a command and returns its standard error.
func (p *process) finish(status int) string {
	p.t.Helper()
	if code := p.wait(startTimeout); code != status {
		p.t.Fatalf("%q exits with %d, want %d; standard error:\n%s", p.cmd.Args[1:], code, status, p.stderr)
	}
	return p.stderr.whole()
}

// startEmbedded starts a node on the embedded store, even if the tests use FoundationDB.
func startEmbedded(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("storage:\n  engine: embedded\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, dir, args...)
}

// fillForMove writes one of everything that a move keeps into /db.
func fillForMove(c *client) {
	c.t.Helper()
	c.ok("PUT", "/db?changes_shards=3", "")
	c.ok("PUT", "/db/_revs_limit", "50")
	c.ok("PUT", "/db/_security",
		`{"admins":{"names":["bob"],"roles":[]},"members":{"names":[],"roles":[]},"note":1.50}`)
	for i := range 40 {
		id := fmt.Sprintf("/db/doc%02d", i)
		rev := c.object("PUT", id, fmt.Sprintf(`{"n":%d, "text": "æ\u0000"}`, i))["rev"].(string)
		if i%3 == 0 {
			rev = c.object("PUT", id, `{"_rev":"`+rev+`","again":true}`)["rev"].(string)
		}
		if i%5 == 0 {
			c.ok("DELETE", id+"?rev="+rev, "")
		}
		if i == 20 {
			c.ok("POST", "/db/_changes/_reshard", `{"shard_count":2}`)
		}
	}
	for _, leaf := range []string{"aa", "bb", "cc"} {
		c.ok("PUT", "/db/conflict?new_edits=false",
			`{"_rev":"3-`+leaf+`","_revisions":{"start":3,"ids":["`+leaf+`","q","p"]},"leaf":"`+leaf+`"}`)
	}
	c.ok("PUT", "/db/conflict?new_edits=false",
		`{"_rev":"4-dd","_deleted":true,"_revisions":{"start":4,"ids":["dd","bb","q","p"]}}`)
	// of a type that is not compressed
	big := c.do("PUT", "/db/att/big", strings.Repeat("0123456789abcdef", 20_000), "Content-Type", "application/x-test")
	rev := decode(c.t, big.body).(map[string]any)["rev"].(string)
	rev = c.object("PUT", "/db/att/small?rev="+rev, "hello")["rev"].(string)
	c.ok("PUT", "/db/att", `{"_rev":"`+rev+`","_attachments":{"big":{"stub":true},"small":{"stub":true}}}`)
	c.ok("PUT", "/db/_local/checkpoint", `{"at":1}`)
	c.ok("PUT", "/db/_design/d",
		`{"views":{"n":{"map":"function (doc) { if (doc.n) emit(doc.n) }","reduce":"_count"}}}`)
	c.ok("GET", "/db/_design/d/_view/n", "")
	rev = c.object("PUT", "/db/purged", `{}`)["rev"].(string)
	c.ok("POST", "/db/_purge", `{"purged":["`+rev+`"]}`)
}

// seen returns everything of a database that HTTP shows and a move keeps.
func seen(c *client, db string) string {
	c.t.Helper()
	var b strings.Builder
	info := c.object("GET", "/"+db, "")
	fmt.Fprintln(&b, info["doc_count"], info["doc_del_count"], info["update_seq"], info["purge_seq"], info["uuid"],
		info["props"], info["instance_start_time"])
	var feed struct {
		Results []feedLine
		LastSeq string `json:"last_seq"`
	}
	c.into("/"+db+"/_changes?style=all_docs", &feed)
	fmt.Fprintln(&b, feed)
	for _, row := range feed.Results {
		path := "/" + db + "/" + strings.ReplaceAll(row.ID, "/", "%2F")
		fmt.Fprintln(&b, c.ok("GET", path+"?open_revs=all&revs=true&attachments=true", ""))
	}
	for _, part := range []string{"_security", "_revs_limit", "_changes/_meta", "_local_docs?include_docs=true",
		"_all_docs?include_docs=true&conflicts=true", "_design/d/_view/n?reduce=false", "_design/d/_view/n"} {
		r := c.do("GET", "/"+db+"/"+part, "")
		fmt.Fprintln(&b, part, r.status, string(r.body))
	}
	return b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, w string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("%s: line %d\ngot  %.400s\nwant %.400s", what, i, g, w)
		}
	}
}

// C8 from outside: a database is moved from the embedded store to another one (FoundationDB if the tests have one) and
// then to a third one, with reshards before and between. Consumers of the merged feed and of each shard, interrupted in
// the middle, continue from their old sequence on the new node. They miss nothing and see nothing twice. The old node
// refuses sequences that it has not reached.
func TestRelocation(t *testing.T) {
	source, target := startEmbedded(t, t.TempDir()), start(t, t.TempDir())
	from, to, dir := source.client(), target.client(), t.TempDir()
	fillForMove(from)
	var maps struct{ Maps []shardMap }
	from.into("/db/_changes/_meta", &maps)

	merged, sharded := newConsumer(), newConsumer()
	half := func(seen map[string]feedLine) bool { return len(seen) >= 15 }
	merged.follow(from, "", "0", half)
	var at string
	for _, line := range merged.newest {
		at = max(at, line.Seq)
	}

	launch(t, dir, "export", "-url", source.http(), "db", "file").finish(0)
	launch(t, dir, "import", "db", "-url", target.http(), "file").finish(0)
	same(t, "moved", seen(to, "db"), seen(from, "db"))
	if info := to.object("GET", "/db", ""); fmt.Sprint(info["incarnation"]) != "1" {
		t.Errorf("the moved database is %v", info)
	}

	all := func(seen map[string]feedLine) bool { _, ok := seen["last"]; return ok }
	var consumers sync.WaitGroup
	consumers.Go(func() { merged.follow(to, "", at, all) })
	consumers.Go(func() { sharded.followShards([]*client{to}, &maps.Maps[0], all) })
	for i := range 20 {
		to.ok("PUT", fmt.Sprintf("/db/new%02d", i), `{}`)
		if i == 10 {
			to.ok("POST", "/db/_changes/_reshard", `{"shard_count":1}`)
		}
	}
	to.ok("PUT", "/db/conflict", `{"_rev":"3-cc"}`)
	to.ok("PUT", "/db/last", `{}`)
	consumers.Wait()

	// Now a third node, and a consumer that has seen the end of the second.
	var second struct {
		LastSeq string `json:"last_seq"`
	}
	to.into("/db/_changes?limit=0&since=now", &second)
	if r := from.do("GET", "/db/_changes?since="+second.LastSeq, ""); r.status != 400 ||
		!strings.Contains(string(r.body), `"bad_request"`) {
		t.Errorf("the old node answers a sequence of the new one with %d %s", r.status, r.body)
	}
	launch(t, dir, "export", "-url", target.http(), "db", "file2").finish(0)
	launch(t, dir, "import", "-url", source.http(), "db2", "file2").finish(0)
	same(t, "moved back", seen(from, "db2"), seen(to, "db"))
	from.ok("PUT", "/db2/newest", `{}`)
	var rest struct{ Results []feedLine }
	from.into("/db2/_changes?since="+second.LastSeq, &rest)
	if len(rest.Results) != 1 || rest.Results[0].ID != "newest" || rest.Results[0].Seq <= second.LastSeq {
		t.Errorf("after the second move: %+v", rest)
	}

	var complete struct{ Results []feedLine }
	to.into("/db/_changes", &complete)
	for name, c := range map[string]*consumer{"the merged feed": merged, "the shards' feeds": sharded} {
		for _, fault := range c.faults {
			t.Errorf("%s: %s", name, fault)
		}
		for _, row := range complete.Results {
			if got := c.newest[row.ID]; got.Seq != row.Seq {
				t.Errorf("%s: for %s at %s the consumer saw %+v", name, row.ID, row.Seq, got)
			}
		}
	}
}

// A database with the layout before sharding (P7), as an export from then: on a new node it works as before, and has
// the new layout from its first write on.
func TestRelocation_deprecated(t *testing.T) {
	text, err := os.ReadFile("testdata/deprecated.export.base64")
	if err != nil {
		t.Fatal(err)
	}
	file, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir())
	c := p.client()
	launch(t, dir, "import", "-url", p.http(), "db", "file").finish(0)
	launch(t, dir, "export", "-url", p.http(), "db", "again").finish(0) // still in the old layout
	launch(t, dir, "import", "-url", p.http(), "db2", "again").finish(0)
	merged, sharded := newConsumer(), newConsumer()
	merged.follow(c, "", "0", func(seen map[string]feedLine) bool { return len(seen) == 1 })
	all := func(seen map[string]feedLine) bool { _, ok := seen["c"]; return ok }
	var consumers sync.WaitGroup
	consumers.Go(func() { merged.follow(c, "", merged.newest["a"].Seq, all) })
	rev := strings.TrimSpace(c.object("GET", "/db/a", "")["_rev"].(string))
	c.ok("PUT", "/db/a", `{"_rev":"`+rev+`","v":2}`)
	var maps struct{ Maps []shardMap }
	c.into("/db/_changes/_meta", &maps)
	if len(maps.Maps) != 2 || !maps.Maps[0].Tombstone || len(maps.Maps[1].Shards) != 1 {
		t.Fatalf("%+v", maps)
	}
	consumers.Go(func() { sharded.followShards([]*client{c}, &maps.Maps[1], all) })
	c.ok("PUT", "/db/c", `{}`)
	consumers.Wait()
	if len(merged.faults)+len(sharded.faults) > 0 || len(merged.newest) != 3 || len(merged.shard) != 4 ||
		len(sharded.newest) != 2 {
		t.Errorf("%v %v; %v, %v", merged.faults, sharded.faults, merged.newest, sharded.newest)
	}
	if info := c.object("GET", "/db2", ""); fmt.Sprint(info["incarnation"]) != "2" ||
		fmt.Sprint(info["doc_count"]) != "2" {
		t.Errorf("%v", info)
	}
}

// Without a node, the command itself reads and writes a store that no process has open. If a node has it open, the
// command says what to do.
func TestRelocation_withoutNode(t *testing.T) {
	needEmbedded(t)
	home, other, dir := t.TempDir(), t.TempDir(), t.TempDir()
	p := start(t, home)
	fillForMove(p.client())
	want := seen(p.client(), "db")
	if said := launch(t, dir, "export", "-data", home+"/data", "db", "file").finish(1); !strings.Contains(said,
		"-url") || strings.Count(said, "\n") != 1 {
		t.Errorf("for a store that a node has open it prints %q", said)
	}
	p.stop(syscall.SIGTERM)
	if said := launch(t, dir, "export", "db", "file", "-url", p.http()).finish(1); !strings.Contains(said, "-data") {
		t.Errorf("for a node that is not running it prints %q", said)
	}
	if said := launch(t, dir, "export", "-data", other+"/none", "db", "file").finish(1); !strings.Contains(said,
		"none") {
		t.Errorf("for a missing directory it prints %q", said)
	}
	if _, err := os.Stat(other + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it created the directory: %v", err)
	}
	if said := launch(t, dir, "export", "-data", home+"/data", "nothere", "file").finish(1); !strings.Contains(said,
		"does not exist") {
		t.Errorf("for a missing database it prints %q", said)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("failed commands left %v, %v", files, err)
	}
	launch(t, dir, "export", "-data", home+"/data", "db", "file").finish(0)
	if said := launch(t, dir, "export", "-data", home+"/data", "db", "file").finish(1); !strings.Contains(said,
		"exists") {
		t.Errorf("for an existing file it prints %q", said)
	}
	// Through pipes.
	piped := launch(t, dir, "export", "-data", home+"/data", "db", "-")
	piped.finish(0)
	<-piped.exited
	piped.stdout.mu.Lock()
	text := piped.stdout.all.String()
	piped.stdout.mu.Unlock()
	launchWith(t, strings.NewReader(text), dir, "import", "-data", other+"/data", "db", "-").finish(0)
	launch(t, dir, "import", "-data", other+"/data", "db2", "file").finish(0)
	if said := launch(t, dir, "import", "-data", other+"/data", "db2", "file").finish(1); !strings.Contains(said,
		"already") {
		t.Errorf("for an existing database it prints %q", said)
	}
	q := start(t, other)
	same(t, "imported from a pipe", seen(q.client(), "db"), want)
	same(t, "imported from the file", seen(q.client(), "db2"), want)
	if said := launchWith(t, strings.NewReader(text), dir, "import", "-url", q.http(), "db3",
		"-").finish(0); !strings.Contains(said, "db3") {
		t.Errorf("import says %q", said)
	}
	same(t, "imported through a node", seen(q.client(), "db3"), want)
}

// hang is a proxy to a node that stops in the middle: after the given number of bytes in one direction nothing more is
// passed on, until the connection is cut.
func hang(t *testing.T, addr string, up, down int64) (through string, stuck <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	told := make(chan struct{})
	var once sync.Once
	pass := func(dst, src net.Conn, n int64) {
		if _, err := io.CopyN(dst, src, n); err == nil {
			once.Do(func() { close(told) })
			<-t.Context().Done()
		}
		dst.Close()
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			node, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				return
			}
			go pass(node, client, up)
			go pass(client, node, down)
		}
	}()
	return "http://" + l.Addr().String(), told
}

func waitFor(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(startTimeout):
		t.Fatalf("%s: nothing happened for %v", what, startTimeout)
	}
}

const unbounded = 1 << 60

// An export that is killed in the middle is continued when it is run again, including later changes.
func TestExport_killed(t *testing.T) {
	p := start(t, t.TempDir())
	c, dir := p.client(), t.TempDir()
	fillForMove(c)
	addr := strings.TrimPrefix(p.http(), "http://")
	partial := func() int64 {
		info, err := os.Stat(dir + "/file.partial")
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for i, bytes := range []int64{100_000, 200_000, 300_000} {
		through, stuck := hang(t, addr, unbounded, bytes)
		export := launch(t, dir, "export", "-url", through, "db", "file")
		waitFor(t, "the export", stuck)
		eventually(t, "the received data is in the file", startTimeout, func() bool { return partial() > bytes-80_000 })
		if i == 1 {
			export.kill()
		} else if err := export.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		} else if said := export.finish(1); !strings.Contains(said, "again") {
			t.Errorf("when interrupted it prints %q", said)
		}
		c.ok("PUT", fmt.Sprintf("/db/meanwhile%d", i), `{}`)
		c.ok("PUT", "/db/_local/checkpoint", fmt.Sprintf(`{"at":%d,"_rev":"0-%d"}`, i, i+1))
		if _, err := os.Stat(dir + "/file"); err == nil {
			t.Error("the file exists before it is complete")
		}
	}
	rev := c.object("GET", "/db/meanwhile1", "")["_rev"].(string)
	c.ok("POST", "/db/_purge", `{"meanwhile1":["`+rev+`"]}`)

	if said := launch(t, dir, "export", "-url", p.http(), "other", "file").finish(1); !strings.Contains(said,
		"of the database db") {
		t.Errorf("for a file with an export of another database it prints %q", said)
	}
	if said := launch(t, dir, "export", "-url", p.http(), "db", "file").finish(0); !strings.Contains(said, "continuing") {
		t.Errorf("it prints %q", said)
	}
	launch(t, dir, "import", "-url", p.http(), "copy", "file").finish(0)
	same(t, "continued", seen(c, "copy"), seen(c, "db"))

	c.ok("DELETE", "/db", "")
	c.ok("PUT", "/db", "")
	if err := os.Rename(dir+"/file", dir+"/file.partial"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dir+"/file.partial", 100_000); err != nil {
		t.Fatal(err)
	}
	if said := launch(t, dir, "export", "-url", p.http(), "db", "file").finish(1); !strings.Contains(said,
		"not of this database") {
		t.Errorf("for another database of the same name it prints %q", said)
	}
}

// Of two concurrent exports to one file the second is refused at its start, without harming the first. As soon as the
// first is gone, even if it was killed, another export can continue the file.
func TestExport_twice(t *testing.T) {
	p := start(t, t.TempDir())
	c, dir := p.client(), t.TempDir()
	fillForMove(c)
	through, stuck := hang(t, strings.TrimPrefix(p.http(), "http://"), unbounded, 200_000)
	first := launch(t, dir, "export", "-url", through, "db", "file")
	waitFor(t, "the export", stuck)
	if err := os.Symlink("file.partial", dir+"/other.partial"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "other"} {
		if said := launch(t, dir, "export", "-url", p.http(), "db", name).finish(1); !strings.Contains(said,
			"another export is writing "+name+".partial") || strings.Count(said, "\n") != 1 {
			t.Errorf("during another export the second to %s prints %q", name, said)
		}
	}
	eventually(t, "the received data is in the file", startTimeout, func() bool {
		info, err := os.Stat(dir + "/file.partial")
		return err == nil && info.Size() > 100_000
	})
	first.kill()
	if said := launch(t, dir, "export", "-url", p.http(), "db", "file").finish(0); !strings.Contains(said, "continuing") {
		t.Errorf("after the first was killed the next prints %q", said)
	}
	launch(t, dir, "import", "-url", p.http(), "copy", "file").finish(0)
	same(t, "exported", seen(c, "copy"), seen(c, "db"))

	// All at once and without delays: one of them writes the file, and the others say why they did not.
	var all sync.WaitGroup
	var written atomic.Int64
	for range 4 {
		export := launch(t, dir, "export", "-url", p.http(), "db", "raced")
		all.Go(func() {
			switch code := export.wait(startTimeout); {
			case code == 0:
				written.Add(1)
			case code != 1 ||
				!strings.Contains(export.stderr.whole(), "another export") &&
					!strings.Contains(export.stderr.whole(), "exists already"):
				t.Errorf("it exits with %d and prints %q", code, export.stderr)
			}
		})
	}
	all.Wait()
	if files, err := filepath.Glob(dir + "/raced*"); written.Load() != 1 || len(files) != 1 || err != nil {
		t.Errorf("%d exports wrote the file, found %v, %v", written.Load(), files, err)
	}
	launch(t, dir, "import", "-url", p.http(), "copy2", "raced").finish(0)
}

// An import that is killed in the middle, on either side, leaves nothing visible and can be run again.
func TestImport_killed(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	p := start(t, home)
	c := p.client()
	c.ok("PUT", "/db", "")
	for i := range 30 { // several transactions
		c.do("PUT", fmt.Sprintf("/db/doc%d/data", i), strings.Repeat(fmt.Sprint(i), 400_000),
			"Content-Type", "application/x-test")
	}
	launch(t, dir, "export", "-url", p.http(), "db", "file").finish(0)
	want := seen(c, "db")

	through, stuck := hang(t, strings.TrimPrefix(p.http(), "http://"), 3_000_000, unbounded)
	upload := launch(t, dir, "import", "-url", through, "copy", "file")
	waitFor(t, "the import", stuck)
	if status := c.status("GET", "/copy", ""); status != 404 {
		t.Errorf("during the import the database answers %d", status)
	}
	upload.kill()
	if status := c.status("GET", "/copy", ""); status != 404 {
		t.Errorf("after the import was killed the database answers %d", status)
	}

	// The node dies from time to time during the import.
	whole := 0
	for i, after := range []int{60, 150, 300, 700} {
		name := fmt.Sprintf("copy%d", i)
		importing := launch(t, dir, "import", "-url", p.http(), name, "file")
		dying := p
		time.AfterFunc(time.Duration(after)*time.Millisecond, func() { dying.kill() })
		<-importing.exited
		p.kill()
		p = start(t, home)
		c = p.client()
		switch status := c.status("GET", "/"+name, ""); status {
		case 200:
			same(t, name, seen(c, name), want)
			whole++
		case 404:
		default:
			t.Errorf("%s answers %d", name, status)
		}
	}
	t.Logf("%d of 4 imports were complete", whole)
	launch(t, dir, "import", "-url", p.http(), "copy", "file").finish(0)
	same(t, "run again", seen(c, "copy"), want)
}

// Damaged, truncated and invalid files are refused before anything is written, and so are existing databases and users
// who are not admins.
func TestImport_refused(t *testing.T) {
	dir := t.TempDir()
	p := start(t, t.TempDir(), "-admin", "anna:secret")
	c := p.as("anna:secret")
	fillForMove(c)
	url := strings.Replace(p.http(), "http://", "http://anna:secret@", 1)
	launch(t, dir, "export", "-url", url, "db", "file").finish(0)
	file, err := os.ReadFile(dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	before := c.do("GET", "/_all_dbs", "").body
	post := func(what, db, body string, status int, name string) {
		t.Helper()
		r := c.do("POST", "/"+db+"/_import", body, "Content-Type", "application/octet-stream")
		if r.status != status || !strings.Contains(string(r.body), `"error":"`+name+`"`) {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	}
	damaged := func(at int) string { return string(file[:at]) + string(rune(file[at]^1)&0x7f) + string(file[at+1:]) }
	post("nothing", "new", "", 400, "bad_export")
	post("JSON", "new", `{"docs":[]}`, 400, "bad_export")
	post("cut", "new", string(file[:len(file)-1]), 400, "bad_export")
	post("cut in the middle", "new", string(file[:len(file)/2]), 400, "bad_export")
	post("twice", "new", string(file)+string(file), 400, "bad_export")
	for _, at := range []int{0, 14, 15, 16, 40, len(file) / 3, len(file) / 2, len(file) - 20, len(file) - 1} {
		post(fmt.Sprintf("damaged at %d", at), "new", damaged(at), 400, "bad_export")
	}
	post("an existing database", "db", string(file), 412, "file_exists")
	post("a bad name", "BAD", string(file), 400, "illegal_database_name")
	if r := c.do("GET", "/db/_export?from=x", ""); r.status != 400 {
		t.Errorf("a malformed position: %d %s", r.status, r.body)
	}
	if r := c.do("GET", "/none/_export", ""); r.status != 404 {
		t.Errorf("no such database: %d %s", r.status, r.body)
	}
	nobody := p.client()
	for _, asked := range [][2]string{{"GET", "/db/_export"}, {"POST", "/new/_import"}, {"POST", "/db/_import"}} {
		if r := nobody.do(asked[0], asked[1], string(file)); r.status != 401 {
			t.Errorf("a user who is not an admin may %s %s: %d %.100s", asked[0], asked[1], r.status, r.body)
		}
	}
	for name, text := range map[string]string{"foreign": "hello", "cut": string(file[:len(file)-9]), "empty": ""} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := launch(t, dir, "import", "-url", url, "new", name).finish(1); !strings.Contains(said,
			"not a complete export") || strings.Contains(said, "secret") {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := launch(t, dir, "import", "-url", url, "db", "file").finish(1); !strings.Contains(said, "already") {
		t.Errorf("for an existing database it prints %q", said)
	}
	if said := launch(t, dir, "import", "-url", strings.Replace(url, "secret", "wrong", 1), "new",
		"file").finish(1); !strings.Contains(said, "401") || strings.Contains(said, "wrong") {
		t.Errorf("with a wrong password it prints %q", said)
	}
	if after := c.do("GET", "/_all_dbs", "").body; string(after) != string(before) {
		t.Errorf("the databases were %s, and are now %s", before, after)
	}
}
