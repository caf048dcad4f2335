package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
	"github.com/divandb/divan/scripts/fixtures"
)

// fauxtonUser clicks and types in Fauxton.
type fauxtonUser struct {
	*browser.Page
	at string // of Fauxton
}

// visit opens a page of Fauxton anew.
func (u *fauxtonUser) visit(page string) {
	u.Eval("window.seen = true", nil)
	u.Eval("location.hash = "+quote(page)+"; location.reload()", nil)
	u.Wait("!window.seen && document.readyState === 'complete' && document.querySelector('#app-container, .js-page')")
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// enter puts a text into the field that a selector finds, so that React notices.
func (u *fauxtonUser) enter(field, value string) {
	u.Wait("document.querySelector(" + quote(field) + ")")
	u.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, %s);
		e.dispatchEvent(new Event('input', { bubbles: true }));
		e.dispatchEvent(new Event('change', { bubbles: true }));
	})()`, quote(field), quote(value)), nil)
}

// write replaces the text of an editor for code.
func (u *fauxtonUser) write(editor, text string) {
	u.Wait("document.querySelector(" + quote(editor) + ")?.env?.editor")
	u.Eval("document.querySelector("+quote(editor)+").env.editor.setValue("+quote(text)+", 1)", nil)
}

// click presses the link or button with a text.
func (u *fauxtonUser) click(text string) {
	found := `[...document.querySelectorAll('button, a, input[type=submit]')].find(e =>
		(e.innerText || e.value || '').trim() === ` + quote(text) + ` && e.offsetParent && !e.disabled)`
	u.Wait(found)
	u.Eval(found+".click()", nil)
}

// Fauxton, CouchDB's web interface, works unmodified: browse, edit, query, index, replicate, users, configuration and
// active tasks.
func TestFauxton(t *testing.T) {
	files, err := fixtures.Fauxton()
	if err != nil {
		skip(t, "npm packages: %v", err)
	}
	b := browser.Start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte("http:\n  utils: "+files+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := start(t, dir, "-config", "node.yaml", "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	for _, db := range []string{"_users", "_replicator"} {
		c.ok("PUT", "/"+db, "")
	}
	u := &fauxtonUser{b.Open(node.http()+"/_utils/", browser.View{}), node.http() + "/_utils/"}

	u.enter("#username", "anna")
	u.enter("#password", "secret")
	u.click("Log In")
	u.WaitText("Log Out")

	u.click("Create Database")
	u.enter("#js-new-database-name", "orders")
	u.Wait("document.querySelector('#non-partitioned-db')")
	u.Eval("document.querySelector('#non-partitioned-db').click()", nil)
	u.click("Create")
	u.WaitText("All Documents Run A Query with Mango")

	u.visit("#/database/orders/_new")
	u.write(".ace_editor", `{"_id": "first", "n": 1, "who": "Grace"}`)
	u.click("Create Document")
	u.WaitText("All Documents")
	u.visit("#/database/orders/first")
	u.Wait("document.querySelector('.ace_editor')?.env?.editor.getValue().includes('Grace')")
	var text string
	u.Eval("document.querySelector('.ace_editor').env.editor.getValue()", &text)
	u.write(".ace_editor", strings.Replace(text, "Grace", "Ada", 1))
	u.click("Save Changes")
	u.WaitText("All Documents")
	doc := c.object("GET", "/orders/first", "")
	if doc["who"] != "Ada" || !strings.HasPrefix(fmt.Sprint(doc["_rev"]), "2-") {
		t.Errorf("stored %v", doc)
	}

	u.visit("#/database/orders/_index")
	u.write(".ace_editor", `{"index": {"fields": ["n"]}, "name": "by-n", "type": "json"}`)
	u.click("Create index")
	u.WaitText("json: n")
	u.visit("#/database/orders/_find")
	u.write(".ace_editor", `{"selector": {"n": {"$gt": 0}}}`)
	u.click("Run Query")
	u.WaitText("first")
	u.WaitText("Executed in")
	u.click("Explain")
	u.WaitText("by-n")

	u.visit("#/database/orders/new_view")
	u.enter("#new-ddoc", "stats")
	u.enter("#index-name", "by-who")
	u.write("#map-function", `function (doc) { if (doc.who) emit(doc.who, 1) }`)
	u.click("Create Document and then Build Index")
	u.WaitText("Ada")

	u.visit("#/verifyinstall")
	u.click("Verify Installation")
	u.WaitText("Success! Your CouchDB installation is working.")
	u.visit("#/replication/_create")
	u.enter("#replication-source", "REPLICATION_SOURCE_REMOTE")
	u.enter("#select-replication-source-auth", "BASIC_AUTH")
	u.enter("select#replication-target", "REPLICATION_TARGET_NEW_LOCAL_DATABASE")
	u.enter("#select-replication-target-auth", "BASIC_AUTH")
	u.enter(".replication__remote-connection-url", node.http()+"/orders")
	u.enter("#replication-source-auth-username", "anna")
	u.enter("#replication-source-auth-password", "secret")
	u.enter(".replication__new-input", "copied")
	u.enter("#replication-target-auth-password", "secret")
	u.enter("select.REPLICATION_TYPE_ONE_TIME", "REPLICATION_TYPE_CONTINUOUS")
	u.enter(".replication__doc-name-input", "to-copied")
	u.click("Start Replication")
	u.WaitText("has been scheduled")
	u.Wait(`fetch('/_scheduler/docs/_replicator/to-copied').then(r => r.json()).then(r => r.state === 'running')`)
	u.visit("#/replication")
	u.WaitText("Running")
	u.visit("#/activetasks")
	u.WaitText("continuous")
	// A replication runs before it has copied anything.
	u.Wait(`fetch('/copied/_all_docs?key="first"&include_docs=true').then(r => r.json())
		.then(r => r.rows?.[0]?.doc.who === 'Ada')`)

	u.visit("#/database/orders/permissions")
	u.WaitText("Members")
	u.enter(".permission-items + form input, form.permission-item-form input", "grace")
	u.Eval("document.querySelector('form.permission-item-form button').click()", nil)
	u.WaitText("grace")
	u.Wait(`fetch('/orders/_security').then(r => r.json()).then(r => r.admins?.names?.includes('grace'))`)
	u.visit("#/createAdmin")
	u.Wait(`location.hash.includes("createAdmin/")`) // with the node, which it looks up
	var form string
	u.Eval("location.hash", &form)
	u.visit(form)
	// The form asks for the nodes, and fails if it is sent before the answer is there.
	u.Wait(`performance.getEntriesByType('resource').some(e => e.name.endsWith('/_membership') && e.responseEnd > 0)`)
	u.Wait(`fetch('/_membership').then(r => r.ok)`)
	u.enter("#username", "grace")
	u.enter("#password", "cobol1959")
	u.Eval("document.querySelector('#create-admin').click()", nil)
	u.WaitText("CouchDB admin created")
	grace := node.as("grace:cobol1959")
	if ctx := fmt.Sprint(grace.object("GET", "/_session", "")["userCtx"]); !strings.Contains(ctx, "_admin") {
		t.Errorf("grace is %s", ctx)
	}
	u.visit("#/database/_users/_new")
	u.write(".ace_editor", `{"_id": "org.couchdb.user:jan", "name": "jan", "password": "relax", "roles": [],
		"type": "user"}`)
	u.click("Create Document")
	u.WaitText("All Documents")
	if got := node.as("jan:relax").object("GET", "/_session", "")["userCtx"]; !strings.Contains(fmt.Sprint(got), "jan") {
		t.Errorf("jan is %v", got)
	}

	u.visit("#/_config/one")
	u.WaitText("Main config")
	u.WaitText("server_header_versions") // options that come after one was added would replace it
	u.click("Add Option")
	u.enter(".input-section-name", "chttpd_auth")
	u.enter(".input-option-name", "timeout")
	u.enter(".input-value", "123456")
	u.click("Create")
	u.WaitText("timeout 123456")
	if got := c.ok("GET", "/_node/_local/_config/chttpd_auth/timeout", ""); got != "123456" {
		t.Errorf("the option is %v", got)
	}
	for _, problem := range u.Problems() {
		// Fauxton asks whether these exist.
		if !strings.Contains(problem, "404 (Not Found) "+node.http()+"/verifytestdb") &&
			!strings.Contains(problem, "404 (Not Found) "+node.http()+"/_replicator/to-copied") {
			t.Errorf("the page complains: %s", problem)
		}
	}
}
