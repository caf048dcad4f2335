package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// Who signs out in one tab covers all of them. The edits of one user are neither shown to the next one in the same
// browser nor saved under another name, and stay for the same user.
func TestConsole_TwoUsers(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/orders", "")
	c.ok("PUT", "/orders/o1", `{"n":1,"of":"secret text"}`)
	c.ok("PUT", "/_node/_local/_config/admins/ben", `"weak"`)
	stored := func() string { return fmt.Sprint(c.object("GET", "/orders/o1", "")["n"]) }
	edited := signedIn(t, b, node) // to {"n":2} by anna
	other := b.Open(node.http()+"/_dashboard/#/databases", browser.View{})
	other.Wait(`document.querySelector('#who summary')?.textContent === 'anna'`)
	const form = `document.querySelector('.signin')`
	signOut := func() { press(other, "#who", "Sign out") }
	enter := func(name, password string) {
		t.Helper()
		set(other, form+".username", name)
		set(other, form+".password", password)
		other.Eval(form+".requestSubmit()", nil)
		other.Wait(`document.querySelector('#who summary')?.textContent === ` + quoted(name))
	}
	signIn := func(name, password string) {
		t.Helper()
		press(other, "#verdict", "Sign in again")
		enter(name, password)
	}

	// The same user finds what was not saved. Who is quick may sign in again before all of the answer is there.
	other.Eval(`addEventListener('signedout', () => [...document.querySelectorAll('#verdict button')].find(
		b => b.textContent === 'Sign in again').click(), { once: true })`, nil)
	signOut()
	other.WaitText("You are signed out.")
	edited.WaitText("Your session has ended, and this page is covered.")
	edited.Wait(`!` + editor + `.checkVisibility() && !document.body.innerText.includes('o1')`)
	edited.Wait(`document.activeElement.textContent === 'Sign in again'`)
	enter("anna", "secret")
	edited.Wait(editor + `.checkVisibility() && ` + editor + `.value.includes('"n":2')`)

	// Another one does not.
	signOut()
	edited.WaitText("Your session has ended, and this page is covered.")
	signIn("ben", "weak")
	edited.WaitText("ben is signed in now. What anna had not saved is dropped.")
	edited.Wait(editor + `?.value.includes('"n": 1')`)
	press(edited, "#view", "Save")
	edited.WaitText("Saved as 2-")
	if got := stored(); got != "1" {
		t.Errorf("ben has saved %s", got)
	}

	// Nobody tells this tab that another user has signed in: its next request, which saves, is refused.
	set(edited, editor, strings.Replace(string(c.do("GET", "/orders/o1", "").body), `"n":1`, `"n":3`, 1))
	const dropped = "anna is signed in now. What ben had not saved is dropped."
	edited.Eval(login+`.then(() => [...document.querySelectorAll('#view button')].find(
		b => b.textContent === 'Save').click())`, nil)
	edited.WaitText(dropped)
	edited.Wait(editor + `?.value.includes('"n": 1')`)
	if got := stored(); got != "1" {
		t.Errorf("anna has saved %s", got)
	}
	other.WaitText("anna is signed in now.")

	// What was typed into the box for SQL is not there for the next one, also after a reload.
	edited.Eval(`location.hash = '#/sql/orders'`, nil)
	edited.Wait(editor + `?.ariaLabel === 'SQL'`)
	set(edited, editor, "SELECT 'of anna'")
	edited.Eval(`location.hash = '#/jobs'`, nil)
	edited.WaitText("The queue is empty")
	signOut()
	edited.WaitText("Your session has ended")
	edited.Eval(strings.ReplaceAll(strings.ReplaceAll(login, "anna", "ben"), "secret", "weak"), nil)
	edited.Eval(`window.old = true; location.reload()`, nil)
	edited.Wait(`!window.old && document.querySelector('#who summary')?.textContent === 'ben'`)
	edited.Eval(`location.hash = '#/sql/orders'`, nil)
	edited.Wait(editor + `?.ariaLabel === 'SQL'`)
	var statement string
	if edited.Eval(editor+`.value`, &statement); strings.Contains(statement, "anna") {
		t.Errorf("ben finds %s", statement)
	}

	// Edits of this tab are only lost if somebody says so.
	edited.Eval(`location.hash = '#/databases/orders/new'`, nil)
	edited.WaitText("New document")
	set(edited, editor, `{"_id":"o2"}`)
	press(edited, "#who", "Sign out")
	edited.WaitText("The document has edits that are not saved. They are lost.")
	press(edited, "#ask", "Cancel")
	edited.Wait(editor + `.checkVisibility()`)
	well(t, edited, "favicon.ico") // of /_up
	well(t, other)
}

// A write of the page is refused if its token is that of another user than who sends it.
func TestConsole_TokenOfAnother(t *testing.T) {
	node := start(t, t.TempDir(), "-admin", "anna:secret")
	anna := node.as("anna:secret")
	anna.ok("PUT", "/orders", "")
	anna.ok("PUT", "/_node/_local/_config/admins/ben", `"weak"`)
	var token struct{ Token string }
	anna.into("/_dashboard/api/token", &token)
	for _, c := range []struct {
		name string
		as   *client
		want int
	}{{"ben", node.as("ben:weak"), 403}, {"anna", anna, 201}} {
		r := c.as.do("PUT", "/_dashboard/couch/orders/o1", "{}", "X-Divan-Token", token.Token)
		if r.status != c.want {
			t.Errorf("%s with the token of anna: %d %s", c.name, r.status, r.body)
		}
	}
	r := node.as("ben:weak").do("DELETE", "/_dashboard/couch/orders", "", "X-Divan-Token", token.Token,
		"X-Divan-Delete-Database", "orders")
	if r.status != 403 || anna.status("GET", "/orders", "") != 200 {
		t.Errorf("ben deletes a database with the token of anna: %d %s", r.status, r.body)
	}
	for _, e := range anna.events("").Events {
		if e.Kind == "action" && strings.Contains(e.Text, "orders") {
			t.Errorf("anna is said to have tried it: %s", e.Text)
		}
	}
}
