package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/status"
)

func overview() *state.Overview {
	at := time.Date(2026, 11, 24, 12, 0, 3, 0, time.UTC)
	left := 12.25
	return &state.Overview{
		Now: at, Node: "n2", State: "degraded", Text: "2 nodes up; 1 thing needs attention; the indexes of " +
			"8686 of 10006 databases are not read yet",
		Nodes: []state.Node{
			{Name: "n1", State: "ok", Report: state.Report{Now: map[string]float64{"docs_written": 1234.5,
				"docs_read": 2e6, "http_done": 12.34, "statements": 0, "index_lag": 0.5, "commit_p99": 3.21}}},
			{Name: "a name that is much too long for its column", State: "draining"},
			{Name: "n3", State: "gone", GivenUp: true}, {Name: "n4", State: "gone"},
			{Name: "n5", State: "unavailable"},
		},
		Attention: []state.Attention{{Severity: state.Error, Text: "the disk of n1 has 3 MB left; delete something, " +
			"compact, or remove other files from the disk, and then look at this page again"}},
		Lately: []state.Attention{{Severity: state.Good, Text: "n5 left 11:00:00.0, back 11:00:02.0"}},
		Jobs:   map[string]int{"running": 2, "pending": 1}, Failing: 1,
		Tasks: []state.Task{{Node: "n1", Type: "indexer", Database: "cities", Design: "_design/by", Progress: 45,
			Done: 4500, Total: 10_000, Rate: 367.3, Left: &left},
			{Node: "n1", Type: "indexer", Database: "cities", Design: "_design/on", Done: 300}},
		Working: 2,
		Events: []state.Event{
			{At: at, Node: "n1", Severity: state.Error, Text: "n3 has not answered for 2.4 s and was given up"},
			{At: at, Node: "n2", Severity: state.Good, Text: "evil \x1b[2J\r\n\u202e name " + strings.Repeat("ü", 100)},
		},
	}
}

func TestText(t *testing.T) {
	const want = `DEGRADED  2 nodes up; 1 thing needs attention; the indexes of 8686 of 10006
          databases are not read yet
asked n2 at 2026-11-24 12:00:03 UTC

NODE             STATE       WRITES/S READS/S  HTTP/S   SQL/S   LAG S COMMIT MS
n1               ok              1234    2.0M    12.3       0    0.50      3.21
a name that is … draining           -       -       -       -       -         -
n3               dead               -       -       -       -       -         -
n4               left               -       -       -       -       -         -
n5               unavailable        -       -       -       -       -         -

ATTENTION
  error   the disk of n1 has 3 MB left; delete something, compact, or remove
          other files from the disk, and then look at this page again

JOBS  1 pending, 2 running; 1 failed before
   45%  indexer cities _design/by on n1, 4500 documents, 367/s, 12.2 s to go
        indexer cities _design/on on n1, 300 documents

LATELY
  good    n5 left 11:00:00.0, back 11:00:02.0

EVENTS
! 12:00:03 n1: n3 has not answered for 2.4 s and was given up
? 12:00:03 n1 (and 12 more until 12:05:03): a login of ann from 10.0.0.1 was re…
`
	o := overview()
	until := o.Now.Add(5 * time.Minute)
	o.Events = append(o.Events[:1], state.Event{At: o.Now, Node: "n1", Severity: state.Warning, Repeated: 12,
		Text: "a login of ann from 10.0.0.1 was refused", Until: &until})
	if got := status.Text(o, 80); got != want {
		t.Errorf("printed:\n%s", got)
	}
}

// Nothing that a client names a database or a node moves the cursor, and no line is longer than the terminal is wide.
func TestText_hostile(t *testing.T) {
	for _, width := range []int{-1, 60, 80, 200} {
		for line := range strings.Lines(status.Text(overview(), width)) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > max(width, 60) {
				t.Errorf("%d characters, where there are %d: %s", n, width, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", line)
			}
		}
	}
	for want, jobs := range map[string]map[string]int{"JOBS  none": {}, "JOBS  unknown: the store did not answer in time": nil} {
		if text := status.Text(&state.Overview{Jobs: jobs}, 80); !strings.Contains(text, want) {
			t.Error(text)
		}
	}
	read := time.Now()
	old := &state.Overview{Jobs: map[string]int{"pending": 1}, Read: &read, Now: read.Add(12 * time.Second)}
	const want = "JOBS  1 pending (as of 12 s ago: the store does not answer now"
	if text := status.Text(old, 80); !strings.Contains(text, want) {
		t.Error(text)
	}
}

func TestExit(t *testing.T) {
	for word, want := range map[string]int{"ok": 0, "working": 0, "degraded": 1, "failed": 2, "": 2} {
		if got := status.Exit(&state.Overview{State: word}); got != want {
			t.Errorf("%q exits with %d", word, got)
		}
	}
}

func TestFetch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, password, _ := r.BasicAuth(); {
		case r.URL.Path != "/_dashboard/api/overview":
			http.NotFound(w, r)
		case password == "nothing":
			fmt.Fprint(w, "hello")
		case password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"unauthorized","reason":"You are not a server admin."}`)
		default:
			fmt.Fprint(w, `{"state":"ok","node":"n1"}`)
		}
	}))
	defer s.Close()
	at := func(password string) string { return strings.Replace(s.URL, "//", "//anna:"+password+"@", 1) }
	o, text, err := status.Fetch(t.Context(), at("secret")+"/", 10)
	if err != nil || o.State != "ok" || o.Node != "n1" || string(text) != `{"state":"ok","node":"n1"}` {
		t.Errorf("%+v %s %v", o, text, err)
	}
	if _, _, err := status.Fetch(t.Context(), at("wrong"), 10); !errors.Is(err, status.ErrLogin) {
		t.Errorf("a refused login: %v", err)
	}
	if _, _, err := status.Fetch(t.Context(), at("nothing"), 10); errors.Is(err, status.ErrLogin) {
		t.Errorf("an answer that is none: %v", err)
	}
	for address, want := range map[string]string{
		at("wrong"): "You are not a server admin.", at("nothing"): "no overview", "localhost:5984": "must have the form",
		"http://anna:wrong@127.0.0.1:1": "refused",
	} {
		if _, _, err := status.Fetch(t.Context(), address, 10); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A server that accepts connections and never answers is named as such.
func TestUp_silentServer(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the kernel accepts the connections
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := status.Up(ctx, "http://"+l.Addr().String()); err == nil ||
		!strings.Contains(err.Error(), "it did not answer within") {
		t.Error(err)
	}
}

// As many events are shown as are asked for, whatever an overview has of them, also as JSON. What a node of a later
// version says beside them is passed on.
func TestFetch_events(t *testing.T) {
	list := func(from, n int) (list []state.Event) {
		for i := range n {
			list = append(list, state.Event{ID: fmt.Sprint(from + i)})
		}
		return list
	}
	const all = 730
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]any{"state": "ok", "later": 1, "events": list(0, 12)}
		if r.URL.Path == "/_dashboard/api/events" {
			limit, _ := strconv.Atoi(r.FormValue("limit"))
			from, _ := strconv.Atoi(r.FormValue("after"))
			page := state.EventPage{Events: list(from, min(limit, 500, all-from))}
			if from += len(page.Events); from < all {
				page.Next = strconv.Itoa(from)
			}
			answer = page
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	for asked, want := range map[int]int{0: 0, 5: 5, 12: 12, 100: 100, 600: 600, 1000: all} {
		o, text, err := status.Fetch(t.Context(), s.URL, asked)
		if err != nil {
			t.Fatal(err)
		}
		var told struct {
			Later  int
			Events []state.Event
		}
		if err := json.Unmarshal(text, &told); err != nil || told.Later != 1 {
			t.Errorf("%v, %s", err, text)
		}
		for _, got := range [][]state.Event{o.Events, told.Events} {
			if len(got) != want || want > 0 && got[want-1].ID != strconv.Itoa(want-1) {
				t.Errorf("asked for %d events: %d", asked, len(got))
			}
		}
	}
}
