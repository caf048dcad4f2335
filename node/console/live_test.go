package console_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
)

// stream reads the events of a stream.
func stream(t *testing.T, c *console.Console, path string) (next func() (name, data string), stop func()) {
	t.Helper()
	server := httptest.NewServer(c.Handler("/api"))
	r, err := http.Get(server.URL + "/api/" + path)
	if err != nil || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(r, err)
	}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	return func() (name, data string) {
			for lines.Scan() {
				if s, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
					name = s
				}
				if s, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					return name, s
				}
			}
			return "", ""
		}, func() {
			r.Body.Close()
			server.Close()
		}
}

// A page is told the whole view once, then what has changed.
func TestConsole_live(t *testing.T) {
	net, consoles, _ := cluster(1)
	p := net.parts[0]
	p.actors = actorsOf("n1", 200, &atomic.Int64{})
	next, stop := stream(t, consoles[0], "actors?live=1&limit=100")
	defer stop()
	name, all := next()
	if name != "state" || strings.Count(all, `"kind":"shard"`) != 100 {
		t.Fatalf("%s %.200s", name, all)
	}
	changed := slices.Clone(p.actors)
	changed[3].Mailbox = 77
	p.mu.Lock()
	p.actors = changed
	p.mu.Unlock()
	name, diff := next()
	if name != "diff" || !strings.Contains(diff, `[["rows",3,"mailbox"],77]`) || len(diff) > 200 {
		t.Errorf("%s %.300s", name, diff)
	}
	consoles[0].Close()
	if name, _ := next(); name != "" {
		t.Errorf("after the end: %s", name)
	}
}

// The stream of a user who may not see the console any more ends.
func TestConsole_live_revoked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(1)
		begun := time.Now()
		time.AfterFunc(25*time.Second, func() { net.revoked.Store(true) })
		w := httptest.NewRecorder()
		consoles[0].Handler("/api").ServeHTTP(w, httptest.NewRequest("GET", "/api/tasks?live=1", nil))
		if took := time.Since(begun); took < 25*time.Second || took > 36*time.Second {
			t.Errorf("the stream ended after %v", took)
		}
		if n := strings.Count(w.Body.String(), "\n\n"); n < 10 {
			t.Errorf("%d events: %s", n, w.Body)
		}
	})
}
