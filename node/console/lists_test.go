package console_test

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// A page of very many actors of several nodes is small, and all pages together have all of them. Only those that may be
// on the page are looked at.
func TestConsole_Actors(t *testing.T) { bubble(t, pageActors) }

func pageActors(t *testing.T) {
	var looks atomic.Int64
	net, consoles, _ := cluster(3)
	for i, p := range net.parts {
		p.actors = actorsOf(fmt.Sprint("n", i+1), 33_000, &looks)
	}
	begin := time.Now()
	page, err := consoles[0].Actors(t.Context(), table.Query{Sort: "mailbox", Desc: true})
	if err != nil || page.Total != 99_000 || len(page.Rows) != 50 || page.Rows[0].Mailbox != 999 {
		t.Fatalf("%d of %d, %v", len(page.Rows), page.Total, err)
	}
	if n := looks.Load(); n != 3*50 || len(page.Rows[49].Facts) == 0 {
		t.Errorf("%d actors were looked at, the last is %+v", n, page.Rows[49])
	}
	text, err := json.Marshal(page)
	if took := time.Since(begin); err != nil || len(text) > 100_000 || took > 5*time.Second {
		t.Errorf("a page has %d bytes and took %v, %v", len(text), took, err)
	}
	if got, err := consoles[1].Actors(t.Context(), table.Query{Search: "db000123 n2"}); err != nil ||
		len(got.Rows) != 1 || got.Rows[0].Node != "n2" {
		t.Errorf("found %+v, %v", got.Rows, err)
	}
	var bad table.QueryError
	if _, err := consoles[1].Actors(t.Context(), table.Query{Sort: "x"}); !errors.As(err, &bad) {
		t.Error(err)
	}
	for _, p := range net.parts {
		p.actors = p.actors[:700]
		p.walks.Store(0)
	}
	seen := map[string]bool{}
	if _, err := consoles[2].EachActor(t.Context(), func(a state.Actor) bool {
		seen[a.Node+a.ID] = true
		return true
	}); err != nil || len(seen) != 2100 {
		t.Errorf("%d actors, %v", len(seen), err)
	}
	if n := net.parts[2].walks.Load(); n != 1 {
		t.Errorf("the asked node's actors were gone through %d times", n)
	}
	visits := 0
	_, _ = consoles[2].EachActor(t.Context(), func(state.Actor) bool { visits++; return visits < 5 })
	if visits != 5 {
		t.Errorf("%d visits", visits)
	}
}

// A statement of which a list has only the beginning is said to be cut, also that of another node.
func TestConsole_cutStatements(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		for i, n := range []int{500, 501} {
			net.parts[1].sessions = append(net.parts[1].sessions, state.Session{Node: "n2", PID: int64(i),
				Statement: strings.Repeat("x", n)})
		}
		got, err := consoles[0].Sessions(t.Context(), table.Query{Sort: "pid"})
		if err != nil || len(got.Rows) != 2 || got.Rows[0].Cut || len(got.Rows[0].Statement) != 500 ||
			!got.Rows[1].Cut || !strings.HasSuffix(got.Rows[1].Statement, "x…") {
			t.Errorf("the sessions are %+v, %v", got, err)
		}
	})
}

// The actors of other nodes are gone through once. Nodes of version 0.2.0 are asked as they expect it, and so they ask.
func TestConsole_EachActor(t *testing.T) {
	const many = 10_000
	for _, c := range []struct {
		name                 string
		old, lost, gone      bool
		counted, rows, pages int64
	}{
		{name: "of this version", counted: many, rows: many + 10, pages: many/500 + 1},
		{name: "of version 0.2.0", old: true, rows: many + 10, pages: many / 500},
		{name: "goes back to version 0.2.0", old: true, lost: true, counted: 3 * 500, rows: 3*500 + 10, pages: 4},
		{name: "where actors end", gone: true, counted: many, rows: many + 10, pages: many/500 + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				net, consoles, _ := cluster(3)
				var looks atomic.Int64
				net.parts[0].actors = actorsOf("n1", many, &looks)
				net.parts[1].actors = actorsOf("n2", 4, &looks)
				net.parts[2].actors = actorsOf("n3", 6, &looks)
				net.parts[0].gone = c.gone
				asked := 0
				net.change = func(member string, request []byte) []byte {
					if asked++; member != "n1" || !c.old || c.lost && asked <= 3 {
						return request
					}
					var q struct {
						Ask string                     `json:"ask"`
						Of  map[string]json.RawMessage `json:"of"`
					}
					if err := json.Unmarshal(request, &q); err != nil {
						t.Error(err)
					}
					delete(q.Of, "walk") // which it does not know
					request, _ = json.Marshal(q)
					return request
				}
				seen := map[string]bool{}
				rows := int64(0)
				if _, err := consoles[2].EachActor(t.Context(), func(a state.Actor) bool {
					rows++
					seen[a.Node+a.ID] = true
					if string(a.Facts) != `{"listeners":3,"wakes":4711}` {
						t.Errorf("facts %s", a.Facts)
					}
					return true
				}); err != nil {
					t.Fatal(err)
				}
				if rows != c.rows || int64(len(seen)) != c.rows {
					t.Errorf("%d actors, %d different ones, want %d", rows, len(seen), c.rows)
				}
				if n, pages := net.parts[0].visits.Load(), int64(net.asked["n1"]); n != c.counted || pages != c.pages {
					t.Errorf("the other node went through %d actors for %d pages, want %d and %d", n, pages, c.counted,
						c.pages)
				}
			})
		})
	}
	bubble(t, olderActors)
}

// olderActors checks how other nodes' questions about actors are answered.
func olderActors(t *testing.T) {
	net, consoles, _ := cluster(2)
	net.parts[0].actors = actorsOf("n1", 2, &atomic.Int64{})
	text, err := consoles[0].Answer(t.Context(), "n2", []byte(`{"ask":"actors","of":{"sort":"node","limit":1}}`))
	if err != nil || !strings.Contains(string(text), `"total":2,"next":"`) || strings.Contains(string(text), "walk") {
		t.Errorf("a node of version 0.2.0 gets %s, %v", text, err)
	}
	for _, of := range []string{`{"limit":501,"walk":{}}`, `{"limit":-1,"walk":{}}`} {
		if _, err := consoles[0].Answer(t.Context(), "n2", []byte(`{"ask":"actors","of":`+of+`}`)); err == nil {
			t.Errorf("%s is answered", of)
		}
	}
	net.silent["n1"] = true
	rows := 0
	absent, err := consoles[1].EachActor(t.Context(), func(state.Actor) bool { rows++; return true })
	if err != nil || rows != 0 || len(absent) != 1 || absent[0].Node != "n1" {
		t.Errorf("%d rows of a node that does not answer, absent %v, %v", rows, absent, err)
	}
}

// Of very many changes shards, a page looks only at those that it shows, unless they are sorted by what is seen then.
func TestConsole_Shards(t *testing.T) { bubble(t, pageShards) }

func pageShards(t *testing.T) {
	const each = 33_000
	var looks atomic.Int64
	net, consoles, _ := cluster(3)
	for i, p := range net.parts {
		for s := range each {
			p.shards = append(p.shards, state.Shard{Node: fmt.Sprint("n", i+1), Database: fmt.Sprintf("db%06d", s), Shard: "s",
				State: "watching", Look: func(row *state.Shard) {
					looks.Add(1)
					row.Owner, row.Lag = "n2", float64(s)
				}})
		}
	}
	for _, c := range []struct {
		query table.Query
		looks int64
		first string
	}{
		{table.Query{}, 3 * 50, "db000000"},
		{table.Query{Sort: "database", Desc: true}, 3 * 50, "db032999"},
		{table.Query{Sort: "lag", Desc: true}, 3 * each, "db032999"},
		{table.Query{Search: "n2 db00012"}, 3 * each, "db000120"},
	} {
		looks.Store(0)
		page, err := consoles[0].Shards(t.Context(), c.query)
		if err != nil || len(page.Rows) == 0 || page.Rows[0].Database != c.first || page.Rows[0].Owner != "n2" {
			t.Fatalf("%+v: %d of %d, first %+v, %v", c.query, len(page.Rows), page.Total, page.Rows[0], err)
		}
		if n := looks.Load(); n != c.looks {
			t.Errorf("%+v: %d shards were looked at, want %d", c.query, n, c.looks)
		}
		if text, err := json.Marshal(page); err != nil || len(text) > 100_000 {
			t.Errorf("%+v: a page has %d bytes, %v", c.query, len(text), err)
		}
	}
}

// Replications are counted by state, whatever is searched for.
func TestReplications(t *testing.T) {
	net, consoles, _ := cluster(1)
	p := net.parts[0]
	p.missing = "Some are missing."
	for i, s := range strings.Fields("failed running completed failed") {
		p.replications = append(p.replications, state.Replication{Document: fmt.Sprint("d", i), State: s,
			Error: strings.Repeat("x", 2000)})
	}
	l, err := console.Replications(t.Context(), consoles[0], table.Query{Search: "fail", Sort: "document", Desc: true})
	if err != nil || l.Total != 2 || l.Rows[0].Document != "d3" || len(l.Rows[0].Error) > 600 ||
		l.Note != "1 running, 2 failed, 1 completed" || l.Partial != p.missing {
		t.Errorf("%+v, %v", l, err)
	}
	p.lost = errors.New("the store sleeps")
	if _, err := console.Replications(t.Context(), consoles[0], table.Query{}); !errors.Is(err, p.lost) {
		t.Errorf("without a store: %v", err)
	}
}

func TestConsole_Overview(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		for _, p := range net.parts {
			p.databases = 2
		}
		o := consoles[0].Overview(t.Context())
		if o.State != "working" || o.Text != "all is well: 3 nodes, 3 builds and compactions" || len(o.Nodes) != 3 ||
			o.Databases == nil || *o.Databases != 2 || o.Read != nil || o.Node != "n1" || len(o.Attention) != 0 {
			t.Errorf("at first %+v", o)
		}
		// Until a node has read the indexes, one that skips documents may not be known.
		const builds = ", 3 builds and compactions"
		for _, unread := range []struct {
			of   [3]int
			want string
		}{
			{[3]int{-1, -1, -1}, " so far: 3 nodes" + builds + "; no node has read the indexes yet"},
			{[3]int{-1, 2, 1}, " so far: 3 nodes" + builds + "; the indexes of 1 of 2 databases are not read yet"},
			{[3]int{-1, 2, 0}, ": 3 nodes" + builds},
		} {
			for i, p := range net.parts {
				p.report.Unread = unread.of[i]
			}
			if o = consoles[0].Overview(t.Context()); o.Text != "all is well"+unread.want {
				t.Errorf("with %v databases unread: %s", unread.of, o.Text)
			}
		}
		net.parts[0].report.Unread, net.parts[1].report.Unread = 0, 0
		// All tasks are counted, not only those that are shown.
		net.parts[0].tasks = slices.Repeat([]state.Task{{Node: "n1", Type: "indexer", Database: "db"}}, 30)
		if o = consoles[0].Overview(t.Context()); o.Working != 32 || len(o.Tasks) >= 30 ||
			!strings.Contains(o.Text, ", 32 builds and compactions") {
			t.Errorf("%d tasks shown, %d under way: %s", len(o.Tasks), o.Working, o.Text)
		}
		net.parts[0].tasks = nil
		// A warning is something that needs attention, and is shown once for all nodes.
		skips := []state.Skips{{Database: "a/b", Design: "_design/d", Documents: 2, Why: "no \x1b"}}
		net.parts[0].report.Skips, net.parts[2].report.Skips = skips, skips
		o = consoles[0].Overview(t.Context())
		if o.State != "degraded" || o.Text != "3 nodes up; 1 thing needs attention" || len(o.Attention) != 1 ||
			o.Attention[0].Text != "views of _design/d in a/b skip 2 documents: no \x1b" ||
			o.Attention[0].Link != "databases/a%2Fb/failures/_design%2Fd" {
			t.Errorf("with a view that skips documents: %+v", o)
		}
		net.parts[0].report.Unread, net.parts[1].report.Unread, net.parts[2].report.Unread = 2, -1, 1
		const some = "3 nodes up; 1 thing needs attention; the indexes of 1 of 2 databases are not read yet"
		if o = consoles[0].Overview(t.Context()); o.State != "degraded" || o.Text != some {
			t.Errorf("with databases unread: %s", o.Text)
		}
		net.parts[0].report.Unread = 0
		worst := func(want state.Severity) {
			t.Helper()
			time.Sleep(2 * time.Second) // an overview is kept for a moment
			w := httptest.NewRecorder()
			consoles[0].Handler("/api").ServeHTTP(w, httptest.NewRequest("GET", "/api/verdict", nil))
			var v state.Verdict
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.Worst != want {
				t.Errorf("the worst is %q, want %q: %s", v.Worst, want, w.Body)
			}
		}
		worst(state.Warning)
		net.parts[0].report.Skips, net.parts[2].report.Skips = nil, nil
		net.silent["n3"] = true
		o = consoles[0].Overview(t.Context())
		if o.Text != "2 of 3 nodes up, n3 does not answer; 1 thing needs attention" {
			t.Errorf("without n3: %s", o.Text)
		}
		worst(state.Error)
		delete(net.silent, "n3")
		worst("")
		net.parts[0].drained = "n2"
		if o = consoles[0].Overview(t.Context()); o.State != "working" || len(o.Attention) != 1 ||
			!strings.HasPrefix(o.Attention[0].Text, "n2 is drained") {
			t.Errorf("with a drained node: %+v", o)
		}
		net.parts[0].drained = "all"
		if o = consoles[0].Overview(t.Context()); o.State != "degraded" || len(o.Attention) != 4 ||
			!strings.HasPrefix(o.Attention[0].Text, "no node does background work") ||
			!strings.HasPrefix(o.Attention[1].Text, "n1 is drained: it does no background work") {
			t.Errorf("with all nodes drained: %+v", o)
		}
		net.parts[0].drained = ""
		net.parts[0].report.Reasons = []string{"disk_full: the disk is full"}
		net.parts[1].report.Reasons = []string{"disk_full: the disk is full, as others say"}
		failed, updated := time.Now().Add(-time.Hour), time.Now()
		net.parts[0].jobs = []state.Job{{Type: "index", ID: "db/1", State: "pending", Failures: 3, Error: "too large",
			FailedAt: &failed, Updated: &updated},
			{Type: "index", ID: "a/b/1", Database: "a/b", Design: "_design/d", Failures: 1, Error: "no"},
			{Type: "index", ID: "c/1", Database: "c", Design: "_design/d", State: "running", Failures: 1, Error: "no",
				Advanced: true}}
		for _, p := range net.parts {
			p.report.Skipping = 3
			p.report.Skips = []state.Skips{{Database: "a", Design: "_design/d", Documents: 2, Why: "x"}}
		}
		since := time.Now().Add(-2 * time.Second)
		recorders[0].Record(state.Event{Kind: state.MemberDead, Member: "n4", Since: &since})
		o = consoles[0].Overview(t.Context())
		var all []string
		for _, a := range o.Attention {
			all = append(all, fmt.Sprintf("%s %s [%s]", a.Severity, a.Text, a.Node))
			if strings.Contains(a.Text, "db/1") && (a.Since == nil || !a.Since.Equal(failed)) {
				t.Errorf("since %v: %s", a.Since, a.Text)
			}
		}
		got := strings.Join(all, "; ")
		if strings.Contains(got, " in c has failed") {
			t.Errorf("a build that has advanced since it failed: %s", got)
		}
		for _, want := range []string{"error the disk is full [n1, n2]", "error n4 silent ", "warning job index db/1 has " +
			"failed 3 times: too large", "warning the build of the index _design/d in a/b has failed 1 time: no",
			"warning views of _design/d in a skip 2 documents: x", "warning 2 more indexes skip documents"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if len(o.Lately) != 0 {
			t.Errorf("nothing is over: %+v", o.Lately)
		}
		if o.State != "degraded" || o.Failing != 2 || o.Jobs["pending"] != 1 || o.Nodes[0].State != "degraded" {
			t.Errorf("degraded: %+v", o)
		}
		net.silent["n3"] = true
		for _, p := range net.parts {
			p.report = state.Report{Store: "The store does not answer"}
			p.lost = errors.New("lost")
		}
		time.Sleep(time.Minute) // after n4 has died
		recorders[0].Record(state.Event{Kind: state.StoreLost})
		recorders[1].Record(state.Event{Kind: state.StoreLost})
		if o := consoles[1].Overview(t.Context()); o.Databases != nil || o.Jobs != nil { // it has never read them
			t.Errorf("what is not known: %v databases, jobs %v", o.Databases, o.Jobs)
		}
		o = consoles[0].Overview(t.Context())
		if o.Read == nil || o.Now.Sub(*o.Read) < time.Minute || *o.Databases != 2 || o.Failing != 2 ||
			o.Jobs["pending"] != 1 {
			t.Errorf("what was last known: %+v", o)
		}
		if o.State != "failed" || o.Nodes[0].State != "unavailable" || o.Nodes[2].State != "absent" ||
			o.Nodes[2].LastAnswer == nil || len(o.Absent) != 1 {
			t.Errorf("failed: %+v", o)
		}
		told := 0
		for _, a := range o.Attention { // the story is told with each node, and not once more
			if a.Story != nil && a.Story.Member == "" {
				if told++; a.Node != fmt.Sprint("n", told) || len(a.Story.Lines) != 1 {
					t.Errorf("of the store: %+v", a)
				}
			}
		}
		if told != 2 {
			t.Errorf("the store is told %d times: %+v", told, o.Attention)
		}
		time.Sleep(3 * time.Second)
	})
}

// Shards of a database are in the order of their numbers, on all pages. A list of sessions has where to begin one.
func TestConsole_Shards_order(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		for _, shard := range []string{"10", "12", "5", "11", "9", "100"} {
			net.parts[0].shards = append(net.parts[0].shards, state.Shard{Node: "n1", Database: "db", Shard: shard})
			net.parts[1].shards = append(net.parts[1].shards, state.Shard{Node: "n2", Database: "db", Shard: shard})
		}
		got := ""
		for q := (table.Query{Limit: 4}); ; {
			l, err := consoles[0].Shards(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range l.Rows {
				got += s.Shard + " "
			}
			if q.After = l.Next; q.After == "" {
				break
			}
		}
		if want := "5 5 9 9 10 10 11 11 12 12 100 100 "; got != want {
			t.Errorf("the shards are %s, want %s", got, want)
		}
		if l, err := consoles[1].Sessions(t.Context(), table.Query{}); err != nil || l.SQL != "10.0.0.2:5433" {
			t.Errorf("n2 listens at %s, %v", l.SQL, err)
		}
	})
}

func TestConsole_Handler(t *testing.T) {
	net, consoles, _ := cluster(1)
	h := consoles[0].Handler("/api")
	get := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	for _, view := range []string{"overview", "nodes", "tasks", "events", "databases", "shards", "indexes", "jobs",
		"replications?sort=pending", "actors", "sessions", "series", "plots?series=heap",
		"plots?series=heap&from=4102444800", "plots?series=heap&from=9223372036854775807"} {
		if code, body := get("GET", "/api/"+view); code != 200 || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %.100s", view, code, body)
		}
	}
	for path, want := range map[string]int{"/api/x": 404, "/api/actors?sort=x": 400, "/api/actors?limit=x": 400,
		"/api/jobs?limit=9999": 400, "/api/actors?live=1&sort=x": 400, "/api/events?limit=-1": 400,
		"/api/plots?series=heap&from=-1": 400, "/api/plots?series=heap&from=9223372036854775808": 400,
		"/api/plots?series=heap&span=-9223372036854775808": 400, "/api/actors?desc=maybe": 400,
		"/api/tree?desc=1": 400} {
		code, body := get("GET", path)
		if code != want || !strings.Contains(body, `"reason":`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for request, allowed := range map[string]string{"POST /api/actors": "GET,HEAD", "PUT /api/plots": "GET,HEAD",
		"DELETE /api/token": "GET,HEAD", "GET /api/act": "POST", "HEAD /api/sql": "POST"} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != 405 || w.Header().Get("Allow") != allowed ||
			!strings.Contains(w.Body.String(), `{"error":"method_not_allowed","reason":"Only `+allowed+` allowed"}`) {
			t.Errorf("%s: %d %v %s", request, w.Code, w.Header(), w.Body)
		}
	}
	// Only live=1 is a stream, which would not end here.
	for _, query := range []string{"live=0", "live=", "live=false", "desc=true", "desc=false", "desc="} {
		if code, body := get("GET", "/api/actors?"+query); code != 200 || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %.100s", query, code, body)
		}
	}
	var once state.Plots
	_, body := get("GET", "/api/plots?series=heap"+strings.Repeat(",heap,cpu", 1000))
	if err := json.Unmarshal([]byte(body), &once); err != nil || len(once.Plots) != 2 {
		t.Errorf("a series that is named often is answered %d times, %v", len(once.Plots), err)
	}
	net.parts[0].lost = errors.New("the store sleeps")
	if code, body := get("GET", "/api/databases"); code != 503 || !strings.Contains(body, "the store sleeps") {
		t.Errorf("without a store: %d %s", code, body)
	}
}

// Of many failing jobs the same three are named, in whatever order they are read, and how many there are beside them.
// What is over needs no attention.
func TestOverview_manyFail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(1)
		first := ""
		for turn := range 2 {
			net.parts[0].jobs = nil
			for i := range 6 {
				net.parts[0].jobs = append(net.parts[0].jobs, state.Job{Type: "replication",
					ID: fmt.Sprint("r", (5*turn+i*(1+4*turn))%6), Failures: 1 + i, Error: "crashed"})
			}
			var got []string
			o := consoles[0].Overview(t.Context())
			for _, a := range o.Attention {
				id, _, _ := strings.Cut(a.Text, " has failed")
				got = append(got, id+" "+a.Link)
			}
			text := strings.Join(got, "; ")
			if want := "job replication r0 jobs; job replication r1 jobs; job replication r2 jobs; " +
				"and 3 more jobs fail jobs?sort=failures&desc=true"; text != want || o.Failing != 6 ||
				o.Text != "1 node up; 6 things need attention" {
				t.Errorf("%d fail: %s: %s", o.Failing, o.Text, text)
			}
			if first = cmp.Or(first, text); text != first {
				t.Errorf("then: %s", text)
			}
		}
		net.parts[0].jobs = nil
		since := time.Now().Add(-2 * time.Second)
		recorders[0].Record(state.Event{Kind: state.MemberDead, Member: "n4", Since: &since})
		if o := consoles[0].Overview(t.Context()); len(o.Attention) != 1 || len(o.Lately) != 0 {
			t.Errorf("a member is away: %+v, lately %+v", o.Attention, o.Lately)
		}
		time.Sleep(time.Second)
		recorders[0].Record(state.Event{Kind: state.MemberReturned, Member: "n4", Since: &since})
		if o := consoles[0].Overview(t.Context()); len(o.Attention) != 0 || len(o.Lately) != 1 ||
			o.Lately[0].Severity != state.Good || o.Lately[0].Story == nil || o.State == "degraded" {
			t.Errorf("it is back: %+v, lately %+v", o.Attention, o.Lately)
		}
		for range 60 {
			recorders[0].Record(state.Event{Kind: state.MemberDead, Member: rand.Text(), Since: &since})
		}
		if o := consoles[0].Overview(t.Context()); len(o.Attention) != 50 || o.Attention[49].Text != "and 11 more" ||
			o.Text != "1 node up; 60 things need attention" {
			t.Errorf("%d need attention", len(o.Attention))
		}
	})
}
