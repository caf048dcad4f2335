package query_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/sqlstate"
)

// Each statement is reported when it has ended, with its rows, but never with a password.
func TestServer_Observe(t *testing.T) {
	var mu sync.Mutex
	var ended []query.Ended
	s := exectest.NewStore()
	s.Create("cities")
	_, addr := start(t, s, func(o *query.Options) {
		o.Observe = func(e query.Ended) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, e)
		}
	})
	conn := dial(t, addr)
	for _, sql := range []string{"SELECT generate_series(1, 7)", "SELECT 1/0", "ALTER USER me PASSWORD 'a secret'",
		"/* x */ alter role me\nwith password 'a secret' nonsense"} {
		_, _ = conn.Exec(t.Context(), sql)
	}
	mu.Lock()
	defer mu.Unlock()
	rows, failed := int64(0), false
	for _, e := range ended {
		if e.Statement == "SELECT generate_series(1, 7)" {
			rows += e.Rows
		}
		failed = failed || e.Statement == "SELECT 1/0"
		if e.PID == 0 || e.Took < 0 || e.Took > 1e10 || e.User == "" || e.Statement == "" {
			t.Errorf("reported %+v", e)
		}
		if strings.Contains(e.Statement, "a secret") {
			t.Error("a password is reported")
		}
	}
	for _, e := range ended {
		if (e.Failed != nil) == strings.HasPrefix(e.Statement, "SELECT generate") || e.Cut {
			t.Errorf("%q is reported with the error %v", e.Statement, e.Failed)
		}
	}
	if rows != 7 || !failed {
		t.Errorf("%d rows, failed %v: %+v", rows, failed, ended)
	}
}

// A statement is reported however it ends, and how.
func TestServer_Observe_ends(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("cities")
	for i := range 200 {
		db.Put(fmt.Sprintf("c%03d", i), "{}")
	}
	const long = "SELECT count(*) FROM docs a, docs b, docs c, docs d WHERE a.id < b.id"
	for way, end := range map[string]func(srv *query.Server, pid uint32) bool{
		"cancelled":  func(srv *query.Server, pid uint32) bool { return srv.Wire().Cancel(pid) },
		"terminated": func(srv *query.Server, pid uint32) bool { return srv.Wire().Terminate(pid) },
	} {
		t.Run(way, func(t *testing.T) {
			reports := make(chan query.Ended, 100)
			srv, addr := start(t, s, func(o *query.Options) { o.Observe = func(e query.Ended) { reports <- e } })
			conn := dial(t, addr)
			done := make(chan error, 1)
			go func() {
				_, err := conn.Exec(t.Context(), long)
				done <- err
			}()
			for len(srv.Sessions()) == 0 || srv.Sessions()[0].State != "active" {
				time.Sleep(time.Millisecond)
			}
			if !end(srv, srv.Sessions()[0].PID) {
				t.Error("there is no such session")
			}
			if err := <-done; err == nil {
				t.Error("the statement has not failed")
			}
			for {
				select {
				case e := <-reports:
					if e.Statement != long {
						continue
					}
					code := sqlstate.Code("")
					if e.Failed != nil {
						code = e.Failed.Code
					}
					if e.Cut != (way != "cancelled") || (code == sqlstate.QueryCanceled) != (way == "cancelled") {
						t.Errorf("it is reported as %+v, %v", e, e.Failed)
					}
				case <-time.After(10 * time.Second):
					t.Error("it is not reported")
				}
				return
			}
		})
	}
}

// The plan of a slow statement is reported, with the rows that its reads have examined.
func TestServer_Slow(t *testing.T) {
	for _, slow := range []time.Duration{1, time.Hour} {
		var mu sync.Mutex
		var ended []query.Ended
		s := exectest.NewStore()
		cities := s.Create("cities")
		for i := range 30 {
			cities.Put(fmt.Sprintf("c%02d", i), fmt.Sprintf(`{"n":%d}`, i))
		}
		_, addr := start(t, s, func(o *query.Options) {
			o.Slow = slow
			o.Observe = func(e query.Ended) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, e)
			}
		})
		conn := dial(t, addr)
		const statement = "SELECT id FROM docs WHERE (doc->>'n')::int > 20"
		for range 2 { // nothing is left for the next statement
			_, _ = conn.Exec(t.Context(), statement)
			_, _ = conn.Exec(t.Context(), "SELECT")
		}
		mu.Lock()
		planned := 0
		for _, e := range ended {
			if e.Plan == "" {
				continue
			}
			if e.Statement != statement {
				continue // its own plan
			}
			planned++
			if !strings.Contains(e.Plan, "rows=9") || e.Examined != 30 {
				t.Errorf("examined %d: %s", e.Examined, e.Plan)
			}
		}
		if want := map[bool]int{true: 2}[slow == 1]; planned != want {
			t.Errorf("%d plans for %v, want %d: %+v", planned, slow, want, ended)
		}
		mu.Unlock()
	}
}

// A statement of which only a part is shown is said to be cut: the rest may limit what it does.
func TestServer_CutStatement(t *testing.T) {
	s := exectest.NewStore()
	s.Create("cities")
	var mu sync.Mutex
	var shown []string
	_, addr := start(t, s, func(o *query.Options) {
		o.Observe = func(e query.Ended) {
			mu.Lock()
			defer mu.Unlock()
			shown = append(shown, e.Statement)
		}
	})
	conn := dial(t, addr)
	for _, n := range []int{1024, 1025, 5000} {
		const begin, end = "SELECT 'x", "'"
		statement := begin[:len(begin)-n%2] + strings.Repeat("é", (n-len(begin)-len(end)+n%2)/2) + end
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		got := shown[len(shown)-1]
		mu.Unlock()
		whole := got == statement
		if whole != (n <= 1024) || !whole && !strings.HasSuffix(got, "é… (cut)") || len(got) > 1024 {
			t.Errorf("%d bytes are shown as %d: %q", n, len(got), got)
		}
	}
}

// A statement that runs for long is described while it runs, whatever part of its plan is at work.
func TestServer_Running(t *testing.T) {
	query.ReportEvery(t, 1)
	s := exectest.NewStore()
	db := s.Create("cities")
	for i := range 200 {
		db.Put(fmt.Sprintf("c%03d", i), fmt.Sprintf(`{"n":%d}`, i))
	}
	srv, addr := start(t, s, nil)
	conn := dial(t, addr)
	only := func() query.Session {
		t.Helper()
		list := srv.Sessions()
		if len(list) != 1 {
			t.Fatalf("%d sessions", len(list))
		}
		return list[0]
	}
	for sql, node := range map[string]string{
		"SELECT count(*) FROM docs a, docs b, docs c, docs d WHERE a.doc->>'n' < b.doc->>'n'":        "Nested Loop",
		"SELECT a.id FROM docs a, docs b, docs c, docs d ORDER BY a.doc->>'n', b.id DESC":            "Sort",
		"WITH RECURSIVE t AS (SELECT id FROM docs UNION ALL SELECT id FROM t) SELECT max(id) FROM t": "Recursive Union",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Exec(ctx, sql)
			ended <- err
		}()
		var now query.Session
		for now.Examined == 0 {
			select {
			case err := <-ended:
				t.Fatalf("%s: %v", sql, err)
			case <-time.After(time.Millisecond):
				now = only()
			}
		}
		if !strings.Contains(now.Plan, node) || now.Statement != sql || now.State != "active" {
			t.Errorf("%+v", now)
		}
		cancel()
		<-ended
		conn = dial(t, addr) // a cancelled context closes the other
		for len(srv.Sessions()) > 1 {
			time.Sleep(time.Millisecond)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT id FROM docs"); err != nil {
		t.Fatal(err)
	}
	if now := only(); now.Plan != "" || now.Examined != 0 || now.Returned != 0 || now.Rows != 200 {
		t.Errorf("when it has ended: %+v", now)
	}
}
