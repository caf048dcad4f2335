package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

const (
	requestLimit    = 2 << 20 // in these tests
	attachmentLimit = 3 << 20
)

// bodies has a request for each endpoint that may get a body, named as in api.Bodies, and its limit; 0 if the body is
// not read.
var bodies = map[string]struct {
	line  string
	limit int64
}{
	"POST server/_session":                {"POST /_session", 64 << 10},
	"POST server/_dbs_info":               {"POST /_dbs_info", requestLimit},
	"POST server/_backup":                 {"POST /_backup", 64 << 10},
	"POST server/_verify":                 {"POST /_verify", 64 << 10},
	"POST server/_cluster_setup":          {"POST /_cluster_setup", 64 << 10},
	"POST server/_replicate":              {"POST /_replicate", requestLimit},
	"POST server/_reload_query_servers":   {"POST /_reload_query_servers", 0},
	"PUT server/_node/*/_config/*/*":      {"PUT /_node/_local/_config/uuids/max_count", 128 << 10},
	"POST server/_node/*/_config/_reload": {"POST /_node/_local/_config/_reload", 0},
	"POST database/_all_docs":             {"POST /db/_all_docs", requestLimit},
	"POST database/_all_docs/queries":     {"POST /db/_all_docs/queries", requestLimit},
	"POST database/_design_docs":          {"POST /db/_design_docs", requestLimit},
	"POST database/_design_docs/queries":  {"POST /db/_design_docs/queries", requestLimit},
	"POST database/_local_docs":           {"POST /db/_local_docs", requestLimit},
	"POST database/_local_docs/queries":   {"POST /db/_local_docs/queries", requestLimit},
	"POST database/_bulk_docs":            {"POST /db/_bulk_docs", requestLimit},
	"POST database/_bulk_get":             {"POST /db/_bulk_get", requestLimit},
	"POST database/_find":                 {"POST /db/_find", 1 << 20},
	"POST database/_explain":              {"POST /db/_explain", 1 << 20},
	"POST database/_index":                {"POST /db/_index", 1 << 20},
	"POST database/_index/_bulk_delete":   {"POST /db/_index/_bulk_delete", 1 << 20},
	"POST database/_revs_diff":            {"POST /db/_revs_diff", requestLimit},
	"POST database/_missing_revs":         {"POST /db/_missing_revs", requestLimit},
	"POST database/_purge":                {"POST /db/_purge", requestLimit},
	"POST database/_ensure_full_commit":   {"POST /db/_ensure_full_commit", 0},
	"POST database/_view_cleanup":         {"POST /db/_view_cleanup", 0},
	"POST database/_sync_shards":          {"POST /db/_sync_shards", 0},
	"POST database/_nouveau_cleanup":      {"POST /db/_nouveau_cleanup", 0},
	"POST database/_compact":              {"POST /db/_compact", 0},
	"POST database/_compact/*":            {"POST /db/_compact/d", 0},
	"PUT database/_security":              {"PUT /db/_security", 1 << 20},
	"PUT database/_revs_limit":            {"PUT /db/_revs_limit", 64 << 10},
	"PUT database/_purged_infos_limit":    {"PUT /db/_purged_infos_limit", 64 << 10},
	"POST database/_changes":              {"POST /db/_changes", requestLimit},
	"POST database/_changes/*":            {"POST /db/_changes/0", requestLimit},
	"POST database/_changes/_reshard":     {"POST /db/_changes/_reshard", 64 << 10},
	"POST database/_import":               {"POST /new/_import", -1},
	"POST design/_list/...":               {"POST /db/_design/d/_list/l/v", requestLimit},
	"POST design/_view/*":                 {"POST /db/_design/d/_view/v", requestLimit},
	"POST design/_view/*/queries":         {"POST /db/_design/d/_view/v/queries", requestLimit},
	// endpoints that are not in a table
	"PUT database":            {"PUT /db", 0},
	"POST database":           {"POST /db", requestLimit},
	"PUT document":            {"PUT /db/doc", requestLimit},
	"PUT design document":     {"PUT /db/_design/x", requestLimit},
	"PUT local document":      {"PUT /_users/_local/x", requestLimit},
	"PUT user":                {"PUT /_users/org.couchdb.user:x", 1 << 20},
	"POST user":               {"POST /_users", 1 << 20},
	"PUT attachment":          {"PUT /db/doc/att", attachmentLimit},
	"PUT design's attachment": {"PUT /db/_design/d/att", attachmentLimit},
}

// A body whose declared length is larger than its endpoint allows is refused before it is sent, and is not asked for.
// The largest allowed body is asked for.
func TestBody_DeclaredLength(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Request, o.Limits.Attachment = requestLimit, attachmentLimit })
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/_users", "")
	s.must(t, "PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) {}"}},"lists":{"l":"function () {}"}}`)
	for _, name := range api.Bodies() {
		if _, ok := bodies[name]; !ok {
			t.Errorf("%s is not in the table", name)
		}
	}
	ask := func(line string, length int64, expect string) *http.Response {
		conn := s.dial(t)
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n%s\r\n", line, typeJSON, length, expect)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return res
	}
	const expects = "Expect: 100-continue\r\n"
	for name, b := range bodies {
		if b.limit > 0 {
			for _, length := range []int64{b.limit + 1, 40_000_000, 5_000_000_000} {
				for _, expect := range []string{"", expects} {
					res := ask(b.line, length, expect)
					text, err := io.ReadAll(res.Body)
					if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge ||
						!strings.Contains(string(text), `too_large","reason":"`) {
						t.Errorf("%s of %d bytes, %q: %s %s %v", name, length, expect, res.Status, text, err)
					}
				}
			}
		}
		// These handlers do not reach the body here.
		unread := []string{"POST server/_session", "POST server/_backup", "PUT design's attachment"}
		if b.limit != 0 && !slices.Contains(unread, name) {
			if res := ask(b.line, max(b.limit, 1), expects); res.StatusCode != http.StatusContinue {
				t.Errorf("%s of %d bytes: %s", name, b.limit, res.Status)
			}
		}
	}
}

// A document with its attachments in a multipart body has a limit of its own, whether or not its length is declared.
func TestBody_MultipartLimit(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Request, o.Limits.Multipart = requestLimit, 2*attachmentLimit })
	s.must(t, "PUT", "/db", "")
	for name, c := range map[string]struct {
		size   int
		status int
	}{"fits": {2*attachmentLimit - 1000, 201}, "large": {2 * attachmentLimit, 413}} {
		doc := fmt.Sprintf(`{"_attachments":{"a":{"follows":true,"content_type":"image/png","length":%d}}}`, c.size)
		body := "--b\r\nContent-Type: application/json\r\n\r\n" + doc + "\r\n--b\r\n\r\n" +
			strings.Repeat("x", c.size) + "\r\n--b--"
		for way, reader := range map[string]io.Reader{
			"length": strings.NewReader(body), "chunked": io.MultiReader(strings.NewReader(body)),
		} {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/db/"+name+way, reader)
			req.Header.Set("Content-Type", "multipart/related; boundary=b")
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != c.status ||
				c.status == 413 && !strings.Contains(string(text), `"error":"too_large"`) {
				t.Errorf("%s, %s: %s %s", name, way, res.Status, text)
			}
		}
	}
	res := s.ask(t, "GET", "/db/large"+"length", "")
	if res.status != 404 {
		t.Error("the refused document was written:", res.status)
	}
}

// A replication by the node itself may bring a document whose attachments came one by one.
func TestBody_MultipartOwn(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Multipart, o.Auth = 1<<10, ownAuth{o.Auth} })
	s.must(t, "PUT", "/db", "")
	body := "--b\r\nContent-Type: application/json\r\n\r\n" +
		`{"_attachments":{"a":{"follows":true,"content_type":"image/png","length":2000}}}` + "\r\n--b\r\n\r\n" +
		strings.Repeat("x", 2000) + "\r\n--b--"
	for header, want := range map[string]int{"": 413, "1": 201} {
		a := s.ask(t, "PUT", "/db/doc", body, "Content-Type", "multipart/related; boundary=b", "X-Own", header)
		if a.status != want {
			t.Errorf("own %q: %d %s", header, a.status, a.body)
		}
	}
}

// ownAuth takes requests with the header X-Own for the node's own.
type ownAuth struct{ api.Authenticator }

func (a ownAuth) Authenticate(r *http.Request, h http.Header) (api.User, error) {
	u, err := a.Authenticator.Authenticate(r, h)
	u.Own = r.Header.Get("X-Own") != ""
	return u, err
}

// The length of attachments that follow their document is not counted as part of it.
func TestBody_DeclaredLengthOfRelated(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Limits.Request, o.Limits.Attachment = requestLimit, attachmentLimit })
	s.must(t, "PUT", "/db", "")
	data := strings.Repeat("x", attachmentLimit)
	doc := fmt.Sprintf(`{"_attachments":{"a":{"follows":true,"content_type":"text/plain","length":%d}}}`, len(data))
	body := "--b\r\nContent-Type: application/json\r\n\r\n" + doc + "\r\n--b\r\n\r\n" + data + "\r\n--b--"
	if a := s.ask(t, "PUT", "/db/doc", body, "Content-Type", "multipart/related; boundary=b"); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	large := "--b\r\nContent-Type: application/json\r\n\r\n{\"a\":\"" + strings.Repeat("x", requestLimit) +
		"\"}\r\n--b--"
	if a := s.ask(t, "PUT", "/db/other", large, "Content-Type", "multipart/related; boundary=b"); a.status != 413 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
