package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

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
