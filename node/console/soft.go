package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// StatusHeader is the header of a response that has its status, if the request has that header too. A browser writes
// each response with an error status to its console as an error of the page, also if the page expects it: that somebody
// else has changed or deleted a document, that the store does not answer, or that a session has ended.
const StatusHeader = "X-Divan-Status"

// Soften serves h, and answers what a page below a prefix expects with 200 and its status in StatusHeader, if the
// request asks for that. What h, the log and the metrics see is the status. Proxies and guards in front of the node do
// not: they see 401 and 403 of every request with which somebody may guess a password.
func Soften(prefix string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(StatusHeader) != "" && strings.HasPrefix(r.URL.Path, prefix) {
			w = &softWriter{w, mayGuess(r)}
		}
		h.ServeHTTP(w, r)
	})
}

// mayGuess reports whether a request can be a guess of a password: it has one, or a token, in its header, or is a
// login. Neither a session's cookie is one, nor no cookie: a browser removes that of a session that has ended.
func mayGuess(r *http.Request) bool {
	if len(r.Header.Values("Authorization")) > 0 {
		return true
	}
	path, err := url.PathUnescape(r.URL.Path) // names in it are escaped twice, see Guard
	return err != nil || r.Method == http.MethodPost && strings.HasSuffix(path, "/_session")
}

type softWriter struct {
	http.ResponseWriter
	mayGuess bool
}

func (w *softWriter) WriteHeader(status int) {
	if w.expected(status) {
		h := w.Header()
		h.Set(StatusHeader, strconv.Itoa(status))
		h.Set("Cache-Control", "no-store")
		status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

// expected reports whether the page expects a status: a refusal, or 503, with which a node says that it cannot serve
// the request now. 500 is a fault of Divan, which belongs among the errors of the page. A node sends no 502 and 504.
func (w *softWriter) expected(status int) bool {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return !w.mayGuess
	}
	return status >= 400 && status < 500 || status == http.StatusServiceUnavailable
}

// Unwrap is for http.ResponseController.
func (w *softWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
