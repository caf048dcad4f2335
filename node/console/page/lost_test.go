package page_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// flaky serves the console with answers, until status is not 0: then its API answers with that, hangs up if it is
// 1, or never answers if it is 2. At /stopped the page has a clock, see stopped.
func flaky(t *testing.T, api map[string]any) (url string, status, asked *atomic.Int64) {
	t.Helper()
	status, asked = new(atomic.Int64), new(atomic.Int64)
	mux := http.NewServeMux()
	stopped(mux)
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch s := int(status.Load()); {
		case s == 2:
			<-r.Context().Done()
		case s == 1:
			panic(http.ErrAbortHandler)
		case s != 0:
			http.Error(w, `{"error":"unauthorized","reason":"no"}`, s)
		case r.URL.Query().Get("live") != "":
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
		default:
			answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, status, asked
}

// A page whose node has died does not go on saying that all is well. It says since when nothing is known, and where to
// look.
func TestPage_deadNode(t *testing.T) {
	api := answers()
	api["verdict"] = state.Verdict{Now: time.Now().UTC(), Node: "n1", State: "ok", Text: "all is well: 3 nodes",
		Others: []state.Door{{Name: "n3", HTTP: "127.0.0.1:7003"}, {Name: "n4", HTTP: "0.0.0.0:7004"}}}
	url, status, _ := flaky(t, api)
	p := browser.Start(t).Open(url+"/_dashboard/#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("all is well: 3 nodes")
	status.Store(1)
	p.WaitText("n1 does not answer; what is shown is from ")
	p.WaitText("Open the console of another node: n3, n4.")
	p.WaitText("not up to date: this node does not answer")
	var got struct{ Text, Link, Title string }
	p.Eval(`({ text: document.querySelector('header').innerText, title: document.title,
		link: [...document.querySelectorAll('#verdict a')].map(a => a.href).join() })`, &got)
	if strings.Contains(got.Text, "all is well") || strings.Contains(got.Text, "Failed to fetch") ||
		!strings.HasPrefix(got.Title, "no answer") || got.Link != "http://127.0.0.1:7003/_dashboard/#/nodes" {
		t.Errorf("the page shows %+v", got)
	}
	status.Store(503) // it answers, but cannot say
	p.WaitText("n1 cannot say how the cluster is: no; what is shown is from ")
	status.Store(0)
	p.WaitText("all is well: 3 nodes")
	p.WaitText("live ●")
	status.Store(2) // it is stopped: its connections stay
	p.WaitText("n1 does not answer; what is shown is from ")
	p.WaitText("not up to date: this node takes too long to answer")
	status.Store(0)
	p.WaitText("all is well: 3 nodes")
	p.WaitText("live ●")
}

// A page whose session has ended says so. If its browser sends a password it asks for nothing: each request would be a
// refused login, and a few of them lock the account. It asks at once when another tab has signed in.
func TestPage_sessionEnds(t *testing.T) {
	url, status, asked := flaky(t, answers())
	b := browser.Start(t)
	p := b.Open(url+"/_dashboard/#/", browser.View{})
	defer p.Close()
	p.WaitText("2 nodes up; 2 things need attention")
	status.Store(401)
	p.WaitText("Your session has ended")
	p.WaitText("signed out")
	p.Eval(`new Promise(done => setTimeout(done, 1000))`, nil) // what was under way ends
	before := asked.Load()
	p.Eval(`location.hash = '#/nodes'; window.dispatchEvent(new Event('focus')); document.dispatchEvent(
		new Event('visibilitychange')); new Promise(done => setTimeout(done, 6000))`, nil) // plots come every 5 s
	if n := asked.Load() - before; n != 0 {
		t.Errorf("a page without a session has sent %d requests", n)
	}
	if text := p.Text(); strings.Contains(text, "need attention") || strings.Contains(text, "live") {
		t.Errorf("the page shows %q", text)
	}
	status.Store(0)
	other := b.Open(url+"/_dashboard/#/", browser.View{})
	defer other.Close()
	other.WaitText("2 nodes up")
	p.WaitText("2 nodes up; 2 things need attention")
	p.WaitText("Mailboxes")
	p.WaitText("live ●")
}

// Without a password that could be guessed, a page whose session has ended asks slowly whether somebody has signed in,
// and at once when it is looked at. Then it shows everything again, also what was opened meanwhile.
func TestPage_signedInAgain(t *testing.T) {
	var out atomic.Bool
	api := answers()
	mux := http.NewServeMux()
	stopped(mux)
	serve := func(w http.ResponseWriter, r *http.Request, name string) {
		if out.Load() {
			w.Header().Set("X-Divan-Status", "401")
			_, _ = w.Write([]byte(`{"error":"unauthorized","reason":"You are not a server admin."}`))
			return
		}
		answer(w, api, name)
	}
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) { serve(w, r, r.URL.Path) })
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("2 nodes up; 2 things need attention")
	out.Store(true)
	pass(p, 4*time.Second)
	p.WaitText("Your session has ended")
	p.Eval("mark()", nil)
	p.Eval(`location.hash = '#/databases/orders/docs'`, nil)
	p.Wait(`(e => e.hidden && e.textContent.includes('your session has ended'))(document.getElementById('view'))`)
	pass(p, time.Minute)
	const verdict = "/_dashboard/api/verdict"
	if times := asked(p, verdict); len(times) < 5 || len(times) > 7 {
		t.Errorf("it is asked at %v whether somebody has signed in", times)
	}
	out.Store(false)
	p.Eval(`window.dispatchEvent(new Event('focus'))`, nil)
	p.WaitText("2 nodes up; 2 things need attention")
	p.WaitText("live ●")
	p.WaitText("1 shown")
	if text := p.Text(); strings.Contains(text, "session has ended") {
		t.Errorf("the page shows %q", text)
	}
	if list := p.Problems(); len(list) > 0 {
		t.Errorf("the page complains: %q", list)
	}
}

// Why the node does not answer stays as it was found: it refuses requests, and does not take long.
func TestPage_refusing(t *testing.T) {
	url, status, _ := flaky(t, answers())
	p := browser.Start(t).Open(url+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("2 nodes up; 2 things need attention")
	status.Store(1)
	pass(p, 3*time.Second)
	p.WaitText("not up to date: this node does not answer")
	p.Eval(`(said => {
		const note = () => said.add(document.getElementById('status').textContent);
		new MutationObserver(note).observe(document.getElementById('status'),
			{ characterData: true, childList: true, subtree: true });
		window.said = said;
	})(new Set())`, nil)
	pass(p, time.Minute)
	if got := value[[]string](p, `[...said]`); len(got) > 0 {
		t.Errorf("then it says %q", got)
	}
	status.Store(0)
	pass(p, 30*time.Second)
	p.WaitText("live ●")
}

// Who signs in after another one sees at once what is so, and not that the session has ended.
func TestPage_anotherSignsIn(t *testing.T) {
	var out, bob atomic.Bool
	api := answers()
	mux := http.NewServeMux()
	stopped(mux)
	serve := func(w http.ResponseWriter, name string) {
		if out.Load() {
			w.Header().Set("X-Divan-Status", "401")
			_, _ = w.Write([]byte(`{"error":"unauthorized","reason":"You are not a server admin."}`))
			return
		}
		if v, ok := api[name].(state.Verdict); ok && bob.Load() {
			v.User = "bob"
			answer(w, map[string]any{"verdict": v}, "verdict")
			return
		}
		answer(w, api, name)
	}
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		path, _ := url.PathUnescape(r.URL.Path)
		serve(w, path+map[bool]string{true: "?meta"}[r.URL.Query().Get("conflicts") != ""])
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) { serve(w, asksFor(r)) })
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/jobs", browser.View{})
	defer p.Close()
	for view, shows := range map[string]string{"docs": "1 shown", "doc/o1": "photo.png"} {
		out.Store(false)
		bob.Store(false)
		p.Eval("location.hash = "+quoted("#/databases/orders/"+view)+"; window.dispatchEvent(new Event('focus'))", nil)
		p.WaitText(shows)
		pass(p, 4*time.Second)
		p.WaitText("live ●")
		out.Store(true)
		pass(p, 4*time.Second)
		p.WaitText("Your session has ended")
		out.Store(false)
		bob.Store(true)
		p.Eval(`window.dispatchEvent(new Event('focus'))`, nil)
		p.WaitText("bob is signed in now.")
		p.WaitText(shows) // no time passes
		p.WaitText("live ●")
		if text := p.Text(); strings.Contains(text, "session has ended") {
			t.Errorf("bob is shown %s", text)
		}
		pass(p, 4*time.Second)
		bob.Store(false)
		pass(p, 4*time.Second)
		p.WaitText("anna is signed in now.")
	}
}
