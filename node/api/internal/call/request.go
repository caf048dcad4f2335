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

// Request is one request under way: what handlers see. A handler writes a whole answer or returns an error, or does
// both where the answer had begun: then the connection is cut, so that nobody takes the beginning for the whole.
type Request struct {
	W      http.ResponseWriter
	answer *answer // W, to ask whether the answer has begun
	R      *http.Request
	Method string // after X-HTTP-Method-Override; HEAD stays HEAD
	Path   []string
	Params Params
	User   User
	Body   *intake.Body // R's, which knows how much of it has come, and reads it within the budget

	DB       *layer.Database // of the endpoints under /{db}
	security *layer.Security // of DB; nil until someone asks
}

// New is the call that r begins and w answers. Its body is read within a budget.
func New(w http.ResponseWriter, r *http.Request, of *intake.Budget) *Request {
	body := intake.NewBody(w, r, of)
	r = r.WithContext(r.Context()) // a copy: net/http looks at the body of its own to see how much of it has come
	r.Body = body
	q := &Request{R: r, Method: r.Method, Body: body}
	q.answer = &answer{ResponseWriter: w, body: body}
	q.W = q.answer
	return q
}

// Ctx is the request's context.
func (q *Request) Ctx() context.Context { return q.R.Context() }

// IsHead reports whether only the header of the answer is wanted.
func (q *Request) IsHead() bool { return q.Method == http.MethodHead }

// Part is the i-th segment of the path, empty where there is none.
func (q *Request) Part(i int) string {
	if i < len(q.Path) {
		return q.Path[i]
	}
	return ""
}

// UserCtx is the user as validation functions see it.
func (q *Request) UserCtx() *layer.UserCtx {
	return &layer.UserCtx{Name: q.User.Name, Roles: q.User.Roles}
}

// setDefaultHeaders are on every JSON answer, as in CouchDB, unless a handler has set its own.
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

// SendJSON answers with one JSON value; the newline after it is CouchDB's.
func (q *Request) SendJSON(status int, body []byte) error {
	q.setDefaultHeaders()
	return q.SendBytes(status, append(body, '\n'))
}

// SendBytes answers with a body whose type is set already.
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

// SendFault answers an error.
func (q *Request) SendFault(f *fault.Fault) {
	h := q.W.Header()
	for name, values := range f.Header {
		h[name] = values
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Cache-Control", "Etag", "Content-Encoding",
		"Content-Range", "Location"} {
		if f.Header[name] == nil {
			delete(h, name)
		}
	}
	if f.Status == http.StatusUnauthorized {
		q.challenge(h)
	}
	body := append(f.Append([]byte{'{'}), '}')
	_ = q.SendJSON(f.Status, body) // an error here means that the client is gone
}

// challenge asks for credentials where the client wants to be asked, and where only a browser looks (the dashboard).
func (q *Request) challenge(h http.Header) {
	if ask := q.R.Header.Get("X-CouchDB-WWW-Authenticate"); ask != "" {
		h.Set("WWW-Authenticate", ask)
	} else if q.Part(0) == "_dashboard" {
		h.Set("WWW-Authenticate", `Basic realm="divan"`)
	}
}

// Location sets the Location header to a path on this host; segments are escaped.
func (q *Request) Location(segments ...string) {
	scheme := "http"
	if q.R.TLS != nil || q.R.Header.Get("X-Forwarded-Ssl") == "on" || q.R.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	host := q.R.Header.Get("X-Forwarded-Host")
	if host == "" {
		host = q.R.Host
	}
	to := append([]byte(scheme), "://"...)
	to = append(to, host...)
	for _, s := range segments {
		to = appendEscaped(append(to, '/'), s)
	}
	q.W.Header().Set("Location", string(to))
}

// NotModified sets the ETag and, where the client has that version already, answers 304.
func (q *Request) NotModified(etag string) bool {
	q.W.Header()["Etag"] = []string{etag}
	if !etagListed(q.R.Header.Get("If-None-Match"), etag) {
		return false
	}
	q.W.WriteHeader(http.StatusNotModified)
	return true
}

// Sent is the status of the answer, 0 where it has not begun, and how many bytes of its body have been sent.
func (q *Request) Sent() (status int, bytes int64) { return q.answer.status, q.answer.bytes }

// Settle ends a request that is answered. It ends early when closing is closed.
func (q *Request) Settle(closing <-chan struct{}) {
	if q.answer.status != 0 {
		q.Body.Settle(q.answered(), q.answer.closes, closing)
	}
}

// answered reports whether all of the answer has been written.
func (q *Request) answered() bool {
	switch q.answer.status {
	case http.StatusNoContent, http.StatusNotModified:
		return true
	}
	length := q.W.Header().Get("Content-Length")
	return length != "" && (q.IsHead() || length == strconv.FormatInt(q.answer.bytes, 10))
}

// etagListed looks for an entity tag in an If-None-Match header. Weak and strong forms are the same here, a star is
// none (as in CouchDB).
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
	body   *intake.Body
	status int // 0 until the header is written
	bytes  int64
	closes bool // the connection is closed after it, since the request's body has not been read
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		a.body.Hold()
		if h := a.Header(); !a.body.Reusable(h) {
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
