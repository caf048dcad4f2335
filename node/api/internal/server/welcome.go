package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// couchVersion is the version of CouchDB whose API this is. Clients depend on it.
const couchVersion = "3.5.0"

// Welcome answers GET /, where clients read the version and the features.
func (h *Handlers) Welcome(q *call.Request) error {
	b := []byte(`{"couchdb":"Welcome","version":"` + couchVersion + `"`)
	b = encode.StringMember(b, "git_sha", h.GitSHA)
	b = encode.StringMember(b, "uuid", h.UUID)
	b = append(b, `,"features":["partitioned","scheduler","changes_shards"],"vendor":{"name":"Divan"`...)
	b = encode.StringMember(b, "version", h.Version)
	return q.SendJSON(http.StatusOK, append(b, "}}"...))
}

// Alive answers GET /livez: the process is running.
func (h *Handlers) Alive(q *call.Request) error {
	return q.SendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
}

// Up answers GET /_up and /readyz. It returns 503 with the reason while the node cannot serve requests, as for every
// other request then, and status "degraded" with reasons while it serves but needs an operator. (CouchDB's 404 is for
// its maintenance mode.)
func (h *Handlers) Up(q *call.Request) error {
	health := h.Health
	if health == nil {
		return q.SendJSON(http.StatusOK, []byte(`{"status":"ok","seeds":{}}`))
	}
	if err := health.Ready(q.Ctx()); err != nil {
		b := encode.StringMember([]byte(`{"status":"unavailable"`), "reason", fault.Of(err).Reason)
		return q.SendJSON(http.StatusServiceUnavailable, append(b, '}'))
	}
	reasons := health.Degraded()
	if len(reasons) == 0 {
		return q.SendJSON(http.StatusOK, []byte(`{"status":"ok","seeds":{}}`))
	}
	b := []byte(`{"status":"degraded","reasons":[`)
	for i, reason := range reasons {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendQuoted(b, reason)
	}
	return q.SendJSON(http.StatusOK, append(b, `],"seeds":{}}`...))
}

// Session hands /_session to node/auth.
func (h *Handlers) Session(q *call.Request) error {
	r := q.R
	if q.Method != r.Method && r.Method == http.MethodPost { // X-HTTP-Method-Override
		r = r.WithContext(r.Context())
		r.Method = q.Method
	}
	return h.Sessions.ServeSession(q.W, r, q.User)
}

// utilsPolicy is CouchDB's policy for what the pages of Fauxton may load.
const utilsPolicy = "child-src 'self' data: blob:; default-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"

// Utils serves files, such as those of Fauxton, at /_utils/. Without files it leads to the dashboard.
func (h *Handlers) Utils(q *call.Request) error {
	if h.Files == nil {
		q.W.Header().Set("Location", "/_dashboard/")
		return q.SendBytes(http.StatusFound, nil)
	}
	if len(q.Path) == 1 && !strings.HasSuffix(q.R.URL.Path, "/") { // its links are relative
		q.Location("_utils", "")
		return q.SendBytes(http.StatusMovedPermanently, nil)
	}
	header := q.W.Header()
	if policy := call.ContentPolicy(q, "utils", utilsPolicy); policy != "" {
		header.Set("Content-Security-Policy", policy)
	}
	header.Set("Cache-Control", "private, must-revalidate")
	http.StripPrefix("/_utils", http.FileServerFS(h.Files)).ServeHTTP(q.W, q.R)
	return nil
}

// GetDashboard answers everything under /_dashboard.
func (h *Handlers) GetDashboard(q *call.Request) error {
	if h.Dashboard == nil {
		return fault.NotFound("missing")
	}
	h.Dashboard.ServeHTTP(q.W, q.R.WithContext(context.WithValue(q.R.Context(), dashboardUser{}, q.User.Name)))
	return nil
}

type dashboardUser struct{}

// DashboardUser returns the name of the user in the context of a request to the dashboard, or "".
func DashboardUser(ctx context.Context) string {
	name, _ := ctx.Value(dashboardUser{}).(string)
	return name
}

// GetMetrics answers GET /metrics.
func (h *Handlers) GetMetrics(q *call.Request) error {
	if h.Metrics == nil {
		return fault.NotFound("missing")
	}
	h.Metrics.ServeHTTP(q.W, q.R)
	return nil
}

// GetProfile answers everything under /_debug/pprof.
func (h *Handlers) GetProfile(q *call.Request) error {
	if h.Profiles == nil {
		return fault.NotFound("missing")
	}
	h.Profiles.ServeHTTP(q.W, q.R)
	return nil
}
