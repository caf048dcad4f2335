package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divandb/divan/node/console"
)

// A page can have refusals answered with 200, so that they are no errors in the console of its browser.
func TestGuard_StatusHeader(t *testing.T) {
	_, consoles, _ := cluster(1)
	status := 0
	h := console.Guard(consoles[0], "/page/couch/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "body")
		_ = http.NewResponseController(w).Flush()
	}))
	get := func(h http.Handler, path, header string) (int, string) {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set(console.StatusHeader, header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !w.Flushed && strings.HasPrefix(path, "/page/couch/db") {
			t.Error("the response was not flushed")
		}
		return w.Code, w.Header().Get(console.StatusHeader)
	}
	for sent, want := range map[int]string{200: "200 ", 201: "201 ", 304: "304 ", 400: "200 400", 404: "200 404",
		409: "200 409", 412: "200 412", 401: "401 ", 403: "403 ", 500: "500 ", 503: "503 "} {
		status = sent
		code, header := get(h, "/page/couch/db/a", "yes")
		if got := fmt.Sprint(code, " ", header); got != want {
			t.Errorf("%d is sent as %q", sent, got)
		}
		if code, header := get(h, "/page/couch/db/a", ""); code != sent || header != "" {
			t.Errorf("%d is sent as %d %q to who does not ask", sent, code, header)
		}
		if code, header := get(h, "/db/a", "yes"); code != sent || header != "" {
			t.Errorf("%d of CouchDB's API is sent as %d %q", sent, code, header)
		}
	}
	if code, header := get(consoles[0].Handler("/api"), "/api/nothing", "yes"); code != 200 || header != "404" {
		t.Errorf("the console's own: %d %q", code, header)
	}
}

func TestGuard(t *testing.T) {
	_, consoles, _ := cluster(1)
	h := console.Guard(consoles[0], "/page/couch/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Method, " ", r.URL.EscapedPath(), "?", r.URL.RawQuery)
	}))
	get := httptest.NewRecorder()
	consoles[0].Handler("/api").ServeHTTP(get, httptest.NewRequest("GET", "/api/token", nil))
	_, token, _ := strings.Cut(get.Body.String(), `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	for _, c := range []struct {
		method, path, token, site string
		status                    int
		want                      string
	}{
		{"PUT", "/db/a%2Fb", "", "", 200, "PUT /db/a%2Fb?"}, // not for the page
		{"GET", "/page/couch/db/a%252Fb?rev=1", "", "", 200, "GET /db/a%2Fb?rev=1"},
		{"PUT", "/page/couch/db/%252E", token, "", 200, "PUT /db/%2E?"},
		{"DELETE", "/page/couch/db/%252E%252E/%252E", token, "", 200, "DELETE /db/%2E%2E/%2E?"},
		{"GET", "/page/couch/db/_design%252F%252E%252E", "", "", 200, "GET /db/_design%2F%2E%2E?"},
		{"GET", "/page/couch/db/%252525", "", "", 200, "GET /db/%2525?"},

		// What remains of a path that was not escaped twice when a browser or a proxy has removed "." and "..".
		{"GET", "/page/couch/db/", "", "", 400, ""},
		{"GET", "/page/couch/", "", "", 400, ""},
		{"GET", "/page/couch/db/a/", "", "", 400, ""},
		{"GET", "/page/couch/db//a", "", "", 400, ""},
		{"GET", "/page/couch/db/.", "", "", 400, ""},
		{"GET", "/page/couch/db/%2E", "", "", 400, ""},
		{"GET", "/page/couch/db/a%2Fb", "", "", 400, ""},
		{"GET", "/page/couch/db/%25", "", "", 400, ""},
		{"DELETE", "/page/couch/db", token, "", 400, ""},
		{"DELETE", "/page/couch/named", token, "", 200, "DELETE /named?"},
		{"PUT", "/page/couch/db", token, "same-origin", 200, "PUT /db?"},
		{"PUT", "/page/couch/db", token, "cross-site", 403, ""},
		{"PUT", "/page/couch/db", "", "same-origin", 403, ""},
		{"DELETE", "/page/couch/db", token + "x", "", 403, ""},
		{"POST", "/page/couch/db", "YW5uYQ.", "", 403, ""},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set(console.TokenHeader, c.token)
		r.Header.Set(console.DeleteHeader, "named")
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || c.want != "" && w.Body.String() != c.want {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
		sandboxed := strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox")
		if want := c.status == 200 && strings.HasPrefix(c.path, "/page/"); sandboxed != want {
			t.Errorf("%s: header %v", c.path, w.Header())
		}
	}
}
