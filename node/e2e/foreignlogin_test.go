package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// A page of another origin cannot lock the user of a name out, nor log a browser in or out, before CORS allows it.
func TestConsole_ForeignLogins(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	anna := node.as("anna:secret")
	anna.ok("PUT", "/_users/org.couchdb.user:ben", `{"name":"ben","type":"user","roles":[],"password":"weak"}`)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<!DOCTYPE html><title>other</title><link rel=icon href=data:,><p>another origin")
	}))
	t.Cleanup(other.Close)
	p := b.Open(node.http()+"/_up", browser.View{})
	p.Eval(login, nil)
	p.Go(other.URL)
	p.WaitText("another origin")
	post := func(mode, name, password string) string {
		return fmt.Sprintf(`fetch('%s/_session', { method: 'POST', mode: '%s', credentials: 'include',
			body: new URLSearchParams({ name: '%s', password: '%s' }) }).then(r => r.status, () => -1)`,
			node.http(), mode, name, password)
	}
	for range 10 { // more than auth.lockout.threshold
		p.Eval(post("no-cors", "anna", "guess"), nil)
	}
	p.Eval(post("no-cors", "ben", "weak"), nil)
	anna.ok("GET", "/_all_dbs", "")
	p.Eval(`void Object.assign(document.body.appendChild(document.createElement('form')), { method: 'POST',
		action: '`+node.http()+`/_session', innerHTML: '<input name=name value=ben><input name=password value=weak>' })
		.submit()`, nil)
	p.WaitText("Pages of other sites log nobody in or out")
	who := func() (name string) {
		t.Helper()
		p.Go(node.http() + "/_up")
		p.Eval(`fetch('/_session').then(r => r.json()).then(s => s.userCtx.name || '')`, &name)
		return name
	}
	if name := who(); name != "anna" {
		t.Errorf("the browser is logged in as %q", name)
	}
	for _, option := range [][2]string{{"chttpd/enable_cors", "true"}, {"cors/origins", other.URL},
		{"cors/credentials", "true"}} {
		anna.ok("PUT", "/_node/_local/_config/"+option[0], `"`+option[1]+`"`)
	}
	p.Go(other.URL)
	var status int
	if p.Eval(post("cors", "ben", "weak"), &status); status != 200 {
		t.Errorf("a page that CORS allows: %d", status)
	}
	if name := who(); name != "ben" {
		t.Errorf("the browser is logged in as %q", name)
	}
}
