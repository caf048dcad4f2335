package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
)

// A page can have what it expects answered with 200, so that it is no error in the console of its browser.
func TestSoften(t *testing.T) {
	status := 0
	h := softened(t, &status)
	get := func(path, header string) string {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set(console.StatusHeader, header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !w.Flushed {
			t.Errorf("%d of %s is not flushed", status, path)
		}
		return fmt.Sprint(w.Code, " ", w.Header().Get(console.StatusHeader), " ", w.Header().Get("Cache-Control"), w.Body)
	}
	const kept = " max-age=60body" // of what is sent as it is
	for sent, soft := range map[int]bool{200: false, 201: false, 304: false, 400: true, 404: true, 409: true, 412: true,
		401: true, 403: true, 499: true, 500: false, 501: false, 502: false, 503: true, 504: false, 507: false} {
		status = sent
		want := fmt.Sprint(sent, " ", kept)
		if soft {
			want = fmt.Sprint("200 ", sent, " no-storebody")
		}
		if got := get("/page/couch/db/a", "yes"); got != want {
			t.Errorf("%d is sent as %q, want %q", sent, got, want)
		}
		if got := get("/page/couch/db/a", ""); got != fmt.Sprint(sent, " ", kept) {
			t.Errorf("%d is sent as %q to who does not ask", sent, got)
		}
		if got := get("/db/a", "yes"); got != fmt.Sprint(sent, " ", kept) {
			t.Errorf("%d of CouchDB's API is sent as %q", sent, got)
		}
	}
}

// Who guesses passwords cannot hide it from what is in front of the node.
func TestSoften_guesses(t *testing.T) {
	status := 0
	h := softened(t, &status)
	for _, c := range []struct {
		method, path string
		header       [2]string
		guess        bool
	}{
		{"GET", "/page/couch/db/a", [2]string{"Cookie", "AuthSession=x"}, false},
		{"GET", "/page/couch/db/a", [2]string{"Accept", "*/*"}, false}, // a session that has ended has no cookie
		{"DELETE", "/page/couch/_session", [2]string{"Cookie", "AuthSession=x"}, false},
		{"POST", "/page/couch/db/a_session", [2]string{"Cookie", "AuthSession=x"}, false},
		{"GET", "/page/couch/db/a", [2]string{"Authorization", "Basic YW5uYTpzZWNyZXQ="}, true},
		{"GET", "/page/api/verdict", [2]string{"authorization", "Bearer x"}, true},
		{"GET", "/page/couch/db/a", [2]string{"Authorization", ""}, true},
		{"POST", "/page/couch/_session", [2]string{"Cookie", "AuthSession=x"}, true},
		{"POST", "/page/couch/%5Fsession", [2]string{"Cookie", "AuthSession=x"}, true},
		{"POST", "/page/couch/%255Fsession?next=/", [2]string{"Cookie", "AuthSession=x"}, true},
		{"POST", "/page/couch/%25zz", [2]string{"Cookie", "AuthSession=x"}, true},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set(console.StatusHeader, "yes")
		r.Header.Set(c.header[0], c.header[1])
		for _, status = range []int{401, 403, 404} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if soft := w.Code == 200; soft == (c.guess && status != 404) {
				t.Errorf("%s %s with %v: %d is sent as %d", c.method, c.path, c.header, status, w.Code)
			}
		}
	}
}

// softened serves a page that is answered with a status.
func softened(t *testing.T, status *int) http.Handler {
	return console.Soften("/page/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.WriteHeader(*status)
		_, _ = fmt.Fprint(w, "body")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}))
}

func TestGuard(t *testing.T) {
	_, consoles, recorders := cluster(1)
	status := 0 // of what the API answers, unless 0
	h := console.Guard(consoles[0], "/page/couch/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status > 0 {
			w.WriteHeader(status)
		}
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
	// Databases that are deleted are events.
	for _, status = range []int{200, 202, 404, 503} {
		r := httptest.NewRequest("DELETE", "/page/couch/a%252Fb", nil)
		r.Header.Set(console.TokenHeader, token)
		r.Header.Set(console.DeleteHeader, "a%2Fb")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	var got []string
	for _, e := range recorders[0].List(time.Time{}, 100) {
		if e.Kind == state.ActionDone {
			got = append(got, e.User+" "+e.Database+" "+e.Object)
		}
	}
	slices.Sort(got)
	if want := []string{"anna a/b database a/b deleted", "anna a/b database a/b deleted", "anna a/b not done: database a/b deleted",
		"anna a/b perhaps not done: database a/b deleted", "anna named database named deleted"}; !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
}
