package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// clock is a script that stops the time of a page. pass lets some of it pass, and asked returns when, in ms since then,
// the page sent each request to a path since it was last asked for that. Time passes although no stream begins, if kept
// is set.
const clock = `(() => {
	const realTimeout = setTimeout, realFetch = fetch, due = new Map();
	let now = Date.now(), last = 0, flying = 0, sent = [], origin = now;
	const add = (work, ms = 0, every = 0) => {
		due.set(++last, { at: now + ms, work, every });
		return last;
	};
	Date.now = () => now;
	window.setTimeout = (work, ms) => add(work, ms);
	window.setInterval = (work, ms) => add(work, ms, ms);
	window.clearTimeout = window.clearInterval = id => due.delete(id);
	window.fetch = async (url, init) => {
		sent.push({ at: now, path: new URL(url).pathname + (new URL(url).searchParams.get('live') ? '?live' : '') });
		if (window.kept && new URL(url).searchParams.get('live')) return realFetch(url, init);
		flying++;
		try {
			const r = await realFetch(url, init);
			if (r.headers.get('Content-Type') === 'text/event-stream') return r;
			return new Response(await r.arrayBuffer(), { status: r.status, headers: r.headers });
		} finally {
			flying--;
		}
	};
	const settled = async () => {
		for (let calm = 0; calm < 2; calm = flying ? 0 : calm + 1) await new Promise(done => realTimeout(done, 2));
	};
	window.pass = async ms => {
		const end = now + ms;
		for (;;) {
			await settled();
			const [id, next] = [...due].sort((a, b) => a[1].at - b[1].at)[0] ?? [];
			if (!next || next.at > end) break;
			now = Math.max(now, next.at);
			if (next.every) next.at += next.every;
			else due.delete(id);
			next.work();
		}
		now = end;
	};
	window.asked = path => {
		const times = sent.filter(s => s.path === path).map(s => s.at - origin);
		sent = sent.filter(s => s.path !== path);
		return times;
	};
	window.mark = () => {
		sent = [];
		origin = now;
	};
})()`

// stopped serves the page with the clock at /stopped.
func stopped(mux *http.ServeMux) {
	mux.HandleFunc("/clock.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprint(w, clock)
	})
	h := page.Handler("/_dashboard/")
	mux.Handle("/_dashboard/", h)
	mux.HandleFunc("/stopped", func(w http.ResponseWriter, _ *http.Request) {
		got := httptest.NewRecorder()
		h.ServeHTTP(got, httptest.NewRequest("GET", "/_dashboard/", nil))
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, strings.Replace(got.Body.String(), "<script ", `<script src="/clock.js"></script><script `, 1))
	})
}

// pass lets time pass on a page with a clock.
func pass(p *browser.Page, d time.Duration) { p.Eval(fmt.Sprintf("pass(%d)", d.Milliseconds()), nil) }

// asked returns when the page has sent requests to a path, in seconds since mark.
func asked(p *browser.Page, path string) (seconds []float64) {
	p.Eval("asked("+quoted(path)+").map(ms => ms / 1000)", &seconds)
	return seconds
}

// A browser writes each request that fails to its console. The page asks a node that does not answer less and less
// often, but goes on, and asks for everything at once when the browser has a network again.
func TestPage_asksSeldom(t *testing.T) {
	url, status, _ := flaky(t, answers())
	p := browser.Start(t).Open(url+"/stopped#/storage", browser.View{})
	defer p.Close()
	p.WaitText("Restoring replication factor") // with plots above
	paths := map[string]int{"/_dashboard/api/verdict": 2, "/_dashboard/api/storage": 2, "/_dashboard/api/plots": 5}
	pass(p, time.Second)
	p.Eval("mark()", nil)
	pass(p, 40*time.Second) // before the stream is asked for again
	for path, every := range paths {
		if n := len(asked(p, path)); n < 40/every-1 || n > 40/every+1 {
			t.Errorf("%s is asked for %d times in 40 s", path, n)
		}
	}
	status.Store(1)
	pass(p, 2*time.Second)
	p.WaitText("n1 does not answer")
	p.Eval("mark()", nil)
	pass(p, 5*time.Minute)
	streams := asked(p, "/_dashboard/api/storage?live")
	for path := range paths {
		times := asked(p, path)
		if strings.HasSuffix(path, "storage") {
			times = append(times, streams...)
		}
		late := 0
		for i, at := range times {
			if i > 0 && at-times[i-1] < min(30, times[i-1]/2) {
				t.Errorf("%s is asked for at %v", path, times)
				break
			}
			if at > 240 {
				late++
			}
		}
		if late == 0 || late > 3 || len(times) > 18 {
			t.Errorf("%s is asked for at %v", path, times)
		}
	}
	status.Store(0)
	p.Eval("dispatchEvent(new Event('online')); pass(0)", nil)
	for path := range paths {
		if n := len(asked(p, path)) + len(asked(p, path+"?live")); n == 0 {
			t.Errorf("with a network %s is not asked for", path)
		}
	}
	p.WaitText("live ●")
}

// A stream that is refused is asked for again: the node had too many, or an outage.
func TestPage_refusedStream(t *testing.T) {
	const path = "/_dashboard/api/nodes"
	mux, api := http.NewServeMux(), answers()
	var refuse atomic.Bool
	stopped(mux)
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		switch live := r.URL.Query().Get("live") != ""; {
		case live && refuse.Load():
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
		case live:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "event: state\ndata: ")
			answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
			_, _ = fmt.Fprint(w, "\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	refuse.Store(true)
	p := browser.Start(t).Open(server.URL+"/stopped#/nodes", browser.View{})
	defer p.Close()
	p.WaitText("1,204/s")
	pass(p, 50*time.Second)
	if polls, streams := asked(p, path), asked(p, path+"?live"); len(polls) < 20 || len(streams) != 1 {
		t.Errorf("the page has asked at %v, and for streams at %v", polls, streams)
	}
	refuse.Store(false)
	pass(p, 14*time.Second) // a stream without a line ends after 15 s
	asked(p, path)
	pass(p, 10*time.Second)
	if polls, streams := asked(p, path), asked(p, path+"?live"); len(polls) > 0 || len(streams) != 1 {
		t.Errorf("the page has asked at %v, and for streams at %v", polls, streams)
	}
}

// A page that is opened during an outage learns later how many documents of its database are in conflict. Counting
// reads every document, so it asks after growing pauses.
func TestPage_openedInOutage(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	mux, api := http.NewServeMux(), answers()
	var counted []state.Conflicts
	for _, name := range []string{"customers", "invoices", "orders", "sessions"} {
		counted = append(counted, state.Conflicts{Database: name, Entries: 9, Documents: pointer(int64(7))})
	}
	api["conflicts"] = state.ConflictsPage{Databases: counted}
	stopped(mux)
	mux.HandleFunc("/_dashboard/couch/", func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, `{"error":"service unavailable"}`, http.StatusServiceUnavailable)
			return
		}
		answer(w, map[string]any{r.URL.Path: map[string]any{"maps": []any{}}}, r.URL.Path)
	})
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")
		if r.URL.Query().Get("live") != "" || name == "conflicts" && away.Load() {
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		answer(w, api, name)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/databases/customers", browser.View{})
	defer p.Close()
	p.WaitText("Figures")
	if text := p.Text(); strings.Contains(text, "There is no such database") {
		t.Errorf("in an outage the page shows %s", text)
	}
	pass(p, 2*time.Minute)
	times := asked(p, "/_dashboard/api/conflicts")
	if len(times) < 3 || len(times) > 6 {
		t.Errorf("in an outage of two minutes it asks at %v", times)
	}
	away.Store(false)
	pass(p, time.Minute)
	p.Wait(`document.querySelector('td[data-name="In conflict"]')?.innerText === '7'`)
	asked(p, "/_dashboard/api/conflicts")
	pass(p, time.Minute)
	if times := asked(p, "/_dashboard/api/conflicts"); len(times) > 1 {
		t.Errorf("nothing changes, and it asks at %v", times)
	}
}
