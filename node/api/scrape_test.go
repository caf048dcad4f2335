package api_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
)

// strictAuth requires users.
type strictAuth struct{ testAuth }

func (a strictAuth) Admit(r *http.Request, u api.User) error {
	if u.Name == "" && r.URL.Path != "/_session" {
		return &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: "Authentication required."}
	}
	return nil
}

// The token for metrics opens the metrics and nothing else, also if all other requests need a login.
func TestServer_MetricsToken(t *testing.T) {
	const token = "0123456789abcdef"
	for _, set := range []string{token, ""} {
		s := serve(t, func(o *api.Options) {
			o.Auth, o.MetricsToken = strictAuth{accounts}, set
			o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics 1") })
			o.Profiles = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "profile") })
		})
		if got, text := s.as(t, "root", "GET", "/_debug/pprof/heap", ""); got != 200 || text != "profile" {
			t.Errorf("an admin gets a profile: %d %s", got, text)
		}
		if got, text := s.as(t, "root", "GET", "/metrics", ""); got != 200 || text != "metrics 1" {
			t.Errorf("an admin gets metrics: %d %s", got, text)
		}
		want := 401
		if set != "" {
			want = 200
		}
		for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
			if got, _ := s.call(t, "GET", "/metrics", "", "Authorization", scheme+" "+token); got != want {
				t.Errorf("metrics with the token of scheme %s, where %q is set: %d", scheme, set, got)
			}
		}
		for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer " + token + "x", "Bearer " + token[1:],
			"Basic " + token, "bearer" + token, token} {
			if got, _ := s.call(t, "GET", "/metrics", "", "Authorization", wrong); got != 401 {
				t.Errorf("metrics with %q: %d", wrong, got)
			}
		}
		for _, other := range []string{"GET /_all_dbs", "PUT /db", "GET /_node/_local/_stats", "GET /_members",
			"GET /_node/_local/_prometheus", "GET /_debug/pprof/heap", "GET /_dashboard/", "POST /_backup",
			"GET /metrics/x", "GET /", "POST /_session"} {
			var method, path string
			_, _ = fmt.Sscan(other, &method, &path)
			with, _ := s.call(t, method, path, "", "Authorization", "Bearer "+token)
			without, _ := s.call(t, method, path, "")
			if with != without || with < 400 && path != "/_session" {
				t.Errorf("%s: %d with the token, %d without", other, with, without)
			}
		}
		if got, _ := s.as(t, "member", "GET", "/_debug/pprof/heap", ""); got != 401 {
			t.Errorf("a user gets a profile: %d", got)
		}
	}
}
