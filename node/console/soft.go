package console

import (
	"net/http"
	"strconv"
	"strings"
)

// StatusHeader is the header of a response that has its status, if the request has that header too. A browser writes
// each response with an error status to its console as an error of the page, also if the page expects it: that somebody
// else has changed or deleted a document, that the store does not answer, or that a session has ended.
const StatusHeader = "X-Divan-Status"

// Soften serves h, and answers what a page below a prefix expects with 200 and its status in StatusHeader, if the
// request asks for that. What h, the log and the metrics see is the status.
func Soften(prefix string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(StatusHeader) != "" && strings.HasPrefix(r.URL.Path, prefix) {
			w = &softWriter{w}
		}
		h.ServeHTTP(w, r)
	})
}

type softWriter struct{ http.ResponseWriter }

func (w *softWriter) WriteHeader(status int) {
	if expected(status) {
		h := w.Header()
		h.Set(StatusHeader, strconv.Itoa(status))
		h.Set("Cache-Control", "no-store")
		status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

// expected reports whether a status is a refusal, or that of a node that cannot serve requests now. Other errors of a
// server are faults of it.
func expected(status int) bool {
	return status >= 400 && status < 500 || status == http.StatusServiceUnavailable
}

// Unwrap is for http.ResponseController.
func (w *softWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
