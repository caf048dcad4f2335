package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/fixtures"
)

// Tools and clients for CouchDB go through the tours of their documentation.
func TestTools(t *testing.T) {
	node := start(t, t.TempDir(), "-admin", "anna:secret")
	c := node.as("anna:secret")
	for _, db := range []string{"_users", "_replicator", "_global_changes"} {
		c.ok("PUT", "/"+db, "")
	}
	url := "http://anna:secret@" + node.ready["http"]
	t.Run("kivik", func(t *testing.T) { toolKivik(t, url) })
	t.Run("nano", func(t *testing.T) { toolNano(t, node.http()) })
	modules, err := fixtures.Tools()
	if err != nil {
		skip(t, "npm packages: %v", err)
	}
	need(t, "node", "install Node.js 20 or later")
	t.Run("cloudant", func(t *testing.T) { toolCloudant(t, modules, node.http()) })
	t.Run("couchbackup", func(t *testing.T) { toolBackup(t, modules, url, c) })
	t.Run("couchimport", func(t *testing.T) { toolImport(t, modules, url, c) })
	t.Run("express-pouchdb", func(t *testing.T) { toolExpress(t, modules, url, c) })
	t.Run("add-cors-to-couchdb", func(t *testing.T) { toolCORS(t, modules, node, c) })
}

// add-cors-to-couchdb lets pages of every origin use the node, with credentials. The node says once what that means.
func toolCORS(t *testing.T, modules string, node *process, c *client) {
	for range 2 {
		if said := runTool(t, modules, "", filepath.Join(modules, ".bin", "add-cors-to-couchdb"), node.http(), "-u",
			"anna", "-p", "secret"); said != "success\n" {
			t.Errorf("it said %q", said)
		}
	}
	everyPageMay(t, c)
	if n := strings.Count(node.stderr.whole(), everyPage); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// everyPage begins the warning about credentials for every origin.
const everyPage = "http.cors allows every origin with credentials: any web page"

// everyPageMay checks that a page of any origin may use the node with its user's credentials, as with CouchDB.
func everyPageMay(t *testing.T, c *client) {
	t.Helper()
	const page = "https://any.example"
	for _, r := range []reply{c.do("GET", "/", "", "Origin", page),
		c.do("OPTIONS", "/db", "", "Origin", page, "Access-Control-Request-Method", "PUT")} {
		if got := r.header.Get("Access-Control-Allow-Origin"); got != page ||
			r.header.Get("Access-Control-Allow-Credentials") != "true" || r.status >= 300 {
			t.Errorf("%d, allowed %q, %v", r.status, got, r.header)
		}
	}
}

// runTool runs a program, and returns what it prints.
func runTool(t *testing.T, modules, stdin, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%.2000s\n%.4000s", filepath.Base(program), args, err, out, &stderr)
	}
	return string(out)
}

// kivik is a client for Go. Its program is a module of its own, so that it is no dependency of Divan.
func toolKivik(t *testing.T, url string) {
	program := filepath.Join(t.TempDir(), "kiviktour")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("testdata", "kivik")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		skip(t, "go module kivik: %v: %.500s", err, out)
	}
	want := "server documents attachments views queries changes replication rest"
	if got := strings.Fields(runTool(t, "", "", program, url+"/", "kivik-")); strings.Join(got, " ") != want {
		t.Errorf("it went through %q", got)
	}
}

// toolNano expects what the same script prints beside CouchDB 3.5.
func toolNano(t *testing.T, url string) {
	var got map[string]any
	runNode(t, "nanotour.js", map[string]string{"url": url, "name": "anna", "password": "secret"}, &got)
	const want = `{"again":412,"asStream":"[1]","atomic":"25","attachments":["more.bin","note.txt","rabbit.png"],` +
		`"bulk":[true,true,true],"byCookie":"alice","changed":1,"changes":2,"compact":true,"conflict":409,"copied":6,` +
		`"destroy":true,"detached":true,"disabled":true,"fetch":[1,"not_found"],"fetchRevs":["1-","1-"],` +
		`"find":[{"_id":"b","n":2},{"_id":"c","n":3},{"_id":"a","n":25}],"get":"alice","gone":404,"head":true,` +
		`"info":"Welcome","list":["a","b","c","rabbit"],"partition":2,"partitioned":["canidae:fox","canidae:wolf"],` +
		`"partitionedFind":["canidae:fox"],"partitionedView":2,"queries":400,"rabbit":["available","available"],` +
		`"reduced":3,"relax":"ok","replicated":true,"request":0,"search":503,"second":6,"session":"anna",` +
		`"show":{"id":"a","q":"x"},"spooled":5,"updates":"string","uuids":3,"view":["a","c"],"withList":[1,2,3],` +
		`"wrong":401}`
	if text := encode(t, got); text != want {
		t.Errorf("it saw\n%s, want\n%s", text, want)
	}
}

func toolCloudant(t *testing.T, modules, url string) {
	argument, _ := json.Marshal(map[string]string{"url": url, "name": "anna", "password": "secret"})
	got := runTool(t, modules, "", "node", filepath.Join("testdata", "cloudant.js"), string(argument))
	const want = `{"version":"3.5.0","all":[10,11,12],"byKeys":["small-01","not_found"],"queries":[1,2],` +
		`"bulk":["ok","not_found"],"view":[["even",25,600],["odd",25,625]],"info":0,"indexes":2,` +
		`"find":[49,47,45,43,41],"examined":0,"paged":[52,52],"changes":5,"followed":52,"security":["reader"],` +
		`"missing":["example"],"count":[51,2],"copied":51,"tasks":true,"up":"ok","partition":1,"inPartition":1}`
	if got != want {
		t.Errorf("it saw\n%s, want\n%s", got, want)
	}
}

// couchbackup copies a database to a file, with conflicts and attachments, and back.
func toolBackup(t *testing.T, modules, url string, c *client) {
	bin := filepath.Join(modules, ".bin")
	c.ok("PUT", "/saved", "")
	for i := range 3 {
		docs := make([]string, 400)
		for j := range docs {
			docs[j] = fmt.Sprintf(`{"_id":"d%04d","n":%d}`, 400*i+j, j)
		}
		c.ok("POST", "/saved/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	}
	c.ok("PUT", "/saved/d0001?new_edits=false", `{"_rev":"1-ffffffffffffffffffffffffffffffff","theirs":true}`)
	c.ok("PUT", "/saved/with", `{"_attachments":{"a.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	c.ok("DELETE", "/saved/d0002?rev="+fmt.Sprint(c.object("GET", "/saved/d0002", "")["_rev"]), "")
	log := filepath.Join(t.TempDir(), "log")
	text := runTool(t, modules, "", filepath.Join(bin, "couchbackup"), "--url", url, "--db", "saved", "--log", log,
		"--attachments")
	c.ok("PUT", "/restored", "")
	runTool(t, modules, text, filepath.Join(bin, "couchrestore"), "--url", url, "--db", "restored", "--attachments")
	for _, path := range []string{"/_all_docs?include_docs=true&conflicts=true", "/d0001?open_revs=all", "/with/a.txt",
		"/d0002?open_revs=all"} {
		saved, restored := c.do("GET", "/saved"+path, ""), c.do("GET", "/restored"+path, "")
		if saved.status != 200 || !bytes.Equal(saved.body, restored.body) {
			t.Errorf("%s: saved %d %.300s, restored %d %.300s", path, saved.status, saved.body, restored.status,
				restored.body)
		}
	}
	// A shallow copy has the winners alone.
	shallow := runTool(t, modules, "", filepath.Join(bin, "couchbackup"), "--url", url, "--db", "saved",
		"--mode", "shallow")
	if n := strings.Count(shallow, `"_id"`); n != 1200 {
		t.Errorf("a shallow copy has %d documents", n)
	}
}

// couchimport reads and writes texts with separators, and lines of JSON.
func toolImport(t *testing.T, modules, url string, c *client) {
	bin := filepath.Join(modules, ".bin")
	c.ok("PUT", "/imported", "")
	runTool(t, modules, "_id,name,latitude\noslo,Oslo,59.9\nrio,\"Rio, de Janeiro\",-22.9\n",
		filepath.Join(bin, "couchimport"), "--url", url, "--db", "imported", "--delimiter", ",")
	if doc := c.object("GET", "/imported/rio", ""); doc["name"] != "Rio, de Janeiro" || doc["latitude"] != "-22.9" {
		t.Errorf("imported %v", doc)
	}
	runTool(t, modules, `{"_id":"paris","name":"Paris"}`+"\n"+`{"_id":"oslo","name":"OSLO"}`+"\n",
		filepath.Join(bin, "couchimport"), "--url", url, "--db", "imported", "--type", "jsonl", "--overwrite", "true")
	if doc := c.object("GET", "/imported/oslo", ""); doc["name"] != "OSLO" {
		t.Errorf("overwritten %v", doc)
	}
	lines := strings.Split(strings.TrimSpace(runTool(t, modules, "", filepath.Join(bin, "couchexport"), "--url", url,
		"--db", "imported", "--type", "jsonl")), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], `"Paris"`) {
		t.Errorf("exported %q", lines)
	}
}

// PouchDB's server replicates from and to Divan, and Divan from it.
func toolExpress(t *testing.T, modules, url string, c *client) {
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "expresspouchdb.js"), t.TempDir())
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = cmd.Wait()
	}()
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	there := newClient(t, "http://127.0.0.1:"+strings.TrimSpace(port), "")
	c.ok("PUT", "/express", "")
	c.ok("PUT", "/express/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	c.ok("PUT", "/express/with", `{"_attachments":{"a.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}`)
	c.ok("PUT", "/express/a", `{"n":1}`)
	c.ok("PUT", "/express/a?new_edits=false", `{"_rev":"1-00000000000000000000000000000000","n":2}`)
	there.ok("POST", "/_replicate", `{"source":"`+url+`/express","target":"pulled","create_target":true}`)
	if got := string(there.do("GET", "/pulled/with/a.txt", "").body); got != "hello" {
		t.Errorf("PouchDB's attachment is %q", got)
	}
	there.ok("PUT", "/pulled/b", `{"n":3}`)
	there.ok("PUT", "/pulled/more/b.txt", "here")
	there.ok("POST", "/_replicate", `{"source":"pulled","target":"`+url+`/express"}`)
	c.ok("POST", "/_replicate", `{"source":"`+there.base+`/pulled","target":"back","create_target":true}`)
	for _, db := range []string{"express", "back"} {
		for path, want := range map[string]string{"with/a.txt": "hello", "more/b.txt": "here"} {
			if got := string(c.do("GET", "/"+db+"/"+path, "").body); got != want {
				t.Errorf("%s/%s is %q", db, path, got)
			}
		}
		doc := c.object("GET", "/"+db+"/a?conflicts=true", "")
		if n := c.object("GET", "/"+db+"/b", "")["n"]; fmt.Sprint(n) != "3" || len(doc["_conflicts"].([]any)) != 1 {
			t.Errorf("%s: b has %v, a is %v", db, n, doc)
		}
	}
}
