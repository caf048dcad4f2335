package call

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/intake"
)

// Request is a running request as handlers see it. A handler writes a complete response or returns an error. If it
// returns an error after the response has begun, the connection is cut, so that the client does not take the beginning
// for the whole.
type Request struct {
	W      http.ResponseWriter
	answer *answer // same as W; knows whether the response has begun
	R      *http.Request
	Method string // after X-HTTP-Method-Override; HEAD stays HEAD
	Path   []string
	Params Params
	User   User
	Route  string       // the endpoint, as metrics show it; empty if there is none
	Waited bool         // the answer waited for changes
	Did    Did          // for statistics
	Body   *intake.Body // wraps R's body: counts what has arrived, and reads it within the budget

	// Setting returns the value of one of CouchDB's options; nil: there are none. See Option.
	Setting func(section, key string) (string, bool)

	// Public are the members of documents that a list may show; nil means all.
	Public []string

	Rewrites int // how often rules of design documents have rewritten the path

	DB       *layer.Database // for endpoints under /{db}
	security *layer.Security // of DB; nil until first used
}

// New returns the Request for r, answered through w. Its body is read within a budget.
func New(w http.ResponseWriter, r *http.Request, of *intake.Budget) *Request {
	body := intake.NewBody(w, r, of)
	r = r.WithContext(r.Context()) // a copy: net/http checks its own body to see how much has arrived
	r.Body = body
	q := &Request{R: r, Method: r.Method, Body: body}
	q.answer = &answer{ResponseWriter: w, body: body}
	q.W = q.answer
	return q
}

// Option returns the value of one of CouchDB's options, or absent.
func Option(q *Request, section, key, absent string) string {
	if q.Setting == nil {
		return absent
	}
	if v, ok := q.Setting(section, key); ok {
		return v
	}
	return absent
}

// Ctx returns the request's context.
func (q *Request) Ctx() context.Context { return q.R.Context() }

// IsHead reports whether only the header of the response is wanted.
func (q *Request) IsHead() bool { return q.Method == http.MethodHead }

// Part returns the i-th segment of the path, or "" if there is none.
func (q *Request) Part(i int) string {
	if i < len(q.Path) {
		return q.Path[i]
	}
	return ""
}

// Rewrite makes the request one for another path. The database is opened anew by the endpoint.
func Rewrite(q *Request, path []string, params Params) {
	q.Rewrites++
	q.Path, q.Params, q.DB, q.security = path, params, nil, nil
}

// SetBody makes text the body of the request.
func SetBody(q *Request, text []byte) {
	q.Body.Replace(text)
	q.R.ContentLength = int64(len(text))
}

// UserCtx returns the user as validation functions see it.
func (q *Request) UserCtx() *layer.UserCtx {
	return &layer.UserCtx{Name: q.User.Name, Roles: q.User.Roles}
}

// Author returns the user for whom documents are validated, or nil if they are not.
func (q *Request) Author() *layer.UserCtx {
	if q.User.Moves {
		return nil
	}
	return q.UserCtx()
}

// setDefaultHeaders sets the headers of all JSON responses, as in CouchDB, except those that a handler has set.
func (q *Request) setDefaultHeaders() {
	h := q.W.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = typeJSON
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = MustRevalidate
	}
}

var (
	typeJSON       = []string{"application/json"}
	MustRevalidate = []string{"must-revalidate"}
)

// SendJSON answers with one JSON value and, as CouchDB does, a newline.
func (q *Request) SendJSON(status int, body []byte) error {
	q.setDefaultHeaders()
	return q.SendBytes(status, append(body, '\n'))
}

// SendBytes answers with a body whose type is already set.
func (q *Request) SendBytes(status int, body []byte) error {
	q.W.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	q.W.WriteHeader(status)
	if q.IsHead() {
		return nil
	}
	_, err := q.W.Write(body)
	return err
}

// SendOK answers {"ok":true}.
func (q *Request) SendOK(status int) error {
	return q.SendJSON(status, []byte(`{"ok":true}`))
}

// SendFault answers with an error.
func (q *Request) SendFault(f *fault.Fault) {
	h := q.W.Header()
	for name, values := range f.Header {
		h[name] = values
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Etag", "Content-Encoding",
		"Content-Md5", "Content-Range", "Location"} {
		if f.Header[name] == nil {
			delete(h, name)
		}
	}
	status := f.Status
	if status == http.StatusUnauthorized && challenge(q, f) {
		status = http.StatusFound
	}
	if refusedPage(q, f, status) {
		return
	}
	body := append(f.Append([]byte{'{'}), '}')
	_ = q.SendJSON(status, body) // an error means that the client is gone
}

// Location sets the Location header to a path on this host; segments are escaped.
func (q *Request) Location(segments ...string) {
	to := []byte(Origin(q))
	for _, s := range segments {
		to = appendEscaped(append(to, '/'), s)
	}
	q.W.Header().Set("Location", string(to))
}

// NotModified sets the ETag. If the client already has that version, it answers 304 and returns true.
func (q *Request) NotModified(etag string) bool {
	q.W.Header()["Etag"] = []string{etag}
	if !etagListed(q.R.Header.Get("If-None-Match"), etag) {
		return false
	}
	q.W.WriteHeader(http.StatusNotModified)
	return true
}

// Sent returns the status of the response, or 0 if it has not begun, and how many bytes of its body were sent.
func (q *Request) Sent() (status int, bytes int64) { return q.answer.status, q.answer.bytes }

// Settle finishes a request after its response. It ends early when closing is closed.
func (q *Request) Settle(closing <-chan struct{}) {
	if q.answer.status != 0 {
		q.Body.Settle(q.answered(), q.answer.closes, closing)
	}
}

// answered reports whether the whole response has been written.
func (q *Request) answered() bool {
	switch q.answer.status {
	case http.StatusNoContent, http.StatusNotModified:
		return true
	}
	length := q.W.Header().Get("Content-Length")
	return length != "" && (q.IsHead() || length == strconv.FormatInt(q.answer.bytes, 10))
}

// etagListed reports whether an If-None-Match header lists an entity tag. Weak and strong forms are equal, and a star
// matches nothing (as in CouchDB).
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
