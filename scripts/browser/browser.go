// Package browser opens pages in Chromium for tests: at any width, light or dark, with clicks, and with what the
// browser complains about. It is a layer over chromedp that fails the test instead of returning errors.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait, also on a machine that is busy.
const patience = 20 * time.Second

// Browser is a running Chromium. One goroutine uses it.
type Browser struct {
	t      testing.TB
	ctx    context.Context // of chromedp
	opened bool            // a page, which may have left a cookie or other state
}

// Start starts a browser that ends with the test. Without Chromium it skips the test, or fails it if DIVAN_TEST_ALL is
// set.
func Start(t testing.TB) *Browser {
	t.Helper()
	b := &Browser{t: t}
	b.start()
	return b
}

// tries is how often a browser is started. A Chromium that has just been started ends with a segmentation fault once in
// a thousand times, which says nothing about the page that is tested.
const tries = 3

func (b *Browser) start() {
	b.t.Helper()
	path := find(b.t)
	for n := 1; ; n++ {
		err := b.run(path)
		switch {
		case err == nil:
			return
		case n == tries:
			b.t.Fatalf("chromium: %v", err)
		}
		b.t.Logf("chromium is started again: %v", err)
	}
}

// run runs Chromium until a cleanup of the test, before its directory is removed.
func (b *Browser) run(path string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(b.t.TempDir()), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, release := chromedp.NewExecAllocator(context.WithoutCancel(b.t.Context()), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	b.ctx = ctx
	b.t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		release()
	})
	return chromedp.Do(ctx)
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("DIVAN_TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const how = "no Chromium: install it (Debian: apt-get install chromium) or set DIVAN_TEST_CHROMIUM to its path"
	if os.Getenv("DIVAN_TEST_ALL") != "" {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// View is how a page is looked at.
type View struct {
	Width, Height int // in CSS pixels; 0 means 1280 and 900
	Dark          bool
}

// Page is an open page. One goroutine uses it.
type Page struct {
	t     testing.TB
	ctx   context.Context // of chromedp
	close func()

	mu       sync.Mutex
	problems []string
}

// Open opens a page.
func (b *Browser) Open(url string, v View) *Page {
	b.t.Helper()
	if v.Width == 0 {
		v.Width, v.Height = 1280, 900
	}
	for n := 1; ; n++ {
		p, err := b.open(url, v)
		switch {
		case err == nil:
			b.opened = true
			return p
		case b.opened || b.ctx.Err() == nil || n == tries:
			b.t.Fatal(err)
		}
		b.t.Logf("chromium ended, and is started again: %v", err)
		b.start()
	}
}

func (b *Browser) open(url string, v View) (*Page, error) {
	p := &Page{t: b.t}
	p.ctx, p.close = chromedp.NewContext(b.ctx)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	// This makes the page, which lives as long as its context.
	if err := chromedp.Listen(p.ctx, p.note); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(v.Width), int64(v.Height))); err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		return nil, err
	}
	return p, chromedp.Do(ctx, chromedp.Navigate(url))
}

// Resize changes the size of the window.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(int64(width), int64(height)))
}

// do takes steps, within a bounded time.
func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// call sends a command of the protocol.
func call[P any](p *Page, c cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, c, params); err != nil {
		p.t.Fatal(err)
	}
}

// Go opens another address, and waits until the page has loaded.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

// note keeps what is complained about.
func (p *Page) note(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = exception(e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
			problem = string(e.Type) + ":"
			for _, a := range e.Args {
				problem += " " + string(a.Value) + a.Description
			}
		}
	case *log.EventEntryAdded:
		if slices.Contains([]string{"error", "warning"}, string(e.Entry.Level)) {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		p.problems = append(p.problems, problem)
		p.mu.Unlock()
	}
}

func exception(e *runtime.ExceptionDetails) string {
	if e.Exception == nil {
		return e.Text
	}
	return e.Text + " " + e.Exception.Description
}

// Problems returns what the page and the browser have complained about: errors and warnings of the console, exceptions
// that nothing caught, what the policy forbade, answers with an error.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// Eval evaluates an expression of JavaScript on the page, waits for it if it is a promise, and decodes its value into
// to, unless that is nil.
func (p *Page) Eval(expression string, to any) {
	p.t.Helper()
	if err := p.eval(expression, to); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Page) eval(expression string, to any) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes := true
	answer, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression,
		AwaitPromise: &yes, ReturnByValue: &yes})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", expression, err)
	case answer.ExceptionDetails != nil:
		return fmt.Errorf("%s: %s", expression, exception(answer.ExceptionDetails))
	case to == nil || len(answer.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(answer.Result.Value, to)
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		is := false
		if err := p.eval("!!("+expression+")", &is); err == nil && is {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("not within %v: %s; the page says %q; %q", patience, expression, p.Text(), p.Problems())
		}
	}
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.t.Helper()
	quoted, err := json.Marshal(strings.Join(strings.Fields(text), " "))
	if err != nil {
		p.t.Fatal(err)
	}
	p.Wait("document.body && document.body.innerText.replace(/\\s+/g, ' ').includes(" + string(quoted) + ")")
}

// Text returns what the page shows, with single spaces.
func (p *Page) Text() string {
	p.t.Helper()
	var text string
	p.Eval("document.body.innerText", &text)
	return strings.Join(strings.Fields(text), " ")
}

// Shot writes a picture of the page to DIVAN_TEST_SCREENSHOTS, if that is set.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv("DIVAN_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Download lets the page's downloads go to a directory.
func (p *Page) Download(dir string) {
	p.t.Helper()
	call(p, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir})
}

// Close closes the page.
func (p *Page) Close() { p.close() }
