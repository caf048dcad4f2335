package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// Each request is reported with its endpoint, whatever names are in its path, and whether it waited.
func TestServer_Observe(t *testing.T) {
	observed := make(chan api.Observed, 1) // after the answer, which the client may have by then
	s := serve(t, func(o *api.Options) { o.Observe = func(_ context.Context, r api.Observed) { observed <- r } })
	do := func(method, path, body string) api.Observed {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return <-observed
	}
	do("PUT", "/db", "")
	do("PUT", "/db/one", `{}`)
	for _, test := range []struct {
		method, path, route string
		status              int
		waited              bool
	}{
		{"GET", "/", "/", 200, false},
		{"GET", "/db", "/{db}", 200, false},
		{"GET", "/nosuch", "/{db}", 404, false},
		{"GET", "/db/one", "/{db}/{doc}", 200, false},
		{"GET", "/db/_design/x", "/{db}/{doc}", 404, false},
		{"GET", "/db/one/a/b/c", "/{db}/{doc}/{attachment}", 404, false},
		{"GET", "/db/_all_docs", "/{db}/_all_docs", 200, false},
		{"GET", "/db/_design/x/_view/y", "/{db}/_design/{ddoc}/_view/*", 404, false},
		{"GET", "/db/_changes", "/{db}/_changes", 200, false},
		{"GET", "/db/_changes?feed=longpoll", "/{db}/_changes", 200, false},
		{"GET", "/db/_changes?feed=longpoll&since=now&timeout=10", "/{db}/_changes", 200, true},
		{"GET", "/db/_changes?feed=continuous&timeout=10", "/{db}/_changes", 200, true},
		{"GET", "/_node/_local/_config/x/y", "/_node/*/_config/*/*", 404, false},
		{"GET", "/_nosuch/at/all", "/{db}/{doc}/{attachment}", 404, false},
		{"PATCH", "/db/one", "/{db}/{doc}", 405, false},
	} {
		got := do(test.method, test.path, "")
		if got.Took <= 0 {
			t.Errorf("%s %s took %v", test.method, test.path, got.Took)
		}
		want := api.Observed{Method: test.method, Route: test.route, Status: test.status, Took: got.Took,
			Waited: test.waited}
		if got != want {
			t.Errorf("%s %s: %+v, want %+v", test.method, test.path, got, want)
		}
	}
}
