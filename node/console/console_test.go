package console_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
)

func TestConsole_Plots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(3)
		for i := range 100 {
			for n := range 3 {
				r := history.NewReading()
				r[history.DocsWritten], r[history.IndexLag] = float64(i*50*(n+1)), float64(n)
				net.history[n].Add(time.Now(), r)
			}
			time.Sleep(history.Step)
		}
		time.Sleep(-time.Second + history.Step)
		q := console.PlotQuery{Series: []string{"docs_written", "index_lag"}, Span: time.Minute}
		p := consoles[1].Plots(t.Context(), q)
		if p.Step != 5 || len(p.Plots) != 2 || len(p.Plots[0].Nodes) != 3 || len(p.Plots[0].All) != 12 {
			t.Fatalf("plots %+v", p)
		}
		if all, own := p.Plots[0].All[5], p.Plots[0].Nodes[2].Values[5]; all != 60 || own != 30 {
			t.Errorf("%v in all, %v on n3", all, own)
		}
		if p.Plots[1].All[5] != 2 || p.Plots[1].Unit != "s" {
			t.Errorf("the longest lag %+v", p.Plots[1])
		}
		q.From = p.Start + 10*p.Step
		if rest := consoles[1].Plots(t.Context(), q); rest.Start != q.From || len(rest.Plots[0].All) != 2 {
			t.Errorf("the rest %+v", rest)
		}
		for _, from := range []int64{p.Start + 11*p.Step, p.Start + 11*p.Step + 1, 1 << 32, math.MaxInt64} {
			q.From = from
			last := consoles[1].Plots(t.Context(), q)
			if last.Start != p.Start+11*p.Step || len(last.Plots[0].All) != 1 {
				t.Errorf("from %d: %+v", from, last)
			}
		}
		net.silent["n3"] = true
		if p := consoles[1].Plots(t.Context(), q); len(p.Absent) != 1 || len(p.Plots[0].Nodes) != 2 {
			t.Errorf("without n3 %+v", p)
		}
	})
}

// A plot of a long time has no more values than it has pixels for. A page that has seen it asks for the rest, which are
// the same ones that it would get of all, and both are short.
func TestConsole_Plots_thin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, _ := cluster(2)
		measure := func(i int) {
			for n := range 2 {
				r := history.NewReading()
				r[history.DocsWritten], r[history.IndexLag] = float64(i*50), float64(i)
				net.history[n].Add(time.Now(), r)
			}
			time.Sleep(history.Step)
		}
		for i := range 1500 {
			measure(i)
		}
		time.Sleep(-time.Second + history.Step)
		q := console.PlotQuery{Series: []string{"docs_written", "index_lag"}, Span: time.Hour}
		all := consoles[1].Plots(t.Context(), q)
		if all.Step != 10 || len(all.Plots[0].All) != 360 || len(all.Plots[0].Nodes[1].Values) != 360 {
			t.Fatalf("%d values every %d s", len(all.Plots[0].All), all.Step)
		}
		if v, lag := all.Plots[0].All[100], all.Plots[1].All; v != 20 || lag[101] != lag[100]+2 {
			t.Errorf("%v/s, lags %v", v, lag[100:102])
		}
		for i := range 3 {
			measure(1500 + i)
			p := consoles[1].Plots(t.Context(), q)
			part := q
			part.From = p.Start + 358*p.Step
			rest := consoles[1].Plots(t.Context(), part)
			got, want := fmt.Sprint(rest.Plots[1].All), fmt.Sprint(p.Plots[1].All[358:]) // some may be NaN
			if rest.Start != part.From || len(p.Plots[1].All) != 360 || got != want {
				t.Errorf("the rest from %d is %s, want %s", rest.Start, got, want)
			}
		}
		for _, minutes := range []int{1, 15, 45, 6 * 60, 24 * 60} {
			span := time.Duration(minutes) * time.Minute
			q.Span = span
			p := consoles[1].Plots(t.Context(), q)
			n := len(p.Plots[0].All)
			if n > 400 || n < 12 || time.Duration(int64(n)*p.Step)*time.Second < span {
				t.Errorf("of %v there are %d values every %d s", span, n, p.Step)
			}
			last := q
			last.From = p.Start + int64(n-1)*p.Step
			if one := consoles[1].Plots(t.Context(), last); len(one.Plots[0].All) != 1 || one.Start != last.From {
				t.Errorf("the last value of %v is %v", span, one.Plots[0].All)
			}
		}
	})
}

// Who accepts it gets long answers compressed.
func TestConsole_compressed(t *testing.T) {
	_, consoles, _ := cluster(1)
	h := consoles[0].Handler("/api")
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const plots = "/api/plots?series=heap,cpu&span=3600"
	plain := get(plots, "")
	for _, accept := range []string{"gzip", "br, GZIP;q=0.5"} {
		zipped := get(plots, accept)
		unzip, err := gzip.NewReader(zipped.Body)
		if err != nil || zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Body.Len() > plain.Body.Len()/4 {
			t.Fatalf("%s: %v, %v, %d of %d bytes", accept, err, zipped.Header(), zipped.Body.Len(), plain.Body.Len())
		}
		if text, err := io.ReadAll(unzip); err != nil || !json.Valid(text) {
			t.Errorf("%s: %v, %.100s", accept, err, text)
		}
	}
	for _, accept := range []string{"", "br", "gzip;q=0", "gzip; q=0.0", "identity"} {
		if w := get(plots, accept); w.Header().Get("Content-Encoding") != "" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %v", accept, w.Header())
		}
	}
	if w := get("/api/token", "gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Error("a token is compressed")
	}
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// network connects the consoles of a test.
type network struct {
	mu      sync.Mutex
	nodes   map[string]*console.Console
	silent  map[string]bool // nodes that do not answer
	gone    string          // a node that is no member any more
	slow    time.Duration   // how long answers take
	asked   map[string]int
	history []*history.History
	parts   []*parts
	ahead   map[string]time.Duration // how far clocks are ahead
	revoked atomic.Bool              // the users of pages may not see them any more
	// change, unless nil, changes what a member is asked.
	change func(member string, request []byte) []byte
}

// others implements console.Peers for one node.
type others struct {
	of   string
	net  *network
	list []string
}

func (o others) Others() []string {
	o.net.mu.Lock()
	defer o.net.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.list), func(name string) bool { return name == o.net.gone })
}

func (o others) Request(ctx context.Context, member string, request []byte) ([]byte, error) {
	o.net.mu.Lock()
	c, silent, ahead, slow := o.net.nodes[member], o.net.silent[member], o.net.ahead[member], o.net.slow
	o.net.asked[member]++
	o.net.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if c == nil {
		return nil, errors.New("no such member")
	}
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.net.change != nil {
		request = o.net.change(member, request)
	}
	text, err := c.Answer(ctx, o.of, request)
	if err != nil || ahead == 0 {
		return text, err
	}
	var r map[string]json.RawMessage
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	r["now"], _ = json.Marshal(time.Now().Add(ahead))
	return json.Marshal(r)
}

// cluster returns the consoles of nodes n1, n2 ... and their events.
func cluster(n int) (*network, []*console.Console, []*events.Recorder) {
	net := &network{nodes: map[string]*console.Console{}, silent: map[string]bool{}, asked: map[string]int{},
		ahead: map[string]time.Duration{}}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("n", i+1))
	}
	var consoles []*console.Console
	var recorders []*events.Recorder
	for i, name := range names {
		r := events.New(name, slog.New(slog.DiscardHandler))
		rest := append(append([]string{}, names[:i]...), names[i+1:]...)
		net.history = append(net.history, history.New())
		net.parts = append(net.parts, &parts{used: map[string]console.Use{}})
		c := console.New(console.Options{Node: name, Events: r, History: net.history[i],
			Peers: others{name, net, rest}, Here: net.parts[i].here(name, n),
			Acts: net.parts[i].acts(), User: func(context.Context) string { return "anna" },
			From:   func(*http.Request) string { return "192.0.2.1" },
			Still:  func(*http.Request) bool { return !net.revoked.Load() },
			Secret: func() []byte { return []byte("of the cluster") }})
		net.nodes[name] = c
		consoles, recorders = append(consoles, c), append(recorders, r)
	}
	return net, consoles, recorders
}

func TestConsole_Events(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		for i, r := range recorders {
			r.Record(state.Event{Kind: state.Resharded, Database: fmt.Sprint("db", i), Count: 2})
			time.Sleep(time.Second)
		}
		recorders[0].Record(state.Event{Kind: state.MemberJoined, Member: "n9"})
		recorders[1].Record(state.Event{Kind: state.MemberJoined, Member: "n9"})
		page := consoles[2].Events(t.Context(), console.EventQuery{})
		if len(page.Events) != 4 || len(page.Absent) != 0 || page.Next != "" {
			t.Fatalf("page %+v", page)
		}
		if e := page.Events[0]; e.Member != "n9" || e.Node == "n3" || len(e.Also) != 1 {
			t.Errorf("first %+v", e)
		}
		if page.Events[1].Database != "db2" || page.Events[3].Database != "db0" {
			t.Errorf("order %+v", page.Events)
		}
		if got := consoles[0].Events(t.Context(), console.EventQuery{Search: "DB1 resharded"}); len(got.Events) != 1 {
			t.Errorf("found %+v", got.Events)
		}
		first := consoles[0].Events(t.Context(), console.EventQuery{Limit: 3})
		rest := consoles[1].Events(t.Context(), console.EventQuery{Limit: 3, After: first.Next})
		if len(first.Events) != 3 || len(rest.Events) != 1 || rest.Events[0].Database != "db0" || rest.Next != "" {
			t.Errorf("pages %+v and %+v", first, rest)
		}
		// A page whose last event is forgotten meanwhile goes on before its time, and not from the beginning.
		gone := fmt.Sprintf("n1/gone/7@%d", page.Events[1].At.UnixNano())
		if rest = consoles[1].Events(t.Context(), console.EventQuery{After: gone}); len(rest.Events) != 2 ||
			rest.Events[0].Database != "db1" {
			t.Errorf("behind an event that is forgotten: %+v", rest)
		}
		if rest = consoles[1].Events(t.Context(), console.EventQuery{After: page.Events[2].ID}); len(rest.Events) != 1 {
			t.Errorf("behind an id: %+v", rest)
		}

		// A node that does not answer is listed, and delays only the first answer.
		net.silent["n2"] = true
		begin := time.Now()
		page = consoles[0].Events(t.Context(), console.EventQuery{})
		if len(page.Absent) != 1 || page.Absent[0].Node != "n2" || page.Absent[0].Since == nil ||
			page.Absent[0].Reason != "it does not answer" || time.Since(begin) > 1100*time.Millisecond {
			t.Errorf("absent %+v after %v", page.Absent, time.Since(begin))
		}
		if len(page.Events) != 3 {
			t.Errorf("without n2: %+v", page.Events)
		}
		synctest.Wait() // for the request that was given up to be noted
		for range 50 {
			begin = time.Now()
			page = consoles[0].Events(t.Context(), console.EventQuery{})
			if took := time.Since(begin); took > 60*time.Millisecond || len(page.Absent) != 1 {
				t.Fatalf("the next one took %v: %+v", took, page.Absent)
			}
		}
		if net.asked["n2"] > 30 {
			t.Errorf("n2 was asked %d times", net.asked["n2"])
		}
		net.silent["n2"] = false
		time.Sleep(2 * time.Second)
		consoles[0].Events(t.Context(), console.EventQuery{})
		if page = consoles[0].Events(t.Context(), console.EventQuery{}); len(page.Absent) != 0 {
			t.Errorf("n2 answers again, but %+v", page.Absent)
		}
		time.Sleep(2 * time.Second)
	})
}

// A story keeps what a node has told that is restarted afterwards, as long as not all nodes are at once.
func TestConsole_Learn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		net.ahead["n1"] = time.Hour
		heard := time.Now().Add(time.Hour)
		begun := time.Now()
		time.Sleep(2500 * time.Millisecond)
		dead := func(i int, since time.Time) {
			recorders[i].Record(state.Event{Kind: state.MemberDead, Member: "n9", Since: &since,
				At: time.Now().Add(net.ahead[fmt.Sprint("n", i+1)])})
		}
		dead(0, heard)
		recorders[0].Record(state.Event{Kind: state.JobTaken, From: "n9", To: "n1", Job: "index db/1",
			At: time.Now().Add(time.Hour)})
		recorders[0].Record(state.Event{Kind: state.LoginRefused, Address: "10.0.0.7", At: time.Now().Add(time.Hour)})
		time.Sleep(time.Second)
		dead(1, begun)
		before := consoles[2].Events(t.Context(), console.EventQuery{})
		console.Learn(t.Context(), consoles[1], begun.Add(-time.Minute))
		told := func(i int) (text string, all int) {
			page := consoles[i].Events(t.Context(), console.EventQuery{})
			if len(page.Stories) != 1 {
				t.Fatalf("%d stories: %+v", len(page.Stories), page)
			}
			return page.Stories[0].Text, len(page.Events)
		}
		want := before.Stories[0].Text
		if text, all := told(2); text != want || all != len(before.Events) || !strings.Contains(text, "1 job resumed") {
			t.Errorf("when two tell the same: %q, %d events, want %q, %d", text, all, want, len(before.Events))
		}
		restart := func(i int) {
			name := fmt.Sprint("n", i+1)
			recorders[i] = events.New(name, slog.New(slog.DiscardHandler))
			consoles[i] = console.New(console.Options{Node: name, Events: recorders[i], History: net.history[i],
				Peers: others{name, net, slices.DeleteFunc([]string{"n1", "n2", "n3"},
					func(other string) bool { return other == name })}, Here: net.parts[i].here(name, 3)})
			net.mu.Lock()
			net.nodes[name] = consoles[i]
			net.mu.Unlock()
		}
		net.ahead["n1"] = 0
		restart(0)
		if text, all := told(2); text != want || all != len(before.Events)-1 {
			t.Errorf("after n1 was restarted: %q, %d events, want %q", text, all, want)
		}
		console.Learn(t.Context(), consoles[2], time.Time{}) // also of nodes that are not there any more
		restart(1)
		if text, _ := told(1); text != want {
			t.Errorf("after n2 was restarted, too: %q, want %q", text, want)
		}
		time.Sleep(3 * time.Second)
	})
}

// A story has the same number of jobs whoever of those that took them is restarted, and also if they are too many to be
// listed one by one. A node that stops lets the others learn what it tells before.
func TestConsole_Learn_jobs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(3)
		net.ahead["n2"] = time.Hour
		begun := time.Now()
		time.Sleep(2 * time.Second)
		recorders[0].Record(state.Event{Kind: state.MemberDead, Member: "n9", Since: &begun})
		take := func(i, n int) {
			for j := range n {
				name := fmt.Sprint("n", i+1)
				recorders[i].Keep(state.Event{Kind: state.JobTaken, From: "n9", To: name, Job: fmt.Sprint("index db/", j),
					At: time.Now().Add(net.ahead[name])})
				time.Sleep(time.Millisecond)
			}
		}
		told := func() (text string, count int64, rows int) {
			all, _ := consoles[2].All(t.Context())
			for _, e := range all {
				if e.Kind == state.JobTaken {
					count, rows = count+max(1, e.Count), rows+1
				}
			}
			return consoles[2].Events(t.Context(), console.EventQuery{}).Stories[0].Text, count, rows
		}
		check := func(when string, wantRows int) {
			t.Helper()
			const want = "n9 silent 00:00:00.0, given up 00:00:02.0, 690 jobs resumed 00:00:02.0, " +
				"all 700 resumed by 00:01:02.6"
			if text, count, rows := told(); text != want || count != 700 || rows != wantRows {
				t.Errorf("%s: %q, %d jobs in %d rows", when, text, count, rows)
			}
		}
		restart := func(i int) {
			name := fmt.Sprint("n", i+1)
			recorders[i] = events.New(name, slog.New(slog.DiscardHandler))
			consoles[i] = console.New(console.Options{Node: name, Events: recorders[i], History: net.history[i],
				Peers: others{name, net, slices.DeleteFunc([]string{"n1", "n2", "n3"},
					func(other string) bool { return other == name })}, Here: net.parts[i].here(name, 3)})
			net.mu.Lock()
			net.nodes[name] = consoles[i]
			net.mu.Unlock()
		}
		take(1, 80)
		console.Learn(t.Context(), consoles[2], time.Time{}) // while jobs are being taken
		take(0, 610)
		time.Sleep(time.Minute)
		take(1, 10)
		check("all are there", 500+1+90)
		console.Learn(t.Context(), consoles[2], time.Time{})
		check("learned", 500+1+90)
		console.Tell(t.Context(), consoles[0])
		restart(0)
		check("n1 was restarted", 1+90)
		recorders[1].Keep(state.Event{Kind: state.Draining, At: time.Now().Add(time.Hour)})
		console.Tell(t.Context(), consoles[1])
		restart(1)
		check("n2 was restarted", 3)
		page := consoles[2].Events(t.Context(), console.EventQuery{Search: "n2 is being drained"})
		if len(page.Events) != 1 || time.Since(page.Events[0].At).Abs() > time.Second {
			t.Errorf("who was not told that n2 was drained: %+v", page)
		}
		time.Sleep(3 * time.Second)
	})
}

// A node whose clock is behind is asked for its events since a time by that clock.
func TestConsole_Answer_since(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, consoles, recorders := cluster(1)
		recorders[0].Record(state.Event{Kind: state.MemberDead, Member: "n9"})
		ahead := time.Now().Add(time.Hour)
		for _, c := range []struct {
			since, now time.Time
			want       int
		}{{ahead.Add(-time.Second), ahead, 1}, {ahead.Add(time.Second), ahead, 0}, {ahead, time.Time{}, 0},
			{time.Time{}, ahead, 1}} {
			of, _ := json.Marshal(map[string]any{"since": c.since, "now": c.now, "most": 10})
			text, err := consoles[0].Answer(t.Context(), "n2", fmt.Appendf(nil, `{"ask":"events","of":%s}`, of))
			if n := strings.Count(string(text), `"kind":"dead"`); err != nil || n != c.want {
				t.Errorf("%s: %d events, %v", of, n, err)
			}
		}
	})
}

// The times of a node whose clock is wrong are corrected.
func TestConsole_Events_clocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		net, consoles, recorders := cluster(2)
		net.ahead["n2"] = time.Hour
		recorders[0].Record(state.Event{Kind: state.Resharded, Database: "first"})
		time.Sleep(time.Second)
		since := time.Now().Add(time.Hour - 10*time.Second)
		recorders[1].Record(state.Event{Kind: state.MemberDead, Member: "second", At: time.Now().Add(time.Hour),
			Since: &since})
		time.Sleep(time.Second)
		recorders[0].Record(state.Event{Kind: state.Resharded, Database: "third"})
		page := consoles[0].Events(t.Context(), console.EventQuery{})
		if len(page.Events) != 3 || page.Events[1].Member != "second" {
			t.Fatalf("events %+v", page.Events)
		}
		e := page.Events[1]
		if d := time.Since(e.At); d != time.Second || e.At.Sub(*e.Since) != 10*time.Second {
			t.Errorf("%v ago, since %v", d, e.Since)
		}
	})
}

// What a node answers fits a message, whatever has happened.
func TestConsole_Answer_bounded(t *testing.T) {
	_, consoles, recorders := cluster(2)
	long := strings.Repeat("<\x01>", 2000)
	for range 5000 {
		recorders[0].Keep(state.Event{Kind: state.ActorFailed, Detail: long, Actor: long, Database: long, Job: long})
	}
	text, err := consoles[0].Answer(t.Context(), "n2", []byte(`{"ask":"events","of":{"most":5000}}`))
	if err != nil || len(text) > 1<<20 || len(text) < 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for _, bad := range []string{``, `{`, `{"ask":"nothing"}`, `{"ask":"events","of":7}`, `{"ask":"events"}`} {
		if _, err := consoles[0].Answer(t.Context(), "n2", []byte(bad)); err == nil {
			t.Errorf("%q is answered", bad)
		}
	}
}
