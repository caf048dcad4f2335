package browser_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/browser"
)

func TestPage(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'unsafe-inline'")
		_, _ = w.Write([]byte(`<p id=p>width</p><script>p.textContent += " " + innerWidth + " " +
			matchMedia("(prefers-color-scheme: dark)").matches; console.log("well")</script>`))
	}))
	defer server.Close()
	b := browser.Start(t)
	p := b.Open(server.URL, browser.View{Width: 360, Height: 700, Dark: true})
	p.WaitText("width 360 true")
	var n int
	if p.Eval("Promise.resolve(7)", &n); n != 7 {
		t.Errorf("a promise of 7 is %d", n)
	}
	p.Wait("document.readyState === 'complete'")
	if list := p.Problems(); len(list) > 0 && !strings.Contains(list[0], "favicon") {
		t.Errorf("complaints %q", list)
	}
	p.Eval("setTimeout(() => { throw new Error('oops') })", nil)
	p.Eval("console.error('told')", nil)
	p.Eval("(() => { const i = new Image(); i.src = 'http://elsewhere.invalid/x.png'; })()", nil)
	p.Wait("true")
	for want, n := range map[string]int{"oops": 1, "told": 1, "Content Security Policy": 1} {
		if got := strings.Count(strings.Join(p.Problems(), "\n"), want); got < n {
			t.Errorf("%q is not among the complaints %q", want, p.Problems())
		}
	}
}
