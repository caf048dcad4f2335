package console

import (
	"net/http"
	"strconv"
)

// StatusHeader is the header of a response that has its status, if the request has that header too. A browser writes
// each response with an error status to its console as an error of the page, also if the page expects it: that somebody
// else has changed or deleted a document.
const StatusHeader = "X-Divan-Status"

// soft returns a writer that answers refusals with 200 and their status in StatusHeader, if the request asks for that.
// Those of a login and of the token keep their status, which a browser and what is in front of the node must see.
func soft(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.Header.Get(StatusHeader) == "" {
		return w
	}
	return &softWriter{w}
}

type softWriter struct{ http.ResponseWriter }

func (w *softWriter) WriteHeader(status int) {
	refused := status >= 400 && status < 500 && status != http.StatusUnauthorized && status != http.StatusForbidden
	if refused {
		h := w.Header()
		h.Set(StatusHeader, strconv.Itoa(status))
		h.Set("Cache-Control", "no-store")
		status = http.StatusOK
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *softWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
