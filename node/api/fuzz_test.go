package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// FuzzRequest checks that no request causes an internal error, and that every JSON response is valid.
func FuzzRequest(f *testing.F) {
	for _, s := range []struct{ method, target, kind, body string }{
		{"PUT", "/db/doc?new_edits=false&rev=1-a", "application/json",
			`{"_rev":"1-a","_revisions":{"start":1,"ids":["a"]}}`},
		{"PUT", "/db/x", `multipart/related; boundary=b`,
			"--b\r\nContent-Type: " +
				"application/json\r\n\r\n{\"_attachments\":{\"a\":{\"follows\":true,\"length\":1}}}\r\n--b\r\n\r\nx\r\n--b--"},
		{"GET", "/db/_all_docs?keys=[\"a\",1]&limit=1&skip=-1&descending=true", "", ""},
		{"POST", "/db/_all_docs", "application/json", `{"keys":["a",null],"include_docs":true}`},
		{"GET", "/db/_changes?since=now&limit=0&style=all_docs&filter=_doc_ids", "", ""},
		{"POST", "/db/_changes?filter=_selector&limit=1", "application/json", `{"selector":{"a":{"$gt":[1,{"b":2}]}}}`},
		{"POST", "/db/_bulk_docs", "application/json",
			`{"new_edits":false,"docs":[{"_id":"c","_revisions":{"start":2,"ids":["b","a"]}}]}`},
		{"POST", "/db/_revs_diff", "application/json", `{"a":["1-a","2-b"],"b":[]}`},
		{"POST", "/db/_bulk_get?revs=true", "application/json",
			`{"docs":[{"id":"a","rev":"1-a","atts_since":["1-a"]}]}`},
		{"POST", "/db/_purge", "application/json", `{"a":["1-a"]}`},
		{"PUT", "/db/_security", "application/json", `{"members":{"names":[],"roles":["x"]}}`},
		{"GET", "/db/a?open_revs=[\"1-a\"]&revs=true&atts_since=[]&latest=true", "", ""},
		{"PUT", "/db/_design/d", "application/json",
			`{"views":{"v":{"map":"function (d) { emit(d.a, 1) }","reduce":"_sum"}},"filters":{"f":"function () { return true }"}}`},
		{"GET", "/db/_design/d/_view/v?startkey=[1&endkey={}&group_level=1", "", ""},
		{"POST", "/db/_design/d/_view/v/queries", "application/json",
			`{"queries":[{"keys":[1]},{"startkey":{},"endkey":null}]}`},
		{"PUT", "/db/x", "multipart/related; boundary=b", "--b \n0"},
		{"PUT", "/db/_local/l", "application/json", `{"_rev":"0-1"}`}, {"PUT", "/db/a/att%2Fx?rev=1-a", "text/plain",
			"x"},
		{"PUT", "/_node/_local/_config/cors/origins", "application/json", `"*"`}, {"PUT", "/db/_revs_limit",
			"application/json", "7"},
		{"COPY", "/db/a", "", ""}, {"GET", "/db/_changes/_meta?since=0", "", ""}, {"POST", "/db/_changes/_reshard",
			"application/json", `{"shard_count":2}`},
		{"GET", "/db/_partition/p/_all_docs", "", ""}, {"POST", "/_uuids?count=-1", "", ""}, {"GET",
			"/_dbs_info?limit=x", "", ""},
	} {
		f.Add(s.method, s.target, s.kind, []byte(s.body))
	}
	s := serve(f, func(o *api.Options) { o.Settings = api.NewSettings(nil) })
	if w := request(f, s, "PUT", "/db", "", nil); w.Code != http.StatusCreated {
		f.Fatal(w.Body)
	}
	f.Fuzz(func(t *testing.T, method, target, kind string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || !strings.HasPrefix(target, "/") ||
			strings.ContainsAny(method, " \t\r\n\x00/") || method == "" {
			return // not a request for the handler
		}
		if strings.Contains(target, "feed") || strings.Contains(target, "count=") {
			return // it may take arbitrarily long
		}
		w := request(t, s, method, target, kind, body)
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") != "application/json" || method == "HEAD" {
			return
		}
		for lines := json.NewDecoder(bytes.NewReader(w.Body.Bytes())); lines.More(); {
			var v any
			if err := lines.Decode(&v); err != nil {
				t.Fatalf("%s %s: %d, no JSON: %v: %.500s", method, target, w.Code, err, w.Body)
			}
		}
		if request(t, s, "GET", "/db", "", nil).Code == http.StatusNotFound { // the database was deleted
			request(t, s, "PUT", "/db", "", nil)
		}
	})
}

func request(t testing.TB, s *server, method, target, kind string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", bytes.NewReader(body))
	r.Method, r.RequestURI, r.Host = method, target, "localhost"
	r.URL, _ = url.ParseRequestURI(target) // parsed above
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w
}
