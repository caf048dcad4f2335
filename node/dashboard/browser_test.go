package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/dashboard"
)

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

// show opens the page in a real browser, lets some seconds of the browser's time pass, and returns what it shows.
func show(t *testing.T, s dashboard.Sources, extra ...string) string {
	t.Helper()
	chromium := browser(t)
	server := httptest.NewServer(dashboard.Handler(s))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--window-size=1200,1400",
		"--virtual-time-budget=5000"}
	args = append(append(args, extra...), "--dump-dom", server.URL+"/_dashboard/")
	cmd := exec.CommandContext(ctx, chromium, args...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}

func value(t *testing.T, text string) dashboard.Source {
	t.Helper()
	if !json.Valid([]byte(text)) {
		t.Fatalf("not JSON: %s", text)
	}
	return func(context.Context) (any, error) { return json.RawMessage(text), nil }
}

// visible returns the text of a part of the page without its tags.
func visible(dom, id string) string {
	_, part, _ := strings.Cut(dom, `id="`+id+`"`)
	part, _, _ = strings.Cut(part, "</section>")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(part, " ")), " ")
}

func full(t *testing.T) dashboard.Sources {
	return dashboard.Sources{
		Node:  value(t, `{"name":"divan@a","version":"1.0","engine":"embedded","started":"2026-01-02T03:04:05Z"}`),
		Store: value(t, `{"state":"answers"}`),
		Members: value(t, `[{"name":"divan@a","status":"alive","self":true,"http":"127.0.0.1:5984","sql":"127.0.0.1:5433","gossip":"127.0.0.1:7946","version":"1.0","roles":[]},
			{"name":"divan@b","status":"suspect","self":false,"http":"127.0.0.1:5985","sql":"","gossip":"127.0.0.1:7956","version":"1.0","roles":["index"]}]`),
		Actors: value(t, `{"node":"divan@a","tree":{"id":"node","kind":"node","name":"divan@a","state":"running","mailbox":0,"restarts":0,"children":[
			{"id":"d","kind":"databases","name":"","state":"running","facts":{"open":1},"mailbox":0,"restarts":0,"children":[
			{"id":"c","kind":"database","name":"cities","state":"open","facts":{"actors":2},"mailbox":0,"restarts":0,"children":[
			{"id":"i","kind":"indexer","name":"_design/by","state":"building","facts":{"changes_done":75000,"total_changes":150000,"rows":75000},"mailbox":1,"restarts":0},
			{"id":"s","kind":"shard","name":"s1","state":"watching","facts":{"listeners":12,"wakes":4711},"mailbox":0,"restarts":3,
			 "last_failure":"runtime error: index out of range","last_failure_at":"2026-01-02T03:04:05Z"}]}]},
			{"id":"j","kind":"jobs","name":"","state":"waiting","facts":{"running":1,"claimed":9},"mailbox":0,"restarts":0}]}}`),
		Tasks: value(t, `[{"type":"indexer","node":"divan@a","pid":"x","database":"cities","design_document":"_design/by","progress":50,
			"changes_done":75000,"total_changes":150000,"rows":75000,"shards":[{"shard":"s1","changes_done":74000,"done":false},{"shard":"s2","changes_done":1000,"done":true}],"started_on":1767323045,"updated_on":1767323046}]`),
		Jobs: value(t, `[{"type":"index","id":"cities/0123","state":"running","worker":"divan@a","updated":"2026-01-02T03:04:05Z"},
			{"type":"index","id":"old/4567","state":"pending","failures":2,"error":"rows of one document exceed a transaction","updated":"2026-01-02T03:04:05Z"}]`),
		Shards: value(t,
			`[{"database":"cities","shard":"s1","seq":"0000054f5c2d1b2a3c00000000","node":"divan@a","listeners":12,"followers":2,"wakes":4711,"state":"watching"}]`),
		Indexes: value(t, `[{"database":"cities","design":"_design/by","views":["country","name"],"rows":300000,
			"bytes":12345678,"errors":2,"skipped":"name skips document \"d1\": TypeError","building":true,
			"current":false,"seq":"00000000054f5c2d0000000000","last_seq":"00000000054f7b270000000000"},
			{"database":"cities","design":"_design/ok","views":["v"],"rows":1,"bytes":1,"errors":0,"building":false,"current":true,"seq":"00","last_seq":"00"}]`),
		Scripts: value(t, `{"runtimes":5,"idle":2,"most":16,"running":2,"paused":4,"waiting":6,
			"limits":{"time":8,"memory":0},"stopped":9,"refused":10,"seconds":1.5,
			"databases":[{"database":"cities","seconds":0.5,"waiting":3}]}`),
		Sessions: value(t,
			`[{"pid":7,"user":"admin","database":"cities","application":"psql","state":"active","query":"SELECT * FROM changes_follow","since":"2026-01-02T03:04:05Z","rows":12}]`),
	}
}

func TestPage_ShowsEverything(t *testing.T) {
	shot := filepath.Join(t.TempDir(), "page.png")
	if dir := os.Getenv("DIVAN_TEST_SCREENSHOTS"); dir != "" {
		shot = filepath.Join(dir, "dashboard.png")
	}
	dom := show(t, full(t), "--screenshot="+shot)
	for id, wants := range map[string][]string{
		"node-name": {"divan@a"},
		"members":   {"divan@a this node", "● alive", "divan@b", "◐ suspect", "127.0.0.1:7956", "index"},
		"actors": {"node divan@a running", "database cities open", "indexer _design/by building", "changes done 75,000",
			"shard s1 watching 0 3",
			"runtime error: index out of range", "listeners 12", "jobs waiting"},
		"tasks":  {"cities _design/by", "50 %", "75,000 of 150,000", "1 of 2 done s1: 74,000, s2: done", "divan@a"},
		"jobs":   {"index cities/0123 running divan@a 0", "old/4567 pending 2", "exceed a transaction"},
		"shards": {"cities s1 0000054f5c2d1b2a3c00000000 divan@a 12 2 4,711 watching"},
		"indexes": {"cities _design/by country, name 300,000 12.3 MB building, 2.0 s behind 2 name skips document " +
			"\"d1\": TypeError", "_design/ok v 1 1 B up to date 0"},
		"scripts": {"Runtimes 3 busy, 2 idle, at most 16", "2 running, 4 paused, 6 waiting", "time 8, memory 0",
			"Refused 10", "cities 0.50 s 3"},
		"sessions": {"7 admin cities psql active", "SELECT * FROM changes_follow"},
		"status":   {"Live"},
	} {
		for _, want := range wants {
			if got := visible(dom, id); !strings.Contains(got, want) {
				t.Errorf("%s shows %q, without %q", id, got, want)
			}
		}
	}
	if !strings.Contains(dom, `<p id="store" role="alert" hidden=""></p>`) {
		t.Error("the page shows a message about the store")
	}
	if !strings.Contains(dom, `<ul id="health" role="alert" hidden=""></ul>`) {
		t.Error("the page shows that something needs attention")
	}
	if !strings.Contains(dom, `href="http://127.0.0.1:5985/_dashboard/"`) {
		t.Error("no link to the other member's page")
	}
}

// Names and errors are chosen by users: they must not become tags or scripts.
func TestPage_EscapesEverything(t *testing.T) {
	const evil = `<img src=x onerror=document.title=/owned/>\"'</script><script>document.title='owned'</script>`
	list := `[{"name":"E","status":"E","http":"javascript:alert(1)//E","sql":"E","gossip":"E","version":"E","roles":["E"],"database":"E","design_document":"E",
		"design":"E","views":["E"],"shard":"E","seq":"E","type":"E","id":"E","state":"E","worker":"E","error":"E","updated":"E","user":"E","application":"E",
		"shards":[{"shard":"E","changes_done":"E"}],"query":"E","since":"E","node":"E","pid":"E","rows":"E","bytes":"E","progress":"E","total_changes":"E","changes_done":"E","started_on":"E"}]`
	tree := `{"tree":{"kind":"E","name":"E","state":"E","facts":{"E":"E"},"mailbox":"E","restarts":"E","last_failure":"E","last_failure_at":"E"}}`
	all := value(t, strings.ReplaceAll(list, "E", evil))
	dom := show(t,
		dashboard.Sources{Node: value(t, strings.ReplaceAll(`{"name":"E","version":"E"}`, "E", evil)), Members: all,
			Actors: value(t, strings.ReplaceAll(tree, "E", evil)), Tasks: all, Jobs: all, Shards: all, Indexes: all,
			Sessions: all})
	if strings.Contains(dom, "<img") || strings.Count(dom, "<script") != 1 {
		t.Error("something from the server became a tag")
	}
	if title := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(dom); title == nil ||
		!strings.HasPrefix(title[1], "Divan &lt;img") {
		t.Errorf("title %q", title)
	}
	if strings.Contains(dom, `href="javascript`) {
		t.Error("a link runs a script")
	}
	if body, _, _ := strings.Cut(dom, "<script"); strings.Contains(body, "Cannot be shown") {
		t.Error("a section could not be shown")
	}
	if got := strings.Count(dom, "&lt;img"); got < 50 {
		t.Errorf("only %d hostile values are shown", got)
	}
}

// The page shows changes, and a section that fails does not affect the others.
func TestPage_FollowsAndSurvivesFailures(t *testing.T) {
	var calls atomic.Int64
	s := full(t)
	s.Sessions = func(context.Context) (any, error) { return nil, context.DeadlineExceeded }
	s.Store = func(context.Context) (any, error) { return nil, errors.New("The store <b>sleeps</b>") }
	s.Health = value(t, `["disk_full: the disk has <b>3 MB</b> left","join_failed: 127.0.0.1:1 does not answer"]`)
	s.Members = func(context.Context) (any, error) {
		if calls.Add(1) == 1 {
			return json.RawMessage(`[{"name":"first","status":"alive"}]`), nil
		}
		return json.RawMessage(`[{"name":"later","status":"left"}]`), nil
	}
	dom := show(t, s)
	if got := visible(dom, "members"); !strings.Contains(got, "later") || !strings.Contains(got, "○ left") ||
		strings.Contains(got, "first") {
		t.Errorf("members %q after %d calls", got, calls.Load())
	}
	if got := visible(dom, "sessions"); !strings.Contains(got, "Cannot be read: context deadline exceeded") {
		t.Errorf("sessions %q", got)
	}
	if !strings.Contains(dom, `role="alert">The store &lt;b&gt;sleeps&lt;/b&gt;. Requests`) {
		t.Error("the page does not show that the store does not answer")
	}
	if !strings.Contains(dom, `<li>disk_full: the disk has &lt;b&gt;3 MB&lt;/b&gt; left</li><li>join_failed:`) {
		t.Error("the page does not show what needs attention")
	}
	if got := visible(dom, "tasks"); !strings.Contains(got, "50 %") {
		t.Errorf("tasks %q", got)
	}
}
