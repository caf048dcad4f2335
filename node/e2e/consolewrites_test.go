package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// Readers get the revision that somebody has chosen to keep, also if there are more than two.
func TestConsole_Conflicts(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	leaf := func(c string) string { return "2-" + strings.Repeat(c, 32) }
	for _, n := range []string{"a", "b", "c"} {
		c.ok("PUT", "/orders/o1?new_edits=false", `{"leaf":"`+n+`","_revisions":{"start":2,"ids":["`+
			strings.Repeat(n, 32)+`","`+strings.Repeat("0", 32)+`"]}}`)
	}
	p := showing(t, b, node, "databases/orders", browser.View{})
	inConflict := func(want string) {
		t.Helper()
		p.Wait(`document.querySelector('td[data-name="In conflict"]')?.innerText === '` + want + `'`)
	}
	inConflict("1")
	counted := func(want int64) {
		t.Helper()
		var page struct {
			Databases []struct {
				Documents *int64
				Error     string
			}
		}
		c.into("/_dashboard/api/conflicts?database=orders&database=nothing", &page)
		if list := page.Databases; len(list) != 2 || list[0].Documents == nil || *list[0].Documents != want ||
			list[1].Documents != nil || list[1].Error == "" {
			t.Errorf("counted %+v, want %d", list, want)
		}
	}
	counted(1)
	p.Eval(`[...document.querySelectorAll('#view a')].find(a => a.closest('td[data-name="In conflict"]')).click()`, nil)
	p.WaitText("1 shown")
	p.Eval(`location.hash = '#/databases/orders/doc/o1'`, nil)
	keep := func(winner string) {
		t.Helper()
		p.WaitText("2 conflicts")
		pair := `[...document.querySelectorAll('.diff')].find(d => d.innerText.includes(` + quoted(winner) +
			`) && d.innerText.includes(` + quoted(leaf("a")) + `))`
		p.Wait(pair)
		p.Eval(`[...`+pair+`.parentElement.querySelectorAll('button')].find(
			b => b.textContent === 'Keep the right one').click()`, nil)
		p.WaitText("Revisions " + winner + " and " + leaf("b") + " are deleted. Readers then get the right one, " +
			leaf("a") + ".")
		press(p, "#ask", "Keep the right one")
	}

	// Somebody else is faster: what the dialog says would not be so.
	p.WaitText("2 conflicts")
	c.ok("PUT", "/orders/o1", `{"leaf":"d","_rev":"`+leaf("c")+`"}`)
	keep(leaf("c"))
	p.WaitText("The revisions have changed meanwhile.")
	got := c.object("GET", "/orders/o1?conflicts=true", "")
	if got["leaf"] != "d" || fmt.Sprint(got["_conflicts"]) != fmt.Sprint([]string{leaf("b"), leaf("a")}) {
		t.Errorf("what has changed meanwhile is %v", got)
	}
	press(p, "#ask", "Cancel")
	press(p, "#view", "Reload")

	keep(fmt.Sprint(got["_rev"]))
	p.WaitText("Readers get " + leaf("a") + " now.")
	if got := c.object("GET", "/orders/o1?conflicts=true", ""); got["leaf"] != "a" || got["_conflicts"] != nil {
		t.Errorf("readers get %v", got)
	}
	p.Eval(`location.hash = '#/databases/orders'`, nil)
	p.WaitText("Refused writes")
	inConflict("0")
	counted(0)
	p.Eval(`location.hash = '#/databases'`, nil)
	inConflict("0")
	well(t, p)
}

// Who deletes a document in conflict chooses what is deleted, and is told what has become of it. A question that was
// left deletes nothing, and neither does one about a revision that has changed.
func TestConsole_Delete(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/conf", "")
	for _, id := range []string{"one", "all", "gone", "edits", "left", "old"} {
		for _, rev := range []string{"aaa", "bbb", "ccc"} {
			if rev == "aaa" || id != "left" && id != "old" {
				c.ok("POST", "/conf/_bulk_docs", `{"new_edits":false,"docs":[{"_id":"`+id+`","_rev":"1-`+rev+`","v":"`+rev+`"}]}`)
			}
		}
	}
	p := showing(t, b, node, "databases/conf/doc/one", browser.View{})
	page := func(id string) {
		p.Eval(`location.hash = '#/databases/conf/doc/`+id+`'`, nil)
		p.Wait(editor + `?.value.includes('"` + id + `"')`)
	}
	const heard = `document.getElementById('heard').innerText`
	page("one")
	press(p, "#view", "Delete")
	p.WaitText("one has 2 conflicting revisions: 1-bbb, 1-aaa. If only 1-ccc is deleted, 1-bbb is the winner")
	press(p, "#ask", "Delete only this one")
	p.WaitText("Revision 1-ccc is deleted. Readers get 1-bbb now.")
	p.Wait(heard + `.includes('Readers get 1-bbb now.')`)
	p.Wait(`document.activeElement.id === 'view'`) // the button that was pressed at first has gone
	if got := c.object("GET", "/conf/one?conflicts=true", ""); got["v"] != "bbb" || fmt.Sprint(got["_conflicts"]) != "[1-aaa]" {
		t.Errorf("without the winner it is %v", got)
	}
	page("all")
	press(p, "#view", "Delete")
	press(p, "#ask", "Delete all 3 revisions")
	p.Wait(heard + ` === 'all is deleted.' && location.hash === '#/databases/conf/docs'`)
	if status := c.status("GET", "/conf/all", ""); status != 404 {
		t.Errorf("with all revisions deleted it is answered with %d", status)
	}
	// What others delete meanwhile.
	page("gone")
	press(p, "#view", "Delete")
	p.WaitText("gone has 2 conflicting revisions: 1-bbb, 1-aaa. If only 1-ccc is deleted, 1-bbb is the winner")
	c.ok("DELETE", "/conf/gone?rev=1-bbb", "")
	press(p, "#ask", "Delete only this one")
	p.WaitText("The revisions have changed meanwhile, and nothing was done. gone has 1 conflicting revision: 1-aaa. " +
		"If only 1-ccc is deleted, 1-aaa is the winner")
	p.WaitText("1 conflict ")
	c.ok("DELETE", "/conf/gone?rev=1-ccc", "")
	press(p, "#ask", "Delete only this one")
	p.WaitText("Revision 1-ccc is deleted already, and readers get 1-aaa. Nothing was done")
	p.Wait(`document.activeElement.textContent === 'Delete only this one'`)
	press(p, "#ask", "Cancel")
	p.WaitText("Revision 1-aaa is stored meanwhile.")
	press(p, "#view", "Reload")
	p.Wait(editor + `.value.includes('aaa')`)
	press(p, "#view", "Delete")
	p.WaitText("gone is deleted. Revisions stay until compaction.")
	c.ok("DELETE", "/conf/gone?rev=1-aaa", "")
	press(p, "#ask", "Delete")
	p.WaitText("gone is deleted already. Nothing was done")
	press(p, "#ask", "Cancel")
	p.Wait(`document.activeElement !== document.body`)

	page("edits")
	p.Eval(editor+`.value = `+editor+`.value.replace('ccc', 'mine')`, nil)
	press(p, "#view", "Delete")
	p.WaitText("If only 1-ccc is deleted, 1-bbb is the winner: readers get it then. Revisions stay until compaction. " +
		"Edits that are not saved are lost.")
	press(p, "#ask", "Delete only this one")
	p.WaitText("Save your edits first, or reload the document.")
	press(p, "#ask", "Delete all 3 revisions")
	p.Wait(heard + ` === 'edits is deleted.' && location.hash === '#/databases/conf/docs'`)

	page("left")
	press(p, "#view", "Delete")
	p.WaitText("left is deleted. Revisions stay until compaction.")
	p.Eval(`history.back()`, nil)
	p.Wait(`location.hash === '#/databases/conf/docs' && !document.querySelector('#ask').open`)
	page("old")
	press(p, "#view", "Delete")
	p.WaitText("old is deleted. Revisions stay until compaction.")
	c.ok("PUT", "/conf/old", `{"_rev":"1-aaa","v":2}`)
	press(p, "#ask", "Delete")
	p.WaitText("The revisions have changed meanwhile.")
	p.WaitText("is stored meanwhile.")
	for _, id := range []string{"left", "old"} {
		if status := c.status("GET", "/conf/"+id, ""); status != 200 {
			t.Errorf("%s is answered with %d", id, status)
		}
	}
	well(t, p)
}

// Who presses a button twice writes once.
func TestConsole_Twice(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	p := showing(t, b, node, "databases", browser.View{})
	p.Wait(`document.querySelector('form input')`)
	set(p, `document.querySelector('form input')`, "twice")
	p.Eval(`window.alerts = []; new MutationObserver(() => alerts.push(document.querySelector('form [role=alert]')
		?.textContent)).observe(document.querySelector('#view'), { childList: true, subtree: true });
		for (let i = 0; i < 2; i++) document.querySelector('form button').click()`, nil)
	p.WaitText("documents SQL events Compact")
	var alerts string
	if p.Eval(`alerts.join('')`, &alerts); alerts != "" {
		t.Errorf("who creates a database is told %q", alerts)
	}
	p.Eval(`location.hash = '#/databases/orders/new'`, nil)
	p.Wait(editor)
	const save = `(() => {
		const b = [...document.querySelectorAll('#view button')].find(b => b.textContent === 'Save');
		b.click();
		b.click();
		document.querySelector('.editor').dispatchEvent(new KeyboardEvent('keydown', { key: 's', ctrlKey: true }));
		return [b.textContent, b.disabled].join();
	})()`
	var button string
	if p.Eval(save, &button); button != "Saving…,true" {
		t.Errorf("while a document is saved the button is %q", button)
	}
	p.WaitText("History")
	if n := c.object("GET", "/orders", "")["doc_count"]; fmt.Sprint(n) != "1" {
		t.Errorf("two clicks have made %v documents", n)
	}
	p.Eval(editor+".value = "+editor+".value.replace('}', ', \"n\": 1 }')", nil)
	p.Eval(save, nil)
	p.WaitText("Saved as 2-")
	p.Eval(`new Promise(done => setTimeout(done, 500))`, nil)
	if text := p.Text(); strings.Contains(text, "Not saved") || !strings.Contains(text, "Saved as 2-") {
		t.Errorf("after two clicks the page says %s", text)
	}
	well(t, p)
}
