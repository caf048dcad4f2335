package browser_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// A Chromium that ends before it has opened a page is started again.
func TestBrowser_ends(t *testing.T) {
	chromium, err := exec.LookPath(cmp.Or(os.Getenv("DIVAN_TEST_CHROMIUM"), "chromium"))
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("here"))
	}))
	defer server.Close()
	pids := filepath.Join(t.TempDir(), "pids")
	script := filepath.Join(t.TempDir(), "chromium")
	t.Setenv("DIVAN_TEST_CHROMIUM", script)
	fake := func(first string) {
		text := fmt.Sprintf("#!/bin/sh\n%s\necho $$ >> '%s'\nexec '%s' \"$@\"\n", first, pids, chromium)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	fake(fmt.Sprintf("[ -s '%s' ] || { echo >> '%[1]s'; kill -SEGV $$; }", pids))
	b := browser.Start(t)
	list, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(list)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	b.Open(server.URL, browser.View{}).WaitText("here")
}
