package page_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// A statement that runs, and its plan, are shown at every width, and the dialog that cancels it has no second "Cancel".
func TestPage_sessions(t *testing.T) {
	url, _, _ := flaky(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/sessions", browser.View{})
	defer p.Close()
	p.WaitText("7 psql")
	for _, width := range []int{360, 600, 768, 900, 901, 1024, 1099, 1100, 1280, 1920, 2560} {
		p.Resize(width, 900)
		if text := p.Text(); !strings.Contains(text, "SELECT * FROM docs plan") {
			t.Errorf("at %d pixels there is no statement, or no plan: %s", width, text)
		}
		fits(t, p, "sessions", width)
	}
	var got []string
	for label, want := range map[string]string{"Cancel": "Cancel the statement,Keep it running",
		"End": "End the session,Cancel"} {
		p.Eval(`[...document.querySelectorAll('#view td button')].find(b => b.textContent === '`+label+`').click()`, nil)
		p.Eval(`[...document.querySelectorAll('#ask button')].map(b => b.textContent)`, &got)
		if strings.Join(got, ",") != want {
			t.Errorf("the buttons after %s are %q", label, got)
		}
		p.Eval(`document.querySelector('#ask').close()`, nil)
	}
}

// A tile shows no old value as if it were that of now.
func TestPage_oldValue(t *testing.T) {
	api := answers()
	values, nan := make(state.Values, 180), float32(math.NaN())
	for i := range values {
		values[i] = 107
		if i > 100 {
			values[i] = nan
		}
	}
	recent := append(append(state.Values{}, values[:100]...), values[22:100]...)
	recent = append(recent, nan, nan) // nodes have not measured yet
	start := time.Now().Add(-15 * time.Minute)
	api["plots"] = state.Plots{Start: start.Unix(), Step: 5, Plots: []state.Plot{
		{Series: state.Series{Name: "commit_p99", Title: "commit, 99 of 100", Unit: "ms"}, All: values, Nodes: []state.PlotLine{}},
		{Series: state.Series{Name: "commit_p50", Title: "commit, median", Unit: "ms"}, All: recent, Nodes: []state.PlotLine{}}}}
	url, _, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/storage", browser.View{})
	defer p.Close()
	p.WaitText("commit, 99 of 100")
	var got []string
	p.Eval(`[...document.querySelectorAll('.tile')].map(t =>
		t.innerText.replace(/\s+/g, ' ').replace(/ at \d.*/, ''))`, &got)
	if strings.TrimSpace(strings.Join(got, "; ")) != "commit, 99 of 100 – at most 107 ms · last 107 ms; "+
		"commit, median 107 ms at most 107 ms" {
		t.Errorf("the tiles are %q", got)
	}
}

// A sum says since when it has a node that has been started later than the others.
func TestPage_laterNode(t *testing.T) {
	api := answers()
	values, late := make(state.Values, 180), make(state.Values, 180)
	for i := range values {
		if values[i] = 10; i < 100 {
			late[i] = float32(math.NaN())
		}
	}
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)
	nodes := []state.PlotLine{{Node: "n1", Values: values}, {Node: "n2", Values: late}}
	api["plots"] = state.Plots{Start: start.Unix(), Step: 5, Plots: []state.Plot{
		{Series: state.Series{Name: "commits", Title: "written", How: state.Sum}, All: values, Nodes: nodes},
		{Series: state.Series{Name: "commit_p50", Title: "median", How: state.Max}, All: values, Nodes: nodes}}}
	url, _, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/storage", browser.View{})
	defer p.Close()
	p.WaitText("median")
	var got []string
	p.Eval(`[...document.querySelectorAll('.tile')].map(t => t.innerText.replace(/\s+/g, ' ').trim())`, &got)
	if strings.Join(got, "; ") != "written 10 at most 10 · with n2 since 12:08:20; median 10 at most 10" {
		t.Errorf("the tiles are %q", got)
	}
}

// The box for SQL offers databases by what is typed: there may be more than a list can have.
func TestPage_sqlNames(t *testing.T) {
	api := answers()
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_dashboard/api/databases" && r.URL.Query().Get("search") == "zz" {
			answer(w, map[string]any{"zz": map[string]any{"rows": []state.Database{{Name: "zzz"}}}}, "zz")
			return
		}
		answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(`document.querySelectorAll('#databases option').length > 1`)
	p.Eval(`(() => {
		const e = document.querySelector('input[list=databases]');
		e.value = 'zz';
		e.dispatchEvent(new Event('input'));
	})()`, nil)
	p.Wait(`[...document.querySelectorAll('#databases option')].map(o => o.value).join() === 'divan,zzz'`)
}

// Nodes share the store: what waits for compaction is listed once, with the most that is known, whoever knows it.
func TestPage_compaction(t *testing.T) {
	api := answers()
	node := func(name string, waiting ...state.Compactable) state.Storage {
		return state.Storage{Node: name, Engine: "embedded", Reasons: []string{},
			Compact: state.Compaction{Waiting: waiting}}
	}
	api["storage"] = map[string]any{"now": time.Now().UTC(), "absent": []state.Absent{}, "nodes": []state.Storage{
		node("n1", state.Compactable{Database: "orders", Bodies: 12}, state.Compactable{Database: "a", Bodies: 3}),
		node("n2", state.Compactable{Database: "orders", Bodies: 11, Asked: true}),
		node("n3", state.Compactable{Database: "shop", Bodies: 700})}}
	url, _, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/storage", browser.View{})
	defer p.Close()
	p.WaitText("shop")
	var got []string
	p.Eval(`[...document.querySelectorAll('table[aria-label="Databases to compact"] tbody tr')].map(
		r => [...r.cells].filter((c, i) => i < 2 || i === 4).map(c => c.textContent).join(' '))`, &got)
	if strings.Join(got, "; ") != "shop 700 Compact; orders 12 asked for; a 3 Compact" {
		t.Errorf("what waits for compaction is %q", got)
	}
}
