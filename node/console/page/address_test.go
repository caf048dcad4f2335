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

// click returns a script that clicks the button with a label.
func click(label string) string {
	return `[...document.querySelectorAll('#view button')].find(b => b.textContent === ` + quoted(label) + `).click()`
}

// typeInto returns a script that types a text into the box with a label.
func typeInto(label, text string) string {
	return fmt.Sprintf(`(() => { const box = document.querySelector('[aria-label=%s]'); box.value = %s;
		box.dispatchEvent(new Event('input')); })()`, quoted(label), quoted(text))
}

// paged serves the console with 170 documents and as many settings.
func paged(t *testing.T) (url string) {
	t.Helper()
	const many = 170
	api := answers()
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if !strings.HasSuffix(path, "/_all_docs") {
			answer(w, api, strings.Replace(path, "/d149", "/o1", 1)+
				map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
			return
		}
		var start string
		_ = json.Unmarshal([]byte(r.URL.Query().Get("startkey")), &start)
		rows := []any{}
		for i := range many {
			if id := fmt.Sprintf("d%03d", i); id >= start && len(rows) < 51 {
				rows = append(rows, map[string]any{"id": id, "value": map[string]string{"rev": "1-abcdefabcdef"}})
			}
		}
		answer(w, map[string]any{path: map[string]any{"rows": rows}}, path)
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name, q := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"), r.URL.Query()
		if q.Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		if name != "settings" {
			answer(w, api, name)
			return
		}
		first := 0
		_, _ = fmt.Sscanf(q.Get("after"), "from%d", &first)
		rows := []state.Setting{}
		for i := first; i < min(first+50, many); i++ {
			rows = append(rows, state.Setting{Name: fmt.Sprintf("%ss%03d", q.Get("search"), i)})
		}
		next := ""
		if first+50 < many {
			next = fmt.Sprint("from", first+50)
		}
		sort := q.Get("sort")
		if sort == "" {
			sort = "name"
		}
		answer(w, map[string]any{name: map[string]any{"now": time.Now().UTC(), "rows": rows, "total": many, "next": next,
			"sort": sort, "desc": q.Get("desc") != "", "absent": []state.Absent{}}}, name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/_dashboard/#/"
}

const first = `document.querySelector('#view tbody td')?.innerText === `

// What a list shows is in the address: a reload, Back, and whoever is sent the address show the same page of it.
func TestPage_address(t *testing.T) {
	url := paged(t)
	b := browser.Start(t)
	for _, c := range []struct{ view, box, text, filtered, third, second, open, opened string }{
		{"databases/orders/docs", "From id", "d010", "d010", "d110", "d060", "databases/orders/doc/d149", "1 conflict"},
		{"settings", "Search Settings", "x & y?", "x & y?s000", "x & y?s100", "x & y?s050", "jobs", "running"},
	} {
		p := b.Open(url+c.view, browser.View{})
		p.WaitText("next ›")
		p.Eval(typeInto(c.box, c.text), nil)
		p.Wait(first + quoted(c.filtered))
		p.Eval(click("next ›"), nil)
		p.Wait(first + quoted(c.second))
		p.Eval(click("next ›"), nil)
		p.Wait(first + quoted(c.third))
		var there string
		p.Eval("location.href", &there)
		as := func(what, third string) {
			t.Helper()
			p.Wait(first + quoted(third))
			var box string
			if p.Eval(`document.querySelector('[aria-label=`+quoted(c.box)+`]').value`, &box); box != c.text {
				t.Errorf("%s: %s the box has %q", c.view, what, box)
			}
		}
		p.Eval("location.hash = '#/"+c.open+"'", nil)
		p.WaitText(c.opened)
		p.Eval("history.back()", nil)
		as("after Back", c.third)
		p.Eval("window.old = true; location.reload()", nil)
		p.Wait("!window.old && document.querySelector('#view tbody td')")
		as("after a reload", c.third)
		p.Eval(click("‹ back"), nil)
		as("a page before", c.second)
		p.Eval("history.back()", nil)
		as("Back to the page after it", c.third)
		p.Eval("history.back()", nil)
		as("Back to the page before", c.second)

		p.Close()
		p = b.Open(there, browser.View{})
		as("in another window", c.third)
		p.Eval(click("‹ first"), nil)
		as("the first page", c.filtered)
		if problems := strings.Join(p.Problems(), " "); strings.Contains(problems, "rror:") {
			t.Error(problems)
		}
		p.Close()
	}
	p := b.Open(url+"settings?sort=nothing", browser.View{})
	defer p.Close()
	p.WaitText("next ›") // the order that is not known is left out
	p.Eval(click("Value"), nil)
	p.Wait(`location.hash === '#/settings?sort=value' && document.querySelector('[aria-sort]').innerText === 'Value ▴'`)
	p.Go("about:blank")
	p.Go(url + "settings?sort=value")
	p.Wait(`document.querySelector('[aria-sort]')?.innerText === 'Value ▴'`)
}

// The page of a database has read its parts again as soon as an action on it has succeeded, with the history of its
// changes shards, which it did not have before.
func TestPage_resharded(t *testing.T) {
	var shards atomic.Int64
	shards.Store(1)
	mux, api := http.NewServeMux(), answers()
	stopped(mux)
	maps := func() []any {
		all := []any{map[string]any{"since": "0", "shards": []string{"1"}}}
		if n := int(shards.Load()); n > 1 {
			all[0].(map[string]any)["tombstone"] = true
			all = append(all, map[string]any{"since": "14000660fa43", "shards": []string{"10", "5", "3", "2"}[4-n:]})
		}
		return all
	}
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"/_dashboard/couch/orders": map[string]any{"doc_count": 5},
			"/_dashboard/couch/orders/_changes/_meta": map[string]any{"maps": maps()}}, r.URL.Path)
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")
		if r.URL.Query().Get("live") == "" {
			api := map[string]any{"verdict": api["verdict"], "token": api["token"], "indexes": api["indexes"],
				"shards": api["shards"], "settings": map[string]any{"rows": []state.Setting{
					{Name: "changes.max_shards", Value: "6"}}}, "act": true,
				"databases": map[string]any{"now": time.Now().UTC(), "total": 1, "next": "", "sort": "name", "desc": false,
					"rows":   []state.Database{{Name: "orders", Shards: pointer(int(shards.Load()))}},
					"absent": []state.Absent{}}}
			if name == "act" {
				shards.Store(4)
			}
			answer(w, api, name)
			return
		}
		http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/databases/orders", browser.View{})
	defer p.Close()
	is := func(n int) string {
		return fmt.Sprintf(`document.querySelector('section[aria-label=Figures] td[data-name=Shards]')?.innerText === '%d'`, n)
	}
	p.Wait(is(1))
	if text := p.Text(); strings.Contains(text, "History of") {
		t.Errorf("before a reshard the page shows %s", text)
	}
	const offered = `[...document.querySelectorAll('label')].find(e => e.innerText.trim() === 'shards')?.control.value`
	p.Wait(offered + ` === '2'`) // twice as many
	p.Eval(click("Reshard"), nil)
	p.WaitText("New changes of orders go to 2 shards, and not to 1 as now.")
	p.Eval("document.querySelector('#ask button.danger').click()", nil)
	p.Wait(is(4)) // no time passes on the page
	p.WaitText("History of the changes shards")
	p.WaitText("2, 3, 5, 10")
	p.Wait(offered + ` === '6'`) // at most
	shards.Store(3)              // somebody else
	pass(p, 3*time.Second)
	p.Wait(is(3))
	p.Wait(`!document.body.innerText.includes('2, 3, 5, 10') && document.body.innerText.includes('2, 3, 5')`)
	p.Wait(offered + ` === '6'`)
}

// A page that is brought forward says that what it shows is old, and since when, until its node answers.
func TestPage_broughtForward(t *testing.T) {
	url, status, _ := flaky(t, answers())
	p := browser.Start(t).Open(url+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("1,204/s")
	p.WaitText("2 nodes up")
	p.WaitText("live ●")
	hide(p, true)
	pass(p, 2*time.Second)
	status.Store(2) // it is stopped: its connections stay
	hide(p, false)
	if text := p.Text(); !strings.Contains(text, "live ●") || !strings.Contains(text, "2 nodes up") {
		t.Errorf("after 2 s the page shows %s", text)
	}
	hide(p, true)
	p.Eval("Date.now = (now => () => now)(Date.now() + 60_000)", nil) // requests are under way: pass would wait for them
	hide(p, false)
	p.WaitText("Asking n1 again; what is shown is from ")
	p.WaitText("not up to date: asking again, the page was in the background")
	if text := p.Text(); strings.Contains(text, "live ●") || strings.Contains(text, "nodes up") ||
		!strings.Contains(text, "62 s ago") {
		t.Errorf("before an answer the page shows %s", text)
	}
	status.Store(0)
	hide(p, true)
	hide(p, false)
	p.WaitText("2 nodes up")
	p.WaitText("live ●")
}

// A link to skipped documents that was cut shows its first page, or that there is no such page.
func TestPage_failuresCut(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/databases/orders/failures", browser.View{})
	defer p.Close()
	p.WaitText("There is no such page.")
	for _, after := range []string{"junk", "[1]", "null", `["o1"]`, `{"length":2}`} {
		p.Eval(`location.hash = '#/jobs'`, nil)
		p.WaitText("orders/0519c025")
		p.Eval("location.hash = "+quoted("#/databases/orders/failures/_design%2Fby?after=")+"+encodeURIComponent("+
			quoted(after)+")", nil)
		p.Wait(`document.querySelector('#view td, #view [role=alert]')?.textContent === 'o7'`)
	}
}
