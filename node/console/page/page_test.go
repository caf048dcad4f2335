package page_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/page"
	"github.com/divandb/divan/node/console/state"
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

// browser returns the path of Chromium, or skips the test with advice on how to install it.
func browser(t *testing.T) string {
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

// show opens a view in a browser of some width and returns the page's elements. api has the answers by view. It fails
// if the page reports an error. A screenshot is in DIVAN_TEST_SCREENSHOTS, if that is set.
func show(t *testing.T, api map[string]any, view, shot, size string) string {
	t.Helper()
	chromium := browser(t)
	mux := http.NewServeMux()
	mux.Handle("/_dashboard/", page.Handler("/_dashboard/"))
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		v, ok := api[strings.TrimPrefix(r.URL.Path, "/_dashboard/api/")]
		if !ok || r.URL.Query().Get("live") != "" { // the page then asks again and again
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path := filepath.Join(t.TempDir(), "page.png")
	if dir := os.Getenv("DIVAN_TEST_SCREENSHOTS"); dir != "" {
		path = filepath.Join(dir, shot+".png")
	}
	var log strings.Builder
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--window-size="+size, "--virtual-time-budget=6000", "--enable-logging=stderr",
		"--screenshot="+path, "--dump-dom", server.URL+"/_dashboard/#/"+view)
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "503") {
			t.Errorf("the page says %s", line)
		}
	}
	return string(out)
}

// visible returns the text of a page without its tags.
func visible(dom string) string {
	_, body, _ := strings.Cut(dom, "<header>")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

func pointer[T any](v T) *T { return &v }

// answers are those of a cluster in which a node has died.
func answers() map[string]any {
	now := time.Now().UTC()
	ago := func(s float64) time.Time { return now.Add(-time.Duration(s * float64(time.Second))) }
	story := state.Story{ID: "n1/a/9", Title: "n2 died", Severity: state.Error, Member: "n2", Began: ago(303),
		Ended: ago(300.1), Text: "n2 silent 12:00:01.0, given up 12:00:03.4, 14 shards to n1 and n3, 2 jobs resumed " +
			"12:00:03.9",
		Lines: []state.StoryLine{{At: ago(303), Text: "n2 was last heard", Nodes: []string{"n1", "n3"}},
			{At: ago(300.6), After: 2.4, Text: "n2 has not answered for 2.4 s and was given up", Nodes: []string{"n1", "n3"}},
			{At: ago(300.1), After: 2.9, Text: "job index orders/1 goes on, on n3: n2 has left it", Nodes: []string{"n3"}}}}
	node := func(name, st, text string, self bool) state.Node {
		n := state.Node{Name: name, State: st, Text: text, Self: self, HTTP: "127.0.0.1:5984", Version: "0.2.0",
			Roles: []string{}}
		if st == "ok" {
			n.Report = state.Report{Engine: "embedded", Started: pointer(ago(270_000)), Now: map[string]float64{
				"docs_written": 1204, "listeners": 312, "actors": 408, "mailbox": 0, "cpu": 0.31, "resident": 212e6,
				"disk_free": 81e9}}
		}
		return n
	}
	events := []state.Event{
		{ID: "n1/a/9", At: ago(300), Node: "n1", Also: []string{"n3"}, Kind: state.MemberDead, Severity: state.Error,
			Text: "n2 has not answered for 2.4 s and was given up", Member: "n2"},
		{ID: "n1/a/8", At: ago(400), Node: "n1", Kind: state.LoginRefused, Severity: state.Warning, Repeated: 42,
			Until: pointer(ago(310)), Text: "a login of anna from 10.0.0.7 was refused"},
		{ID: "n3/b/7", At: ago(5000), Node: "n3", Kind: state.ActorFailed, Severity: state.Error,
			Text: "database:orders/shard:3 failed and is restarted: index out of range", Detail: "goroutine 7 [running]"},
	}
	values := make(state.Values, 180)
	for i := range values {
		values[i] = float32(900 + 300*(i%17)/17 + i)
	}
	plots := state.Plots{Start: now.Unix(), Step: 5}
	for _, s := range []state.Series{{Name: "docs_written", Title: "documents written", Unit: "/s"},
		{Name: "feed_rows", Title: "feed rows", Unit: "/s"}, {Name: "commit_p99", Title: "commit, 99 of 100", Unit: "ms"},
		{Name: "index_lag", Title: "lag of indexes", Unit: "s"}, {Name: "conflicts", Title: "conflicts", Unit: "/s"},
		{Name: "http_failed", Title: "HTTP errors of the server", Unit: "/s"}} {
		plots.Plots = append(plots.Plots, state.Plot{Series: s, All: values})
	}
	verdict := state.Verdict{Now: now, Node: "n1", State: "degraded", Text: "2 nodes up; 2 things need attention"}
	list := func(rows any, total int) map[string]any {
		return map[string]any{"now": now, "rows": rows, "total": total, "next": "x", "sort": "name", "desc": false,
			"absent": []state.Absent{{Node: "n2", Reason: "it does not answer"}}}
	}
	var databases []state.Database
	for _, name := range []string{"customers", "invoices", "orders", "sessions"} {
		databases = append(databases, state.Database{Name: name, Docs: pointer(int64(1_234_567)),
			Bytes:   pointer(int64(3e9)),
			Deleted: pointer(int64(12)), Shards: pointer(8), Writes: 310.5, Feed: 1200})
	}
	return map[string]any{
		"verdict": verdict, "plots": plots,
		"overview": state.Overview{Now: now, Node: "n1", State: verdict.State, Text: verdict.Text, Databases: 10_000,
			Jobs: map[string]int{"running": 1, "pending": 2}, Failing: 1, Events: events,
			Attention: []state.Attention{
				{Severity: state.Error, Text: story.Text, Since: pointer(story.Began), Story: &story},
				{Severity: state.Warning, Text: "views of _design/by in orders skip 3 documents", Node: "n1"}},
			Nodes: []state.Node{node("n1", "ok", "it works", true), node("n2", "gone", "it has left or was given up", false),
				node("n3", "ok", "it works", false)},
			Tasks: []state.Task{{Node: "n3", Type: "indexer", Database: "orders", Design: "_design/by", Progress: 42,
				Done: 42_000, Total: 100_000, Rate: 5200, Left: pointer(11.0)}}},
		"nodes":     map[string]any{"now": now, "nodes": []state.Node{node("n1", "ok", "it works", true)}},
		"databases": list(databases, 10_000),
		"jobs": list([]state.Job{{Type: "index", ID: "orders/0519c025", State: "running", Worker: "n3", Token: 7,
			Updated: pointer(ago(1))}, {Type: "index", ID: "old/4567", State: "pending", Failures: 2,
			Error: "rows of one document exceed a transaction", Updated: pointer(ago(30))}}, 2),
		"actors": list([]state.Actor{{Node: "n3", ID: "databases/database:orders/shard:3", Kind: "shard", State: "watching",
			Restarts: 3, LastFailure: "index out of range", LastFailureAt: pointer(ago(20)),
			Facts: json.RawMessage(`{"listeners":12}`)}}, 100_000),
		"sessions": list([]state.Session{{Node: "n1", PID: 7, User: "anna", Database: "orders", Application: "psql",
			State: "active", Statement: "SELECT * FROM docs", Began: pointer(ago(3))}}, 1),
		"shards": list([]state.Shard{{Node: "n1", Database: "orders", Shard: "3", Owner: "n3", State: "following",
			Listeners: 12}}, 1),
		"indexes": list([]state.Index{{Node: "n1", Database: "orders", Design: "_design/by", Views: []string{"customer"},
			Rows: 300_000, Bytes: 12e6, Errors: 2, Lag: 2}}, 1),
		"events": state.EventPage{Now: now, Events: events, Stories: []state.Story{story}, Absent: []state.Absent{}},
		"tasks":  map[string]any{"now": now, "tasks": []state.Task{}},
	}
}

// Each view shows what the server answers, wide and narrow.
func TestPage(t *testing.T) {
	for view, wants := range map[string][]string{
		"": {"2 nodes up; 2 things need attention", "n2 silent 12:00:01.0, given up 12:00:03.4, 14 shards to n1 and n3",
			"documents written", "n1 asked", "works", "1,204/s", "212 MB", "42 %", "10,000 databases", "and 42 more until",
			"+2.9 s", "live"},
		"nodes/n1": {"Engine embedded", "Log more", "81 GB"},
		"databases": {"customers", "1,234,567", "3 GB", "311/s", "10,000 in all",
			"without n2: it does not answer", "next ›"},
		"databases/orders": {"Compact", "Reshard", "Indexes", "_design/by", "Changes shards with listeners"},
		"jobs":             {"orders/0519c025", "running", "old/4567", "exceed a transaction", "Retry", "Drop"},
		"actors":           {"database:orders/shard:3", "index out of range", "listeners 12", "100,000 in all"},
		"sql":              {"7 psql", "anna", "SELECT * FROM docs", "Cancel"},
		"feeds":            {"orders shard 3", "following"},
		"indexes":          {"orders _design/by customer", "2.0 s behind", "300,000"},
		"events":           {"Stories", "n2 died", "given up", "a login of anna", "goroutine 7"},
	} {
		t.Run("view "+view, func(t *testing.T) {
			sizes := map[string]string{"wide": "1300,1000"}
			if view == "" || view == "jobs" || view == "events" {
				sizes["narrow"] = "500,1400"
			}
			for shot, size := range sizes {
				got := visible(show(t, answers(), view, strings.ReplaceAll("console-"+view, "/", "-")+"-"+shot, size))
				for _, want := range wants {
					if !strings.Contains(got, want) {
						t.Errorf("%s shows no %q: %s", shot, want, got)
					}
				}
			}
		})
	}
}

// Names and texts are chosen by users: they must not become tags, scripts or addresses.
func TestPage_hostile(t *testing.T) {
	const evil = `<img src=x onerror=document.title=/owned/>"'</script><script>document.title='owned'</script>`
	text, err := json.Marshal(answers())
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var poison func(key string, v any) any
	keep := map[string]bool{"now": true, "at": true, "since": true, "began": true, "ended": true, "sort": true,
		"next": true,
		"unit": true, "until": true}
	poison = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = poison(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = poison(key, v[i])
			}
		case string:
			if !keep[key] {
				return evil
			}
		}
		return v
	}
	hostile := poison("", all).(map[string]any)
	for _, view := range []string{"", "nodes", "databases", "jobs", "actors", "sql", "feeds", "indexes", "events"} {
		dom := show(t, hostile, view, "hostile-"+view, "1300,1000")
		if strings.Contains(dom, "<img") || strings.Count(dom, "<script") != 1 || strings.Contains(dom, "<title>owned") {
			t.Errorf("%s: something from the server became a tag", view)
		}
		if strings.Contains(dom, `href="javascript`) || !strings.Contains(dom, "&lt;img") {
			t.Errorf("%s: a link runs a script, or nothing is shown", view)
		}
	}
}
