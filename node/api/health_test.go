package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/divandb/divan/node/api"
)

// patient implements api.Health with fixed values.
type patient struct {
	ready   error
	reasons []string
}

func (p patient) Ready(context.Context) error { return p.ready }
func (p patient) Degraded() []string          { return p.reasons }

// TestUp checks what load balancers and operators read about the node's health.
func TestUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		health patient
		status int
		body   string
	}{
		{"well", patient{}, 200, `{"status":"ok","seeds":{}}`},
		{
			"degraded", patient{reasons: []string{`disk_full: "/d" has 3 MB left`, "join_failed: nobody answers"}}, 200,
			`{"status":"degraded","reasons":["disk_full: \"/d\" has 3 MB left","join_failed: nobody answers"],"seeds":{}}`,
		},
		{
			"unavailable", patient{ready: errors.New("gone"), reasons: []string{"disk_full: no"}}, 503,
			`{"status":"unavailable","reason":"The request failed; the server's log says why."}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(o *api.Options) { o.Health = c.health })
			r, err := http.Get(s.URL + "/_up")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(body); r.StatusCode != c.status || got != c.body+"\n" {
				t.Errorf("answered %d %s, want %d %s", r.StatusCode, got, c.status, c.body)
			}
		})
	}
}

// TestUtils: /_utils leads to the console, or serves the files of a directory and nothing else.
func TestUtils(t *testing.T) {
	s := serve(t, nil)
	if res := s.get(t, "/_utils/"); res.StatusCode != http.StatusFound || res.Header.Get("Location") != "/_dashboard/" {
		t.Errorf("without files: %s to %q", res.Status, res.Header.Get("Location"))
	}
	s = serve(t, func(o *api.Options) {
		o.Auth = accounts
		o.Utils = fstest.MapFS{"index.html": {Data: []byte("<p>hello")}, "js/a.js": {Data: []byte("1")}}
	})
	for path, want := range map[string]string{
		"/_utils":  "301 ",
		"/_utils/": "200 <p>hello", "/_utils/js/a.js": "200 1", "/_utils/js/b.js": "404 404 page not found\n",
		"/_utils/../_node/_local/_config": "404 404 page not found\n", "/_utils/%2e%2e/secret": "404 404 page not found\n",
	} {
		res := s.get(t, path)
		text, err := io.ReadAll(res.Body)
		if got := fmt.Sprint(res.StatusCode, " ", string(text)); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
		if res.StatusCode == http.StatusOK && !strings.Contains(res.Header.Get("Content-Security-Policy"), "'self'") {
			t.Errorf("%s has no policy", path)
		}
	}
}
