package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
)

// actsOf records what is done on a node.
func (p *parts) acts() console.Acts {
	did := func(what ...string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.did = append(p.did, strings.Join(what, " "))
	}
	return console.Acts{
		Cancel:    func(pid uint32) bool { did("cancel"); return pid == 7 },
		Terminate: func(pid uint32) bool { did("terminate"); return pid == 7 },
		RetryJob:  func(_ context.Context, typ, id string) error { did("retry", typ, id); return nil },
		DropJob: func(_ context.Context, typ, id string) error {
			if id == "gone" {
				return console.Refused("there is no such job any more")
			}
			did("drop", typ, id)
			return nil
		},
		Reshard: func(_ context.Context, db string, n int) error { did("reshard", db); return nil },
		Rebuild: func(_ context.Context, db, design string) error { did("rebuild", db, design); return nil },
		RestartActor: func(_ context.Context, id string) error {
			did("restart", id)
			if id == "slow" {
				return fmt.Errorf("the actor may still restart: %w", context.DeadlineExceeded)
			}
			if id != "node:n2/jobs" {
				return console.Refused("there is no such actor any more")
			}
			return nil
		},
		Compact:   func(context.Context, string) error { return errors.New("the store sleeps") },
		Forget:    func(_ context.Context, m string) bool { did("forget", m); return m == "n9" || m == "n3" },
		Forgotten: func(m string, at time.Time) { did("forgotten", m, at.Format(time.TimeOnly)) },
		Drain:     func(context.Context) error { did("drain"); return nil },
		LogLevel: func(l string, d time.Duration) error {
			did("level", l, d.String())
			if l == "error" && p.deaf {
				return context.DeadlineExceeded
			}
			return nil
		},
	}
}

func TestConsole_Act(t *testing.T) {
	net, consoles, recorders := cluster(2)
	net.parts[1].deaf = true
	h := consoles[0].Handler("/api")
	get := httptest.NewRecorder()
	h.ServeHTTP(get, httptest.NewRequest("GET", "/api/token", nil))
	_, token, _ := strings.Cut(get.Body.String(), `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	// Behind a load balancer the token comes from another node.
	elsewhere := httptest.NewRecorder()
	consoles[1].Handler("/api").ServeHTTP(elsewhere, httptest.NewRequest("GET", "/api/token", nil))
	if elsewhere.Body.String() != get.Body.String() {
		t.Errorf("tokens %s and %s", get.Body, elsewhere.Body)
	}
	post := func(body string, header ...string) (int, string) {
		r := httptest.NewRequest("POST", "/api/act", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(console.TokenHeader, token)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		body string
		code int
		did  [2]string // on n1 and n2
		text string    // of the event
	}{
		{`{"do":"cancel","node":"n2","pid":7}`, 200, [2]string{"", "cancel"},
			"statement of session 7 on n2 cancelled by anna"},
		{`{"do":"terminate","node":"n1","pid":7}`, 200, [2]string{"terminate", ""},
			"session 7 on n1 ended by anna"},
		{`{"do":"terminate","node":"n2","pid":8}`, 409, [2]string{"", "terminate"},
			"not done: session 8 on n2 ended by anna"},
		{`{"do":"cancel","node":"n3","pid":7}`, 409, [2]string{},
			"not done: statement of session 7 on n3 cancelled by anna"},
		{`{"do":"retry_job","type":"index","id":"a/1"}`, 200, [2]string{"retry index a/1", ""},
			"job index a/1 queued to run at once by anna"},
		{`{"do":"drop_job","type":"index","id":"gone"}`, 409, [2]string{},
			"not done: job index gone dropped by anna"},
		{`{"do":"reshard","database":"db","shards":4}`, 200, [2]string{"reshard db", ""},
			"db resharded to 4 shards by anna"},
		{`{"do":"compact","database":"db"}`, 503, [2]string{},
			"perhaps not done: compaction of db asked for by anna"},
		{`{"do":"rebuild_index","database":"db","design":"_design/d"}`, 200, [2]string{"rebuild db _design/d", ""},
			"index of _design/d in db removed and queued to be built again by anna"},
		{`{"do":"restart_actor","node":"n2","id":"node:n2/jobs"}`, 200, [2]string{"", "restart node:n2/jobs"},
			"actor node:n2/jobs restarted by anna"},
		{`{"do":"restart_actor","node":"n2","id":"slow"}`, 503, [2]string{"", "restart slow"},
			"perhaps not done: actor slow restarted by anna"},
		{`{"do":"restart_actor","node":"n2","id":"x"}`, 409, [2]string{"", "restart x"},
			"not done: actor x restarted by anna"},
		{`{"do":"restart_actor","node":"n1","id":"x"}`, 409, [2]string{"restart x", ""},
			"not done: actor x restarted by anna"},
		{`{"do":"forget","member":"n9"}`, 200, [2]string{"forget n9", "forget n9"},
			"member n9 forgotten by anna"},
		{`{"do":"drain","node":"n2"}`, 200, [2]string{"", "drain"}, "n2 drained by anna"},
		{`{"do":"log_level","level":"debug"}`, 200, [2]string{"level debug 10m0s", "level debug 10m0s"},
			"log level of all nodes set to debug for 10 min by anna"},
		{`{"do":"log_level","level":"error"}`, 503, [2]string{"level error 10m0s", "level error 10m0s"},
			"not done on every node: log level of all nodes set to error for 10 min by anna"},
		{`{"do":"log_level","level":"debug","node":"n2","minutes":3}`, 200, [2]string{"", "level debug 3m0s"},
			"log level of n2 set to debug for 3 min by anna"},
	} {
		net.parts[0].did, net.parts[1].did = nil, nil
		code, body := post(c.body)
		if did, _ := strings.CutSuffix(c.text, " by anna"); code == 200 && !strings.Contains(body, did) {
			t.Errorf("%s is answered with %s", c.body, body)
		}
		if did := [2]string{strings.Join(net.parts[0].did, ", "), strings.Join(net.parts[1].did, ", ")}; code != c.code ||
			did != c.did {
			t.Errorf("%s: %d %s, did %q", c.body, code, body, did)
		}
		e := recorders[0].List(time.Time{}, 1)
		if len(e) != 1 || e[0].Kind != state.ActionDone || e[0].Text != c.text || e[0].User != "anna" {
			t.Errorf("%s: event %+v", c.body, e)
		}
	}
	if !slices.ContainsFunc(recorders[0].List(time.Time{}, 1000), func(e state.Event) bool {
		return e.Kind == state.Resharded && e.Database == "db" && e.Count == 4 && e.User == "anna"
	}) {
		t.Error("no event of the reshard")
	}
	before := len(recorders[0].List(time.Time{}, 1000))
	for _, c := range []struct {
		body   string
		code   int
		header []string
	}{
		{`{"do":"forget","member":"n9"}`, 403, []string{console.TokenHeader, ""}},
		{`{"do":"forget","member":"n9"}`, 403, []string{console.TokenHeader, token + "x"}},
		{`{"do":"forget","member":"n9"}`, 403, []string{"Origin", "http://evil.example"}},
		{`{"do":"forget","member":"n9"}`, 403, []string{"Origin", "null"}},
		{`{"do":"forget","member":"n9"}`, 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{`{"do":"forget","member":"n9"}`, 403, []string{"Sec-Fetch-Site", "same-site"}},
		{`{"do":"forget","member":"n9"}`, 415, []string{"Content-Type", "text/plain"}},
		{`{"do":"forget"}`, 400, nil},
		{`{"do":"rebuild_index","database":"db"}`, 400, nil},
		{`{"do":"restart_actor","id":"node:n2/jobs"}`, 400, nil},
		{`{"do":"dance"}`, 400, nil},
		{`{"do":"forget","member":"n9","more":1}`, 400, nil},
		{`{"do":"log_level","level":"loud"}`, 400, nil},
		{`{"do":"log_level","level":"info","minutes":100}`, 400, nil},
		{`[]`, 400, nil},
		{``, 400, nil},
		{`{"do":"forget","member":"` + strings.Repeat("x", 100_000) + `"}`, 400, nil},
	} {
		if code, body := post(c.body, c.header...); code != c.code || !strings.Contains(body, `"reason"`) {
			t.Errorf("%.60s %q: %d %s", c.body, c.header, code, body)
		}
	}
	if _, body := post(`{"do":"reshard","database":"d","shards":0}`); !strings.Contains(body, "`shards` must be 1 or") {
		t.Errorf("no shards: %s", body)
	}
	for body, want := range map[string]string{
		`{"do":"reshard","database":"d","shards":"8"}`: "`shards` must be a whole number.",
		`{"do":"reshard","database":"d","shards":1.5}`: "`shards` must be a whole number.",
		`{"do":"cancel","node":"n1","pid":-1}`:         "`pid` must be a whole number from 0 to 4294967295.",
		`{"do":7}`:                                     "`do` must be a string.",
		`{"do":"forget","member":"n9","more":1}`:       "there is no field `more`.",
		`[]`:                                           "it is an array.",
		`7`:                                            "it is a number.",
		``:                                             "it is empty.",
		`{"do":`:                                       "its end is missing.",
		`{"do":x}`:                                     "it is not JSON from byte 7 on.",
		`{"do":"compact","database":"a` + "\xff" + `"}`: "it is not UTF-8.",
		`{"do":"drain","node":"n2"} {"do":"x"}`:         "it goes on after byte 26, where the object ends.",
		`{"do":"drain","node":"n2"}}`:                   "it goes on after byte 26, where the object ends.",
		`{"do":"` + strings.Repeat("é", 40_000) + `"}`:  "it is longer than 65536 bytes.",
		`{"do":"` + strings.Repeat("x", 100_000) + `"}`: "it is longer than 65536 bytes.",
	} {
		var got struct{ Reason string }
		code, text := post(body)
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 400 ||
			got.Reason != "The body must be an object with what to do: "+want {
			t.Errorf("%.60s: %d %s, want %q", body, code, text, want)
		}
	}
	if code, _ := post(`{"do":"forget","member":"n9"}`, "Origin", "http://example.com", "Sec-Fetch-Site",
		"same-origin"); code != 200 {
		t.Errorf("the own page is refused: %d", code)
	}
	if after := len(recorders[0].List(time.Time{}, 1000)); after != before+1 {
		t.Errorf("%d events of refused requests", after-before-1)
	}
}

// Who may not do what the console does is an event, however often it is tried: also who is refused before the console
// is asked. The page whose session has ended, and strangers who are not sent by another site, are none.
func TestAudit(t *testing.T) {
	_, consoles, recorders := cluster(1)
	c, handler := consoles[0], consoles[0].Handler("/api")
	var user string // who is logged in; anna is an admin
	h := console.Guard(c, "/couch/", console.Audit(c, "/api", http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		switch {
		case !console.MaySend(r.Context(), user):
			w.WriteHeader(http.StatusForbidden)
		case user != "anna":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	})))
	attempts := func() (n int) { // that are told
		for _, e := range recorders[0].List(time.Time{}, 1000) {
			if e.Kind == state.ActionRefused {
				n += 1 + e.Repeated
			}
		}
		return n
	}
	told := 0 // when the last answer was sent
	send := func(method, path string, headers ...string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(`{"do":"dance"}`))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(&atHeader{w, func() { told = attempts() }}, r)
		return w.Code
	}
	user = "anna"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/api/token", nil))
	_, token, _ := strings.Cut(w.Body.String(), `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	const from, of, site = " from 192.0.2.1: ", console.TokenHeader, "Sec-Fetch-Site"
	for _, c := range []struct {
		user, method, path string
		headers            []string
		code               int
		event              string
	}{
		{"anna", "POST", "/api/act", []string{of, token}, 400, ""},
		{"anna", "POST", "/api/act", nil, 403, "anna" + from + "an action of the console; it had no valid token"},
		{"anna", "POST", "/api/sql", []string{of, "forged"}, 403,
			"anna" + from + "SQL of the console; it had no valid token"},
		{"anna", "POST", "/api/act", []string{of, token, site, "cross-site"}, 403,
			"anna" + from + "an action of the console; it came from a page of another site"},
		{"dave", "POST", "/api/act", []string{of, token}, 401,
			"dave" + from + "an action of the console; it had the token of anna"},
		{"dave", "DELETE", "/couch/db/doc", []string{of, token}, 403,
			"dave" + from + "a write of the console; it had the token of anna"},
		{"dave", "GET", "/api/verdict", nil, 401, ""},
		{"", "POST", "/api/act", []string{of, token}, 401, ""}, // the session has ended
		{"", "POST", "/api/sql", nil, 401, ""},
		{"", "POST", "/api/act", []string{"Origin", "http://evil.example"}, 401,
			"an unknown user" + from + "an action of the console; it came from a page of another site"},
		{"", "PUT", "/couch/db/doc", []string{of, token, site, "same-site"}, 403,
			"an unknown user" + from + "a write of the console; it came from a page of another site"},
	} {
		const times = 12
		before := len(recorders[0].List(time.Time{}, 1000))
		user = c.user
		for range times {
			if code := send(c.method, c.path, c.headers...); code != c.code {
				t.Errorf("%+v: answered with %d", c, code)
			}
			if told != attempts() {
				t.Errorf("%+v: told after the answer", c)
			}
		}
		var got string
		if list := recorders[0].List(time.Time{}, 1000); len(list) > before {
			got = list[0].Text
		}
		if want := strings.TrimSuffix("not allowed to "+c.event, "not allowed to "); got != want {
			t.Errorf("%+v: event %q, want %q", c, got, want)
		}
	}
	refused := 0
	for _, e := range recorders[0].List(time.Time{}, 1000) {
		if e.Kind == state.ActionRefused {
			refused++
		}
	}
	if refused != 7 || attempts() != 7*12 {
		t.Errorf("%d events of %d attempts", refused, attempts())
	}
}

// atHeader calls do when the header of an answer is sent.
type atHeader struct {
	*httptest.ResponseRecorder
	do func()
}

func (a *atHeader) WriteHeader(status int) {
	a.do()
	a.ResponseRecorder.WriteHeader(status)
}

func TestConsole_Signal(t *testing.T) {
	net, consoles, recorders := cluster(2)
	net.parts[1].sessions = []state.Session{{Node: "n2", PID: 7, User: "bob"}}
	for _, c := range []struct {
		user  string
		admin bool
		pid   uint32
		found bool
		err   bool
		did   string
	}{
		{"bob", false, 7, true, false, "terminate"},
		{"anna", true, 7, true, false, "terminate"},
		{"carl", false, 7, false, true, ""},
		{"anna", true, 9, false, false, ""},
	} {
		net.parts[1].did = nil
		found, err := consoles[0].Signal(t.Context(), c.user, c.admin, c.pid, true)
		if found != c.found || (err != nil) != c.err || strings.Join(net.parts[1].did, "") != c.did {
			t.Errorf("%+v: %v, %v, did %q", c, found, err, net.parts[1].did)
		}
		if e := recorders[0].List(time.Time{}, 1); c.err && (len(e) != 1 || e[0].Text !=
			"not allowed to carl: session 7 on n2 ended; the session belongs to another user") {
			t.Errorf("%+v: events %+v", c, e)
		}
	}
	if _, err := consoles[0].Signal(t.Context(), "bob", false, 7, false); err != nil ||
		!slices.Equal(net.parts[1].did, []string{"cancel"}) {
		t.Errorf("did %q, %v", net.parts[1].did, err)
	}
}

// What SQL does to a session of the own node is recorded like what it does on another one.
func TestConsole_Signalled(t *testing.T) {
	_, consoles, recorders := cluster(1)
	console.Signalled(consoles[0], "bob", 7, true)
	console.Signalled(consoles[0], "bob", 8, false)
	e := recorders[0].List(time.Time{}, 2)
	if len(e) != 2 || e[1].Kind != state.ActionDone || e[1].Text != "session 7 on n1 ended by bob" ||
		e[0].Text != "statement of session 8 on n1 cancelled by bob" || e[0].User != "bob" {
		t.Errorf("events %+v", e)
	}
}

// A member that has just been killed is forgotten as soon as the others know that it is gone. One that answers is not.
func TestConsole_Act_forget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(3)
		forget := func(member string) (time.Duration, error) {
			begin := time.Now()
			err := consoles[0].Act(t.Context(), "anna", console.Action{Do: "forget", Member: member})
			return time.Since(begin), err
		}
		if took, err := forget("n2"); err == nil || took > 0 {
			t.Errorf("a member that is there: %v after %v", err, took)
		}
		net.silent["n3"] = true
		time.AfterFunc(2600*time.Millisecond, func() {
			net.mu.Lock()
			defer net.mu.Unlock()
			net.gone = "n3"
		})
		if took, err := forget("n3"); err != nil || took > 2700*time.Millisecond {
			t.Errorf("a member that was killed: %v after %v", err, took)
		}
		for i, p := range net.parts {
			if did := slices.Contains(p.did, "forget n3"); did != (i < 2) {
				t.Errorf("n%d did %q", i+1, p.did)
			}
		}
	})
}

// Forgetting a member does not wait long for a node that hangs, and names it.
func TestConsole_Act_forgetWithSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		net.silent["n3"] = true
		begin := time.Now()
		err := consoles[0].Act(t.Context(), "anna", console.Action{Do: "forget", Member: "n9"})
		if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), "done, but not on every node: n3: ") ||
			strings.Contains(err.Error(), "n2") || took > 2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		e := recorders[0].List(time.Time{}, 1)[0]
		if e.Text != "not done on every node: member n9 forgotten by anna" || !strings.Contains(e.Detail, "n3") {
			t.Errorf("event %+v", e)
		}
		for i, p := range net.parts {
			if did := slices.Contains(p.did, "forget n9"); did != (i < 2) {
				t.Errorf("n%d did %q", i+1, p.did)
			}
		}
	})
}

// A node that did not answer when a member was forgotten forgets it when it learns of that. The story of the member is
// over, also if that node tells later what it knew of it, and also if no node knows the member any more.
func TestConsole_Act_forgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		heard := time.Now()
		time.Sleep(time.Second)
		dead := func(i int, member string) {
			recorders[i].Record(state.Event{Kind: state.MemberDead, Member: member, Since: &heard})
		}
		forget := func(member string) error {
			return consoles[0].Act(t.Context(), "anna", console.Action{Do: "forget", Member: member})
		}
		told := func() (list []string) {
			for _, s := range consoles[2].Events(t.Context(), console.EventQuery{}).Stories {
				list = append(list, s.Title)
			}
			return list
		}
		dead(0, "n9")
		net.silent["n3"] = true
		if forget("n9") == nil {
			t.Error("a silent node is not named")
		}
		net.silent["n3"] = false
		time.Sleep(time.Minute)
		dead(2, "n9")
		console.Learn(t.Context(), consoles[2], time.Time{})
		if did := net.parts[2].did; !slices.Equal(did, []string{"forgotten n9 00:00:03"}) {
			t.Errorf("n3 did %q", did)
		}
		if got := told(); !slices.Equal(got, []string{"n9 did not answer and was forgotten"}) {
			t.Errorf("stories %q", got)
		}
		dead(0, "n2")
		if forget("n2") == nil || !slices.Contains(told(), "n2 does not answer and was given up") {
			t.Errorf("a member that this node still has was forgotten: %q", told())
		}
		dead(0, "n8")
		if err := forget("n8"); err != nil {
			t.Errorf("of which only a story tells: %v", err)
		}
		if got := told(); !slices.Contains(got, "n8 did not answer and was forgotten") {
			t.Errorf("stories %q", got)
		}
		if forget("n8") == nil {
			t.Error("a member that is forgotten everywhere was forgotten again")
		}
	})
}

// A node that answers slowly, and has not answered questions before, does what it is asked to, and is said to have.
func TestConsole_Act_slow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		net.slow = 3 * time.Second
		if _, absent := consoles[0].Nodes(t.Context()); len(absent) != 2 {
			t.Fatalf("absent: %+v", absent)
		}
		begin := time.Now()
		if err := consoles[0].Act(t.Context(), "anna", console.Action{Do: "log_level", Level: "debug"}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != net.slow {
			t.Errorf("it took %v", took)
		}
		for i, p := range net.parts {
			if len(p.did) != 1 {
				t.Errorf("n%d did %q", i+1, p.did)
			}
		}
		net.silent["n2"] = true
		if err := consoles[0].Act(t.Context(), "anna", console.Action{Do: "drain", Node: "n2"}); err == nil {
			t.Error("a silent node was drained")
		}
		if e := recorders[0].List(time.Time{}, 1); e[0].Text != "perhaps not done: n2 drained by anna" {
			t.Errorf("event %+v", e)
		}
	})
}
