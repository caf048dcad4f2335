package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/history"
)

// Handler serves what the page shows, below a prefix such as "/_dashboard/api": GET events, plots and series.
// The caller decides who may
// see it.
func (c *Console) Handler(prefix string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+prefix+"/events", func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Query()
		limit, err := count(form.Get("limit"))
		if err != nil {
			refuse(w, http.StatusBadRequest, "`limit` must be a number.")
			return
		}
		answerJSON(w, c.Events(r.Context(), EventQuery{After: form.Get("after"), Search: form.Get("search"),
			Limit: limit}))
	})
	mux.HandleFunc("GET "+prefix+"/plots", func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Query()
		q, err := plotQuery(form.Get("series"), form.Get("span"), form.Get("from"))
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error()+".")
			return
		}
		answerJSON(w, c.Plots(r.Context(), q))
	})
	mux.HandleFunc("GET "+prefix+"/series", func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, history.All())
	})
	return mux
}

// plotQuery reads the parameters of GET plots.
func plotQuery(series, span, from string) (q PlotQuery, err error) {
	for name := range strings.SplitSeq(series, ",") {
		if _, ok := history.Find(name); !ok {
			return q, fmt.Errorf("`series` must be a list of names of GET series; %q is none", name)
		}
		q.Series = append(q.Series, name)
	}
	seconds, err := count(span)
	if err != nil || seconds > 24*3600 {
		return q, errors.New("`span` must be a number of seconds, at most 86400")
	}
	if q.Span = time.Duration(seconds) * time.Second; seconds == 0 {
		q.Span = 15 * time.Minute
	}
	start, err := count(from)
	if err != nil {
		return q, errors.New("`from` must be a time in seconds since 1970")
	}
	q.From = int64(start)
	return q, nil
}

// count returns a number of a request; 0 if it is absent.
func count(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

func answerJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The answer cannot be encoded.")
		return
	}
	head(w)
	_, _ = w.Write(text) // the browser disconnected
}

func head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
}

// refuse answers with an error as CouchDB writes it.
func refuse(w http.ResponseWriter, status int, reason string) {
	names := map[int]string{http.StatusBadRequest: "bad_request", http.StatusForbidden: "forbidden",
		http.StatusNotFound: "not_found", http.StatusMethodNotAllowed: "method_not_allowed"}
	name := names[status]
	if name == "" {
		name = "internal_server_error"
	}
	text, err := json.Marshal(map[string]string{"error": name, "reason": reason})
	if err != nil {
		panic(err) // two strings
	}
	head(w)
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
