package page_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/scripts/browser"
)

func TestHandler(t *testing.T) {
	h := page.Handler("/_dashboard/")
	get := func(path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	total := 0
	for path, kind := range map[string]string{"/_dashboard/": "text/html", "/_dashboard/style.css": "text/css",
		"/_dashboard/js/main.js": "text/javascript", "/_dashboard/js/overview.js": "text/javascript"} {
		w := get(path)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) ||
			!strings.Contains(policy, "default-src 'none'; script-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if again := get(path, "If-None-Match", w.Header().Get("ETag")); again.Code != 304 {
			t.Errorf("%s again: %d", path, again.Code)
		}
	}
	for path, want := range map[string]int{"/_dashboard/x": 404, "/_dashboard/js/": 404, "/_dashboard/page.go": 404,
		"/_dashboard/index.html": 404} {
		if w := get(path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	_ = filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
		for _, no := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "src=\"http",
			"url(http"} {
			if strings.Contains(string(text), no) {
				t.Errorf("%s has %s", name, no)
			}
		}
		return nil
	})
	if total > 200_000 {
		t.Errorf("the page has %d bytes", total)
	}
}

// shown is a view in a browser.
type shown struct{ html, text string }

// show opens a view and returns what it shows. api has the answers by view. It fails if the page complains, or is wider
// than its window.
func show(t *testing.T, b *browser.Browser, api map[string]any, view, shot string, how browser.View) shown {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		path, _ := url.PathUnescape(r.URL.Path) // it is escaped twice
		answer(w, api, path+map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("live") != "" { // the page then asks again and again
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		answer(w, api, asksFor(r))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := b.Open(server.URL+"/_dashboard/#/"+view, how)
	defer p.Close()
	p.Wait(`document.getElementById('status')?.textContent.includes('live')`)
	p.Wait(`document.querySelectorAll('#view > *').length > 0 && !document.body.innerText.includes('Loading…')`)
	p.Eval(`new Promise(done => setTimeout(done, 300))`, nil) // for what a view asks for in second place
	p.Shot(shot)
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "503") {
			t.Errorf("%s: the page complains: %s", shot, problem)
		}
	}
	fits(t, p, shot, how.Width)
	var s shown
	p.Eval("document.documentElement.outerHTML", &s.html)
	s.text = p.Text()
	if how.Width == laptop {
		for _, width := range between {
			p.Resize(width, 900)
			fits(t, p, shot, width)
		}
	}
	return s
}

// asksFor returns the name of the answer to a request: that of its view, or that of what it reads by SQL.
func asksFor(r *http.Request) string {
	name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")
	if name != "sql" {
		return name
	}
	if text, _ := io.ReadAll(r.Body); strings.Contains(string(text), "index_errors") {
		return "sql of index_errors"
	}
	return name
}

// laptop is the width of a window that is then made as narrow as others between it and a phone: a window beside
// another one, a tablet upright and across.
const laptop = 1280

var between = []int{1200, 1100, 1099, 1024, 901, 900, 800, 768, 720, 701, 700, 600}

// fits fails if a page is wider than its window, or a table than its place, or if short words are broken.
func fits(t *testing.T, p *browser.Page, shot string, width int) {
	t.Helper()
	var wide, broken []string
	p.Eval(`[...document.querySelectorAll('body *')].filter(e => !e.closest('.skip, .grid, svg, option, dialog') &&
		e.getBoundingClientRect().right > Math.min(innerWidth, e.matches('table') ?
			e.parentElement.getBoundingClientRect().right : Infinity) + 1).map(e => e.outerHTML.slice(0, 200))`, &wide)
	if len(wide) > 0 {
		t.Errorf("%s: %d elements do not fit into %d pixels: %s", shot, len(wide), width, wide[len(wide)-1])
	}
	p.Eval(`(() => {
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [], range = new Range();
		for (let n; (n = texts.nextNode());) {
			if (n.parentElement.closest('.skip, .grid, svg, option, dialog, pre')) continue;
			for (const word of n.data.matchAll(/(?<!\S)[A-Za-z]{2,14}(?!\S)/g)) {
				range.setStart(n, word.index);
				range.setEnd(n, word.index + word[0].length);
				if (new Set([...range.getClientRects()].map(r => r.top)).size > 1) broken.push(word[0]);
			}
		}
		return broken;
	})()`, &broken)
	if len(broken) > 0 {
		t.Errorf("%s: words break at %d pixels: %q", shot, width, broken)
	}
}

func answer(w http.ResponseWriter, api map[string]any, name string) {
	v, ok := api[name]
	if !ok {
		http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if lines, ok := v.([]any); ok && strings.HasPrefix(name, "sql") {
		for _, line := range lines {
			_ = json.NewEncoder(w).Encode(line)
		}
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

// quoted returns a text as a literal of JavaScript.
func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// hide brings a page to the background or forward, as far as it knows.
func hide(p *browser.Page, hidden bool) {
	p.Eval(fmt.Sprintf(`Object.defineProperty(document, 'hidden', { value: %v, configurable: true });
		document.dispatchEvent(new Event('visibilitychange'))`, hidden), nil)
}
