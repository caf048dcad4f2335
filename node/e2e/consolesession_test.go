package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// login signs the browser of a page in, as another tab would, and logout ends its session, as when its cookie expires.
const (
	login = `fetch('/_session', { method: 'POST', headers: { 'Content-Type': 'application/json' },
		body: '{"name":"anna","password":"secret"}' }).then(r => r.status)`
	logout = `fetch('/_session', { method: 'DELETE' }).then(r => r.status)`
)

// signedIn opens a document with a session, and edits it.
func signedIn(t *testing.T, b *browser.Browser, node *process) *browser.Page {
	t.Helper()
	p := b.Open(node.http()+"/_up", browser.View{})
	p.Eval(login, nil)
	p.Go(node.http() + "/_dashboard/#/databases/orders/doc/o1")
	p.WaitText("all is well")
	p.Wait(editor + `?.value.includes('"n":')`)
	set(p, editor, `{"_id":"o1","_rev":"`+node.as("anna:secret").object("GET", "/orders/o1", "")["_rev"].(string)+
		`","n":2}`)
	return p
}

// A session that ends while a document is edited. Who signs in again on the page, or elsewhere, saves the edits.
func TestConsole_SessionEnds(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	c.ok("PUT", "/orders/o1", `{"n":1}`)
	c.ok("PUT", "/_users/org.couchdb.user:ben", `{"name":"ben","type":"user","roles":[],"password":"weak"}`)
	p := signedIn(t, b, node)
	p.Eval(logout, nil)
	p.WaitText("Your session has ended")
	p.WaitText("signed out")
	if text := p.Text(); strings.Contains(text, "all is well") || strings.Contains(text, "live") {
		t.Errorf("the page shows %s", text)
	}
	var visible bool
	if p.Eval(editor+`.checkVisibility()`, &visible); visible || strings.Contains(p.Text(), "orders") {
		t.Errorf("without a session the page shows %s", p.Text())
	}
	press(p, "#verdict", "Sign in again")
	const form = `document.querySelector('.signin')`
	fill := func(name, password string) {
		t.Helper()
		set(p, form+".username", name)
		set(p, form+".password", password)
		p.Eval(form+".requestSubmit()", nil)
	}
	var focused string
	if p.Eval("document.activeElement.name + ' ' + "+form+".username.value", &focused); focused != "password anna" {
		t.Errorf("the form begins with %q", focused)
	}
	p.Shot("console-sign-in")
	fill("anna", "wrong")
	p.WaitText("The name or the password is wrong.")
	fill("ben", "weak")
	p.WaitText("The password is right, but the console is refused: You are not a server admin.")
	fill("anna", "secret")
	p.Wait("!" + form)
	p.WaitText("all is well")
	p.WaitText("live ●")
	if text := p.Text(); strings.Contains(text, "session has ended") {
		t.Errorf("the page shows %s", text)
	}
	press(p, "#view", "Save")
	p.WaitText("Saved as 2-")
	if got := c.object("GET", "/orders/o1", ""); fmt.Sprint(got["n"]) != "2" {
		t.Errorf("what is saved is %v", got)
	}

	// Another tab signs in.
	set(p, editor, strings.Replace(string(c.do("GET", "/orders/o1", "").body), `"n":2`, `"n":3`, 1))
	p.Eval(logout, nil)
	p.WaitText("Your session has ended")
	p.Eval(login, nil)
	press(p, "#view", "Save")
	p.WaitText("Saved as 3-")
	p.WaitText("all is well")
	if got := c.object("GET", "/orders/o1", ""); fmt.Sprint(got["n"]) != "3" {
		t.Errorf("what is saved is %v", got)
	}
	well(t, p, "favicon.ico") // of /_up
}

// A validation function that refuses a write with "unauthorized" ends no session.
func TestConsole_RefusedWrite(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	c.ok("PUT", "/orders/o1", `{"n":1}`)
	c.ok("PUT", "/orders/_design/v", `{"validate_doc_update":"function() { throw({ unauthorized: 'nobody may' }); }"}`)
	p := signedIn(t, b, node)
	press(p, "#view", "Save")
	p.WaitText("nobody may")
	if text := p.Text(); strings.Contains(text, "ended") || strings.Contains(text, "signed out") {
		t.Errorf("the page shows %s", text)
	}
	well(t, p, "favicon.ico")
}
