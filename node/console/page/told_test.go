package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	consolepage "github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// What is not known is not shown as 0, and what is old is shown with its age.
func TestPage_unknown(t *testing.T) {
	b := browser.Start(t)
	for _, c := range []struct {
		databases *int
		jobs      map[string]int
		read      time.Duration
		wants     []string
	}{
		{nil, nil, 0, []string{"unknown number of databases", "unknown number of jobs"}},
		{pointer(10_013), map[string]int{"pending": 2}, 2 * time.Minute, []string{"10,013 databases", "2 jobs",
			"last read 2 min ago", "the store does not answer now"}},
	} {
		api := answers()
		o := api["overview"].(state.Overview)
		o.Databases, o.Jobs, o.Failing, o.State = c.databases, c.jobs, 0, "failed"
		if c.read != 0 {
			o.Read = pointer(time.Now().UTC().Add(-c.read))
		}
		api["overview"] = o
		got := show(t, b, api, "", "console-unknown", browser.View{Width: laptop, Height: 800})
		for _, want := range c.wants {
			if !strings.Contains(got.text, want) {
				t.Errorf("no %q in %s", want, got.text)
			}
		}
		if strings.Contains(got.text, "How to begin") {
			t.Errorf("it teaches how to make a first database: %s", got.text)
		}
	}
}

// The page of a node says that an operator has raised the level of its log, and until when.
func TestPage_logLevel(t *testing.T) {
	api := answers()
	nodes := api["nodes"].(map[string]any)["nodes"].([]state.Node)
	until := time.Now().Add(10 * time.Minute)
	nodes[0].LogLevel, nodes[0].LogUntil = "debug", &until
	got := show(t, browser.Start(t), api, "nodes/n1", "console-log-level", browser.View{Width: laptop, Height: 800})
	want := "debug until " + until.Local().Format("15:04:05") + ", by an operator"
	if !strings.Contains(got.text, want) {
		t.Errorf("no %q in %s", want, got.text)
	}
}

// That there was no slow statement is only known since the node that was started last.
func TestPage_noSlowStatement(t *testing.T) {
	api := answers()
	since := time.Date(2026, 11, 29, 12, 0, 3, 0, time.UTC)
	api["events"] = state.EventPage{Events: []state.Event{}, Stories: []state.Story{}, Since: &since}
	got := show(t, browser.Start(t), api, "sessions", "console-no-slow-statement",
		browser.View{Width: laptop, Height: 800})
	if want := "two seconds since 11/29/2026"; !strings.Contains(got.text, want) {
		t.Errorf("no %q in %s", want, got.text)
	}
}

// The list of databases shows how many documents are in conflict. Of large databases they are counted on a click.
func TestPage_conflicts(t *testing.T) {
	api := answers()
	page := func(orders state.Conflicts) state.ConflictsPage {
		orders.Database, orders.Entries, orders.Large = "orders", 1_234_579, true
		return state.ConflictsPage{Now: time.Now(), Databases: []state.Conflicts{
			{Database: "customers", Documents: pointer(int64(17)), Entries: 40,
				At: pointer(time.Now().Add(-2 * time.Minute))},
			{Database: "invoices", Documents: pointer(int64(0)), Entries: 3}, orders}} // sessions was not read in time
	}
	api["conflicts"] = page(state.Conflicts{})
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", consolepage.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"); {
		case q.Get("live") != "":
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
		case q.Get("asked") != "":
			answer(w, map[string]any{name: page(state.Conflicts{Documents: pointer(int64(4711))})}, name)
		default:
			if name == "conflicts" && strings.Join(q["database"], " ") != "customers invoices orders sessions" {
				t.Errorf("it asks for %v", q["database"])
			}
			answer(w, api, name)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/databases", browser.View{Width: laptop, Height: 800})
	defer p.Close()
	cells := func() (all []string) {
		p.Eval(`[...document.querySelectorAll('td[data-name="In conflict"]')].map(td => td.innerText.trim())`, &all)
		return all
	}
	p.Wait(`document.body.innerText.includes('17')`)
	if got := strings.Join(cells(), "|"); got != "17 2 min ago|0|count|–" {
		t.Errorf("the list shows %s", got)
	}
	p.Eval(`document.querySelector('td[data-name="In conflict"] button').click()`, nil)
	p.Wait(`document.body.innerText.includes('4,711')`)
	if got := strings.Join(cells(), "|"); got != "17 2 min ago|0|4,711|–" {
		t.Errorf("after a click the list shows %s", got)
	}
}

// A screen reader is told that a document is created, and nothing of a view that was left.
func TestPage_toldOfDocuments(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/stopped#/databases/orders/new", browser.View{})
	defer p.Close()
	const heard = `document.getElementById('heard').textContent`
	p.Wait(box)
	p.Eval(box+`.value = '{"_id":"o1"}'; `+click("Save"), nil)
	p.Wait(heard + ` === 'o1 is created.'`)
	p.WaitText("1 conflict")
	if got := value[string](p, heard); got != "o1 is created." {
		t.Errorf("on the page of the document it says %q", got)
	}
	p.Eval(box+`.value = '{"_id":"o1","n":1}'; `+click("Save"), nil)
	p.Wait(heard + ` === 'Saved as 3-c.'`)
	p.Eval(`location.hash = '#/nodes'`, nil)
	p.WaitText("1,204/s")
	if got := value[string](p, heard); got != "" {
		t.Errorf("on another page it says %q", got)
	}
}
