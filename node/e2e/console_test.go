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
	p.WaitText(`"i": 7`)
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
	set(p, `document.querySelector('#ask input')`, "orders")
	press(p, "#ask", "Delete")
	p.WaitText("There is no database yet.")
	well(t, p, "409", "404")
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
	p.Wait("document.querySelector('details')")
	p.Eval("document.querySelector('details').open = true", nil)
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

	run("SELECT id FROM docs WHERE nope = 1")
	p.WaitText(`column "nope" does not exist`)
	run("SELECT 1/0")
	p.WaitText("22012")
	run("INSERT INTO docs (id, doc) VALUES ('new', '{}') ; SELECT count(*) FROM docs")
	p.WaitText("INSERT 0 1")
	p.WaitText("251")
	run("SELECT a.id FROM docs a, changes b")
	p.WaitText("There are more than 1000 rows")

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
		"CSV":  "id,e,n,z,f\r\no001,\"" + strings.ReplaceAll(evil, `"`, `""`) + "\",12345678901234567890,,'=1+1\r\n",
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
