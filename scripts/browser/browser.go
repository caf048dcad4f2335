// Package browser opens pages in Chromium for tests: at any width, light or dark, with clicks, and with what the
// browser complains about. It speaks Chromium's DevTools protocol (chromedevtools.github.io/devtools-protocol) over a
// pair of pipes.
package browser

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait, also on a machine that is busy.
const patience = 20 * time.Second

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	t  testing.TB
	in io.Writer

	mu struct {
		sync.Mutex
		id      int
		waiting map[int]chan reply // by id of the command
		pages   map[string]*Page   // by session
		ended   error
	}
}

// reply is a message of the browser: an answer to a command, or an event.
type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Session string          `json:"sessionId"`
}

// Start starts a browser that ends with the test. Without Chromium it skips the test, or fails it if DIVAN_TEST_ALL is
// set.
func Start(t testing.TB) *Browser {
	t.Helper()
	b := &Browser{t: t}
	b.mu.waiting, b.mu.pages = map[int]chan reply{}, map[string]*Page{}
	toRead, toWrite := pipe(t), pipe(t)
	cmd := exec.CommandContext(t.Context(), find(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead[0], toWrite[1]} // its 3 and 4
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	_, _ = toRead[0].Close(), toWrite[1].Close()
	b.in = toRead[1]
	done := make(chan struct{}) // closed when nothing more is read
	go func() {
		defer close(done)
		b.read(toWrite[0])
	}()
	t.Cleanup(func() {
		_ = b.send(command{Method: "Browser.close"}, nil) // it may end before it answers
		_ = toRead[1].Close()
		_ = cmd.Wait()
		_ = toWrite[0].Close()
		<-done
		for line := range strings.Lines(log.String()) {
			if t.Failed() && !strings.Contains(line, "dbus") { // which a container has not
				t.Logf("chromium: %s", line)
			}
		}
	})
	return b
}

func pipe(t testing.TB) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return [2]*os.File{r, w}
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

// read distributes what the browser sends, until it ends.
func (b *Browser) read(from io.Reader) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		var m reply
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.mu.ended = fmt.Errorf("chromium has ended: %w", err)
			for _, w := range b.mu.waiting {
				close(w)
			}
			b.mu.waiting = nil
			b.mu.Unlock()
			return
		}
		if w := b.mu.waiting[m.ID]; m.ID != 0 && w != nil {
			w <- m // it has room for it
			delete(b.mu.waiting, m.ID)
		}
		if p := b.mu.pages[m.Session]; p != nil && m.Method != "" {
			p.noteLocked(m)
		}
		b.mu.Unlock()
	}
}

// command is what a browser is told.
type command struct {
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// send sends a command and waits for its answer.
func (b *Browser) send(c command, result any) error {
	answer := make(chan reply, 1) // closed if the browser ends
	b.mu.Lock()
	if b.mu.ended != nil {
		defer b.mu.Unlock()
		return b.mu.ended
	}
	b.mu.id++
	c.ID = b.mu.id
	b.mu.waiting[c.ID] = answer
	text, err := json.Marshal(c)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: chromium has ended", c.Method)
		case r.Error != nil:
			return fmt.Errorf("%s: %s", c.Method, r.Error.Message)
		case result != nil:
			return json.Unmarshal(r.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %v", c.Method, patience)
	}
}

// View is how a page is looked at.
type View struct {
	Width, Height int // in CSS pixels; 0 means 1280 and 900
	Dark          bool
}

// Page is an open page. One goroutine uses it.
type Page struct {
	b               *Browser
	target, session string
	// problems are what the page and the browser complained about; guarded by b.mu.
	problems []string
}

// Open opens a page.
func (b *Browser) Open(url string, v View) *Page {
	b.t.Helper()
	var made struct {
		Target string `json:"targetId"`
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.must(b.send(command{Method: "Target.createTarget", Params: map[string]any{"url": "about:blank"}}, &made))
	b.must(b.send(command{Method: "Target.attachToTarget", Params: map[string]any{"targetId": made.Target,
		"flatten": true}}, &attached))
	p := &Page{b: b, target: made.Target, session: attached.Session}
	b.mu.Lock()
	b.mu.pages[p.session] = p
	b.mu.Unlock()
	if v.Width == 0 {
		v.Width, v.Height = 1280, 900
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p.do("Runtime.enable", nil)
	p.do("Log.enable", nil)
	p.do("Page.enable", nil)
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height,
		"deviceScaleFactor": 1, "mobile": false})
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}}})
	p.Go(url)
	return p
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (p *Page) do(method string, params any) {
	p.b.t.Helper()
	p.b.must(p.b.send(command{Method: method, Params: params, Session: p.session}, nil))
}

// Go opens another address.
func (p *Page) Go(url string) {
	p.b.t.Helper()
	p.do("Page.navigate", map[string]any{"url": url})
}

// noteLocked keeps what is complained about. b.mu is held.
func (p *Page) noteLocked(m reply) {
	var said struct {
		Type string `json:"type"`
		Args []struct {
			Value       any    `json:"value"`
			Description string `json:"description"`
		} `json:"args"`
		Entry struct {
			Level string `json:"level"`
			Text  string `json:"text"`
			URL   string `json:"url"`
		} `json:"entry"`
		Details struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	if json.Unmarshal(m.Params, &said) != nil {
		return
	}
	switch {
	case m.Method == "Runtime.exceptionThrown":
		p.problems = append(p.problems, said.Details.Text+" "+said.Details.Exception.Description)
	case m.Method == "Runtime.consoleAPICalled" && slices.Contains([]string{"error", "warning", "assert"}, said.Type):
		p.problems = append(p.problems, fmt.Sprint(said.Type, ": ", said.Args))
	case m.Method == "Log.entryAdded" && (said.Entry.Level == "error" || said.Entry.Level == "warning"):
		p.problems = append(p.problems, said.Entry.Text+" "+said.Entry.URL)
	}
}

// Problems returns what the page and the browser have complained about: errors and warnings of the console, exceptions
// that nothing caught, what the policy forbade, answers with an error.
func (p *Page) Problems() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return append([]string(nil), p.problems...)
}

// Eval evaluates an expression of JavaScript on the page, waits for it if it is a promise, and decodes its value into
// to, unless that is nil.
func (p *Page) Eval(expression string, to any) {
	p.b.t.Helper()
	p.b.must(p.eval(expression, to))
}

func (p *Page) eval(expression string, to any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Details *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.b.send(command{Method: "Runtime.evaluate", Session: p.session, Params: map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true}}, &answer)
	switch {
	case err != nil:
		return err
	case answer.Details != nil:
		return fmt.Errorf("%s: %s %s", expression, answer.Details.Text, answer.Details.Exception.Description)
	case to == nil || answer.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(answer.Result.Value, to)
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		is := false
		if err := p.eval("!!("+expression+")", &is); err == nil && is {
			return
		}
		if time.Now().After(end) {
			p.b.t.Fatalf("not within %v: %s; the page says %q; %q", patience, expression, p.Text(), p.Problems())
		}
	}
}

// WaitText waits until the page shows a text.
func (p *Page) WaitText(text string) {
	p.b.t.Helper()
	quoted, err := json.Marshal(strings.Join(strings.Fields(text), " "))
	p.b.must(err)
	p.Wait("document.body && document.body.innerText.replace(/\\s+/g, ' ').includes(" + string(quoted) + ")")
}

// Text returns what the page shows, with single spaces.
func (p *Page) Text() string {
	p.b.t.Helper()
	var text string
	p.Eval("document.body.innerText", &text)
	return strings.Join(strings.Fields(text), " ")
}

// Shot writes a picture of the page to DIVAN_TEST_SCREENSHOTS, if that is set.
func (p *Page) Shot(name string) {
	p.b.t.Helper()
	dir := os.Getenv("DIVAN_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	p.b.must(p.b.send(command{Method: "Page.captureScreenshot", Session: p.session,
		Params: map[string]any{"captureBeyondViewport": true}}, &shot))
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	p.b.must(err)
	p.b.must(os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600))
}

// Download lets the page's downloads go to a directory.
func (p *Page) Download(dir string) {
	p.b.t.Helper()
	p.b.must(p.b.send(command{Method: "Browser.setDownloadBehavior", Params: map[string]any{"behavior": "allow",
		"downloadPath": dir}}, nil))
}

// Close closes the page.
func (p *Page) Close() {
	p.b.t.Helper()
	p.b.must(p.b.send(command{Method: "Target.closeTarget", Params: map[string]any{"targetId": p.target}}, nil))
}
