package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// page opens a URL in Chromium, lets the page run for three seconds of its own time, and returns the text that it
// shows.
func page(t *testing.T, address string) string {
	t.Helper()
	chromium := need(t, "chromium", "apt-get install chromium")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+
			t.TempDir(),
		"--virtual-time-budget=3000", "--dump-dom", address).Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	body, _, _ := strings.Cut(string(out), "<noscript")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

// withoutStreams returns the address of a proxy that refuses streams: while one is open, the browser's own time stands
// still. A page then asks again and again.
func withoutStreams(t *testing.T, p *process) string {
	t.Helper()
	to, err := url.Parse(p.http())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("live") != "" {
			http.Error(w, "no streams", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestDashboard_ShowsWhatTheNodeDoes(t *testing.T) {
	p := start(t, t.TempDir(), "-name", "one", "-admin", "anna:secret")
	for _, path := range []string{"/_dashboard/", "/_dashboard/api/overview"} {
		if status := p.client().status("GET", path, ""); status != 401 {
			t.Errorf("%s without a password: status %d", path, status)
		}
	}
	c := p.as("anna:secret")
	c.ok("PUT", "/cities?changes_shards=2", "")
	c.ok("POST", "/cities/_bulk_docs", `{"docs":[{"_id":"oslo","country":"no"},{"_id":"bergen","country":"no"}]}`)
	c.ok("PUT", "/cities/_design/by", `{"views":{"country":{"map":"function (doc) { emit(doc.country, 1); }"}}}`)
	if rows := c.object("GET", "/cities/_design/by/_view/country", ""); fmt.Sprint(rows["total_rows"]) != "2" {
		t.Fatalf("view %v", rows)
	}
	feed := c.stream("/cities/_changes?feed=continuous&since=now&heartbeat=1000")
	defer feed.Close()

	// Actors start only after the request that needs them.
	missing := []string{`"kind":"database","name":"cities"`, `"kind":"shard","name":"1"`, `"kind":"shard","name":"2"`,
		`"state":"watching"`}
	var tree string
	for began := time.Now(); len(missing) > 0 && time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		tree = string(c.do("GET", "/_actors", "").body)
		missing = slices.DeleteFunc(missing, func(want string) bool { return strings.Contains(tree, want) })
	}
	if len(missing) > 0 {
		t.Fatalf("/_actors has no %s: %s", missing, tree)
	}
	if text := string(c.do("GET", "/metrics", "").body); !strings.Contains(text,
		"\ndivan_index_lag_changes{database=\"cities\",design=\"by\"} 0\n") {
		t.Errorf("/metrics has no lag of the index: %s", text)
	}
	for _, sort := range []string{"name", "indexes", "shards"} {
		if text := string(c.do("GET", "/_dashboard/api/databases?desc=true&sort="+sort, "").body); !strings.Contains(text,
			`"name":"cities","docs":3,"deleted":0,"bytes":`) || !strings.Contains(text, `"shards":2,"indexes":1,`) {
			t.Errorf("the databases by %s are %s", sort, text)
		}
	}
	address := "http://anna:secret@" + withoutStreams(t, p) + "/_dashboard/"
	console := page(t, address)
	for _, want := range []string{"all is well: 1 node · asked one", "live", "documents written", "1 database",
		"has started"} {
		if !strings.Contains(console, want) {
			t.Errorf("the console does not show %q: %s", want, console)
		}
	}
	for view, wants := range map[string][]string{"nodes": {"one", "works"}, "actors": {"cities", "watching"},
		"indexes": {"_design/by", "cities"}} {
		text := ""
		// The node reads the names of new databases every few seconds.
		for began := time.Now(); len(wants) > 0 && time.Since(began) < 20*time.Second; {
			text = page(t, address+"#/"+view)
			wants = slices.DeleteFunc(wants, func(want string) bool { return strings.Contains(text, want) })
		}
		if len(wants) > 0 {
			t.Errorf("the view %s does not show %q: %s", view, wants, text)
		}
	}
}

// After a restart, the console knows the indexes that nothing has used since, and what is wrong with them.
func TestDashboard_UnusedIndexes(t *testing.T) {
	mostlyWaits(t)
	dir := t.TempDir()
	p := start(t, dir, "-admin", "anna:secret")
	c := p.as("anna:secret")
	for _, name := range []string{"shop", "shop2"} {
		c.ok("PUT", "/"+name, "")
		c.ok("PUT", "/"+name+"/_design/by", `{"views":{"n":{"map":"function (doc) { emit(doc.a.b) }"}}}`)
		c.ok("POST", "/"+name+"/_bulk_docs", `{"docs":[{"_id":"x"},{"_id":"y"},{"_id":"z","a":{}}]}`)
	}
	c.ok("PUT", "/shop/_design/never", `{"views":{"n":{"map":"function (doc) { emit(doc._id) }"}}}`)
	if rows := c.object("GET", "/shop/_design/by/_view/n", ""); fmt.Sprint(rows["total_rows"]) != "1" {
		t.Fatalf("view %v", rows)
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir, "-admin", "anna:secret")
	c = p.as("anna:secret")
	list := string(c.do("GET", "/_dashboard/api/indexes?database=shop", "").body)
	for _, want := range []string{`"total":2,`, `"design":"_design/by","views":["n"],"rows":1,`, `"errors":2,`,
		`"design":"_design/never","views":["n"],"rows":0,`, `"lag":-1}`} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in the indexes %s", want, list)
		}
	}
	attention := "views of _design/by in shop skip 2 documents"
	for began := time.Now(); !strings.Contains(string(c.do("GET", "/_dashboard/api/overview", "").body), attention); {
		if time.Since(began) > time.Minute {
			t.Fatalf("the overview does not say that %s", attention)
		}
		time.Sleep(200 * time.Millisecond)
	}
	address := "http://anna:secret@" + withoutStreams(t, p) + "/_dashboard/#/"
	for view, wants := range map[string][]string{"": {attention}, "indexes": {"_design/by", "_design/never", "shop2",
		"not built: a query builds it", "3 in all"}, "indexes?search=skipping": {"_design/by", "1 found"},
		"databases/shop": {"_design/never", "2 in all", "up to date"}} {
		text := page(t, address+view)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("the view %q does not show %q: %s", view, want, text)
			}
		}
		if view == "databases/shop" && strings.Contains(text, "shop2") {
			t.Errorf("the page of a database shows another one: %s", text)
		}
	}
}

// Two nodes find each other by gossip. One is killed, and the other reports it within seconds.
func TestMembers_KilledNode(t *testing.T) {
	mostlyWaits(t)
	one := start(t, t.TempDir(), "-name", "one")
	two := start(t, t.TempDir(), "-name", "two", "-join", one.ready["gossip"])
	sees := func(p *process, want ...string) {
		t.Helper()
		var got []string
		for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
			var answer struct {
				Members []struct {
					Name, Status, HTTP string
					Self               bool
					GivenUp            bool `json:"given_up"`
				}
			}
			p.client().into("/_members", &answer)
			got = nil
			for _, m := range answer.Members {
				if m.GivenUp {
					m.Status += ", given up"
				}
				got = append(got, fmt.Sprint(m.Name, " ", m.Status, " ", m.Self, " ", m.HTTP))
			}
			if slices.Equal(got, want) {
				t.Logf("%s after %v", want, time.Since(began))
				return
			}
		}
		t.Fatalf("members %q, want %q", got, want)
	}
	entry := func(p *process, status string, self bool) string {
		return fmt.Sprint(p.ready["name"], " ", status, " ", self, " ", p.ready["http"])
	}
	sees(one, entry(one, "alive", true), entry(two, "alive", false))
	sees(two, entry(one, "alive", false), entry(two, "alive", true))
	two.kill()
	sees(one, entry(one, "alive", true), entry(two, "left, given up", false))
	died := func(gone string, counts map[string]float64) {
		t.Helper()
		for status, want := range counts {
			if got := one.client().metric("divan_members{status=\"" + status + "\"}"); got != want {
				t.Errorf("%v members are %s, want %v", got, status, want)
			}
		}
		var answer struct {
			Members []struct {
				Since *time.Time `json:"gone_since"`
			}
		}
		one.client().into("/_members", &answer)
		if m := answer.Members; m[0].Since != nil || m[1].Since == nil || time.Since(*m[1].Since) > time.Minute {
			t.Errorf("gone since: %+v", m)
		}
		eventually(t, "divan status says that it is "+gone, 20*time.Second, func() bool {
			text, _ := exec.CommandContext(t.Context(), divan, "status", "-url", "http://"+one.ready["http"]).Output()
			return strings.Contains(string(text), "two              "+gone) // it exits with 1 after a death
		})
	}
	died("dead", map[string]float64{"alive": 1, "dead": 1})
	three := start(t, t.TempDir(), "-name", "two", "-join", one.ready["gossip"])
	sees(one, entry(one, "alive", true), entry(three, "alive", false))
	three.stop(syscall.SIGTERM)
	sees(one, entry(one, "alive", true), entry(three, "left", false))
	died("left", map[string]float64{"alive": 1, "left": 1})
}
