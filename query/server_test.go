package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/query"
	qexec "github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/pgwire"
)

// cities is a small database with two views.
func cities(s *exectest.Store) *exectest.DB {
	db := s.Create("cities")
	for _, c := range []struct{ id, body string }{
		{"bergen", `{"name":"Bergen","country":"NO","pop":285601,"tags":["coast","rain"]}`},
		{"oslo", `{"name":"Oslo","country":"NO","pop":709037,"tags":["capital"]}`},
		{"paris", `{"name":"Paris","country":"FR","pop":2102650,"tags":["capital"],"geo":{"lat":48.8566}}`},
		{"stavanger", `{"name":"Stavanger","country":"NO","pop":null}`},
		{"tromsø", `{"name":"Tromsø","country":"NO","pop":77544}`},
	} {
		db.Put(c.id, c.body)
	}
	db.Put("gone", `{"name":"Gone"}`)
	db.Delete("gone")
	member := func(doc json.RawMessage, name string) string {
		var m map[string]json.RawMessage
		_ = json.Unmarshal(doc, &m)
		return string(m[name])
	}
	db.AddView("by", "city", "", func(_ string, doc json.RawMessage, emit func(k, v string)) {
		if n := member(doc, "name"); n != "" {
			emit(n, member(doc, "pop"))
		}
	})
	db.AddView("by", "country", "_count", func(_ string, doc json.RawMessage, emit func(k, v string)) {
		if c := member(doc, "country"); c != "" {
			emit("["+c+","+member(doc, "name")+"]", "1")
		}
	})
	return db
}

// start runs a server over a store and returns it with its address.
func start(t testing.TB, s *exectest.Store, change func(*query.Options)) (*query.Server, string) {
	t.Helper()
	opts := query.Options{
		Catalog: func(context.Context, query.Principal) (qexec.Catalog, error) { return s, nil },
		Log:     slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&opts)
	}
	srv := query.NewServer(opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; !errors.Is(err, pgwire.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return srv, l.Addr().String()
}

// psql runs the real psql and returns its output.
func psql(t testing.TB, addr, db string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed (apt-get install postgresql-client-15)")
	}
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(t.Context(), path,
		append([]string{"-X", "-h", host, "-p", port, "-U", "ann", "-d", db}, args...)...)
	cmd.Env = append(cmd.Environ(), "PGCONNECT_TIMEOUT=5", "PAGER=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			t.Fatal(err)
		}
	}
	return string(out)
}

func TestServer_Psql(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	for _, c := range []struct{ sql, want string }{
		{`SELECT id, doc->>'name' FROM docs WHERE id = 'oslo'`, "oslo|Oslo\n"},
		{`SELECT id FROM docs WHERE id > 'oslo' ORDER BY id DESC LIMIT 2`, "tromsø\nstavanger\n"},
		{`SELECT id, key, value FROM "by".city WHERE key = 'Oslo'`, "oslo|\"Oslo\"|709037\n"},
		{`SELECT id FROM by.city WHERE key LIKE 'T%'`, "tromsø\n"},
		{`SELECT doc->>'country' AS c, count(*), sum((doc->>'pop')::numeric) FROM docs GROUP BY 1 ORDER BY 2 DESC`,
			"NO|4|1072182\nFR|1|2102650\n"},
		{`SELECT id, deleted FROM changes WHERE deleted`, "gone|t\n"},
	} {
		if got := psql(t, addr, "cities", "-At", "-c", c.sql); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.sql, got, c.want)
		}
	}
	if out := psql(t, addr, "nowhere", "-c", "SELECT 1"); !strings.Contains(out, `database "nowhere" does not exist`) {
		t.Errorf("unknown database: %s", out)
	}
}
