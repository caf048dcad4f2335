package relocate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/relocate"
)

// couch is a server with databases of ten documents each, of which nodes have as many as arrived says.
type couch struct {
	names   []string
	arrived int
	// first, unless nil, answers a request instead if it returns true.
	first func(w http.ResponseWriter, r *http.Request) bool
	ids   atomic.Value // the doc_ids of the last replication, a []string

	interrupt func() // ends the move; set by it
}

const documentsEach = 10

func (c *couch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.first != nil && c.first(w, r) {
		return
	}
	switch path := r.URL.Path; {
	case path == "/_all_dbs":
		_ = json.NewEncoder(w).Encode(c.names)
	case path == "/_replicate":
		var ask struct {
			IDs []string `json:"doc_ids"`
		}
		_ = json.NewDecoder(r.Body).Decode(&ask)
		c.ids.Store(ask.IDs)
		_, _ = io.WriteString(w, `{"history":[]}`)
	case strings.HasSuffix(path, "/_changes"):
		if r.URL.Query().Get("since") == "0" {
			_, _ = io.WriteString(w, `{"results":[{"id":"50%41","changes":[{"rev":"1-a"}]}],"last_seq":1}`)
			return
		}
		_, _ = io.WriteString(w, `{"results":[],"last_seq":1}`)
	case strings.HasSuffix(path, "/_revs_diff"):
		_, _ = io.WriteString(w, `{"50%41":{"missing":["1-a"]}}`)
	case strings.Count(path, "/") == 1 && r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"doc_count":%d}`, c.arrived)
	default:
		_, _ = io.WriteString(w, "{}")
	}
}

// moved is what a move has done and said.
type moved struct {
	*relocate.CouchDBImported
	err  error
	said string
}

// wire passes requests to a handler without a network, so that time can be fake.
type wire struct{ http.Handler }

func (w wire) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if recover() != nil { // cut
			answer, err = nil, io.ErrUnexpectedEOF
		}
	}()
	if r = r.Clone(r.Context()); r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	said := httptest.NewRecorder()
	w.ServeHTTP(said, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return said.Result(), nil
}

// move moves databases, one at once, in fake time.
func move(t *testing.T, from, to *couch) moved { return moveAtOnce(t, 1, from, to) }

func moveAtOnce(t *testing.T, parallel int, from, to *couch) (result moved) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		over := func(c *couch) *relocate.Client {
			c.interrupt = cancel
			client, err := relocate.NewClient("http://in.memory")
			if err != nil {
				t.Fatal(err)
			}
			client.SetTransport(wire{c})
			return client
		}
		var said bytes.Buffer
		m := relocate.CouchDBImport{From: over(from), To: over(to), Parallel: parallel,
			Out: &relocate.Progress{Out: &oneByOne{w: &said}}}
		done, err := m.Run(ctx)
		result = moved{done, err, said.String()}
	})
	return result
}

// oneByOne may be written to by several goroutines.
type oneByOne struct {
	sync.Mutex
	w io.Writer
}

func (o *oneByOne) Write(b []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.w.Write(b)
}

// cut ends the connection of a request without an answer.
func cut() { panic(http.ErrAbortHandler) }

// The documents of a move are those that the node has, although it reports no failures.
func TestCouchDBImport_counts(t *testing.T) {
	to := &couch{arrived: documentsEach - 1}
	m := move(t, &couch{names: []string{"a"}, arrived: documentsEach}, to)
	if m.err == nil || m.Databases != 1 || m.Documents != documentsEach-1 || m.Missing != 1 {
		t.Errorf("%+v, %v", m.CouchDBImported, m.err)
	}
	if !strings.Contains(m.said, `document "50%41" did not arrive`) {
		t.Error(m.said)
	}
	if ids := to.ids.Load().([]string); !slices.Equal(ids, []string{"50%2541"}) { // the node decodes them
		t.Errorf("it asked for %q", ids)
	}
}

// A server that does not answer for a moment is waited for, but not one that refuses.
func TestCouchDBImport_waits(t *testing.T) {
	for _, c := range []struct {
		name    string
		side    string // which server is away
		at      string // from this request on
		status  int    // what it answers instead; 0: nothing
		waits   bool
		refused string
	}{
		{"node, at first", "node", "/b/_revs_limit", 0, true, ""},
		{"node, replicating", "node", "/_replicate", 0, true, ""},
		{"node, starting", "node", "/_replicate", 503, true, ""},
		{"CouchDB", "couch", "/b/_revs_limit", 0, true, ""},
		{"wrong password", "node", "/b/_revs_limit", 401, false, "401"},
		{"fault of CouchDB", "couch", "/b", 500, false, "500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var failures atomic.Int64
			first := func(w http.ResponseWriter, r *http.Request) bool {
				if (failures.Load() == 0 && r.URL.Path != c.at) || failures.Load() == 2 {
					return false
				}
				failures.Add(1)
				if c.status == 0 {
					cut()
				}
				http.Error(w, `{"error":"e","reason":"r"}`, c.status)
				return true
			}
			from := &couch{names: []string{"a", "b", "c"}, arrived: documentsEach}
			to := &couch{arrived: documentsEach}
			name := "the CouchDB"
			if c.side == "node" {
				to.first, name = first, "the node"
			} else {
				from.first = first
			}
			m := move(t, from, to)
			if said := strings.Contains(m.said, name+" does not answer; waiting for it") &&
				strings.Contains(m.said, name+" answers again"); said != c.waits {
				t.Errorf("it says:\n%s", m.said)
			}
			if c.waits && (m.err != nil || m.Databases != 3 || m.Documents != 3*documentsEach) {
				t.Errorf("%+v, %v", m.CouchDBImported, m.err)
			}
			if !c.waits && (m.err == nil || !strings.Contains(m.err.Error(), c.refused) || len(m.Failed) == 0) {
				t.Errorf("%+v, %v", m.CouchDBImported, m.err)
			}
		})
	}
}

// A replication that fails since the CouchDB is away goes on once it is back.
func TestCouchDBImport_sourceAway(t *testing.T) {
	var away, tries atomic.Int64
	from := &couch{names: []string{"a"}, arrived: documentsEach}
	from.first = func(http.ResponseWriter, *http.Request) bool {
		if away.Add(-1) >= 0 {
			cut()
		}
		return false
	}
	to := &couch{arrived: documentsEach}
	to.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/_replicate" || tries.Add(1) > 1 {
			return false
		}
		away.Store(4)
		http.Error(w, `{"error":"http_request_failed"}`, http.StatusInternalServerError)
		return true
	}
	if m := move(t, from, to); m.err != nil || m.Databases != 1 || tries.Load() != 2 {
		t.Errorf("%+v, %v after %d tries", m.CouchDBImported, m.err, tries.Load())
	}
}

// A replication that fails although the CouchDB answers is tried again once, but not one that somebody has cancelled.
func TestCouchDBImport_fails(t *testing.T) {
	for name, want := range map[string]int{"bulk_get_failed": 2, "stopped": 1} {
		tries := 0
		to := &couch{arrived: documentsEach}
		to.first = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/_replicate" {
				return false
			}
			tries++
			http.Error(w, `{"error":"`+name+`"}`, http.StatusInternalServerError)
			return true
		}
		m := move(t, &couch{names: []string{"a"}, arrived: documentsEach}, to)
		if m.err == nil || m.Databases != 0 || m.Documents != 0 || !slices.Equal(m.Failed, []string{"a"}) ||
			tries != want {
			t.Errorf("%s: %+v, %v after %d tries", name, m.CouchDBImported, m.err, tries)
		}
	}
}

// Once a server has been away for long, nothing more is begun, and only what was moved is counted.
func TestCouchDBImport_gone(t *testing.T) {
	var gone atomic.Bool
	to := &couch{arrived: documentsEach}
	to.first = func(_ http.ResponseWriter, r *http.Request) bool {
		if gone.Load() || r.URL.Path == "/b/_revs_limit" {
			gone.Store(true)
			cut()
		}
		return false
	}
	m := move(t, &couch{names: []string{"a", "b", "c", "d"}, arrived: documentsEach}, to)
	if m.Databases != 1 || m.Documents != documentsEach || !slices.Equal(m.Failed, []string{"b"}) ||
		!slices.Equal(m.Unfinished, []string{"c", "d"}) {
		t.Errorf("%+v", m.CouchDBImported)
	}
	if m.err == nil || !strings.Contains(m.err.Error(), "b: copy _revs_limit: the node has not answered for 30s") ||
		!strings.Contains(m.err.Error(), "2 databases not begun; the same command continues where it was") {
		t.Error(m.err)
	}
}

// Every outage is waited for anew, however long a replication lasts, and requests that a proxy ends after a while are
// repeated. A request that is never answered is not repeated for ever, although others are answered.
func TestCouchDBImport_long(t *testing.T) {
	const (
		proxy   = "the node broke off a request after 1m0s; repeating it, for up to 30s: POST /_replicate: status 504"
		restart = "the node broke off a request after 1h0m0s; repeating it, for up to 30s: "
		silent  = "the node has not answered for 30s: POST /_replicate: status 503"
	)
	for _, c := range []struct {
		name         string
		served       time.Duration // how long each request is served
		status       int           // of its answer; 0: none
		refused      int64         // how many requests are refused after that
		rounds       int64         // 0: no end
		says, errors string
	}{
		{"restarts", time.Hour, 0, 5, 6, restart, ""},
		{"proxy", time.Minute, 504, 0, 30, proxy, ""},
		{"proxy of 15 s", 15 * time.Second, 502, 0, 100, "", ""},
		{"no store", 10 * time.Second, 503, 0, 0, "waiting for it", silent},
		{"stays away", time.Hour, 0, 1000, 0, restart, silent},
		{"away for ever", 0, 503, 0, 0, "waiting for it", silent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to := &couch{arrived: documentsEach}
			rounds, refused := int64(0), int64(0)
			to.first = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.URL.Path != "/_replicate" || rounds == c.rounds && c.rounds > 0 && refused == 0:
					return false
				case refused > 0:
					refused--
					http.Error(w, "{}", http.StatusServiceUnavailable)
					return true
				}
				rounds++
				refused = c.refused
				time.Sleep(c.served)
				if c.status == 0 {
					cut()
				}
				http.Error(w, "{}", c.status)
				return true
			}
			m := move(t, &couch{names: []string{"a"}, arrived: documentsEach}, to)
			if c.errors == "" && (m.err != nil || m.Documents != documentsEach) ||
				c.errors != "" && (m.err == nil || !strings.Contains(m.err.Error(), c.errors)) {
				t.Errorf("%+v, %v after %d rounds", m.CouchDBImported, m.err, rounds)
			}
			if !strings.Contains(m.said, c.says) || strings.Contains(m.said, "is tried again") {
				t.Errorf("it says:\n%s", m.said)
			}
		})
	}
}

// A request that is never answered while others are is not told as if the server were away.
func TestCouchDBImport_oneNeverAnswered(t *testing.T) {
	names := []string{"a"}
	for i := range 100 {
		names = append(names, fmt.Sprint("b", i))
	}
	to := &couch{arrived: documentsEach}
	to.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/a/_security" {
			http.Error(w, "{}", http.StatusBadGateway)
			return true
		}
		if r.URL.Path == "/_replicate" {
			time.Sleep(time.Second)
		}
		return false
	}
	const want = "a: copy _security: the node answers other requests, but has not answered this one for 30s"
	m := moveAtOnce(t, 2, &couch{names: names, arrived: documentsEach}, to)
	if m.err == nil || !strings.Contains(m.err.Error(), want) || !slices.Equal(m.Failed, []string{"a"}) {
		t.Errorf("%+v, %v", m.CouchDBImported, m.err)
	}
}

// A CouchDB that is away every other time is not asked for ever.
func TestCouchDBImport_sourceFlaps(t *testing.T) {
	asked, tries := 0, 0
	from := &couch{names: []string{"a"}, arrived: documentsEach}
	from.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/a" {
			return false
		}
		if asked++; asked%2 == 0 {
			return false
		}
		http.Error(w, "{}", http.StatusServiceUnavailable)
		return true
	}
	to := &couch{arrived: documentsEach}
	to.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/_replicate" {
			return false
		}
		tries++
		if tries == 100 {
			to.interrupt()
		}
		http.Error(w, `{"error":"http_request_failed"}`, http.StatusInternalServerError)
		return true
	}
	m := move(t, from, to)
	if m.err == nil || !strings.Contains(m.err.Error(), "the replication failed 10 times") || tries != 10 {
		t.Errorf("%+v, %v after %d tries", m.CouchDBImported, m.err, tries)
	}
}

// A server that accepts connections but says nothing after an outage does not answer again.
func TestCouchDBImport_hangs(t *testing.T) {
	away, hangs := false, false
	to := &couch{arrived: documentsEach}
	to.first = func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case hangs:
			<-r.Context().Done()
			return true
		case r.URL.Path == "/_replicate":
			hangs, away = away, true
			cut()
		}
		return false
	}
	m := move(t, &couch{names: []string{"a"}, arrived: documentsEach}, to)
	if m.err == nil || !strings.Contains(m.err.Error(), silent) || strings.Contains(m.said, "answers again") {
		t.Errorf("%v; it says:\n%s", m.err, m.said)
	}
}

// An interrupted move ends the replications that it has begun, or says that the node may go on with them.
func TestCouchDBImport_interrupted(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int // of the answer that cancels the replication
		says   string
	}{
		{"stopped", 200, "interrupted; the node does not go on by itself; the same command continues where it was"},
		{"ended meanwhile", 404, "interrupted; the node does not go on by itself"},
		{"refused", 500, "interrupted; the node may go on to replicate b, since it could not be told to stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cancelled atomic.Bool
			to := &couch{arrived: documentsEach}
			to.first = func(w http.ResponseWriter, r *http.Request) bool {
				var ask struct {
					Target string
					Cancel bool
				}
				if r.URL.Path != "/_replicate" || json.NewDecoder(r.Body).Decode(&ask) != nil || ask.Target == "a" {
					return false
				}
				if !ask.Cancel {
					to.interrupt()
					<-r.Context().Done()
					return true
				}
				cancelled.Store(true)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "{}")
				return true
			}
			m := move(t, &couch{names: []string{"a", "b", "c"}, arrived: documentsEach}, to)
			if m.Databases != 1 || m.Documents != documentsEach || len(m.Failed) > 0 ||
				!slices.Equal(m.Unfinished, []string{"b", "c"}) {
				t.Errorf("%+v", m.CouchDBImported)
			}
			if !cancelled.Load() || m.err == nil || !strings.Contains(m.err.Error(), c.says) {
				t.Errorf("%v, want %q", m.err, c.says)
			}
			if !strings.Contains(m.said, "b: interrupted; the node has 10 documents of it\nnot begun: c\n") {
				t.Error(m.said)
			}
		})
	}
}

// A move that cannot begin has no result, and does not wait.
func TestCouchDBImport_wrongAddress(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	m := relocate.CouchDBImport{From: client(t, closed.URL), To: client(t, closed.URL), Patience: time.Hour,
		Out: &relocate.Progress{}}
	if done, err := m.Run(t.Context()); done != nil || err == nil {
		t.Errorf("%+v, %v", done, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := m.Run(ctx); done != nil || errors.Is(err, context.Canceled) || err == nil {
		t.Errorf("interrupted: %+v, %v", done, err)
	}
}
