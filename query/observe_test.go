package query_test

import (
	"strings"
	"sync"
	"testing"

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
