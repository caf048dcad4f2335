package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// A result without columns has as many rows as any other, which can be downloaded.
func TestPage_sqlNoColumns(t *testing.T) {
	address, lines := sqlPage(t)
	p := browser.Start(t).Open(address+"#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(box)
	lines.Store([]any{state.SQLLine{Columns: []state.SQLColumn{}}, []any{}, []any{}, state.SQLLine{Done: "SELECT 2"},
		state.SQLLine{Done: "UPDATE 3"}, state.SQLLine{Columns: []state.SQLColumn{}}, state.SQLLine{Done: "SELECT 0"}})
	p.Eval(pressed, nil)
	p.WaitText("SELECT 0")
	got := value[string](p, `[...document.querySelectorAll('#view > div > div > section')].map(e =>
		e.innerText.replace(/\s+/g, ' ')).join('; ')`)
	if want := "SELECT 2 CSV JSON Chart 2 rows without columns; Done UPDATE 3; Done SELECT 0"; got != want {
		t.Errorf("it shows %q, want %s", got, want)
	}
	files := value[string](p, `import('/_dashboard/js/results.js').then(({ csv, json }) =>
		(r => csv(r) + json(r))({ columns: [], rows: [[], []] }))`)
	if files != "\r\n\r\n\r\n[\n{},\n{}\n]\n" {
		t.Errorf("the files are %q", files)
	}
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
	const again = "It answers again."
	down.Store(true)
	pass(p, 10e9)
	if text := p.Text(); strings.Contains(text, again) {
		t.Errorf("in a second outage it shows %s", text)
	}
	down.Store(false)
	pass(p, 30e9)
	p.WaitText(again)
	save()
	p.Eval(box+`.dispatchEvent(new Event('input'))`, nil)
	gone("after an edit")
}

// Only a statement that is known to its end can be opened to be run: the rest could be what limits it.
func TestPage_cutStatements(t *testing.T) {
	api := answers()
	api["sessions"] = map[string]any{"now": time.Now(), "total": 3, "absent": []state.Absent{},
		"rows": []state.Session{
			{Node: "n1", PID: 1, Statement: "SELECT 1"},
			{Node: "n1", PID: 2, Statement: "DELETE FROM docs -- ", Cut: true},
			{Node: "n1", PID: 3, Statement: "DELETE FROM docs …"}}} // from a node of an earlier version
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/sessions", browser.View{})
	defer p.Close()
	p.WaitText("This is only its beginning: it cannot be opened in SQL.")
	rows := value[[]string](p, `[...document.querySelectorAll('#view table[aria-label="SQL sessions"] tbody tr')].map(
		r => r.innerText.includes('only its beginning') + ' ' + (r.querySelector('a[href*="q="]')?.innerText ?? 'no'))`)
	if got, want := strings.Join(rows, ", "), "false Open in SQL, true no, true no"; got != want {
		t.Errorf("the sessions are %q, want %q", got, want)
	}
}

// A statement that runs is not ended by leaving its view without a question, and it is said what became of it.
func TestPage_leavingStatement(t *testing.T) {
	url, _, hold := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(relations)
	asks := func() bool {
		return value[bool](p, `!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))`)
	}
	if asks() {
		t.Error("it asks although nothing runs")
	}
	hold.Store(true)
	p.Eval(box+`.value = 'INSERT INTO docs SELECT 1'; `+pressed, nil)
	p.WaitText("0 rows")
	if !asks() {
		t.Error("closing the page asks nothing")
	}
	const question = "A statement is running. It is cancelled, and what it has not committed is undone."
	p.Eval(`document.querySelector('nav a[href="#/jobs"]').click()`, nil)
	p.WaitText(question)
	p.Eval(`[...document.querySelectorAll('#ask button')].find(b => b.textContent === 'Cancel').click()`, nil)
	p.Eval(`location.hash = '#/jobs'`, nil)
	p.WaitText(question)
	if got := value[string](p, `location.hash`); got != "#/sql/orders" {
		t.Errorf("while it asks the address is %s", got)
	}
	p.Eval(`[...document.querySelectorAll('#ask button')].find(b => b.textContent === 'Leave and cancel').click()`, nil)
	p.Wait(`location.hash === '#/jobs'`)
	hold.Store(false)
	p.Eval(`location.hash = '#/sql/orders'`, nil)
	p.WaitText("“INSERT INTO docs SELECT 1” in orders was cancelled after ")
	p.WaitText("What the statements had not committed by then is undone.")
	p.Eval(`location.hash = '#/jobs'`, nil)
	p.Wait(`!` + box)
	p.Eval(`location.hash = '#/sql/orders'`, nil)
	p.Wait(box)
	if text := p.Text(); strings.Contains(text, "was cancelled") {
		t.Errorf("it is said again: %s", text)
	}
}

// The plan of a statement that was run has the rows that were expected beside those that came, and marks the step with
// most of those.
func TestPage_plan(t *testing.T) {
	p := module(t)
	const plan = `[{ Plan: { 'Node Type': 'Limit', 'Total Cost': 9, 'Plan Rows': 10, 'Actual Rows': 5,
		'Actual Loops': 1,
		Plans: [{ 'Node Type': 'Seq Scan', 'Total Cost': 8, 'Plan Rows': 100, 'Actual Rows': 5, 'Actual Loops': 2,
		'Rows Examined': 1000 }, { 'Node Type': 'Result', 'Total Cost': 4.5, 'Plan Rows': 1, 'Actual Rows': 20,
		'Actual Loops': 0 }] } }]`
	drawn := func(plan string) string {
		return strings.Join(value[[]string](p, `import('/_dashboard/js/plan.js').then(m =>
			[...m.planTree(JSON.stringify(
			`+plan+`))[0].querySelectorAll('.step')].map(e => e.querySelector('.dim').textContent + ' ' +
			Math.round(e.querySelector('progress').value) + ' %'))`), "; ")
	}
	if got, want := drawn(plan), "5 rows, about 10 expected · cost 9 0 %; 5 rows in each of 2 runs, "+
		"about 100 expected, "+
		"1,000 examined · cost 8 100 %; 20 rows, about 1 expected · cost 4.5 0 %"; got != want {
		t.Errorf("the plan is %s, want %s", got, want)
	}
	const expected = `[{ Plan: { 'Node Type': 'Limit', 'Total Cost': 8, 'Plan Rows': 10,
		Plans: [{ 'Node Type': 'Seq Scan',
		'Total Cost': 2, 'Plan Rows': 100 }] } }]`
	if got, want := drawn(expected), "about 10 rows · cost 8 100 %; about 100 rows · cost 2 25 %"; got != want {
		t.Errorf("the plan is %s, want %s", got, want)
	}
}

// A chart has as many labels as fit, none over another one.
func TestPage_chartLabels(t *testing.T) {
	p := module(t)
	for _, c := range []struct{ names, want string }{
		{`['Berlin', 'Paris', 'Rome']`, "Berlin Paris Rome"},
		{`Array.from({ length: 12 }, (_, i) => 'month ' + i)`,
			"month 0 month 1 month 2 month 3 month 4 month 5 month 6 " +
				"month 7 month 8 month 9 month 10 month 11"},
		{`Array.from({ length: 100 }, (_, i) => 'n' + i)`,
			"n0 n4 n8 n12 n16 n20 n24 n28 n32 n36 n40 n44 n48 n52 n56 n60 " +
				"n64 n68 n72 n76 n80 n84 n88 n92 n96"},
		{`['x'.repeat(90)]`, strings.Repeat("x", 40)},
	} {
		var got struct {
			Text  string
			Apart bool
		}
		p.Eval(`import('/_dashboard/js/chart.js').then(m => {
			const chart = m.chartOf({ columns: [{ name: 'a', type: 'text' }, { name: 'b', type: 'numeric' }],
				rows: `+c.names+`.map((n, i) => [n, String(i + 1)]) });
			document.body.replaceChildren(chart);
			document.body.style.font = '12px system-ui, sans-serif';
			const labels = [...chart.querySelectorAll('text')].slice(3), boxes = labels.map(e => e.getBBox());
			return { text: labels.map(e => e.textContent).join(' '), apart: boxes.every((b, i) =>
				b.x + b.width <= 900 && (i === 0 || boxes[i - 1].x + boxes[i - 1].width < b.x)) };
		})`, &got)
		if got.Text != c.want || !got.Apart {
			t.Errorf("of %s the labels are %s, apart: %v", c.names, got.Text, got.Apart)
		}
	}
}

// Where to begin an SQL session is where the node that was asked listens.
func TestPage_psql(t *testing.T) {
	api := answers()
	api["sessions"] = map[string]any{"now": time.Now(), "total": 0, "absent": []state.Absent{},
		"rows": []state.Session{}, "sql": "10.0.0.7:7433"}
	url, _, _ := caring(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/sessions", browser.View{})
	defer p.Close()
	p.WaitText("Try: psql -h 10.0.0.7 -p 7433 -d orders")
	for address, want := range map[string]string{"0.0.0.0:5433": "psql -h 127.0.0.1 -p 5433",
		"[::]:1": "psql -h 127.0.0.1 -p 1", "[fd00::7]:2": "psql -h fd00::7 -p 2", "db:3": "psql -h db -p 3"} {
		got := value[string](p, `import('/_dashboard/js/dom.js').then(d => d.psql(`+quoted(address)+`))`)
		if got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

// What was typed is not lost when another statement is chosen, or when it takes the place of what an address brings.
func TestPage_typedStatement(t *testing.T) {
	url, _, _ := caring(t, answers())
	p := browser.Start(t).Open(url+"/_dashboard/#/sql/orders", browser.View{})
	defer p.Close()
	p.Wait(relations)
	const list = `document.querySelector('[aria-label="Earlier statements"]')`
	choose := func(what string) {
		p.Eval(`(() => { const list = `+list+`; list.focus(); list.value = [...list.options].find(
			o => o.textContent.startsWith(`+quoted(what)+`)).value; list.dispatchEvent(new Event('change')); })()`, nil)
	}
	const typed = "UPDATE docs SET doc = '{}'\n-- for hours"
	p.Eval(box+`.focus(); `+box+`.select(); document.execCommand('insertText', false, `+quoted(typed)+`)`, nil)
	choose("Some documents")
	if got := value[string](p, box+".value"); got != "SELECT id, doc FROM docs LIMIT 20" {
		t.Errorf("what was chosen is %q", got)
	}
	p.Eval(`document.execCommand('undo')`, nil)
	if got := value[string](p, box+".value"); got != typed {
		t.Errorf("after Undo the box has %q", got)
	}
	choose("Some documents")
	choose("Conflicts") // which replaces what was not typed
	choose("UPDATE docs")
	if got := value[string](p, box+".value"); got != typed {
		t.Errorf("the list has kept %q", got)
	}
	if n := value[int](p, list+`.options.length`); n != 1+5+1 {
		t.Errorf("the list has %d entries", n)
	}
}
