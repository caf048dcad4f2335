package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
)

// sqlServer serves a console whose SQL is a function, and returns a function that posts a statement.
func sqlServer(t *testing.T, run func(context.Context, console.Statement, console.Results) error) func(
	ctx context.Context, body string, header ...string) *http.Response {
	t.Helper()
	p := &parts{used: map[string]console.Use{}}
	c := console.New(console.Options{Node: "n1", Events: events.New("n1", nil), History: history.New(),
		Here: p.here("n1", 1), Acts: p.acts(), SQL: run, User: func(context.Context) string { return "anna" },
		Still: func(*http.Request) bool { return true }, Secret: func() []byte { return []byte("secret") }})
	server := httptest.NewServer(c.Handler("/api"))
	t.Cleanup(server.Close)
	get, err := server.Client().Get(server.URL + "/api/token") //nolint:noctx // it answers at once
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(get.Body)
	_ = get.Body.Close()
	_, token, _ := strings.Cut(string(text), `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	return func(ctx context.Context, body string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/api/sql", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(console.TokenHeader, token)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
}

func TestConsole_SQL(t *testing.T) {
	rows := func(n int) func(context.Context, console.Statement, console.Results) error {
		return func(_ context.Context, s console.Statement, to console.Results) error {
			if s.User != "anna" || s.Database != "d<b" || s.SQL != "q" {
				return errors.New("wrong statement")
			}
			if err := to.Columns([]state.SQLColumn{{Name: "a\n</script>", Type: "text"}, {Name: "b", Type: "jsonb"}}); err != nil {
				return err
			}
			for range n {
				if err := to.Row([][]byte{[]byte("x\"\x00"), nil}); err != nil {
					return err
				}
			}
			return to.Done("SELECT 2")
		}
	}
	read := func(r *http.Response) string { text, _ := io.ReadAll(r.Body); return string(text) }
	const ask = `{"database":"d<b","sql":"q","rows":2}`
	head := `{"columns":[{"name":"a\n\u003c/script\u003e","type":"text"},{"name":"b","type":"jsonb"}]}` + "\n"
	row := `["x\"\u0000",null]` + "\n"
	if got := read(sqlServer(t, rows(2))(t.Context(), ask)); got != head+row+row+`{"done":"SELECT 2"}`+"\n" {
		t.Errorf("got %s", got)
	}
	if got := read(sqlServer(t, rows(3))(t.Context(), ask)); !strings.HasPrefix(got, head+row+row+`{"more":"There are more `) {
		t.Errorf("more rows than wanted: %s", got)
	}
	none := func(_ context.Context, _ console.Statement, to console.Results) error {
		if err := to.Columns([]state.SQLColumn{}); err != nil {
			return err
		}
		if err := to.Row(nil); err != nil {
			return err
		}
		return to.Done("SELECT 1")
	}
	if got := read(sqlServer(t, none)(t.Context(), ask)); got != `{"columns":[]}`+"\n[]\n"+`{"done":"SELECT 1"}`+"\n" {
		t.Errorf("without columns: %s", got)
	}
	const thousand = `{"database":"d<b","sql":"q"}`
	if got := read(sqlServer(t, rows(1001))(t.Context(), thousand)); !strings.Contains(got, "more than 1,000 rows.") {
		t.Errorf("more rows than usual: %s", got[len(got)-200:])
	}
	long := func(_ context.Context, _ console.Statement, to console.Results) error {
		for range 20 {
			if err := to.Row([][]byte{make([]byte, 1<<20)}); err != nil {
				return err
			}
		}
		return nil
	}
	// NUL takes six bytes in JSON.
	if got := read(sqlServer(t, long)(t.Context(), ask)); len(got) > 30<<20 || !strings.Contains(got[len(got)-300:], `{"more":`) {
		t.Errorf("%d bytes, at the end %s", len(got), got[len(got)-300:])
	}
	fails := func(_ context.Context, _ console.Statement, to console.Results) error {
		if err := to.Notice(&state.SQLError{Code: "01000", Message: "careful"}); err != nil {
			return err
		}
		return &state.SQLError{Code: "42601", Message: "syntax error", Hint: "mend it", Position: 3}
	}
	if got := read(sqlServer(t, fails)(t.Context(), ask)); got != `{"notice":{"code":"01000","message":"careful"}}`+"\n"+
		`{"error":{"code":"42601","message":"syntax error","hint":"mend it","position":3}}`+"\n" {
		t.Errorf("got %s", got)
	}

	post := sqlServer(t, rows(1))
	for _, c := range []struct {
		body   string
		header []string
		status int
	}{
		{ask, []string{console.TokenHeader, "wrong"}, 403},
		{ask, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{ask, []string{"Origin", "http://elsewhere"}, 403},
		{ask, []string{"Content-Type", "text/plain"}, 415},
		{`{"database":"d","sql":"q","user":"root"}`, nil, 400},
		{`{"sql":"q"}`, nil, 400},
		{"{\"database\":\"d\",\"sql\":\"q\xff\"}", nil, 400},
		{`{"database":"d","sql":"q"} {}`, nil, 400},
		{`{"database":"d","sql":"q"}` + " \r\n\t", nil, 200},
		{`{"database":"d","sql":"q","rows":10001}`, nil, 400},
		{`{"database":"d","sql":"q","explain":"analyze"}`, nil, 400},
		{`{"database":"d","sql":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 400},
	} {
		r := post(t.Context(), c.body, c.header...)
		if text := read(r); r.StatusCode != c.status || strings.Contains(text, "json:") {
			t.Errorf("%.60s %v: %d %s", c.body, c.header, r.StatusCode, text)
		}
	}
	if text := read(post(t.Context(), `{"database":"d","sql":"q","rows":"7"}`)); text != `{"error":"bad_request","reason":`+
		`"The body must be an object with `+"`database` and `sql`: `rows` must be a whole number"+`."}` {
		t.Errorf("got %s", text)
	}
}

// Rows arrive while the statement runs, and it is cancelled when the browser disconnects.
func TestConsole_SQLStreams(t *testing.T) {
	ended := make(chan struct{}) // closed when the statement has ended
	post := sqlServer(t, func(ctx context.Context, _ console.Statement, to console.Results) error {
		defer close(ended)
		if err := to.Row([][]byte{[]byte("first")}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	line := make([]byte, 100)
	n, err := post(ctx, `{"database":"d","sql":"q"}`).Body.Read(line)
	if err != nil || string(line[:n]) != `["first"]`+"\n" {
		t.Errorf("%q, %v", line[:n], err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the statement still runs")
	}
}

// What is wrong with the store is said in plain words.
func TestConsole_Plain(t *testing.T) {
	p := &parts{used: map[string]console.Use{}}
	here := p.here("n1", 1)
	here.Jobs = func(context.Context) iter.Seq2[state.Job, error] {
		return func(yield func(state.Job, error) bool) { yield(state.Job{}, errors.New("kv: no (1031)")) }
	}
	raw := errors.New("kv: no (1031)")
	here.Indexes = func(context.Context) (iter.Seq[state.Index], console.Known) {
		return slices.Values([]state.Index{{}}), console.Known{Named: true}
	}
	here.Index = func(context.Context, state.Index) (state.Index, error) { return state.Index{}, raw }
	acts := p.acts()
	acts.Compact = func(context.Context, string) error { return raw }
	recorded := events.New("n1", slog.New(slog.DiscardHandler))
	c := console.New(console.Options{Node: "n1", Events: recorded, History: history.New(),
		Here: here, Acts: acts, User: func(context.Context) string { return "anna" },
		Plain: func(err error) string {
			if strings.HasPrefix(err.Error(), "kv: ") {
				return "the store rests"
			}
			return ""
		},
		Still: func(*http.Request) bool { return true }, Secret: func() []byte { return []byte("secret") }})
	h := c.Handler("/api")
	answer := func(r *http.Request) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	var token struct{ Token string }
	_, text, _ := strings.Cut(answer(httptest.NewRequest("GET", "/api/token", nil)), " ")
	if err := json.Unmarshal([]byte(text), &token); err != nil {
		t.Fatal(err)
	}
	act := httptest.NewRequest("POST", "/api/act", strings.NewReader(`{"do":"compact","database":"a"}`))
	act.Header.Set(console.TokenHeader, token.Token)
	act.Header.Set("Content-Type", "application/json")
	for name, got := range map[string]string{
		"jobs":    answer(httptest.NewRequest("GET", "/api/jobs", nil)),
		"indexes": answer(httptest.NewRequest("GET", "/api/indexes", nil)),
		"act":     answer(act),
	} {
		want := map[string]string{"jobs": `503 {"error":"service_unavailable","reason":"the store rests"}`,
			"indexes": `"partial":"The state of indexes is older: the store rests"`,
			"act":     `503 {"error":"service_unavailable","reason":"the store rests."}`}[name]
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if e := recorded.List(time.Time{}, 1); len(e) != 1 || e[0].Detail != "the store rests" {
		t.Errorf("events %+v", e)
	}
	// What other nodes are told is that too.
	asked := []byte(`{"ask":"act","of":{"do":"compact","database":"a"}}`)
	if _, err := c.Answer(t.Context(), "n2", asked); err == nil || err.Error() != "the store rests" {
		t.Errorf("answer %v", err)
	}
}
