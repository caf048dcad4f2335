package page_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// caring serves the console with answers. While hold is set SQL is not answered to the end; wrote counts writes to
// documents. At /stopped the page has a clock, see stopped.
func caring(t *testing.T, api map[string]any) (address string, wrote *atomic.Int64, hold *atomic.Bool) {
	t.Helper()
	wrote, hold = new(atomic.Int64), new(atomic.Bool)
	mux := http.NewServeMux()
	stopped(mux)
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		path, _ := url.PathUnescape(r.URL.Path) // it is escaped twice
		if r.Method != http.MethodGet {
			wrote.Add(1)
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprint(w, `{"ok":true,"id":"o1","rev":"3-c"}`)
			return
		}
		if _, ok := api[path]; !ok && strings.HasPrefix(path, "/_dashboard/couch/orders/") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"error":"not_found","reason":"missing"}`)
			return
		}
		answer(w, api, path+map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		name := asksFor(r)
		if hold.Load() && name == "sql" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, wrote, hold
}

// relations waits for what completes statements.
const relations = `document.querySelector('#view details')?.textContent.includes('id text')`

// value returns what an expression is.
func value[T any](p *browser.Page, expression string) (v T) {
	p.Eval(expression, &v)
	return v
}

// A file does not take the place of another one unasked.
func TestPage_attachTwice(t *testing.T) {
	url, wrote, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/databases/orders/doc/o1", browser.View{})
	defer p.Close()
	attach := func(name string) {
		const file = `document.querySelector('[aria-label="A file to attach"]')`
		p.Wait(file)
		p.Eval(`(() => { const d = new DataTransfer(), file = `+file+`; d.items.add(new File(['x'], `+quoted(name)+`));
			file.files = d.files; file.dispatchEvent(new Event('change')); })()`, nil)
	}
	p.WaitText("photo.png")
	attach("photo.png")
	p.WaitText("photo.png is attached already, with 1.23 KB. The file with 1 B replaces it.")
	if n := wrote.Load(); n != 0 {
		t.Errorf("it was replaced before the answer")
	}
	p.Eval(`[...document.querySelectorAll('#ask button')].find(b => b.textContent === 'Replace').click()`, nil)
	p.WaitText("photo.png is attached.")
	attach("other.png")
	p.WaitText("other.png is attached.")
	if n := wrote.Load(); n != 2 {
		t.Errorf("%d files were written", n)
	}
}

// The link to the content leads there, and to no other view.
func TestPage_skip(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/databases", browser.View{})
	defer p.Close()
	p.WaitText("10,000 in all")
	p.Eval(`document.querySelector('.skip').click()`, nil)
	got := value[string](p, `new Promise(done => setTimeout(
		() => done(location.hash + ' ' + document.activeElement.id)))`)
	if text := p.Text(); got != "#/databases view" || strings.Contains(text, "There is no such view") {
		t.Errorf("at %s the page shows %s", got, text)
	}
}

// All events can be reached, a page after the other, and the address says which one is shown.
func TestPage_events(t *testing.T) {
	const many = 120
	mux := http.NewServeMux()
	stopped(mux)
	api := answers()
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		q, name := r.URL.Query(), asksFor(r)
		if q.Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		if name == "events" {
			first := 0
			_, _ = fmt.Sscan(q.Get("after"), &first)
			page := state.EventPage{Now: time.Now(), Events: []state.Event{}, Stories: []state.Story{}}
			for i := first; i < min(first+50, many); i++ {
				page.Events = append(page.Events, state.Event{ID: fmt.Sprint(i), At: time.Now(), Node: "n1",
					Text: fmt.Sprintf("event %03d", i)})
			}
			if first+50 < many {
				page.Next = fmt.Sprint(first + 50)
			}
			_ = json.NewEncoder(w).Encode(page)
			return
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/events", browser.View{})
	defer p.Close()
	p.WaitText("event 049")
	p.Eval(click("next ›"), nil)
	p.WaitText("event 050")
	p.Eval(click("next ›"), nil)
	p.WaitText("event 119")
	if text := p.Text(); strings.Contains(text, "event 049") || strings.Contains(text, "event 099") {
		t.Errorf("the last page shows %s", text)
	}
	p.Eval("window.old = true; location.reload()", nil)
	p.Wait("!window.old")
	p.WaitText("event 119")
	p.Eval(click("‹ back"), nil)
	p.WaitText("event 050")
}

// The history of a document says how much of it is shown, and shows all.
func TestPage_history(t *testing.T) {
	api := answers()
	var revisions []any
	for i := range 60 {
		revisions = append(revisions, map[string]string{"rev": fmt.Sprintf("%d-x", 60-i), "status": "missing"})
	}
	api["/_dashboard/couch/orders/o1?meta"] = map[string]any{"_id": "o1", "_rev": "60-x", "_revs_info": revisions}
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/databases/orders/doc/o1", browser.View{})
	defer p.Close()
	p.WaitText("50 of 60 revisions")
	if text := p.Text(); strings.Contains(text, " 10-x ") {
		t.Errorf("it shows %s", text)
	}
	p.Eval(click("more"), nil)
	p.WaitText(" 1-x missing")
	if text := p.Text(); strings.Contains(text, "of 60 revisions") {
		t.Errorf("with all revisions it shows %s", text)
	}
}

// Where rows are cards, lists are sorted by a choice.
func TestPage_sortBy(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/databases", browser.View{})
	defer p.Close()
	const choice = `document.querySelector('#view caption select')`
	p.WaitText("10,000 in all")
	if value[bool](p, choice+`.checkVisibility()`) {
		t.Error("beside heads of columns there is a choice")
	}
	p.Resize(360, 800)
	if got := value[string](p, choice+`.ariaLabel + ': ' + `+choice+`.checkVisibility() + ', ' + `+choice+
		`.selectedOptions[0].textContent`); got != "Sort by: true, Database, ascending" {
		t.Errorf("the choice is %s", got)
	}
	fits(t, p, "sorted", 360)
	p.Eval(`(e => { e.focus(); e.value = 'docs descending'; e.dispatchEvent(new Event('change')); })(`+choice+`)`, nil)
	p.Wait(`location.hash === '#/databases?sort=docs&desc=true' && performance.getEntriesByType('resource').some(
		e => e.name.includes('/databases?') && e.name.includes('sort=docs&desc=true'))`)
	for _, view := range []string{"nodes", "", "databases/orders/failures/_design%2Fby", "sessions"} {
		p.Eval(`location.hash = `+quoted("#/"+view), nil)
		p.Wait(choice + `?.checkVisibility()`)
	}
	p.Eval(`location.hash = '#/nodes'`, nil)
	p.Wait(`document.querySelectorAll('#view section').length === 1 && ` + choice)
	for _, way := range []string{"name descending", "name ascending"} {
		p.Eval(`(e => { e.focus(); e.value = `+quoted(way)+`; e.dispatchEvent(new Event('change')); })(`+
			choice+`)`, nil)
		got := value[string](p, choice+`.value + ' ' + (document.activeElement === `+choice+`)`)
		if got != way+" true" {
			t.Errorf("after a choice of %s it is %s", way, got)
		}
	}
}

// Names that differ in what cannot be seen do not look alike. Texts that need joiners keep them.
func TestPage_names(t *testing.T) {
	p := module(t)
	for name, want := range map[string]string{
		"admin": "admin", " admin": `\u0020admin`, "admin ": `admin\u0020`, "a  b": `a \u0020b`, "a b": "a b",
		"admin\u200b": `admin\u200b`, "ad\u00admin": `ad\u00admin`, "admin\u200f": `admin\u200f`,
		"ad\u2060min": `ad\u2060min`, "a\u2028b": `a\u2028b`, "a\nb": `a\u000ab`, "a\tb": `a\u0009b`, "a\u00a0b": `a\u00a0b`,
		"\ufeffa": `\ufeffa`, "a\u200d": `a\u200d`, "می\u200cخواهم": `می\u200cخواهم`, "a\u3000b": `a\u3000b`,
		"\U000e0041": `\udb40\udc41`, `a\u200b`: `a\\u200b`, `a\b`: `a\b`, "日本": "日本", "a\u2800": `a\u2800`,
	} {
		if got := value[string](p, "import('/_dashboard/js/dom.js').then(d => d.link(['x'], "+quoted(name)+
			").textContent)"); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", name, got, want)
		}
	}
	for text, want := range map[string]string{"می\u200cخواهم": "می\u200cخواهم", "👨\u200d👩": "👨\u200d👩",
		"❤\ufe0f": "❤\ufe0f", "admin\u200d": `admin\u200d`, "a\u200bb": `a\u200bb`, "  a\n": "  a\n", "a\u202eb": `a\u202eb`} {
		if got := value[string](p, "import('/_dashboard/js/dom.js').then(d => d.content("+quoted(text)+
			").data)"); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", text, got, want)
		}
	}
}

// A document that is open says when another revision is stored, and keeps edits.
func TestPage_newerRevision(t *testing.T) {
	api := answers()
	stored := func(rev string) map[string]any {
		return map[string]any{"rows": []any{map[string]any{"id": "o1", "value": map[string]any{"rev": rev}}}}
	}
	const all, one = "/_dashboard/couch/orders/_all_docs", "/_dashboard/couch/orders/o1"
	api[all] = stored("2-b")
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/stopped#/databases/orders/doc/o1", browser.View{})
	defer p.Close()
	p.WaitText("1 conflict")
	pass(p, 6*time.Second)
	if text := p.Text(); strings.Contains(text, "is stored meanwhile") {
		t.Errorf("without another revision it shows %s", text)
	}
	api[all], api[one] = stored("3-c"), map[string]any{"_id": "o1", "_rev": "3-c", "customer": "bob"}
	p.Eval(box+`.value = `+box+`.value.replace('anna', 'eve')`, nil)
	pass(p, 6*time.Second)
	p.WaitText("Revision 3-c is stored meanwhile.")
	p.Eval(click("Show it"), nil)
	p.WaitText("Someone has changed the document meanwhile")
	if got := value[string](p, box+".value"); !strings.Contains(got, "eve") {
		t.Errorf("the edits have become %s", got)
	}
	api[one+"?meta"] = api[one]
	p.Eval(click("Take theirs"), nil)
	p.Wait(box + `.value.includes('bob')`)
	pass(p, 6*time.Second)
	if text := p.Text(); strings.Contains(text, "is stored meanwhile") {
		t.Errorf("it still shows %s", text)
	}
	api[all], api[one] = stored("4-d"), map[string]any{"_id": "o1", "_rev": "4-d", "customer": "cleo"}
	api[one+"?meta"] = api[one]
	pass(p, 6*time.Second)
	p.WaitText("Revision 4-d is stored meanwhile.")
	p.Eval(click("Show it"), nil)
	p.Wait(box + `.value.includes('cleo')`)
}

// A missing document is named, with what one can do.
func TestPage_missing(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/databases/orders/doc/o7", browser.View{})
	defer p.Close()
	p.WaitText("o7 is missing: no document of orders has this id.")
	links := value[string](p, `[...document.querySelectorAll('#view .bar a')].map(a => a.getAttribute('href')).join()`)
	if links != "#/databases/orders/docs?from=o7,#/databases/orders/new" {
		t.Errorf("it leads to %s", links)
	}
}

// Who hears the page hears completions and the values of plots; lists say that they load; the range is in the address;
// plots with several lines have a legend.
func TestPage_heard(t *testing.T) {
	api := answers()
	api["sql"] = []any{state.SQLLine{Columns: make([]state.SQLColumn, 4)}, []any{"public", "docs", "id", "text"},
		[]any{"public", "docs", "doc", "jsonb"}, state.SQLLine{Done: "SELECT 2"}}
	url, _, _ := caring(t, api)
	b := browser.Start(t)
	p := b.Open(url+"/_dashboard/#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(relations)
	p.Eval(box+`.value = ''; `+box+`.focus(); document.execCommand('insertText', false, 'do')`, nil)
	const heard = `document.getElementById('heard').textContent`
	p.Wait(heard + ` === '1 completion: Tab takes docs, Alt and arrows choose'`)
	p.Eval(box+`.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', altKey: true }))`, nil)
	p.Wait(heard + ` === 'docs, 1 of 1'`)
	if got := value[bool](p, `(e => e.getAttribute('aria-autocomplete') === 'list' && document.getElementById(
		e.getAttribute('aria-controls')).role === 'listbox' && document.getElementById(
		e.getAttribute('aria-activedescendant')).ariaSelected === 'true')(`+box+`)`); !got {
		t.Error("the box does not say what completes it")
	}
	p.Eval(box+`.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))`, nil)
	p.Wait(heard + ` === ''`)

	p.Eval(`location.hash = '#/plots'`, nil)
	p.Wait(`document.querySelectorAll(".keys .key").length >= 2`)
	p.Eval(`(e => { e.focus(); e.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' })) })(
		document.querySelector('.plot svg'))`, nil)
	p.Wait(heard + `.includes('/s · ') && ` + heard + `.includes('n3 ')`)
	p.Eval(`(e => { e.value = '3600'; e.dispatchEvent(new Event('change')) })(
		document.querySelector('#view select'))`, nil)
	p.Wait(`location.hash === '#/plots?span=3600'`)
	p.Eval("window.old = true; location.reload()", nil)
	p.Wait("!window.old && document.querySelector('#view select')?.value === '3600'")
}

// A list says that it loads.
func TestPage_loading(t *testing.T) {
	api := answers()
	read := make(chan struct{}) // closed when the databases are read
	mux := http.NewServeMux()
	stopped(mux)
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name := asksFor(r)
		if r.URL.Query().Get("live") != "" {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		if name == "databases" && r.URL.Query().Get("sort") == "docs" {
			select {
			case <-read:
			case <-r.Context().Done():
			}
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/databases", browser.View{})
	defer p.Close()
	p.WaitText("10,000 in all")
	p.Eval(`[...document.querySelectorAll('th button')].find(b => b.textContent.startsWith('Documents')).click()`, nil)
	p.WaitText("Loading…")
	close(read)
	p.WaitText("10,000 in all")
}

// Units, the figures of an axis, and headers.
func TestPage_units(t *testing.T) {
	p := module(t)
	got := value[string](p, `import('/_dashboard/js/plan.js').then(m => m.planTree(JSON.stringify([{ Plan: {
		'Node Type': 'Sort', 'Total Cost': 1, 'Plan Rows': 1, 'Sort Space Used': 2, 'Peak Memory Usage': 18,
		'Disk Usage': 3, 'Sort Space Type': 'Memory' }, 'Planning Time': 0.5 }])).map(e => e.textContent).join(' '))`)
	if !strings.Contains(got, "Sort Space Used: 2 kBPeak Memory Usage: 18 kBDisk Usage: 3 kBSort Space Type: Memory") ||
		!strings.Contains(got, "Planning Time 0.5 ms") {
		t.Errorf("a plan is %s", got)
	}
	for values, want := range map[string]string{`'0.0001','0.0004'`: "0 0.0002 0.0004",
		`'1','1000000'`: "0 500,000 1,000,000", `'-1','1'`: "-1 0 1", `'0.5','3'`: "0 1.5 3", `'1e-12'`: "0 5e-13 1e-12"} {
		got := value[string](p, `import('/_dashboard/js/chart.js').then(m => [...m.chartOf({ columns: [
			{ name: 'a', type: 'text' }, { name: 'b', type: 'numeric' }], rows: [`+values+`].map(v => ['x', v])
			}).querySelectorAll('text')].slice(0, 3).map(e => e.textContent).join(' '))`)
		if got != want {
			t.Errorf("for %s the axis has %q, want %q", values, got, want)
		}
	}
}

// A list is sorted by a click anywhere in a header, and by the key that presses its button.
func TestPage_headers(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/stopped#/databases", browser.View{})
	defer p.Close()
	p.WaitText("10,000 in all")
	const header = `[...document.querySelectorAll('th')].find(e => e.textContent.startsWith('Size'))`
	sorts := func(how string) {
		t.Helper()
		p.Eval(how, nil)
		p.Wait(`location.hash.includes('sort=bytes')`)
		p.Eval(`history.replaceState(null, '', '#/databases')`, nil)
	}
	p.Eval(`(e => { const b = e.getBoundingClientRect(),
		at = document.elementFromPoint(b.left + 1, b.top + b.height / 2);
		if (at !== e) throw new Error('there is ' + at.outerHTML); })(`+header+`)`, nil)
	sorts(header + `.click()`)
	sorts(header + `.querySelector('button').click()`) // as Enter does
	if got := value[string](p, `getComputedStyle(`+header+`).cursor`); got != "pointer" {
		t.Errorf("the cursor above a header is %s", got)
	}
}

// Words stay whole in a list, and addresses and ids break behind signs.
func TestPage_wholeWords(t *testing.T) {
	p := module(t)
	got := value[[]string](p, `import('/_dashboard/js/table.js').then(({ table }) => {
		const link = document.createElement('a');
		link.textContent = 'node:n1/databases/database:orders/shard:1';
		return [...table('x', [{ title: 'a', cell: r => r }], ['http://10.0.0.7:5984/a-database/', 'x'.repeat(15),
			'ten words/a day', link]).querySelectorAll('td > span')].map(e => e.className + ': ' + e.innerHTML);
	})`)
	want := []string{"words: http://<wbr>10.0.0.7:<wbr>5984/<wbr>a-database/", ": " + strings.Repeat("x", 15),
		"words: ten words/a day",
		"words: <a>node:<wbr>n1/<wbr>databases/<wbr>database:<wbr>orders/<wbr>shard:<wbr>1</a>"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the cells are %q, want %q", got, want)
	}
}

// The documents of a range of ids.
func TestPage_range(t *testing.T) {
	api := answers()
	mux := http.NewServeMux()
	stopped(mux)
	mux.HandleFunc("/_dashboard/couch/orders/_all_docs", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"rows":[]}`)
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) { answer(w, api, asksFor(r)) })
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/_dashboard/#/databases/orders/docs", browser.View{})
	defer p.Close()
	p.WaitText("There is no document yet.")
	p.Eval(typeInto("From id", "a"), nil)
	p.Eval(typeInto("To id", "b"), nil)
	p.WaitText("There is no document between these ids.")
	p.Wait(`location.hash.endsWith('?from=a&to=b')`)
	p.Wait(`performance.getEntriesByType('resource').some(e => (q => q.get('startkey') === '"a"' &&
		q.get('endkey') === '"b"')(new URL(e.name).searchParams))`)
}

// Enter does what the button of a dialog does when what is asked for is typed.
func TestPage_enter(t *testing.T) {
	p := module(t)
	p.Eval(`document.body.innerHTML = '<dialog id="ask"></dialog>'; window.done = 0;
		import('/_dashboard/js/actions.js').then(m => m.ask('Delete', 'It is gone.', () => window.done++, 'orders'))`, nil)
	enter := `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))`
	p.Wait(`document.activeElement.placeholder === 'orders'`)
	p.Eval(enter, nil)
	p.Eval(`document.activeElement.value = 'orders'; document.activeElement.dispatchEvent(new Event('input'));
		`+enter, nil)
	p.Wait(`!document.querySelector('#ask').open`)
	if n := value[int](p, "window.done"); n != 1 {
		t.Errorf("it was done %d times", n)
	}
}
