package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// divan import-couchdb moves a whole server: documents with their attachments and conflicts, design documents, users,
// security objects and limits, also of databases and documents with odd names. Interrupted, it goes on where it was;
// repeated, it moves what has changed since.
func TestImportCouchDB(t *testing.T) {
	old := start(t, t.TempDir(), "-admin", "root:sesame")
	node := start(t, t.TempDir(), "-admin", "boss:secret")
	from, to := old.as("root:sesame"), node.as("boss:secret")
	const odd = "/we%2Fird%2B$("
	from.ok("PUT", "/db", "")
	from.fill("db", 0, 10_000)
	from.ok("PUT", "/db/_revs_limit", "77")
	from.ok("PUT", "/db/_security", `{"members":{"names":["ann"],"roles":[]},"admins":{"names":[],"roles":["chief"]},`+
		`"couchdb_auth_only":true,"cloudant":{"nobody":["_reader"]},"custom":{"x":[1.0]}}`)
	from.ok("PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	from.ok("PUT", "/_users", "")
	from.ok("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"hers","roles":["r"],"type":"user"}`)
	from.ok("PUT", "/parts?partitioned=true", "")
	from.ok("PUT", "/parts/a:b", "{}")
	from.ok("PUT", "/parts/_security", "{}") // open to everyone, unlike what the node gives a new database
	from.ok("PUT", odd, "")
	ids := []string{"plus%2Bplus", "slash%2Fslash", "sp%20ace%2B%2F", "per%25cent", "%C3%A9t%C3%A9", "q%3Fq&r=s%23t",
		"_design/d%2Be"}
	for _, id := range ids {
		rev := from.object("PUT", odd+"/"+id, `{"here":1}`)["rev"].(string)
		r := from.do("PUT", odd+"/"+id+"/at%2Btached%2F1?rev="+rev, "some bytes", "Content-Type", "image/png")
		if r.status != 201 {
			t.Fatalf("attach to %s: %d %s", id, r.status, r.body)
		}
	}
	for _, leaf := range []string{"a", "b"} {
		from.ok("PUT", odd+"/conflict?new_edits=false", fmt.Sprintf(
			`{"_rev":"2-%s","_revisions":{"start":2,"ids":[%q,"x"]},"leaf":%q}`, leaf, leaf, leaf))
	}
	move := func() *process {
		return launch(t, t.TempDir(), "import-couchdb", "-url", strings.Replace(node.http(), "://", "://boss:secret@", 1),
			strings.Replace(old.http(), "://", "://root:sesame@", 1))
	}
	cut := move()
	eventually(t, "the move begins", 20*time.Second, func() bool {
		return to.status("GET", "/db", "") == 200 && to.count("db") > 0
	})
	if err := cut.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cut.wait(startTimeout)
	again := move()
	if code := again.wait(2 * time.Minute); code != 0 {
		t.Fatalf("it exits with %d:\n%s", code, again.stderr)
	}
	said := again.stderr.whole()
	for _, says := range []string{"db: 10001 documents (", "of 4 databases)"} {
		if !strings.Contains(said, says) {
			t.Errorf("the command does not say %q:\n%s", says, said)
		}
	}
	if strings.Contains(said, "sesame") || strings.Contains(said, "secret") {
		t.Errorf("the command shows a password:\n%s", said)
	}
	if n := to.count("db"); n != 10_001 {
		t.Errorf("%d documents of 10,001", n)
	}
	for _, id := range ids {
		if r := to.do("GET", odd+"/"+id+"/at%2Btached%2F1", ""); r.status != 200 || string(r.body) != "some bytes" {
			t.Errorf("the attachment of %s: %d %s", id, r.status, r.body)
		}
	}
	for _, path := range []string{"/db/_security", "/parts/_security", "/db/_revs_limit", "/db/_design/d",
		odd + "/conflict?conflicts=true", "/db/doc-000123", "/parts/a:b", "/parts/_partition/a"} {
		if a, b := from.do("GET", path, ""), to.do("GET", path, ""); b.status != 200 || a.status != 200 ||
			!strings.Contains(path, "_partition") && string(a.body) != string(b.body) {
			t.Errorf("%s: %d %s, want %d %s", path, b.status, b.body, a.status, a.body)
		}
	}
	if s := node.as("ann:hers").status("GET", "/db", ""); s != 200 {
		t.Errorf("the user's password does not hold: %d", s)
	}
	if s := node.client().status("GET", "/db", ""); s != 401 {
		t.Errorf("the database is open: %d", s)
	}
	if s := node.client().status("GET", "/parts/a:b", ""); s != 200 {
		t.Errorf("the open database is closed: %d", s)
	}
	from.ok("PUT", odd+"/later", "{}")
	move().finish(0)
	if s := to.status("GET", odd+"/later", ""); s != 200 {
		t.Errorf("a later document: %d", s)
	}
	// Between databases of the same node, names are paths too.
	to.object("POST", "/_replicate", `{"source":"we/ird+$(","target":"co/py+","create_target":true}`)
	if a, b := to.count(odd[1:]), to.count("co%2Fpy%2B"); a != b || a != len(ids)+2 {
		t.Errorf("%d of %d documents are copied", b, a)
	}
}

// Documents are moved whatever the validation functions of their databases would say to an admin. Those that the node
// refuses make divan import-couchdb fail, which names them, also when it is repeated. They arrive once the node takes
// them, although the checkpoint is behind them. A users' database under another name is moved too.
func TestImportCouchDB_refused(t *testing.T) {
	old := start(t, t.TempDir())
	dir := t.TempDir()
	node := start(t, dir, "-config", writeYAML(t, "limits: {document: 2000}\n"))
	from, to := old.client(), node.client()
	from.ok("PUT", "/db", "")
	from.fill("db", 0, 1200)
	from.ok("PUT", "/db/_design/strict",
		`{"validate_doc_update":"function (doc) { if (doc.n > 10) { throw({forbidden: 'too much'}) } }"}`)
	from.ok("PUT", "/db/big", `{"n":1,"text":"`+strings.Repeat("x", 3000)+`"}`)
	from.ok("PUT", "/x%2F_users", "")
	from.ok("PUT", "/x%2F_users/org.couchdb.user:ann", `{"name":"ann","password":"hers","roles":[],"type":"user"}`)
	to.ok("PUT", "/db", "")
	to.ok("PUT", "/db/_design/never", `{"validate_doc_update":"function () { throw({forbidden: 'never'}) }"}`)
	move := func() *process { return launch(t, t.TempDir(), "import-couchdb", "-url", node.http(), old.http()) }
	for _, which := range []string{"the first", "the second"} {
		p := move()
		if code := p.wait(time.Minute); code != 1 {
			t.Errorf("%s run exits with %d", which, code)
		}
		said := p.stderr.whole()
		for _, says := range []string{`db: document "big" did not arrive`, "db: 1201 documents (",
			"db: 1 document did not arrive"} {
			if !strings.Contains(said, says) {
				t.Errorf("%s run does not say %q:\n%s", which, says, said)
			}
		}
	}
	if n := to.count("x%2F_users"); n != from.count("x%2F_users") {
		t.Errorf("%d documents of the other users' database", n)
	}
	node.stop(syscall.SIGTERM)
	node = start(t, dir)
	to = node.client()
	move().finish(0)
	if n := to.count("db"); n != 1203 {
		t.Errorf("%d documents", n)
	}
	// Others, and other targets, do not get around validation.
	r := to.do("POST", "/_replicate", fmt.Sprintf(`{"source":"db","target":%q,"move":true}`, old.http()+"/db"))
	if r.status != 403 {
		t.Errorf("move to another server: %d %s", r.status, r.body)
	}
	to.ok("PUT", "/_replicator", "")
	to.ok("PUT", "/strict", "")
	to.ok("PUT", "/strict/_design/never", `{"validate_doc_update":"function () { throw({forbidden: 'never'}) }"}`)
	to.ok("PUT", "/_replicator/r", `{"source":"db","target":"strict","move":true}`)
	eventually(t, "the replication ends", 20*time.Second, func() bool {
		return to.object("GET", "/_replicator/r", "")["_replication_state"] == "completed"
	})
	if n := to.count("strict"); n != 2 { // design documents
		t.Errorf("a replication by a document wrote %d documents", n)
	}
}

// holding serves what a node serves, but gives replications only the first documents of each database until release is
// called, which may be called again.
func holding(t *testing.T, node *process) (address string, release func()) {
	to, err := url.Parse(node.http())
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	var firsts sync.Map // by path: a channel with a token, until one request has been answered as a whole
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise an answer is cut off that begins before the proxy has seen the end of the request.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(r.URL.Path, "/_bulk_get") {
			made := make(chan bool, 1)
			made <- true
			kept, _ := firsts.LoadOrStore(r.URL.Path, made)
			first := kept.(chan bool)
			select {
			case <-first:
				answered := false
				defer func() {
					if !answered {
						first <- true
					}
				}()
				proxy.ServeHTTP(w, r) // panics if the answer is cut off
				answered = true
				return
			case <-released:
			case <-r.Context().Done():
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { release(); s.Close() })
	return s.URL, release
}

// An interrupted divan import-couchdb stops the node's replications, counts only what was moved, and says that it can
// be repeated. One that could not begin only says why.
func TestImportCouchDB_interrupted(t *testing.T) {
	old, node := start(t, t.TempDir()), start(t, t.TempDir())
	old.client().ok("PUT", "/db", "")
	old.client().fill("db", 0, 10_000)
	old.client().ok("PUT", "/later", "")
	to := node.client()
	source, release := holding(t, old)
	p := launch(t, t.TempDir(), "import-couchdb", "-parallel", "1", "-url", node.http(), source)
	eventually(t, "the move begins", 20*time.Second, func() bool {
		return to.status("GET", "/db", "") == 200 && to.count("db") > 0
	})
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code := p.wait(startTimeout)
	release()
	if code != 1 {
		t.Errorf("it exits with %d", code)
	}
	said := p.stderr.whole()
	for _, says := range []string{"db: interrupted; the node has ", "not begun: later\n",
		"divan: interrupted; the node does not go on by itself; the same command continues where it was\n"} {
		if !strings.Contains(said, says) {
			t.Errorf("it does not say %q:\n%s", says, said)
		}
	}
	const sum = "0 databases, 0 documents moved; failed: 0 databases; not finished: 2 databases; missing: 0 documents\n"
	if s := p.stdout.String(); s != sum {
		t.Errorf("it prints %q, want %q", s, sum)
	}
	if n := fmt.Sprint(to.object("GET", "/_scheduler/jobs", "")["total_rows"]); n != "0" {
		t.Errorf("%s replications go on", n)
	}
	wrong := launch(t, t.TempDir(), "import-couchdb", "-url", node.http(), "http://"+freeAddr(t))
	if code := wrong.wait(startTimeout); code != 1 || wrong.stdout.String() != "" {
		t.Errorf("with a wrong address it exits with %d and prints %q", code, wrong.stdout)
	}
}

// A node that restarts in the middle of a move does not end it.
func TestImportCouchDB_restart(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := start(t, t.TempDir())
			dir, addr := t.TempDir(), freeAddr(t)
			node := start(t, dir, "-http", addr)
			for _, db := range []string{"a", "b", "c"} {
				old.client().ok("PUT", "/"+db, "")
				old.client().fill(db, 0, 5000)
			}
			source, release := holding(t, old)
			p := launch(t, t.TempDir(), "import-couchdb", "-parallel", "2", "-url", node.http(), source)
			to := node.client()
			eventually(t, "the move begins", 20*time.Second, func() bool {
				return to.status("GET", "/a", "") == 200 && to.count("a") > 0
			})
			if signal == syscall.SIGKILL {
				node.kill()
			} else {
				node.stop(signal)
			}
			release()
			eventually(t, "the command notices that the node is away", 20*time.Second, func() bool {
				said := p.stderr.whole() // on a slow machine the first request may have been served for long
				return strings.Contains(said, "the node does not answer; waiting for it, up to 30s") ||
					strings.Contains(said, "the node broke off a request")
			})
			start(t, dir, "-http", addr)
			if code := p.wait(2 * time.Minute); code != 0 {
				t.Errorf("it exits with %d:\n%s", code, p.stderr)
			}
			const sum = "3 databases, 15000 documents moved; failed: 0 databases; not finished: 0 databases; " +
				"missing: 0 documents\n"
			if s := p.stdout.String(); s != sum {
				t.Errorf("it prints %q, want %q", s, sum)
			}
			if said := p.stderr.whole(); !strings.Contains(said, "the node answers again") {
				t.Errorf("it says:\n%s", said)
			}
		})
	}
}
