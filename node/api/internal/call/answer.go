package call

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/intake"
)

// answer records what has been sent.
type answer struct {
	http.ResponseWriter
	body   *intake.Body
	status int // 0 until the header is written
	bytes  int64
	closes bool // the connection is closed afterwards, since the request's body was not read

	callback string // a function that JSON answers become a call of; "" if not
	plain    bool   // this one does not
	wrapped  bool   // this one does
	held     bool   // a newline at the end of what was written is not sent yet
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
		a.body.Hold()
		if h := a.Header(); !a.body.Reusable(h) {
			a.closes = true
			h["Connection"] = []string{"close"}
		}
		a.wrap(status)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.wrapped {
		return len(p), a.writeWrapped(p)
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Callback makes the answer, if it is JSON, a call of a JavaScript function (JSONP).
func Callback(q *Request, function string) { q.answer.callback = function }

// Plain says whether the answer is sent as it is, also if there is a callback and its type is that of JSON.
func Plain(q *Request, plain bool) { q.answer.plain = plain }

// wrap decides whether the answer becomes a call.
func (a *answer) wrap(status int) {
	h := a.Header()
	if a.callback == "" || a.plain || status == http.StatusNoContent || status == http.StatusNotModified ||
		MediaType(h.Get("Content-Type")) != "application/json" {
		return
	}
	a.wrapped = true
	h["Content-Type"] = []string{"application/javascript"}
	delete(h, "Content-Length")
}

// writeWrapped writes a piece of a call. The newline at its end is not part of it.
func (a *answer) writeWrapped(p []byte) error {
	var b []byte
	if a.bytes == 0 {
		b = append(append(append(b, "/* CouchDB */"...), a.callback...), '(')
	}
	if a.held && len(p) > 0 {
		b = append(b, '\n')
		a.held = false
	}
	if l := len(p); l > 0 && p[l-1] == '\n' {
		p, a.held = p[:l-1], true
	}
	n, err := a.ResponseWriter.Write(append(b, p...))
	a.bytes += int64(n)
	return err
}

// CloseCallback ends an answer that is a call of a function. Called after the answer was written.
func CloseCallback(q *Request) {
	a := q.answer
	if a.wrapped && !q.IsHead() {
		_, _ = a.ResponseWriter.Write([]byte(");\n")) // an error means that the client is gone
	}
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
