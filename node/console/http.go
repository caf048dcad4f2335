package console

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Handler serves what the page shows, below a prefix such as "/_dashboard/api": GET events. The caller decides who may
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
	return mux
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
