package page_test

import (
	"encoding/json"
	"fmt"
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

// The title and the verdict of a page that is hidden stay true, and it asks seldom for them.
func TestPage_hidden(t *testing.T) {
	api := answers()
	url, status, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("2 nodes up; 2 things need attention")
	hide(p, true)
	head := func() string {
		return value[string](p, `document.title + ' | ' + document.querySelector('header').innerText`)
	}
	p.Eval("mark()", nil)
	api["verdict"] = state.Verdict{Now: time.Now().UTC(), Node: "n1", State: "ok", Text: "all is well: 3 nodes",
		User: api["verdict"].(state.Verdict).User}
	pass(p, 40*time.Second)
	if got := head(); !strings.HasPrefix(got, "Nodes · Divan n1 | ") || strings.Contains(got, "live ●") ||
		!strings.Contains(got, "all is well: 3 nodes") || !strings.Contains(got, "as of ") {
		t.Errorf("when all is well the hidden page says %s", got)
	}
	if times := asked(p, "/_dashboard/api/verdict"); len(times) < 1 || len(times) > 3 {
		t.Errorf("hidden it asks at %v", times)
	}
	if times := append(asked(p, "/_dashboard/api/nodes"), asked(p, "/_dashboard/api/nodes?live")...); len(times) > 0 {
		t.Errorf("hidden it asks for its view at %v", times)
	}
	status.Store(1)
	pass(p, 40*time.Second)
	if got := head(); !strings.HasPrefix(got, "no answer") || strings.Contains(got, "live ●") {
		t.Errorf("when its node has died the hidden page says %s", got)
	}
}

// A page that is hidden learns at once that somebody has signed in elsewhere, and says nothing else meanwhile.
func TestPage_hiddenSignIn(t *testing.T) {
	api := answers()
	url, status, _ := flaky(t, api)
	b := browser.Start(t)
	p := b.Open(url+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("2 nodes up; 2 things need attention")
	hide(p, true)
	status.Store(401)
	pass(p, 20*time.Second)
	p.WaitText("Your session has ended")
	status.Store(0)
	other := b.Open(url+"/_dashboard/#/", browser.View{})
	defer other.Close()
	other.WaitText("2 nodes up")
	p.WaitText("2 nodes up; 2 things need attention") // no time passes
	p.WaitText("as of ")
	if text := p.Text(); strings.Contains(text, "live ●") || strings.Contains(text, "ended") {
		t.Errorf("the hidden page shows %s", text)
	}
}

// signing serves the console with answers until somebody signs out. Then the session is gone, or, by how, the browser
// goes on to send a "password", the request is "refused", or the node is "silent".
func signing(t *testing.T, how string) *browser.Page {
	t.Helper()
	var out atomic.Bool
	api, mux := answers(), http.NewServeMux()
	verdict := api["verdict"].(state.Verdict)
	verdict.User = "anna"
	api["verdict"] = verdict
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_session", func(w http.ResponseWriter, _ *http.Request) {
		if how == "refused" {
			w.Header().Set("X-Divan-Status", "502")
			_, _ = fmt.Fprint(w, `{"reason":"The proxy does not reach the node."}`)
			return
		}
		out.Store(how != "password")
		_, _ = fmt.Fprint(w, `{"ok":true}`)
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case out.Load() && how == "silent":
			w.Header().Set("X-Divan-Status", "503")
			_, _ = fmt.Fprint(w, `{"reason":"no"}`)
		case out.Load():
			w.Header().Set("X-Divan-Status", "401")
			_, _ = fmt.Fprint(w, `{"reason":"You are not a server admin."}`)
		case r.URL.Query().Get("live") != "":
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
		default:
			answer(w, api, asksFor(r))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/sql", browser.View{})
	p.Wait(`document.querySelector('.editor')`)
	p.Eval(`document.querySelector('.editor').value = "SELECT 'typed'"`, nil)
	p.Eval(`location.hash = '#/nodes'`, nil)
	p.WaitText("1,204/s")
	p.Wait(`document.querySelector('#who summary')?.textContent === 'anna'`)
	p.Eval(`document.querySelector('#who button').click()`, nil)
	return p
}

// Who signs out leaves nothing on the page. If the session has not ended, that is said.
func TestPage_signOut(t *testing.T) {
	for _, how := range []string{"cookie", "silent"} {
		p := signing(t, how)
		defer p.Close()
		p.WaitText("You are signed out.")
		p.WaitText("Sign in again")
		if text := p.Text(); strings.Contains(text, "1,204/s") || strings.Contains(text, "anna") {
			t.Errorf("%s: it still shows %s", how, text)
		}
		p.Eval(`location.hash = '#/sql'`, nil)
		p.Wait(`document.querySelector('.editor')`)
		if got := value[string](p, `document.querySelector('.editor').value`); strings.Contains(got, "typed") {
			t.Errorf("%s: the page still has %s", how, got)
		}
	}
	for how, said := range map[string]string{"password": "this browser keeps a name and a password and sends them",
		"refused": "The proxy does not reach the node."} {
		p := signing(t, how)
		defer p.Close()
		p.WaitText(said)
		p.WaitText("1,204/s")
	}
}

// Nothing that was typed is shown until it is known who opens the page.
func TestPage_reloadedByAnother(t *testing.T) {
	var another atomic.Bool
	asking, held := make(chan struct{}, 100), make(chan struct{})
	api, mux := answers(), http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		if asksFor(r) == "verdict" {
			v := api["verdict"].(state.Verdict)
			v.User = "anna"
			if another.Load() {
				v.User = "ben"
				asking <- struct{}{}
				<-held
			}
			_ = json.NewEncoder(w).Encode(v)
			return
		}
		answer(w, api, asksFor(r))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/sql", browser.View{})
	defer p.Close()
	p.Wait(`document.querySelector('#who summary')?.textContent === 'anna'`)
	const box = `document.querySelector('.editor')`
	p.Eval(box+`.value = "SELECT 'typed'"`, nil)
	another.Store(true)
	p.Eval(`window.old = true; location.reload()`, nil)
	for <-asking; value[bool](p, `!!window.old`); <-asking {
	}
	if !value[bool](p, box+` === null`) {
		t.Error("ben sees what anna has typed")
	}
	close(held)
	p.Wait(box + `?.value.startsWith('SELECT id')`)
}

// A question is about the page that it was asked on.
func TestPage_questionEnds(t *testing.T) {
	url, wrote, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/indexes", browser.View{})
	defer p.Close()
	p.WaitText("300,000")
	p.Eval(`location.hash = '#/databases/orders'`, nil)
	p.WaitText("History of the changes shards")
	p.Eval(click("Compact"), nil)
	p.Wait(`document.querySelector('dialog').open`)
	p.Eval(`history.back()`, nil)
	p.WaitText("300,000")
	p.Wait(`!document.querySelector('dialog').open`)
	if wrote.Load() != 0 {
		t.Error("something was done")
	}
}

// The head of a result says that there are more rows, and so does what its files are.
func TestPage_sqlMore(t *testing.T) {
	api := answers()
	url, _, _ := caring(t, api)
	b := browser.Start(t)
	p := b.Open(url+"/_dashboard/#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(relations)
	api["sql"] = []any{state.SQLLine{Columns: []state.SQLColumn{{Name: "id", Type: "text"}}}, []any{"a"}, []any{"b"},
		state.SQLLine{More: "There are more than 2 rows."}}
	run := func() string {
		p.Eval(`document.querySelector('button.main').click()`, nil)
		p.Wait(`document.querySelector('#view section[aria-label] .grid')`)
		return value[string](p, `[...document.querySelectorAll('#view section:has(.grid)')].map(s =>
			[...s.querySelectorAll('h2, button')].map(e => e.textContent).join(', ')).join('; ') +
			' below ' + document.querySelector('#view p.warn')?.textContent.slice(0, 27)`)
	}
	if got := run(); got != "The first 2 rows, CSV of these 2 rows, JSON of these 2 rows, Chart below "+
		"There are more than 2 rows." {
		t.Errorf("a part of the rows is headed %s", got)
	}
	const heard = `document.getElementById('heard').textContent`
	p.Wait(heard + `.startsWith('There are more than 2 rows.')`)
	p.Download(t.TempDir())
	p.Eval(click("CSV of these 2 rows"), nil)
	p.Wait(heard + ` === '2 rows downloaded as CSV.'`)
	p.Eval(click("JSON of these 2 rows"), nil)
	p.Wait(heard + ` === '2 rows downloaded as JSON.'`)
	api["sql"] = []any{state.SQLLine{Columns: []state.SQLColumn{{Name: "id", Type: "text"}}}, []any{"a"},
		state.SQLLine{Done: "SELECT 1"}}
	p.Eval(`document.querySelector('.grid').remove()`, nil)
	if got := run(); got != "SELECT 1, CSV, JSON, Chart below undefined" {
		t.Errorf("all rows are headed %s", got)
	}
	api["sql"] = answers()["sql"]
	// The view is that of the same database again.
	p.Eval(`location.hash = '#/events'`, nil)
	p.WaitText("n2 died")
	p.Eval(`location.hash = '#/sql'`, nil)
	p.Wait(`document.querySelector('input[aria-label=Database]')?.value === 'orders'`)
	// A relation is no part of the word before it.
	p.Wait(relations)
	got := value[string](p, `(e => { e.value = 'SELECT * FROM docs LIMIT 20'; e.setSelectionRange(99, 99);
		document.querySelector('#view details button').click(); return e.value; })(`+box+`)`)
	if !strings.HasPrefix(got, "SELECT * FROM docs LIMIT 20 ") {
		t.Errorf("with a relation the statement is %s", got)
	}
}

// What is compared is shown, also below a long history.
func TestPage_compared(t *testing.T) {
	api := answers()
	var revisions []any
	for i := range 40 {
		revisions = append(revisions, map[string]string{"rev": fmt.Sprintf("%d-x", 40-i), "status": "available"})
	}
	api["/_dashboard/couch/orders/o1?meta"] = map[string]any{"_id": "o1", "_rev": "40-x", "_revs_info": revisions}
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/databases/orders/doc/o1", browser.View{Width: laptop, Height: 600})
	defer p.Close()
	p.WaitText("39-x")
	p.Eval(click("Compare"), nil)
	p.Wait(`(e => e?.matches('table.diff') && e.getBoundingClientRect().top < innerHeight)(document.activeElement)`)
	for _, width := range []int{laptop, 360} {
		p.Resize(width, 600)
		got := value[string](p, `[...document.querySelectorAll('.diff th')].map(th => th.innerText +
			(th.checkVisibility() && th.getBoundingClientRect().left -
			document.querySelectorAll('.diff tbody td')[th.cellIndex].getBoundingClientRect().left)).join()`)
		if got != "39-x0,now0" {
			t.Errorf("at %d pixels the columns are headed %s, with how far they are apart", width, got)
		}
	}
	fits(t, p, "compared", 360)
}

// Names lead to what they name.
func TestPage_leads(t *testing.T) {
	api := answers()
	jobs := api["jobs"].(map[string]any)
	jobs["rows"] = append(jobs["rows"].([]state.Job), state.Job{Type: "compaction", ID: "a/b", State: "pending"},
		state.Job{Type: "index", ID: "a/b/49ae", Database: "a/b", Design: "_design/geo", State: "pending"})
	events := api["events"].(state.EventPage)
	events.Events = append(events.Events, state.Event{ID: "n1/a/3", At: time.Now(), Node: "n1", Kind: state.IndexErrors,
		Text: "skips", Database: "a/b", Object: "_design/geo"})
	api["events"] = events
	url, _, _ := caring(t, api)
	b := browser.Start(t)
	p := b.Open(url+"/_dashboard/#/jobs", browser.View{})
	defer p.Close()
	for _, c := range []struct {
		view  string
		leads []string
	}{
		{"jobs", []string{"#/databases/a%2Fb", "#/databases/a%2Fb?indexes.search=_design%2Fgeo"}},
		{"indexes", []string{"#/databases/orders/doc/_design%2Fby"}},
		{"feeds", []string{"#/databases/orders/feeds/3"}},
		{"events", []string{"#/databases/a%2Fb", "#/databases/a%2Fb/failures/_design%2Fgeo", "#/nodes/n2", "#/nodes/n3"}},
		{"databases/orders/feeds/3", []string{"#/databases/orders", "#/nodes/n3"}},
	} {
		p.Eval("location.hash = "+quoted("#/"+c.view), nil)
		for _, to := range c.leads {
			p.Wait(`document.querySelector(` + quoted(`#view a[href="`+to+`"]`) + `)`)
		}
	}
	p.WaitText("Shard 3 of orders")
	p.Eval(`location.hash = '#/databases/orders/feeds/2'`, nil)
	p.WaitText("Shard 2 of orders")
	p.WaitText("No one listens to its changes.")
	p.Eval(`location.hash = '#/databases/orders/feeds/4'`, nil)
	p.WaitText("Shard 4 of orders There is no such shard.")
}

// Stories are searched as events are.
func TestPage_storiesFound(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/events?search=given+UP", browser.View{})
	defer p.Close()
	p.WaitText("Stories")
	p.Eval(typeInto("Search events", "compaction"), nil)
	p.Wait(`location.hash.includes('compaction') && !document.body.innerText.includes('Stories')`)
}

// A list that was never read says why, and a database without views how to make one.
func TestPage_noList(t *testing.T) {
	api := answers()
	delete(api, "jobs")
	api["indexes"] = json.RawMessage(`{"rows":[],"total":0,"absent":[]}`)
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/jobs", browser.View{})
	defer p.Close()
	p.Wait(`document.querySelector('#view .none')?.textContent === 'no'`)
	p.Eval(`location.hash = '#/databases/orders'`, nil)
	p.WaitText("/orders/_design/by -H 'Content-Type: application/json'")
}

// A tab whose password is refused tells the others: each of them would ask too, and a few refused logins lock an
// account.
func TestPage_refusedOnce(t *testing.T) {
	url, status, _ := flaky(t, answers())
	b := browser.Start(t)
	hidden := b.Open(url+"/stopped#/nodes", browser.View{})
	defer hidden.Close()
	hidden.WaitText("1,204/s")
	hidden.Eval(`Object.defineProperty(document, 'hidden', { value: true, configurable: true });
		document.dispatchEvent(new Event('visibilitychange')); mark()`, nil)
	p := b.Open(url+"/_dashboard/#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("1,204/s")
	status.Store(401)
	p.WaitText("Your session has ended")
	hidden.WaitText("Your session has ended")
	pass(hidden, time.Minute)
	if times := asked(hidden, "/_dashboard/api/verdict"); len(times) > 0 {
		t.Errorf("the other tab asks at %v", times)
	}
}
