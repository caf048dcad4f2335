package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
)

// request is one request under way: what handlers see. A handler writes a whole answer or returns an error, or does both where the answer had begun:
// then the connection is cut, so that nobody takes the beginning for the whole.
type request struct {
	srv    *Server
	w      http.ResponseWriter
	answer *answer // w, to ask whether the answer has begun
	r      *http.Request
	method string // after X-HTTP-Method-Override; HEAD stays HEAD
	path   []string
	params params
	user   User
	began  time.Time
	body   *clientBody // r's, which knows how much of it has come

	most     int64 // bytes that the endpoint takes of a body
	tooLarge error // what it says of more

	parsed   []*share        // what the request holds beside its body
	keeps    reservation     // what it holds for as long as it waits, if it is a feed
	db       *layer.Database // of the endpoints under /{db}
	security *layer.Security // of db; nil until someone asks
}

func (q *request) ctx() context.Context { return q.r.Context() }

func (q *request) isHead() bool { return q.method == http.MethodHead }

// part is the i-th segment of the path, empty where there is none.
func (q *request) part(i int) string {
	if i < len(q.path) {
		return q.path[i]
	}
	return ""
}

// userCtx is the user as validation functions see it.
func (q *request) userCtx() *layer.UserCtx {
	return &layer.UserCtx{Name: q.user.Name, Roles: q.user.Roles}
}

// setDefaultHeaders are on every JSON answer, as in CouchDB, unless a handler has set its own.
func (q *request) setDefaultHeaders() {
	h := q.w.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = typeJSON
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = mustRevalidate
	}
}

var (
	typeJSON       = []string{"application/json"}
	mustRevalidate = []string{"must-revalidate"}
)

// sendJSON answers with one JSON value; the newline after it is CouchDB's.
func (q *request) sendJSON(status int, body []byte) error {
	q.setDefaultHeaders()
	return q.sendBytes(status, append(body, '\n'))
}

func (q *request) sendBytes(status int, body []byte) error {
	q.w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	q.w.WriteHeader(status)
	if q.isHead() {
		return nil
	}
	_, err := q.w.Write(body)
	return err
}

// sendOK answers {"ok":true}.
func (q *request) sendOK(status int) error {
	return q.sendJSON(status, []byte(`{"ok":true}`))
}

// sendFault answers an error.
func (q *request) sendFault(f *fault) {
	h := q.w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Etag", "Content-Encoding", "Content-Range", "Location"} {
		if f.header[name] == nil {
			delete(h, name)
		}
	}
	if f.status == http.StatusUnauthorized {
		q.challenge(h)
	}
	body := append(f.append([]byte{'{'}), '}')
	_ = q.sendJSON(f.status, body) // an error here means that the client is gone
}

// challenge asks for credentials where the client wants to be asked, and where only a browser looks (the dashboard).
func (q *request) challenge(h http.Header) {
	if ask := q.r.Header.Get("X-CouchDB-WWW-Authenticate"); ask != "" {
		h.Set("WWW-Authenticate", ask)
	} else if q.part(0) == "_dashboard" {
		h.Set("WWW-Authenticate", `Basic realm="divan"`)
	}
}

// location sets the Location header to a path on this host; segments are escaped.
func (q *request) location(segments ...string) {
	scheme := "http"
	if q.r.TLS != nil || q.r.Header.Get("X-Forwarded-Ssl") == "on" || q.r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	host := q.r.Header.Get("X-Forwarded-Host")
	if host == "" {
		host = q.r.Host
	}
	to := append([]byte(scheme), "://"...)
	to = append(to, host...)
	for _, s := range segments {
		to = appendEscaped(append(to, '/'), s)
	}
	q.w.Header().Set("Location", string(to))
}

// notModified sets the ETag and, where the client has that version already, answers 304.
func (q *request) notModified(etag string) bool {
	q.w.Header()["Etag"] = []string{etag}
	if !etagListed(q.r.Header.Get("If-None-Match"), etag) {
		return false
	}
	q.w.WriteHeader(http.StatusNotModified)
	return true
}

// etagListed looks for an entity tag in an If-None-Match header. Weak and strong forms are the same here, a star is none (as in CouchDB).
func etagListed(header, etag string) bool {
	for header != "" {
		var one string
		if i := strings.IndexAny(header, ", "); i >= 0 {
			one, header = header[:i], header[i+1:]
		} else {
			one, header = header, ""
		}
		if len(one) > 2 && one[:2] == "W/" {
			one = one[2:]
		}
		if one == etag {
			return true
		}
	}
	return false
}

// answer remembers what has been sent.
type answer struct {
	http.ResponseWriter
	body   *clientBody
	status int // 0 until the header is written
	bytes  int64
	closes bool // the connection is closed after it, since the request's body has not been read
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		a.body.hold()
		if h := a.Header(); !a.body.keeps(h) {
			a.closes = true
			h["Connection"] = []string{"close"}
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
