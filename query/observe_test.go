package query_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec/exectest"
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
	if rows != 7 || !failed {
		t.Errorf("%d rows, failed %v: %+v", rows, failed, ended)
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
