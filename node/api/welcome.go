package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// couchVersion is the API version that clients decide by: CouchDB's whose API this is.
const couchVersion = "3.5.0"

// welcome answers GET /: clients read the version and the features of it.
func (q *request) welcome() error {
	o := &q.srv.o
	b := []byte(`{"couchdb":"Welcome","version":"` + couchVersion + `"`)
	b = appendStringMember(b, "git_sha", o.GitSHA)
	b = appendStringMember(b, "uuid", o.UUID)
	b = append(b, `,"features":["partitioned","changes_shards"],"vendor":{"name":"Divan"`...)
	b = appendStringMember(b, "version", o.Version)
	return q.sendJSON(http.StatusOK, append(b, "}}"...))
}

// alive answers GET /livez: the process runs.
func (q *request) alive() error { return q.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`)) }

// up answers GET /_up and /readyz: 503 with the reason while the node cannot serve, as every other request is answered
// then, and status "degraded" with reasons while it serves but needs an operator. (CouchDB's 404 is for its maintenance
// mode.)
func (q *request) up() error {
	h := q.srv.o.Health
	if h == nil {
		return q.sendJSON(http.StatusOK, []byte(`{"status":"ok","seeds":{}}`))
	}
	if err := h.Ready(q.ctx()); err != nil {
		b := appendStringMember([]byte(`{"status":"unavailable"`), "reason", faultOf(err).reason)
		return q.sendJSON(http.StatusServiceUnavailable, append(b, '}'))
	}
	reasons := h.Degraded()
	if len(reasons) == 0 {
		return q.sendJSON(http.StatusOK, []byte(`{"status":"ok","seeds":{}}`))
	}
	b := []byte(`{"status":"degraded","reasons":[`)
	for i, reason := range reasons {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, reason)
	}
	return q.sendJSON(http.StatusOK, append(b, `],"seeds":{}}`...))
}

// session hands /_session to node/auth.
func (q *request) session() error { return q.srv.o.Auth.ServeSession(q.w, q.r, q.user) }

// utils sends who looks for Fauxton to the dashboard.
func (q *request) utils() error {
	q.w.Header().Set("Location", "/_dashboard/")
	return q.sendBytes(http.StatusMovedPermanently, nil)
}

func (q *request) dashboard() error {
	if q.srv.o.Dashboard == nil {
		return notFound("missing")
	}
	q.srv.o.Dashboard.ServeHTTP(q.w, q.r)
	return nil
}

func (q *request) metrics() error {
	if q.srv.o.Metrics == nil {
		return notFound("missing")
	}
	q.srv.o.Metrics.ServeHTTP(q.w, q.r)
	return nil
}

// newUUIDs answers GET /_uuids?count=N.
func (q *request) newUUIDs() error {
	limit := q.srv.o.Settings.Int("uuids", "max_count", 1000)
	count, err := strconv.Atoi(q.params.get("count", "1"))
	switch {
	case err != nil || count < 0:
		return badRequest("count must be a positive integer")
	case count > limit:
		return badRequest("count parameter too large")
	}
	b := []byte(`{"uuids":[`)
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, q.srv.uuids.next())
	}
	h := q.w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	h.Set("Pragma", "no-cache")
	h.Set("Etag", fmt.Sprintf(`"%x"`, time.Now().UnixNano()))
	return q.sendJSON(http.StatusOK, append(b, "]}"...))
}
