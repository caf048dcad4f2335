package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divandb/divan/node/console"
)

// A page can have what it expects answered with 200, so that it is no error in the console of its browser.
func TestSoften(t *testing.T) {
	status := 0
	h := console.Soften("/page/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "body")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}))
	get := func(path, header string) string {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set(console.StatusHeader, header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Header().Get(console.StatusHeader), w.Body)
	}
	for sent, want := range map[int]string{200: "200 ", 201: "201 ", 304: "304 ", 400: "200 400", 404: "200 404",
		409: "200 409", 412: "200 412", 401: "200 401", 403: "200 403", 500: "500 ", 502: "502 ", 503: "200 503"} {
		status = sent
		if got := get("/page/couch/db/a", "yes"); got != want+"body" {
			t.Errorf("%d is sent as %q", sent, got)
		}
		if got := get("/page/couch/db/a", ""); got != fmt.Sprint(sent, " body") {
			t.Errorf("%d is sent as %q to who does not ask", sent, got)
		}
		if got := get("/db/a", "yes"); got != fmt.Sprint(sent, " body") {
			t.Errorf("%d of CouchDB's API is sent as %q", sent, got)
		}
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
