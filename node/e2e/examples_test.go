package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/scripts/browser"
	"github.com/divandb/divan/scripts/fixtures"
)

const examples = "../../scripts/examples"

// cable connects a port with a node, until it is pulled out.
type cable struct {
	listener net.Listener
	to       string

	mu struct {
		sync.Mutex
		out   bool
		conns []net.Conn
	}
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, to: to}
	t.Cleanup(func() { _ = l.Close(); c.pull(true) })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.connect(near)
		}
	}()
	return c
}

func (c *cable) connect(near net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	far, err := net.Dial("tcp", c.to)
	if err != nil || c.mu.out {
		_ = near.Close()
		return
	}
	c.mu.conns = append(c.mu.conns, near, far)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

// pull pulls the cable out, or puts it in again.
func (c *cable) pull(out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.out = out
	for _, conn := range c.mu.conns {
		_ = conn.Close()
	}
	c.mu.conns = nil
}

// The to-do page in two browsers: what one writes, the other shows. One goes offline, both write, also the same item,
// and when it is back both show the same, with a conflict that can be resolved.
func TestExamples_Todo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two browsers")
	}
	modules, err := fixtures.Modules()
	if err != nil {
		skip(t, "npm packages: %v", err)
	}
	files := http.FileServer(http.Dir(filepath.Join(examples, "todo")))
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pouchdb.min.js" {
			http.ServeFile(w, r, filepath.Join(modules, "pouchdb", "dist", "pouchdb.min.js"))
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer site.Close()
	dir := t.TempDir()
	settings := fmt.Sprintf("http: {cors: {enabled: true, origins: ['%s'], credentials: true}}\n", site.URL)
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	n := start(t, dir)
	c := n.client()
	c.ok("PUT", "/todos", "")
	open := func(at string) *browser.Page {
		return browser.Start(t).Open(site.URL+"/?http://"+at+"/todos", browser.View{})
	}
	wire := newCable(t, n.ready["http"])
	ann, bob := open(wire.listener.Addr().String()), open(n.ready["http"])

	add := func(p *browser.Page, title string) {
		set(p, "document.getElementById('title')", title)
		p.Eval("document.querySelector('form button').click()", nil)
	}
	shows := func(p *browser.Page, titles ...string) {
		t.Helper()
		p.Wait(fmt.Sprintf("[...document.querySelectorAll('li input[type=text]')].map(i => i.value).join() === '%s'",
			strings.Join(titles, ",")))
	}
	add(ann, "milk")
	shows(ann, "milk")
	shows(bob, "milk")
	add(bob, "bread")
	shows(ann, "milk", "bread")

	wire.pull(true)
	add(ann, "eggs")
	add(bob, "tea")
	shows(ann, "milk", "bread", "eggs")
	shows(bob, "milk", "bread", "tea")
	rename := func(p *browser.Page, title string) {
		set(p, "document.querySelector('li input[type=text]')", title)
	}
	rename(ann, "oat milk") // both change the same item
	rename(bob, "soy milk")
	wire.pull(false)
	// Both show the same winner, and what the other one has written.
	offered := "[document.querySelector('li input[type=text]').value.slice(0, 3), " +
		"...[...document.querySelectorAll('li button')].map(b => b.textContent.slice(0, 7))].sort().join()"
	for _, p := range []*browser.Page{ann, bob} {
		p.Wait("['keep,or: oat,soy', 'keep,oat,or: soy'].includes(" + offered + ")")
	}
	bob.Eval("document.querySelectorAll('li button')[1].click()", nil)
	for _, p := range []*browser.Page{ann, bob} {
		p.Wait("document.querySelectorAll('li button').length === 0")
	}
	var title string
	bob.Eval("document.querySelector('li input[type=text]').value", &title)
	shows(ann, title, "bread", "eggs", "tea")
	shows(bob, title, "bread", "eggs", "tea")
	ann.Eval("document.querySelector('li input[type=checkbox]').click()", nil)
	for _, p := range []*browser.Page{ann, bob} {
		p.Wait("document.querySelectorAll('li.done').length === 1")
	}
	var all struct {
		Rows []struct{ Doc struct{ Title string } }
	}
	c.into("/todos/_all_docs?include_docs=true", &all)
	if len(all.Rows) != 4 {
		t.Errorf("the server has %+v", all)
	}
}

// The worker counts each measurement once, although it is killed again and again, and the shards are replaced.
func TestExamples_Worker(t *testing.T) {
	n := start(t, t.TempDir())
	c := n.client()
	c.ok("PUT", "/sensors?changes_shards=3", "")
	worker := filepath.Join(t.TempDir(), "worker")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", worker, ".")
	build.Dir = filepath.Join(examples, "worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	state := t.TempDir()
	run := func(more ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), worker, append([]string{"-database", n.http() + "/sensors", "-state", state},
			more...)...)
		cmd.Stderr = os.Stderr
		return cmd
	}
	const batches, size = 40, 50
	following := run()
	if err := following.Start(); err != nil {
		t.Fatal(err)
	}
	for b := range batches {
		var docs []string
		for i := range size {
			docs = append(docs, fmt.Sprintf(`{"_id":"room%d:%d"}`, i%5, b*size+i))
		}
		c.ok("POST", "/sensors/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`)
		if b%10 == 5 {
			c.ok("POST", "/sensors/_changes/_reshard", fmt.Sprintf(`{"shard_count":%d}`, 1+b%4))
		}
		if b%3 == 0 {
			_ = following.Process.Kill()
			_ = following.Wait() // it was killed
			if following = run(); following.Start() != nil {
				t.Fatal("the worker does not start again")
			}
		}
	}
	_ = following.Process.Kill()
	_ = following.Wait() // it was killed
	if err := run("-once").Run(); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	names, err := filepath.Glob(filepath.Join(state, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s struct{ Rooms map[string]int }
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		for room, n := range s.Rooms {
			counted[room] += n
		}
	}
	if len(names) < 5 || len(counted) != 5 {
		t.Errorf("%d shards, rooms %v", len(names), counted)
	}
	for room, n := range counted {
		if n != batches*size/5 {
			t.Errorf("%s: counted %d, want %d", room, n, batches*size/5)
		}
	}
}
