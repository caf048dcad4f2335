package e2e_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// flaky passes requests on to a server, of which one in six fails: 500, a reset, or half of a body.
func flaky(t *testing.T, target string) *httptest.Server {
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1,
		ErrorLog: quiet}
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	fault := func() int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(18)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch fault() {
		case 0:
			http.Error(w, `{"error":"unknown_error","reason":"now and then"}`, http.StatusInternalServerError)
		case 1:
			panic(http.ErrAbortHandler) // a reset
		case 2:
			pass.ServeHTTP(&half{ResponseWriter: w}, r)
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// half sends half of the first part of a body, and then ends the connection.
type half struct{ http.ResponseWriter }

func (h *half) Write(p []byte) (int, error) {
	_, _ = h.ResponseWriter.Write(p[:len(p)/2])
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// Unwrap is for http.ResponseController.
func (h *half) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Servers at both ends that answer 500 now and then, reset connections and send half of a body: nothing is lost.
func TestReplicate_flaky(t *testing.T) {
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	from, to := a.client(), b.client()
	from.ok("PUT", "/db", "")
	from.fill("db", 0, 2000)
	text := strings.Repeat("0123456789", 20_000)
	for i := range 20 {
		rev := from.object("PUT", fmt.Sprint("/db/with", i), `{}`)["rev"].(string)
		r := from.do("PUT", fmt.Sprintf("/db/with%d/big?rev=%s", i, rev), text, "Content-Type", "application/octet-stream")
		if r.status != 201 {
			t.Fatalf("attachment: %d", r.status)
		}
	}
	to.ok("PUT", "/db", "")
	to.ok("PUT", "/_replicator", "")
	const options = `"continuous":true,"retries_per_request":30,"connection_timeout":5000,"checkpoint_interval":1000`
	to.ok("PUT", "/_replicator/r", fmt.Sprintf(`{"source":%q,"target":%q,%s}`, flaky(t, a.http()).URL+"/db",
		flaky(t, b.http()).URL+"/db", options))
	eventually(t, "all documents arrive", 120*time.Second, func() bool { return to.count("db") == 2020 })
	for i := range 20 {
		if got := to.do("GET", fmt.Sprintf("/db/with%d/big", i), ""); string(got.body) != text {
			t.Errorf("attachment %d differs", i)
		}
	}
	from.fill("db", 2000, 2500)
	eventually(t, "later ones too", 120*time.Second, func() bool { return to.count("db") == 2520 })
}

// Endpoints that are none are refused as CouchDB refuses them; an object may have the name of a database as its URL.
func TestReplicate_endpoints(t *testing.T) {
	c := start(t, t.TempDir()).client()
	c.ok("PUT", "/from", "")
	c.ok("PUT", "/from/a", "{}")
	for _, source := range []string{`{}`, `{"url":5}`, `{"url":"http://"}`, `"http://"`, `{"url":"http://a:b:c/"}`} {
		for _, ends := range []string{`{"source":%s,"target":"from"}`, `{"source":"from","target":%s}`} {
			r := c.do("POST", "/_replicate", fmt.Sprintf(ends, source))
			const want = `{"error":"invalid_replication","reason":"endpoint has an invalid url"}`
			if r.status != 400 || strings.TrimSpace(string(r.body)) != want {
				t.Errorf(ends+": %d %s", source, r.status, r.body)
			}
		}
	}
	r := c.do("POST", "/_replicate", `{"source":"from","target":"to","create_target":true,"since_seq":"foo"}`)
	if r.status != 500 || !strings.Contains(string(r.body), "GET from/_changes: status 400") {
		t.Errorf("an invalid since_seq: %d %s", r.status, r.body)
	}
	c.ok("POST", "/_replicate", `{"source":{"url":"from"},"target":{"url":"to"},"create_target":true}`)
	if n := c.count("to"); n != 1 {
		t.Errorf("%d documents are copied", n)
	}
}

// A source that is not there leaves no empty target behind.
func TestReplicate_noSource(t *testing.T) {
	c := start(t, t.TempDir()).client()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer broken.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for source, says := range map[string]string{"none": "could not open", broken.URL + "/db": "status 500",
		closed.URL + "/db": "refused"} {
		r := c.do("POST", "/_replicate", fmt.Sprintf(
			`{"source":%q,"target":"to","create_target":true,"retries_per_request":1}`, source))
		if r.status != 500 || !strings.Contains(string(r.body), says) {
			t.Errorf("%s: %d %s", source, r.status, r.body)
		}
		if status := c.status("GET", "/to", ""); status != 404 {
			t.Errorf("%s: the target is there: %d", source, status)
		}
	}
}

// Both ends are behind servers that send every request elsewhere: documents and attachments arrive.
func TestReplicate_redirected(t *testing.T) {
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	from, to := a.client(), b.client()
	from.ok("PUT", "/db", "")
	from.fill("db", 0, 100)
	text := strings.Repeat("0123456789", 100_000)
	from.ok("PUT", "/db/with", fmt.Sprintf(`{"_attachments":{"big":{"data":%q}}}`,
		base64.StdEncoding.EncodeToString([]byte(text))))
	for _, status := range []int{301, 302, 307, 308} {
		elsewhere := func(real string) string {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, real+r.URL.RequestURI(), status)
			}))
			t.Cleanup(s.Close)
			return s.URL
		}
		db := fmt.Sprint("db", status)
		h := to.object("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":%q,"create_target":true}`,
			elsewhere(a.http())+"/db", elsewhere(b.http())+"/"+db))["history"].([]any)[0].(map[string]any)
		if n := to.count(db); n != 101 || fmt.Sprint(h["docs_written"]) != "101" {
			t.Errorf("%d: %d documents, %v", status, n, h)
		}
		if got := to.do("GET", "/"+db+"/with/big", ""); string(got.body) != text {
			t.Errorf("%d: the attachment differs", status)
		}
	}
}

// Sources whose _bulk_get fails, whatever way: all documents arrive one by one.
func TestReplicate_noBulkGet(t *testing.T) {
	node := start(t, t.TempDir())
	c := node.client()
	c.ok("PUT", "/db", "")
	c.fill("db", 0, 60)
	to, err := url.Parse(node.http())
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	for _, status := range []int{200, 401, 403, 500, 501, 502, 503} {
		var asked atomic.Int64
		source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/_bulk_get") {
				pass.ServeHTTP(w, r)
				return
			}
			asked.Add(1)
			w.WriteHeader(status)
			fmt.Fprint(w, "{}")
		}))
		defer source.Close()
		db := fmt.Sprint("db", status)
		h := c.object("POST", "/_replicate", fmt.Sprintf(`{"source":%q,"target":%q,"create_target":true,%s}`,
			source.URL+"/db", db, `"retries_per_request":1,"worker_processes":1,"worker_batch_size":10`),
		)["history"].([]any)[0].(map[string]any)
		if n := c.count(db); n != 60 || fmt.Sprint(h["bulk_get_docs"]) != "0" {
			t.Errorf("%d: %d documents, %v", status, n, h)
		}
		want := int64(1)
		if status >= 500 {
			want = 2 // it is tried twice, then no more
		}
		if asked.Load() != want {
			t.Errorf("%d: _bulk_get is asked %d times", status, asked.Load())
		}
	}
}

// Servers that never answer as they should: each failure is visible in /_scheduler/docs and in the log, without
// passwords, also while a request is still repeated. A database that is replicated to itself is complete at once.
func TestReplicate_hopeless(t *testing.T) {
	mostlyWaits(t)
	node := start(t, t.TempDir())
	c := node.client()
	c.ok("PUT", "/db", "")
	c.fill("db", 0, 10)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":"unknown_error","reason":"always"}`, http.StatusInternalServerError)
	}))
	defer broken.Close()
	other := httptest.NewTLSServer(http.NotFoundHandler())
	other.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	defer other.Close()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_changes"): // the feed ends, without a last_seq
		case strings.Contains(r.URL.Path, "_local"):
			http.Error(w, `{"error":"not_found","reason":"missing"}`, http.StatusNotFound)
		default:
			fmt.Fprint(w, `{"db_name":"db","update_seq":"5-x","instance_start_time":"1"}`)
		}
	}))
	defer endless.Close()
	const secret = "paZZword"
	mute := "http://" + silent.Addr().String()
	const soon = `"connection_timeout":1000,`
	with := func(server string) string { return strings.Replace(server, "://", "://someone:"+secret+"@", 1) + "/db" }
	c.ok("PUT", "/_replicator", "")
	docs := map[string]struct{ source, options, state, says string }{
		"silent":  {with(mute), soon + `"retries_per_request":1`, "crashing", "silent"},
		"still":   {with(mute), soon + `"retries_per_request":1000`, "running", "silent"},
		"fails":   {with(broken.URL), `"retries_per_request":1`, "crashing", "status 500"},
		"failing": {with(broken.URL), `"retries_per_request":1000`, "running", "status 500"},
		"wrong":   {with(other.URL), `"retries_per_request":1`, "crashing", "certificate"},
		"ends":    {with(endless.URL), `"retries_per_request":1,"continuous":true`, "crashing", "changes_reader_failed"},
		"ending":  {with(endless.URL), `"retries_per_request":1000,"continuous":true`, "running", "connection was closed"},
		"nobody":  {"http://someone:" + secret + "@127.0.0.1:1/db", `"retries_per_request":1`, "crashing", "refused"},
		"nothing": {with(node.http()) + "none", `"retries_per_request":1`, "crashing", "unauthorized"},
	}
	for id, d := range docs {
		c.ok("PUT", "/_replicator/"+id, fmt.Sprintf(
			`{"source":%q,"target":"to-%s","create_target":true,%s}`, d.source, id, d.options))
	}
	c.ok("PUT", "/_replicator/itself", `{"source":"db","target":"db"}`)
	for id, want := range docs {
		eventually(t, id, 60*time.Second, func() bool {
			got := c.scheduled()[id]
			return got.State == want.state && strings.Contains(string(got.Info), `"error":`) &&
				strings.Contains(string(got.Info), want.says)
		})
	}
	eventually(t, "the replication to itself is complete", 20*time.Second, func() bool {
		return c.scheduled()["itself"].State == "completed"
	})
	if n := c.count("db"); n != 10 {
		t.Errorf("%d documents after a replication to itself", n)
	}
	for _, path := range []string{"/_scheduler/docs", "/_scheduler/jobs", "/_active_tasks",
		"/_dashboard/api/replications"} {
		if body := string(c.do("GET", path, "").body); strings.Contains(body, secret) {
			t.Errorf("%s shows a password:\n%s", path, body)
		}
	}
	text := node.stderr.whole()
	if strings.Contains(text, secret) {
		t.Error("the log has a password")
	}
	for _, says := range []string{"silent", "status 500", "certificate", "refused",
		"a request of a replication failed and is repeated"} {
		if !strings.Contains(text, says) {
			t.Errorf("the log does not say %q", says)
		}
	}
}

// A file of certificates that the node cannot read is refused when it is set. Replications that fail because it is gone
// later have the name of an error.
func TestReplicate_unreadableFiles(t *testing.T) {
	dir := t.TempDir()
	node := start(t, dir)
	c := node.client()
	c.ok("PUT", "/db", "")
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ssl_trusted_certificates_file", "cert_file", "key_file"} {
		path := "/_node/_local/_config/replicator/" + key
		for _, value := range []string{dir, filepath.Join(dir, "none.pem")} {
			if r := c.do("PUT", path, fmt.Sprintf("%q", value)); r.status != 400 {
				t.Errorf("%s = %s: %d %s", key, value, r.status, r.body)
			}
		}
		c.ok("PUT", path, `""`)
		c.ok("PUT", path, fmt.Sprintf("%q", file))
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r := c.do("POST", "/_replicate", `{"source":"https://127.0.0.1:1/db","target":"db"}`)
	if r.status != 500 || !strings.Contains(string(r.body), `"error":"replication_failed"`) ||
		!strings.Contains(string(r.body), "ssl_trusted_certificates_file") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
