package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// sqlPage serves the page. What its box for SQL runs has those lines as an answer.
func sqlPage(t *testing.T) (url string, lines *atomic.Value) {
	t.Helper()
	lines = new(atomic.Value)
	lines.Store([]any{})
	mux, api := http.NewServeMux(), answers()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")
		if name == "sql" {
			answer(w, map[string]any{"sql": lines.Load()}, "sql")
			return
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/_dashboard/", lines
}

const (
	box     = `document.querySelector('.editor')`
	pressed = `[...document.querySelectorAll('#view button')].find(b => b.textContent === 'Run').click()`
)

// A statement that has failed has no result, and what was done before and is undone is said to be.
func TestPage_sqlUndone(t *testing.T) {
	address, lines := sqlPage(t)
	p := browser.Start(t).Open(address+"#/sql/orders", browser.View{})
	defer p.Close()
	const undone = "Nothing that was written is stored."
	p.Wait(box)
	columns := state.SQLLine{Columns: []state.SQLColumn{{Name: "a", Type: "integer"}}}
	lines.Store([]any{state.SQLLine{Done: "UPDATE 1"}, columns,
		state.SQLLine{Notice: &state.SQLError{Code: "00000", Message: "by the way"}},
		state.SQLLine{Notice: &state.SQLError{Code: "40000", Message: undone}},
		state.SQLLine{Error: &state.SQLError{Code: "22012", Message: "division by zero"}}})
	p.Eval(pressed, nil)
	p.WaitText("22012: division by zero")
	text := p.Text()
	if strings.Contains(text, " 0 rows") || strings.Contains(text, "CSV") {
		t.Errorf("a statement that failed has a result: %s", text)
	}
	if at := strings.Index(text, undone); at < strings.Index(text, "division") || !strings.Contains(text, "UPDATE 1") {
		t.Errorf("the page shows %s", text)
	}
	var alerts []string
	const alert = `[...document.querySelectorAll('#view .warn[role=alert]')].map(e => e.textContent)`
	if p.Eval(alert, &alerts); len(alerts) != 1 || alerts[0] != undone {
		t.Errorf("it warns of %q", alerts)
	}

	lines.Store([]any{state.SQLLine{Done: "BEGIN"},
		state.SQLLine{Notice: &state.SQLError{Code: "40000", Message: undone}}})
	p.Eval(pressed, nil)
	p.WaitText("BEGIN")
	if p.Eval(alert, &alerts); len(alerts) != 1 {
		t.Errorf("of a transaction that is open it warns %q", alerts)
	}
	lines.Store([]any{columns, state.SQLLine{Done: "SELECT 0"}})
	p.Eval(pressed, nil)
	p.WaitText("SELECT 0")
	p.WaitText("CSV") // a result without rows is one
}

// What was typed and not run is there again after another view and after a reload, for each database.
func TestPage_sqlDraft(t *testing.T) {
	address, _ := sqlPage(t)
	p := browser.Start(t).Open(address+"#/sql/orders", browser.View{})
	defer p.Close()
	const first = "SELECT id, doc FROM docs LIMIT 20"
	is := func(view, want string) {
		t.Helper()
		p.Eval(`location.hash = '#/nodes'`, nil)
		p.Wait(`!` + box)
		p.Eval(`location.hash = '#/`+view+`'`, nil)
		p.Wait(box)
		var got string
		if p.Eval(box+`.value`, &got); got != want {
			t.Errorf("%s shows %.80q, want %q", view, got, want)
		}
	}
	typed := func(s string) { p.Eval(box+`.value = `+s, nil) }
	p.Wait(box)
	typed(`'SELECT 1 -- orders'`)
	is("sql/orders", "SELECT 1 -- orders")
	is("sql/shop", first)
	typed(`'SELECT 2 -- shop'`)
	is("sql/orders", "SELECT 1 -- orders")
	is("sql", "SELECT 1 -- orders") // of the database that was shown last
	is("sql/shop", "SELECT 2 -- shop")
	is("sql/orders?q="+url.QueryEscape("SELECT 3"), "SELECT 3")
	is("sql/orders", "SELECT 1 -- orders") // what an address brings is no draft
	typed(`'SELECT 4 -- orders'`)
	p.Eval(`window.old = true; location.reload()`, nil)
	p.Wait(`!window.old && ` + box)
	is("sql/orders", "SELECT 4 -- orders")
	typed(`'x'.repeat(100001)`)
	is("sql/orders", first)
	for _, name := range strings.Split("abcdefghijkl", "") {
		is("sql/"+name, first)
		typed(`'SELECT 5'`)
	}
	is("sql/b", first) // the oldest are forgotten
	is("sql/c", "SELECT 5")
}

// That something was not saved in an outage is no longer said after it, and not while one goes on editing.
func TestPage_savedInOutage(t *testing.T) {
	var down atomic.Bool
	api := answers()
	api["/_dashboard/couch/orders"] = map[string]any{"doc_count": 1}
	mux := http.NewServeMux()
	stopped(mux)
	const reason = "The store is unable to service this request at the moment."
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.Header().Set("X-Divan-Status", "503")
			_, _ = w.Write([]byte(`{"error":"x","reason":"` + reason + `"}`))
			return
		}
		path, _ := url.PathUnescape(r.URL.Path)
		answer(w, api, path+map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/databases/orders/doc/o1", browser.View{})
	defer p.Close()
	p.WaitText("1 conflict")
	save := func() {
		t.Helper()
		down.Store(true)
		p.Eval(`[...document.querySelectorAll('#view button')].find(b => b.textContent === 'Save').click()`, nil)
		p.WaitText(reason)
	}
	gone := func(why string) {
		t.Helper()
		if text := p.Text(); strings.Contains(text, reason) {
			t.Errorf("%s it is still said: %s", why, text)
		}
	}
	p.Eval(box+`.value = `+box+`.value.replace('{', '{ "n": 7,')`, nil)
	save()
	pass(p, 20e9)
	p.WaitText(reason) // it lasts
	down.Store(false)
	pass(p, 30e9)
	p.WaitText("It answers again. Click Save once more to store the edits.")
	gone("after the outage")
	save()
	p.Eval(box+`.dispatchEvent(new Event('input'))`, nil)
	gone("after an edit")
}
