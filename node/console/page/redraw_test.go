package page_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// A page that is kept up to date leaves alone what somebody is using: the control that has the focus or is being
// pressed, a selection, and details that are open, also when rows come in above them.
func TestPage_StandsStill(t *testing.T) {
	var times atomic.Int64
	now := time.Now().UTC()
	list := func(rows any) map[string]any {
		return map[string]any{"now": now, "rows": rows, "total": 3, "next": "", "sort": "name", "desc": false,
			"absent": []state.Absent{}}
	}
	views := map[string]func(n int64) any{
		"verdict": func(int64) any { return state.Verdict{Now: now, Node: "n1", State: "ok", Text: "all is well"} },
		"databases": func(n int64) any {
			rows := []state.Database{{Name: "orders", Writes: float64(n)}, {Name: "people", Writes: 1}}
			if n > 1 {
				rows = append([]state.Database{{Name: "new"}}, rows...)
			}
			return list(rows)
		},
		"sessions": func(n int64) any {
			user := map[bool]string{true: "anna", false: "bob"}[n > 1]
			return list([]state.Session{{Node: "n1", PID: 8, User: "eve", Since: now, State: "active"},
				{Node: "n1", PID: 7, User: user, Since: now, State: "active", Statement: "SELECT 1"}}[min(n-1, 1):])
		},
		"events": func(n int64) any {
			rows := []state.Event{{ID: "a", At: now, Node: "n1", Kind: state.ActorFailed, Text: "a failed", Detail: "why a"}}
			if n > 1 {
				rows = append([]state.Event{{ID: "b", At: now, Node: "n1", Kind: state.ActorFailed, Text: "b failed",
					Detail: "why b"}}, rows...)
			}
			return state.EventPage{Now: now, Events: rows, Stories: []state.Story{}, Absent: []state.Absent{}}
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	shown := "" // the view whose requests are counted
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")
		view, ok := views[name]
		if !ok || r.URL.Query().Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		n := times.Load()
		if name == shown && r.URL.Query().Get("search") != "slow_statement" {
			n = times.Add(1)
		}
		_ = json.NewEncoder(w).Encode(view(n))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b := browser.Start(t)
	open := func(view, first string) *browser.Page {
		shown = view
		times.Store(0)
		p := b.Open(server.URL+"/_dashboard/#/"+view, browser.View{})
		t.Cleanup(p.Close)
		p.WaitText(first)
		return p
	}
	is := func(p *browser.Page, what, want string) {
		t.Helper()
		var got string
		if p.Eval("String("+what+")", &got); got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}

	p := open("databases", "orders")
	p.Eval(`window.used = [...document.querySelectorAll('#view td a')].find(a => a.textContent === 'orders'); used.focus();
		getSelection().selectAllChildren([...document.querySelectorAll('#view td a')].at(-1)); 0`, nil)
	p.WaitText("new") // a row above it
	p.WaitText("3/s")
	is(p, "document.activeElement === used && used.isConnected", "true")
	is(p, "used.closest('tr').innerText.startsWith('orders')", "true")
	is(p, "getSelection()", "people")
	is(p, "[...document.querySelectorAll('#view tbody tr')].map(r => r.cells[0].innerText)", "new,orders,people")

	p = open("sessions", "eve")
	p.WaitText("anna") // session 8 has ended
	p.Eval(`[...document.querySelectorAll('#view button')].find(b => b.textContent === 'End').click()`, nil)
	p.WaitText("Session 7 of anna on n1 is ended")

	p = open("events", "a failed")
	p.Eval(`document.querySelector('#view details').open = true`, nil)
	p.WaitText("b failed")
	is(p, "[...document.querySelectorAll('#view details')].map(d => d.open)", "false,true")
}
