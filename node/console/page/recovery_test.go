package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/scripts/browser"
)

// What is read once recovers by itself when the store is back, and can be asked for at once; until then the page does
// not say that it is up to date.
func TestPage_storeOutage(t *testing.T) {
	var down atomic.Bool
	api := answers()
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	const reason = "The store is unable to service this request at the moment."
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, `{"error":"x","reason":"`+reason+`"}`, http.StatusServiceUnavailable)
			return
		}
		path, _ := url.PathUnescape(r.URL.Path)
		answer(w, api, path+map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		name := asksFor(r)
		if name == "sql of index_errors" && down.Load() {
			http.Error(w, `{"error":"x","reason":"`+reason+`"}`, http.StatusServiceUnavailable)
			return
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b := browser.Start(t)
	for view, want := range map[string]string{"databases/orders/docs": "1 shown", "databases/orders/doc/o1": "1 conflict",
		"databases/orders/failures/_design%2Fby": "doc.customer is undefined"} {
		down.Store(true)
		p := b.Open(server.URL+"/_dashboard/#/"+view, browser.View{})
		p.WaitText(reason)
		p.WaitText("not up to date: " + reason)
		const retry = `[...document.querySelectorAll('#view button')].find(b => b.textContent === 'Retry')`
		p.Wait(retry)
		p.Eval(retry+".click()", nil)
		p.WaitText(reason)
		down.Store(false)
		p.WaitText(want)
		p.WaitText("live ●")
		if text := p.Text(); strings.Contains(text, reason) || strings.Contains(text, "Retry") {
			t.Errorf("%s shows %s", view, text)
		}
		p.Close()
	}
}
