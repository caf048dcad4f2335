package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/scripts/browser"
)

// evil is a name that must appear as it is, wherever it appears.
const evil = `<img src=x onerror=document.title=/owned/>"'&?/%`

// showing opens a view of the console.
func showing(t *testing.T, b *browser.Browser, p *process, view string, how browser.View) *browser.Page {
	t.Helper()
	return b.Open("http://anna:secret@"+p.ready["http"]+"/_dashboard/#/"+view, how)
}

// quoted returns a text as a literal of JavaScript.
func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// set puts a text into a field, as somebody who types it does.
func set(p *browser.Page, field, value string) {
	quoted, _ := json.Marshal(value)
	p.Eval(fmt.Sprintf(`(() => {
		const e = %s;
		e.focus();
		e.value = %s;
		e.setSelectionRange?.(e.value.length, e.value.length);
		e.dispatchEvent(new Event('input', { bubbles: true }));
		e.dispatchEvent(new Event('change', { bubbles: true }));
	})()`,
		field, quoted), nil)
}

// press presses the button with a label, below an element.
func press(p *browser.Page, within, label string) {
	quoted, _ := json.Marshal(label)
	button := fmt.Sprintf(`[...document.querySelectorAll('%s button')].find(b => b.textContent === %s && !b.disabled)`,
		within, quoted)
	p.Wait(button)
	p.Eval(button+".click()", nil)
}

// well fails if a page has complained, but about answers that the test has caused.
func well(t *testing.T, p *browser.Page, but ...string) {
	t.Helper()
	for _, problem := range p.Problems() {
		expected := false
		for _, b := range but {
			expected = expected || strings.Contains(problem, b)
		}
		if !expected {
			t.Errorf("the page complains: %s", problem)
		}
	}
	var title string
	if p.Eval("document.title", &title); strings.Contains(title, "owned") || !strings.Contains(title, "Divan") {
		t.Errorf("the title is %q", title)
	}
}

const editor = `document.querySelector('.editor')`

// Somebody opens the console of an empty node, makes a database and a document, edits it while somebody else does, and
// sees its history, conflicts and attachments.
func TestConsole_Documents(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	p := showing(t, b, node, "databases", browser.View{})
	p.Wait(`document.querySelector('form input')`)
	set(p, `document.querySelector('form input')`, "orders")
	press(p, "form", "Create a database")
	p.WaitText("documents SQL events Compact")
	p.Eval(`location.hash = '#/databases/orders/new'`, nil)
	p.Wait(editor)
	press(p, "#view", "Save") // not JSON yet? it is an empty object
	p.WaitText("History")
	p.Eval(`location.hash = '#/databases/orders/new'`, nil)
	p.WaitText("New document")
	id, _ := json.Marshal(evil)
	set(p, editor, `{"_id": `+string(id)+`, "n": 12345678901234567890, "s": `+string(id)+`}`)
	press(p, "#view", "Save")
	p.WaitText("History")
	p.Wait(editor + ".value.includes('12345678901234567890')") // a browser's number would be rounded
	at := "/orders/" + url.PathEscape(evil)

	set(p, editor, "{ not JSON")
	press(p, "#view", "Save")
	p.WaitText("This is not JSON")
	press(p, "#view", "Reload")
	press(p, "#ask", "Reload")
	p.Wait(editor + ".value.includes('12345678901234567890')")
	p.Eval(editor+".value = "+editor+".value.replace('90,', '91,')", nil)
	press(p, "#view", "Save")
	p.WaitText("Saved as 2-")
	if got := c.object("GET", at, ""); fmt.Sprint(got["s"]) != evil || !strings.Contains(string(c.do("GET", at, "").body),
		"12345678901234567891") {
		t.Errorf("stored %v", got)
	}

	// Somebody else is faster.
	rev := fmt.Sprint(c.object("GET", at, "")["_rev"])
	c.ok("PUT", at+"?rev="+rev, `{"theirs":true}`)
	p.Eval(editor+".value = "+editor+".value.replace('91,', '92,')", nil)
	press(p, "#view", "Save")
	p.WaitText("Someone has changed the document meanwhile")
	p.WaitText("Not saved: the document has another revision now.")
	if text := p.Text(); strings.Contains(text, "Saved as") {
		t.Errorf("beside a refusal the page shows %s", text)
	}
	press(p, "#view", "Save mine over it")
	p.WaitText("Saved as 4-")
	press(p, "#view", "Compare")
	p.Wait(`document.querySelector('.diff .changed')`)

	c.ok("PUT", at+"?new_edits=false",
		`{"_rev":"4-ffffffffffffffffffffffffffffffff","other":"`+strings.Repeat("z", 200)+`"}`)
	c.ok("PUT", at+"/"+url.PathEscape(evil)+"?rev="+fmt.Sprint(c.object("GET", at, "")["_rev"]),
		"<script>alert(1)</script>")
	press(p, "#view", "Reload")
	p.WaitText("1 conflict")
	p.WaitText("Keep the right one")
	p.Wait(`document.querySelector('a[download][href*="/couch/orders/"]')`)
	p.Shot("console-document")
	press(p, "#view", "Keep the left one")
	press(p, "#ask", "Keep the left one")
	p.Wait(`!document.body.innerText.includes('1 conflict')`)
	if got := c.object("GET", at+"?conflicts=true", ""); got["_conflicts"] != nil {
		t.Errorf("conflicts remain: %v", got)
	}

	for i := range 60 {
		c.ok("PUT", fmt.Sprintf("/orders/doc%02d", i), fmt.Sprintf(`{"i":%d}`, i))
	}
	p.Eval(`location.hash = '#/databases/orders/docs?from=doc'`, nil)
	p.WaitText(`doc00`)
	p.WaitText(`{"i":7}`)
	press(p, "#view", "next ›")
	p.WaitText("doc59")
	set(p, `document.querySelector('input[type=search]')`, "")
	p.WaitText(evil)
	p.Shot("console-documents")
	p.Eval(`[...document.querySelectorAll('#view td a')].find(a => a.textContent.startsWith('<img')).click()`, nil)
	press(p, "#view", "Delete")
	press(p, "#ask", "Delete")
	p.WaitText("doc00")
	if status := c.status("GET", at, ""); status != 404 {
		t.Errorf("the document that was deleted: %d", status)
	}
	p.Eval(`location.hash = '#/databases/orders'`, nil)
	press(p, "#view", "Delete")
	p.Wait(`document.querySelector('#ask .bar button').disabled`)
	var named string
	if p.Eval(`document.querySelector('#ask').getAttribute('aria-label')`, &named); named != "Delete" {
		t.Errorf("the dialog's name is %q", named)
	}
	set(p, `document.querySelector('#ask input')`, "orders")
	press(p, "#ask", "Delete")
	p.WaitText("There is no database yet.")
	well(t, p)
}

// A browser removes the segments "." and ".." from a path, also if they are escaped. Nothing that is named so may be
// taken for what is above it: a tester has deleted a database like this.
func TestConsole_Dots(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/dots", "")
	c.ok("PUT", "/dots/other", `{}`)
	p := showing(t, b, node, "databases/dots/new", browser.View{})
	for _, id := range []string{".", "..", "_design/.", "_design/..", "_local/..", "a/../b", "...", "a.b", "%2E%2e", "%"} {
		p.Eval(`location.hash = '#/databases/dots/new'`, nil)
		p.WaitText("New document")
		set(p, editor, `{"_id": `+quoted(id)+`}`)
		press(p, "#view", "Save")
		p.Wait(`[...document.querySelectorAll('#view button')].some(b => b.textContent === 'Delete')`)
		if !strings.HasPrefix(id, "_local/") {
			at := "/dots/" + url.PathEscape(id)
			rev := fmt.Sprint(c.object("GET", at, "")["_rev"])
			for _, name := range []string{".", ".."} {
				rev = fmt.Sprint(c.object("PUT", at+"/"+name+"?rev="+rev, "of "+id)["rev"])
			}
			press(p, "#view", "Reload")
			p.Wait(`document.querySelectorAll('#view a[download]').length === 2`)
			var got []string
			p.Eval(`Promise.all([...document.querySelectorAll('#view a[download]')].map(
				a => fetch(new URL(a.getAttribute('href'), location.origin)).then(r => r.text())))`, &got)
			if fmt.Sprint(got) != fmt.Sprint([]string{"of " + id, "of " + id}) {
				t.Errorf("the attachments of %s are %q", id, got)
			}
			for range 2 {
				press(p, "#view", "Remove")
				press(p, "#ask", "Remove")
				p.Wait(`!document.querySelector('#ask').open`)
			}
			if got := c.object("GET", at, ""); got["_id"] != id || got["_attachments"] != nil {
				t.Errorf("%s without its attachments is %v", id, got)
			}
		}
		p.Eval(editor+`.value = `+editor+`.value.replace(/\s*}\s*$/, ', "n": 1 }')`, nil)
		press(p, "#view", "Save")
		p.WaitText("Saved as ")
		press(p, "#view", "Delete")
		press(p, "#ask", "Delete")
		p.WaitText("Documents of dots")
		if status := c.status("GET", "/dots/"+url.PathEscape(id), ""); status != 404 {
			t.Errorf("%s that was deleted: %d", id, status)
		}
		if status := c.status("GET", "/dots/other", ""); status != 200 {
			t.Fatalf("after %s was deleted, another document: %d", id, status)
		}
	}
	p.Eval(`location.hash = '#/databases/dots/doc/'`, nil)
	p.WaitText("There is no such page.")
	well(t, p)
}

// Edits that are not saved are only lost if somebody says so.
func TestConsole_Unsaved(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	c.ok("PUT", "/orders/o1", `{"n":1}`)
	p := showing(t, b, node, "databases/orders/docs", browser.View{})
	p.WaitText(`{"n":1`)
	doc := "#/databases/orders/doc/o1"
	p.Eval(`[...document.querySelectorAll('#view td a')].find(a => a.textContent === 'o1').click()`, nil)
	p.Wait(editor + `?.value.includes('"n": 1')`)
	stays := func(what string) {
		t.Helper()
		p.WaitText("The document has edits that are not saved.")
		press(p, "#ask", "Cancel")
		var got struct{ Hash, Text string }
		p.Eval(`({ hash: location.hash, text: document.querySelector('.editor')?.value })`, &got)
		if got.Hash != doc || !strings.Contains(got.Text, `"n": 2`) {
			t.Errorf("%s: the page is %+v", what, got)
		}
	}
	leaving := func() (asks bool) {
		p.Eval(`!window.dispatchEvent(new Event('beforeunload', { cancelable: true }))`, &asks)
		return asks
	}
	if leaving() {
		t.Error("a page without edits asks before it is closed")
	}
	p.Eval(editor+".value = "+editor+`.value.replace('"n": 1', '"n": 2')`, nil)
	if !leaving() {
		t.Error("a page with edits does not ask before it is closed")
	}
	p.Eval(`document.querySelector('nav a[href="#/jobs"]').click()`, nil)
	stays("a link")
	p.Eval(`history.back()`, nil)
	stays("Back")
	press(p, "#view", "Reload")
	p.WaitText("The edits that are not saved are lost.")
	press(p, "#ask", "Cancel")
	p.Eval(`document.querySelector('nav a[href="#/jobs"]').click()`, nil)
	press(p, "#ask", "Leave without saving")
	p.Wait(`location.hash === '#/jobs'`)
	p.WaitText("The queue is empty")
	p.Eval(`location.hash = `+quoted(doc), nil)
	p.Wait(editor + `?.value.includes('"n": 1')`)

	// Its reload asks the server.
	c.ok("PUT", "/orders/o1?rev="+fmt.Sprint(c.object("GET", "/orders/o1", "")["_rev"]), `{"n":7}`)
	press(p, "#view", "Reload")
	p.Wait(editor + `.value.includes('"n": 7')`)
	p.Eval(`location.hash = '#/databases/orders/doc/_local%2Fl1'`, nil)
	p.WaitText("missing")
	c.ok("PUT", "/orders/_local/l1", `{"n":8}`)
	p.Eval(`location.hash = '#/'`, nil)
	p.WaitText("Last events")
	p.Eval(`location.hash = '#/databases/orders/doc/_local%2Fl1'`, nil)
	p.Wait(editor + `?.value.includes('"n": 8')`)
	if text := p.Text(); strings.Contains(text, "History") || strings.Contains(text, "Attach") {
		t.Errorf("a document that is not replicated shows %s", text)
	}
	well(t, p)
}

// A document that somebody else deletes while it is edited, and one that was deleted before.
func TestConsole_Deleted(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	rev := func() string { return fmt.Sprint(c.object("GET", "/orders/o1", "")["_rev"]) }
	c.ok("PUT", "/orders/o1", `{"n":12345678901234567890}`)
	c.ok("PUT", "/orders/o1/a.txt?rev="+rev(), "hello")
	p := showing(t, b, node, "databases/orders/doc/o1", browser.View{})
	p.Wait(editor + `?.value.includes('"n": 12345678901234567890')`)

	c.ok("DELETE", "/orders/o1?rev="+rev(), "")
	p.Eval(editor+".value = "+editor+`.value.replace('890', '891')`, nil)
	press(p, "#view", "Save")
	p.WaitText("Someone has deleted the document meanwhile")
	p.WaitText("Not saved: the document is deleted now.")
	press(p, "#view", "Leave it deleted")
	p.WaitText("The document is deleted. What is saved here, or restored below, is its next revision.")
	p.Wait(`document.querySelector('#view tbody tr').innerText.includes('deleted')`)
	p.Shot("console-deleted")
	p.Eval(`[...document.querySelectorAll('#view td button')].find(b => b.textContent === 'Restore').click()`, nil)
	press(p, "#ask", "Restore")
	p.WaitText("Restored as 4-")
	if got := c.do("GET", "/orders/o1/a.txt", ""); string(got.body) != "hello" ||
		!strings.Contains(string(c.do("GET", "/orders/o1", "").body), "12345678901234567890") {
		t.Errorf("restored %s", c.do("GET", "/orders/o1", "").body)
	}

	over := func() {
		t.Helper()
		c.ok("DELETE", "/orders/o1?rev="+rev(), "")
		p.Eval(editor+".value = "+editor+`.value.replace('890', '892')`, nil)
		press(p, "#view", "Save")
		p.WaitText("Someone has deleted the document meanwhile")
		press(p, "#view", "Save mine over it")
	}
	over()
	p.WaitText("Its attachments are deleted")
	p.Eval(editor+".value = "+editor+`.value.replace(/,\s*"_attachments"[^]*/, '}')`, nil)
	press(p, "#view", "Save")
	p.WaitText("Saved as 6-")
	p.Eval(editor+".value = "+editor+`.value.replace('892', '890')`, nil)
	over()
	p.WaitText("Saved as 8-")
	if got := c.do("GET", "/orders/o1", ""); !strings.Contains(string(got.body), "12345678921234567890") {
		t.Errorf("saved %s", got.body)
	}

	c.ok("DELETE", "/orders/o1?rev="+rev(), "")
	press(p, "#view", "Reload")
	p.WaitText("The document is deleted.")
	press(p, "#view", "Save")
	p.WaitText("Saved as 10-")
	well(t, p)
}

// What is not there is said to be absent, without buttons and plots, and what makes no sense is not done.
func TestConsole_Absent(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders?changes_shards=2", "")
	p := showing(t, b, node, "", browser.View{})
	p.WaitText("Last events")
	for view, want := range map[string]string{"databases/nodb": "There is no such database.",
		"databases/NoDB": "There is no such database.", "nodes/nobody": "There is no such node.",
		"databases/nodb/feeds/0": "There is no such database.", "databases/orders/feeds/99": "There is no such shard.",
		"databases/orders/feeds/abc": "Shard abc of orders There is no such shard.",
		"nosuchview":                 "There is no such view.", "constructor": "There is no such view."} {
		p.Eval(`location.hash = '#/`+view+`'`, nil)
		p.WaitText(want)
		var buttons int
		if p.Eval(`document.querySelectorAll('#view button, #view select, #view svg').length`, &buttons); buttons != 0 {
			t.Errorf("%s shows %d buttons or plots", view, buttons)
		}
	}
	p.Eval(`location.hash = '#/nodes/one'`, nil)
	p.Wait(`document.querySelector('#view select') && document.querySelector('#view svg')`)

	p.Eval(`location.hash = '#/databases/orders'`, nil)
	const number = `document.querySelector('#view input[type=number]')`
	p.Wait(number)
	reshard := func(n, want string) {
		t.Helper()
		p.Eval(number+`.value = '`+n+`'; `+number+`.dispatchEvent(new Event('input'))`, nil)
		press(p, "#view", "Reshard")
		p.WaitText(want)
	}
	for _, n := range []string{"0", "-1", "1.5", "", "65"} {
		reshard("2", "orders has 2 shards already.")
		reshard(n, "The number of shards is a whole number from 1 to 64.")
	}
	reshard("1", "New changes of orders go to 1 shard, and not to 2 as now.")
	press(p, "#ask", "Reshard")
	p.Wait(`!document.querySelector('#ask').open`)
	reshard("1", "orders has 1 shard already.")
	if text := string(c.do("GET", "/_dashboard/api/events?search=resharded", "").body); !strings.Contains(text,
		"orders resharded to 1 shard") || strings.Contains(text, "1 shards") {
		t.Errorf("the events are %s", text)
	}

	p.Eval(`location.hash = '#/sql/orders'`, nil)
	p.Wait(editor)
	set(p, editor, "SELECT 1/0")
	press(p, "#view", "Run")
	p.WaitText("22012")
	set(p, editor, " ")
	press(p, "#view", "Run")
	p.WaitText("There is no statement.")
	if text := p.Text(); strings.Contains(text, "22012") {
		t.Errorf("beside an empty statement the page shows %s", text)
	}
	well(t, p)
}

// The page of a node that is killed leads to the others.
func TestConsole_KilledNode(t *testing.T) {
	b := browser.Start(t)
	c := startCluster(t, 2)
	p := b.Open(c.nodes[1].http()+"/_dashboard/#/events", browser.View{})
	p.WaitText("all is well: 2 nodes")
	p.WaitText("live ●")
	c.nodes[1].kill()
	p.WaitText("node1 does not answer; what is shown is from ")
	var got []string
	p.Eval(`[...document.querySelectorAll('#verdict a')].map(a => a.href)`, &got)
	if want := c.nodes[0].http() + "/_dashboard/#/events"; len(got) != 1 || got[0] != want {
		t.Errorf("the page leads to %q, want %q", got, want)
	}
	p.Shot("console-dead-node")
}

// Somebody writes SQL in the console.
func TestConsole_SQL(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	var docs []string
	for i := range 250 {
		text, _ := json.Marshal(map[string]any{"_id": fmt.Sprintf("o%03d", i), "customer": fmt.Sprint("c", i%5),
			"total": i, "evil": evil})
		docs = append(docs, string(text))
	}
	c.ok("POST", "/orders/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	c.ok("PUT", "/orders/_design/by", `{"views":{"customer":{"map":"function (doc) { emit(doc.customer, doc.total) }"}}}`)

	p := showing(t, b, node, "sql/orders?q="+url.QueryEscape("DELETE FROM docs"), browser.View{})
	p.Wait("document.querySelector('#view details')")
	p.Eval("document.querySelector('#view details').open = true", nil)
	p.WaitText("by.customer")
	run := func(sql string) {
		t.Helper()
		set(p, editor, sql)
		press(p, "#view", "Run")
		p.Wait(`!document.querySelector('#view [role=status]').textContent.includes('Running')`)
	}
	run(`SELECT doc->>'evil' AS "` + strings.ReplaceAll(evil, `"`, `""`) + `", doc FROM docs WHERE id = 'o001'`)
	p.WaitText("SELECT 1") // nothing was run by the address
	p.WaitText(evil)
	run("SELECT id, (doc->>'total')::int AS total FROM docs ORDER BY id")
	p.WaitText("1 to 100 of 250")
	press(p, "#view", "next ›")
	p.WaitText("o150")
	press(p, "#view", "Chart")
	p.Wait(`document.querySelectorAll('.chart rect').length >= 200`)
	p.Shot("console-sql")

	set(p, editor, "SELECT * FROM by.cust")
	p.Wait(`document.querySelector('.offers button')?.textContent === 'customer'`)
	p.Eval(editor+`.dispatchEvent(new KeyboardEvent('keydown', { key: 'Tab', bubbles: true, cancelable: true }))`, nil)
	p.Wait(editor + ".value === 'SELECT * FROM by.customer'")
	press(p, "#view", "Explain and run")
	p.WaitText("View Read on by.customer")
	p.WaitText("Execution Time")
	p.Shot("console-plan")

	// What is explained is not run, and nothing after it either.
	for text, want := range map[string]string{
		"SELECT count(*) FROM docs; DELETE FROM docs WHERE id = 'o001'": "only one statement can be explained at a time",
		"BEGIN; DELETE FROM docs WHERE id = 'o001'; COMMIT":             "only one statement can be explained at a time",
		"EXPLAIN ANALYZE DELETE FROM docs WHERE id = 'o001'":            "the statement is an EXPLAIN already",
		"DELETE FROM docs WHERE id = 'o001'":                            "cost",
		"SELECT ';' FROM docs WHERE id = $$; DELETE FROM docs$$ -- ;":   "cost",
		"SELECT 1,\n  nope FROM docs":                                   "  nope FROM docs\n  ↑",
	} {
		set(p, editor, text)
		press(p, "#view", "Explain")
		p.Wait(`document.querySelector('#view').innerText.includes(` + quoted(want) + `)`)
		if status := c.status("GET", "/orders/o001", ""); status != 200 {
			t.Fatalf("after Explain of %s the document: %d", text, status)
		}
		run("SELECT 1 AS between")
		p.WaitText("between")
	}
	run("SELECT id FROM docs WHERE nope = 1")
	p.WaitText(`column "nope" does not exist`)
	run("SELECT 1/0")
	p.WaitText("22012")
	run("INSERT INTO docs (id, doc) VALUES ('new', '{}') ; SELECT count(*) FROM docs")
	p.WaitText("INSERT 0 1")
	p.WaitText("251")
	run("BEGIN; UPDATE docs SET doc = doc || '{\"n\":2}' WHERE id = 'new'")
	p.WaitText("The transaction was not committed, so it is undone")
	run("UPDATE docs SET doc = doc || '{\"n\":2}' WHERE id = 'new'; SELECT 1/0")
	p.WaitText("Nothing that was written is stored")
	if doc := string(c.do("GET", "/orders/new", "").body); strings.Contains(doc, `"n"`) {
		t.Errorf("stored is %s", doc)
	}
	run("SELECT FROM docs LIMIT 2")
	p.WaitText("2 rows without columns")
	run("SELECT a.id FROM docs a, changes b")
	p.WaitText("There are more than 1,000 rows")

	set(p, editor, "SELECT seq FROM changes_follow")
	press(p, "#view", "Run")
	p.WaitText("252 rows")
	eventually(t, "what the console was asked for", 20*time.Second, func() bool {
		return strings.Contains(string(c.do("GET", "/_dashboard/api/sessions?search=console", "").body), "changes_follow")
	})
	press(p, "#view", "Cancel")
	p.WaitText("cancelled after")
	eventually(t, "what the console was asked for", 20*time.Second, func() bool {
		return !strings.Contains(string(c.do("GET", "/_dashboard/api/sessions?search=console", "").body), "changes_follow")
	})

	// Downloads.
	dir := t.TempDir()
	p.Download(dir)
	run(`SELECT id, doc->>'evil' AS e, 12345678901234567890::numeric AS n, NULL AS z, '=1+1' AS f
		FROM docs WHERE id = 'o001'`)
	p.WaitText("SELECT 1")
	for kind, want := range map[string]string{
		"CSV":  "id,e,n,z,f\r\no001,\"" + strings.ReplaceAll(evil, `"`, `""`) + "\",12345678901234567890,,=1+1\r\n",
		"JSON": `"n": 12345678901234567890, "z": null, "f": "=1+1"`,
	} {
		press(p, "#view", kind)
		file := filepath.Join(dir, "result."+strings.ToLower(kind))
		eventually(t, "what the console was asked for", 20*time.Second, func() bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), want)
		})
	}
	well(t, p)
}
