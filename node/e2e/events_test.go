package e2e_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

type eventPage struct {
	Events  []event
	Stories []story
	Absent  []struct{ Node string }
	Next    string
}

func (c *client) events(search string) (p eventPage) {
	c.into("/_dashboard/api/events?search="+url.QueryEscape(search), &p)
	return p
}

type event struct {
	Kind, Text, Member, Database, User, Node, Detail string
	Also                                             []string
	Repeated                                         int
}

type story struct{ Title, Text, Member string }

// storyOf returns the last story of a member.
func (c *client) storyOf(member string) story {
	for _, s := range c.events("").Stories {
		if s.Member == member {
			return s
		}
	}
	return story{}
}

// Attempts during a lockout are counted with the wrong passwords before, also those with the right password.
func TestEvents_Lockout(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "anna:secret")
	anna := p.as("anna:secret")
	anna.ok("PUT", "/_users/org.couchdb.user:ben", `{"name":"ben","type":"user","roles":[],"password":"weak"}`)
	const wrong, locked = 5, 40
	for n := range wrong + locked {
		if status := p.as(fmt.Sprintf("ben:guess%d", n)).do("GET", "/", "").status; n < wrong && status != 401 ||
			n >= wrong && status != 403 {
			t.Fatalf("guess %d is answered with %d", n, status)
		}
	}
	p.as("ben:weak").do("GET", "/", "")
	events, repeated := 0, 0
	for _, e := range anna.events("").Events {
		if e.Kind == "login_refused" && e.User == "ben" {
			events, repeated = events+1, repeated+e.Repeated
		}
	}
	if events != wrong || repeated != locked+1 {
		t.Errorf("%d events and %d repetitions", events, repeated)
	}
	if lines := strings.Count(p.stderr.whole(), "authentication failed"); lines != wrong {
		t.Errorf("%d lines in the log", lines)
	}
}

// A user who tries to do something in the console without the right to it is told, with who that is.
func TestEvents_NotAllowed(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "anna:secret")
	anna, dave := p.as("anna:secret"), p.as("dave:weak")
	anna.ok("PUT", "/_users/org.couchdb.user:dave", `{"name":"dave","type":"user","roles":[],"password":"weak"}`)
	anna.ok("PUT", "/db", "")
	token := anna.object("GET", "/_dashboard/api/token", "")["token"].(string)
	header := []string{"X-Divan-Token", token, "Content-Type", "application/json", "X-Divan-Delete-Database", "db"}
	for range 20 {
		for path, want := range map[string]int{"POST /_dashboard/api/act": 401, "POST /_dashboard/api/sql": 401,
			"DELETE /_dashboard/couch/db": 403} {
			method, path, _ := strings.Cut(path, " ")
			if r := dave.do(method, path, `{"do":"drain","node":"x"}`, header...); r.status != want {
				t.Fatalf("%s: %d %s", path, r.status, r.body)
			}
		}
	}
	var got []string
	for _, e := range anna.events("dave").Events {
		if e.Kind == "action_refused" && e.User == "dave" {
			got = append(got, fmt.Sprint(e.Text, ", ", e.Repeated))
		}
	}
	slices.Sort(got)
	const text = "not allowed to dave from 127.0.0.1: %s of the console; it had the token of anna, 19"
	if want := []string{fmt.Sprintf(text, "SQL"), fmt.Sprintf(text, "a write"),
		fmt.Sprintf(text, "an action")}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if lines := strings.Count(p.stderr.whole(), "an action was refused"); lines != 3 {
		t.Errorf("%d lines in the log", lines)
	}
}

// The others tell the story of a killed node: when it was last heard, when it was given up, what moved where.
func TestEvents_Death(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t, 3)
	c.allAlive()
	two := c.nodes[2].client()
	two.ok("PUT", "/db?changes_shards=16", "")
	feed := two.stream("/db/_changes?feed=continuous&heartbeat=1000&since=now")
	defer feed.Close()
	conn := connect(t, c.nodes[2], "divan", "me")
	// the asked node merges what the others have seen
	eventually(t, "events of all nodes", 20*time.Second, func() bool {
		var nodes int
		err := conn.QueryRow(t.Context(),
			`SELECT count(DISTINCT node) FROM divan.events WHERE kind = 'started'`).Scan(&nodes)
		return err == nil && nodes == 3
	})
	// Actors and sessions are those of all nodes.
	elsewhere := connect(t, c.nodes[0], "db", "anna")
	if _, err := elsewhere.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	var nodes int
	var where string
	if err := conn.QueryRow(t.Context(), `SELECT count(DISTINCT node) FROM divan.actors WHERE kind = 'jobs'`).
		Scan(&nodes); err != nil || nodes != 3 {
		t.Errorf("actors of %d nodes, %v", nodes, err)
	}
	if err := conn.QueryRow(t.Context(), `SELECT node FROM divan.sessions WHERE username = 'anna'`).
		Scan(&where); err != nil || where != "node0" {
		t.Errorf("anna's session is on %q, %v", where, err)
	}
	var ended bool
	if err := conn.QueryRow(t.Context(), `SELECT pg_terminate_backend(pid) FROM divan.sessions `+
		`WHERE username = 'anna'`).Scan(&ended); err != nil || !ended {
		t.Errorf("anna's session on node0 is not ended: %v", err)
	}
	eventually(t, "anna's session ends", 10*time.Second, func() bool {
		_, err := elsewhere.Exec(t.Context(), "SELECT 1")
		return err != nil
	})
	type overview struct {
		State, Text string
		Nodes       []struct{ Name, State, Engine string }
		Attention   []struct{ Text string }
	}
	var o overview
	two.into("/_dashboard/api/overview", &o)
	if len(o.Nodes) != 3 || o.Nodes[0].State != "ok" || o.Nodes[0].Engine == "" || o.State != "ok" {
		t.Errorf("overview %+v", o)
	}
	live := bufio.NewScanner(two.stream("/_dashboard/api/overview?live=1"))
	live.Buffer(nil, 1<<20)
	if !live.Scan() || live.Text() != "event: state" {
		t.Fatalf("the stream begins with %q", live.Text())
	}
	time.Sleep(time.Second) // the feed listens
	c.nodes[1].kill()
	eventually(t, "the story of node1", 15*time.Second, func() bool {
		s := two.storyOf("node1")
		return strings.Contains(s.Text, " shards to node0 and node2") && strings.HasPrefix(s.Text, "node1 silent ") &&
			s.Title == "node1 does not answer and was given up"
	})
	told := false
	for began := time.Now(); !told && time.Since(began) < 20*time.Second && live.Scan(); {
		told = strings.Contains(live.Text(), "node1 silent ")
	}
	if !told {
		t.Errorf("the page is not told: %v", live.Err())
	}
	var seconds float64
	var also string
	eventually(t, "both nodes report it", 10*time.Second, func() bool {
		return conn.QueryRow(t.Context(), `SELECT seconds, also::text FROM divan.events WHERE kind = 'dead' AND `+
			`member = 'node1' AND also IS NOT NULL`).Scan(&seconds, &also) == nil
	})
	if seconds < 0.5 || seconds > 20 {
		t.Errorf("it was silent for %v s", seconds)
	}
	// The log has the event, and not each connection that was lost.
	for _, i := range []int{0, 2} {
		for line := range strings.Lines(c.nodes[i].stderr.whole()) {
			if strings.Contains(line, `"lib":"protoactor"`) {
				t.Errorf("node%d logs %s", i, line)
			}
		}
	}
	c.start(1)
	eventually(t, "node1 is back", 20*time.Second, func() bool {
		return two.storyOf("node1").Title == "node1 died and is back"
	})
}

// The settings in force are those of node.yaml, and what clients have made of them.
func TestConsole_SettingsInForce(t *testing.T) {
	c := start(t, t.TempDir(), "-admin", "anna:s3cret").as("anna:s3cret")
	for name, value := range map[string]string{"chttpd_auth/timeout": "700", "uuids/max_count": "7",
		"jwt_keys/hmac:_default": "b3Blbi1zZXNhbWU=", "admins/bob": "hunter2"} {
		c.ok("PUT", "/_node/_local/_config/"+name, `"`+value+`"`)
	}
	var list struct {
		Rows []struct {
			Name, Value, Default string
			Changed              bool
		}
	}
	c.into("/_dashboard/api/settings?limit=500", &list)
	got := map[string]string{}
	for _, s := range list.Rows {
		got[s.Name] = fmt.Sprint(s.Value, "|", s.Default, "|", s.Changed)
	}
	for name, want := range map[string]string{
		"auth.timeout":           "700, by the option chttpd_auth/timeout|10m0s|true",
		"chttpd_auth/timeout":    "700|600|true",
		"uuids/max_count":        "7|1000|true",
		"jwt_keys/hmac:_default": "(secret)||true",
		"admins":                 "anna, bob||true",
		"auth.same_site":         "||false",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	// An operator has raised the level of the log.
	var token struct{ Token string }
	c.into("/_dashboard/api/token", &token)
	if r := c.do("POST", "/_dashboard/api/act", `{"do":"log_level","level":"debug"}`, "X-Divan-Token", token.Token,
		"Content-Type", "application/json"); r.status != http.StatusOK {
		t.Fatal(r)
	}
	c.into("/_dashboard/api/settings?search=log.level", &list)
	if len(list.Rows) != 1 || !strings.HasPrefix(list.Rows[0].Value, "debug until ") || !list.Rows[0].Changed {
		t.Errorf("the level of the log: %+v", list.Rows)
	}
	var nodes struct {
		Nodes []struct {
			Level string    `json:"log_level"`
			Until time.Time `json:"log_until"`
		}
	}
	c.into("/_dashboard/api/nodes", &nodes)
	if n := nodes.Nodes[0]; n.Level != "debug" || time.Until(n.Until) < 9*time.Minute {
		t.Errorf("the node tells %q until %v", n.Level, n.Until)
	}
}

// What people do is an event, with who did it, and never with what is secret.
func TestEvents_Deeds(t *testing.T) {
	n := start(t, t.TempDir(), "-admin", "anna:s3cret")
	anna := n.as("anna:s3cret")
	anna.ok("PUT", "/db", "")
	anna.ok("POST", "/db/_changes/_reshard", `{"shard_count":3}`)
	anna.ok("PUT", "/_node/_local/_config/cors/max_age", `"77"`)
	anna.ok("PUT", "/_node/_local/_config/admins/bob", `"hunter2"`)
	for _, who := range []string{"anna:wrong1", "hunter2:bob"} {
		if got := n.as(who).status("GET", "/db", ""); got != 401 {
			t.Errorf("%s logs in: %d", who, got)
		}
	}
	anna.ok("PUT", "/db/_design/d", `{"views":{"n":{"map":"function (doc) { throw new Error('no') }"}}}`)
	anna.ok("PUT", "/db/a", `{}`)
	anna.ok("GET", "/db/_design/d/_view/n", "")
	eventually(t, "a view that skips a document", 40*time.Second, func() bool {
		return len(anna.events("index_error db _design/d").Events) == 1
	})
	var token struct{ Token, User string }
	anna.into("/_dashboard/api/token", &token)
	for body, want := range map[string]int{`{"do":"compact","database":"db"}`: 200,
		`{"do":"compact","database":"nothing"}`: 409, `{"do":"log_level","level":"debug","minutes":1}`: 200,
		`{"do":"log_level","level":"error","minutes":1}`:  409, // it would hide what is done here
		`{"do":"drop_job","type":"index","id":"nothing"}`: 409, `{"do":"reshard","database":"db","shards":5000}`: 409} {
		if r := anna.do("POST", "/_dashboard/api/act", body, "X-Divan-Token", token.Token); r.status != want {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
		if r := anna.do("POST", "/_dashboard/api/act", body); r.status != 403 {
			t.Errorf("without a token: %d", r.status)
		}
		bob := n.as("bob:hunter2")
		if r := bob.do("POST", "/_dashboard/api/act", body, "X-Divan-Token", token.Token); r.status != 403 {
			t.Errorf("with the token of another user: %d", r.status)
		}
	}
	all := anna.events("")
	text := fmt.Sprint(all)
	for _, want := range []string{"db was resharded to 3 shards by anna", "setting cors/max_age was changed by anna",
		"setting admins/bob was changed by anna", "a login of anna from 127.0.0.1 was refused",
		"a login of an unknown user from 127.0.0.1 was refused", "has started", "skip 1 document",
		"compaction of db asked for by anna", "log level of all nodes set to debug for 1 min by anna"} {
		if !strings.Contains(text, want) {
			t.Errorf("no event %q in %s", want, text)
		}
	}
	log := n.stderr.whole()
	for _, secret := range []string{"hunter2", "s3cret", "wrong1"} {
		if strings.Contains(text, secret) || strings.Contains(log, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if got := strings.Count(log, "authentication failed"); got != 2 {
		t.Errorf("%d refused logins are in the log", got)
	}
	if got := n.client().status("GET", "/_dashboard/api/events", ""); got != 401 {
		t.Errorf("a stranger sees the events: %d", got)
	}
	for _, bad := range []string{"/_dashboard/api/events?limit=x", "/_dashboard/api/events?limit=-1"} {
		if got := anna.status("GET", bad, ""); got != 400 {
			t.Errorf("%s: %d", bad, got)
		}
	}
	if got := anna.status("GET", "/_dashboard/api/nothing", ""); got != 404 {
		t.Errorf("an unknown address: %d", got)
	}
}

// Each node keeps what it measures, and any of them answers for all.
func TestPlots(t *testing.T) {
	mostlyWaits(t)
	n := start(t, t.TempDir())
	c := n.client()
	c.ok("PUT", "/db", "")
	type plots struct {
		Start, Step int64
		Plots       []struct {
			Name  string
			Nodes []struct {
				Node   string
				Values []*float64
			}
			All []*float64
		}
	}
	written := 0
	want := map[string]bool{"docs_written": true, "commits": true, "commit_p99": true, "http_done": true, "heap": true,
		"cpu": true, "resident": true, "goroutines": true}
	if testCluster == "" {
		want["disk_free"] = true // the disks of a cluster are not the node's
	}
	names := ""
	for name := range want {
		names += "," + name
	}
	eventually(t, "values of all series", 30*time.Second, func() bool {
		written++
		c.ok("PUT", fmt.Sprint("/db/", written), "{}")
		var p plots
		c.into("/_dashboard/api/plots?span=60&series="+names[1:], &p)
		for _, plot := range p.Plots {
			if len(plot.Nodes) != 1 || len(plot.All) != 12 {
				t.Fatalf("%+v", plot)
			}
			for _, v := range plot.All {
				if v != nil && *v > 0 {
					delete(want, plot.Name)
				}
			}
		}
		return len(want) == 0
	})
	var series []struct{ Name, Title, Unit, How string }
	c.into("/_dashboard/api/series", &series)
	if len(series) < 30 {
		t.Errorf("%d series", len(series))
	}
	for _, bad := range []string{"plots", "plots?series=nothing", "plots?series=heap&span=1000000",
		"plots?series=heap&from=x"} {
		if got := c.status("GET", "/_dashboard/api/"+bad, ""); got != 400 {
			t.Errorf("%s: %d", bad, got)
		}
	}
}

const (
	// storeTimeout is the default of storage.timeout.
	storeTimeout = 5 * time.Second
	// accusedAfter is longer than nodes wait for a silent one of three: 8 times cluster.Options.ProbeInterval.
	accusedAfter = 8 * 500 * time.Millisecond
)

// A node that was paused tells that of itself, and not that the others or the store were silent. The others tell that
// it was silent, was given up and is back.
func TestEvents_Paused(t *testing.T) {
	mostlyWaits(t)
	c := startCluster(t, 3)
	const all = "node0 alive, node1 alive, node2 alive"
	c.allAlive()
	paused := c.nodes[1]
	began := time.Now()
	_ = paused.cmd.Process.Signal(stopSignal)
	eventually(t, "node1 is given up", 20*time.Second, func() bool {
		return c.statuses(0) == "node0 alive, node1 left, node2 alive"
	})
	time.Sleep(2*max(storeTimeout, accusedAfter) - time.Since(began))
	_ = paused.cmd.Process.Signal(continueSignal)
	one := paused.client()
	eventually(t, "all see each other again", 20*time.Second, func() bool {
		return c.statuses(0) == all && c.statuses(1) == all && c.statuses(2) == all
	})
	time.Sleep(max(accusedAfter, storeTimeout)) // until it would accuse the others
	said := 0
	for _, e := range one.events("").Events {
		switch {
		case e.Node == "node1" && e.Kind == "paused":
			said++
			if !strings.HasPrefix(e.Text, "node1 was paused for ") || e.Member != "node1" {
				t.Errorf("it tells %+v", e)
			}
		case e.Node == "node1" && e.Kind != "started" && e.Kind != "joined" && e.Kind != "job_taken":
			t.Errorf("it tells %+v", e)
		case e.Kind == "suspected" && e.Member != "node1":
			t.Errorf("another one tells %+v", e)
		}
	}
	if said != 1 {
		t.Errorf("it told %d times that it was paused", said)
	}
	s := one.storyOf("node1")
	if s.Title != "node1 was paused and is back" || !strings.Contains(s.Text, ", given up ") {
		t.Errorf("the story is %+v", s)
	}
	if strings.Contains(paused.stderr.whole(), "does not answer") {
		t.Errorf("its log accuses others: %s", fmt.Sprint(paused.stderr))
	}
}
