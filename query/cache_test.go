package query_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestServer_CachedStatements checks that a repeated query is resolved as of now, in both protocols.
func TestServer_CachedStatements(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	for _, mode := range []string{"simple_protocol", "exec", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			conn := connect(t, "postgres://ann@"+addr+"/cities?default_query_exec_mode="+mode)
			first := func(sql string) string {
				t.Helper()
				var v string
				if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				return v
			}
			do := func(sql string) {
				t.Helper()
				if _, err := conn.Exec(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			for range 3 {
				if got := first("SELECT count(*)::text FROM docs"); got != "5" {
					t.Fatalf("%s documents", got)
				}
			}
			do("SET search_path = public")
			const query = "SELECT count(*)::text FROM city"
			before := first(query)
			do("SET search_path = information_schema")
			const ambiguous = "SELECT (count(*) > 0)::text FROM schemata"
			if got := first(ambiguous); got != "true" {
				t.Errorf("information_schema: %s", got)
			}
			do("SET search_path = public")
			var v string
			if err := conn.QueryRow(t.Context(), ambiguous).Scan(&v); err == nil {
				t.Errorf("a relation outside of the path is found: %s", v)
			}
			if got := first(query); got != before {
				t.Errorf("%s rows, %s before", got, before)
			}
			do("DISCARD PLANS")
			if got := first(query); got != before {
				t.Errorf("%s rows, %s before", got, before)
			}
		})
	}
}

// TestServer_CachedViews checks that a cached query is bound again if its view has another reduce function or belongs
// to another design document.
func TestServer_CachedViews(t *testing.T) {
	s := exectest.NewStore()
	db := s.Create("db")
	for i := range 3 {
		db.Put(fmt.Sprint(i), `{}`)
	}
	emits := func(value string) exectest.Map {
		return func(_ string, _ json.RawMessage, emit func(k, v string)) { emit(`"k"`, value) }
	}
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/db?default_query_exec_mode=simple_protocol")
	const query = "SELECT sum(value)::text FROM v"
	for i, step := range []struct {
		design, reduce, value, want string
	}{{"a", "_sum", "1", "3"}, {"a", "", "2", "6"}, {"b", "", "4", "12"}, {"b", "_count", "5", "15"},
		{"a", "_sum", "1", "3"}} {
		db.DropViews("a")
		db.DropViews("b")
		db.AddView(step.design, "v", step.reduce, emits(step.value))
		for range 2 {
			var got string
			if err := conn.QueryRow(t.Context(), query).Scan(&got); err != nil || got != step.want {
				t.Errorf("step %d: %s, %v, want %s", i, got, err, step.want)
			}
		}
	}
}

// TestServer_CacheBound checks that the cache of a session is limited, and that its memory is released.
func TestServer_CacheBound(t *testing.T) {
	s := exectest.NewStore()
	s.Create("postgres")
	srv, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/postgres?default_query_exec_mode=simple_protocol")
	for i := range 2000 {
		if _, err := conn.Exec(t.Context(), "SELECT $1::int, 'a text that is not short, so that many of them are long'",
			pgx.QueryExecModeSimpleProtocol, i); err != nil {
			t.Fatal(err)
		}
	}
	if now, _, _ := srv.Memory(); now == 0 || now > 1<<20 {
		t.Errorf("the cache holds %d bytes", now)
	}
	if _, err := conn.Exec(t.Context(), "DISCARD PLANS"); err != nil {
		t.Fatal(err)
	}
	if now, _, _ := srv.Memory(); now != 0 {
		t.Errorf("%d bytes are still held", now)
	}
}

// BenchmarkSimpleQuery measures a short query that is repeated, and one that is new each time.
func BenchmarkSimpleQuery(b *testing.B) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(b, s, nil)
	conn := connect(b, "postgres://ann@"+addr+"/cities?default_query_exec_mode=simple_protocol")
	const text = `SELECT d.id, d.doc->>'name' AS name,
			CASE WHEN (d.doc->>'people')::int > 100000 THEN 'large' ELSE 'small' END
		FROM docs d WHERE d.id = 'oslo' AND d.doc ? 'name' ORDER BY d.id LIMIT 1`
	run := func(b *testing.B, sql func(i int) string) {
		for i := range b.N {
			if _, err := conn.Exec(b.Context(), sql(i)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "statements/s")
	}
	b.Run("again", func(b *testing.B) { run(b, func(int) string { return text }) })
	b.Run("new", func(b *testing.B) {
		run(b, func(i int) string { return fmt.Sprint(text, " -- ", i) })
	})
}
