package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

// The documents that views skip are paged, sorted and searched by the server, and long errors are folded.
func TestConsole_Skipped(t *testing.T) {
	b := browser.Start(t)
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/shop", "")
	c.ok("PUT", "/shop/_design/by", `{"views":{"n":{"map":"function (doc) { `+
		`throw new Error((doc.n % 7) + ' ' + doc._id + ' ' + 'x'.repeat(1500)) }"}}}`)
	docs := make([]string, 120)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id":"d%03d","n":%d}`, i, i)
	}
	c.ok("POST", "/shop/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
	c.ok("GET", "/shop/_design/by/_view/n", "")
	p := showing(t, b, node, "databases/shop/failures/_design%2Fby", browser.View{Width: 1280, Height: 800})
	shows := func(first, last, total string) {
		t.Helper()
		p.WaitText(total)
		p.Wait(`(c => c.length && c[0].innerText === ` + quoted(first) + ` && c.at(-1).innerText === ` + quoted(last) + `)([...document.querySelectorAll('#view tbody td:first-child')])`)
	}
	shows("d000", "d049", "120 in all")
	var height int
	if p.Eval(`document.documentElement.scrollHeight`, &height); height > 8000 {
		t.Errorf("50 errors of 1,500 characters are %d pixels high", height)
	}
	press(p, "#view", "next ›")
	shows("d050", "d099", "120 in all")
	press(p, "#view", "next ›")
	shows("d100", "d119", "120 in all")
	p.Eval(`window.old = true; location.reload()`, nil)
	p.Wait(`!window.old`)
	shows("d100", "d119", "120 in all")
	press(p, "#view", "‹ back")
	shows("d050", "d099", "120 in all")
	press(p, "#view", "Error")
	shows("d000", "d100", "120 in all") // by what n leaves of 7
	press(p, "#view", "Error ▴")
	shows("d118", "d011", "120 in all")
	press(p, "#view", "next ›")
	p.Wait(`document.querySelector('#view tbody td').innerText === 'd004'`)
	set(p, `document.querySelector('#view input')`, "D11 n")
	shows("d118", "d112", "10 found")
	well(t, p)
}

// A user who is no admin is told so by a page, and a program as before.
func TestConsole_NoAdmin(t *testing.T) {
	node := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	c := node.as("anna:secret")
	c.ok("PUT", "/_users/org.couchdb.user:"+"b%3Ci%3Eob", `{"name":"b<i>ob","type":"user","roles":[],"password":"pw"}`)
	get := func(accept string) (status int, kind, body string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", node.http()+"/_dashboard/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("b<i>ob", "pw")
		r.Header.Set("Accept", accept)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		var text strings.Builder
		_ = got.Write(&text)
		return got.StatusCode, got.Header.Get("Content-Type"), text.String()
	}
	if status, kind, body := get("*/*"); status != 401 || kind != "application/json" ||
		!strings.Contains(body, `{"error":"unauthorized","reason":"You are not a server admin."}`) {
		t.Errorf("a program gets %d, %s, %s", status, kind, body)
	}
	if status, kind, body := get("text/html,*/*;q=0.8"); status != 401 || !strings.HasPrefix(kind, "text/html") ||
		!strings.Contains(body, "You are signed in as <b>b&lt;i&gt;ob</b>, who is no admin.") {
		t.Errorf("a browser gets %d, %s, %s", status, kind, body)
	}
}
