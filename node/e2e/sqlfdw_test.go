package e2e_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/divandb/divan/query/pgtest"
)

// A PostgreSQL reads a node's relations as foreign tables, joins them with its own, and writes documents.
func TestSQL_ForeignTables(t *testing.T) {
	theirs := pgtest.URL(t)
	p := start(t, t.TempDir())
	c := p.client()
	c.ok("PUT", "/shop", "")
	c.ok("PUT", "/shop/_design/by",
		`{"views":{"kind":{"map":"function (doc) { emit(doc.kind, doc.n) }","reduce":"_sum"}}}`)
	for _, body := range []string{`{"_id":"a","kind":"x","n":1}`, `{"_id":"b","kind":"x","n":20}`,
		`{"_id":"c","kind":"y","n":3}`} {
		c.ok("POST", "/shop", body)
	}
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE EXTENSION postgres_fdw; CREATE TABLE names (id text, name text); INSERT INTO names VALUES ('a', " +
		"'Anna'), ('c', 'Carl')")
	for _, estimate := range []string{"", ", use_remote_estimate 'true'"} {
		run("CREATE SERVER shop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" + host + "', port '" + port +
			"', dbname 'shop', fetch_size '2', batch_size '10'" + estimate + ")")
		run("CREATE USER MAPPING FOR CURRENT_USER SERVER shop OPTIONS (user 'tester', password_required 'false')")
		run(`CREATE SCHEMA f; IMPORT FOREIGN SCHEMA public FROM SERVER shop INTO f; IMPORT FOREIGN SCHEMA "by" FROM SERVER shop INTO f`)
		for _, q := range []struct{ sql, want string }{
			{"SELECT string_agg(id, ' ' ORDER BY id) FROM f.docs", "a b c"},
			{"SELECT doc->>'kind' FROM f.docs WHERE id = 'b'", "x"},
			{"SELECT count(*)::text FROM f.docs WHERE doc->>'kind' = 'x'", "2"},
			{"SELECT count(*)::text FROM f.docs WHERE doc @> '{\"kind\":\"y\"}'", "1"},
			{"SELECT string_agg(id, ' ') FROM f.docs WHERE doc->'n' > '2'", "b c"},
			{`SELECT sum(value::int)::text FROM f.kind WHERE key = '"x"'`, "21"},
			{"SELECT string_agg(name, ' ' ORDER BY name) FROM names JOIN f.docs USING (id)", "Anna Carl"},
			{"SELECT string_agg(a.id, ' ' ORDER BY a.id) FROM f.docs a " +
				"JOIN f.docs b ON b.doc->'kind' = a.doc->'kind' AND a.id <> b.id", "a b"},
			{"SELECT max(id) || (SELECT count(*) FROM names) FROM f.docs", "c2"},
			{"SELECT string_agg(id, ' ') FROM (SELECT id FROM f.docs ORDER BY id DESC LIMIT 2) x", "c b"},
		} {
			var got string
			if err := conn.QueryRow(t.Context(), q.sql).Scan(&got); err != nil || got != q.want {
				t.Errorf("%s: %q, %v, want %q (estimate %q)", q.sql, got, err, q.want, estimate)
			}
		}
		if estimate != "" {
			// It asks for an estimate of reading ctid.
			if _, err := conn.Exec(t.Context(), "DELETE FROM f.docs WHERE id = 'a'"); sqlCode(err) != "42703" {
				t.Error(err)
			}
			run("DROP SERVER shop CASCADE; DROP SCHEMA f CASCADE")
			continue
		}
		// Writes: rev of an imported table is NULL, and conditions are pushed down.
		run("INSERT INTO f.docs (id, doc) SELECT 'w' || i, jsonb_build_object('n', i) FROM generate_series(1, 25) i")
		run("UPDATE f.docs SET doc = doc || '{\"more\":true}' WHERE id BETWEEN 'w1' AND 'w10'")
		run("DELETE FROM f.docs WHERE id = ANY (ARRAY['w3', 'w4'])")
		if _, err := conn.Exec(t.Context(), "BEGIN; INSERT INTO f.docs (id, doc) VALUES ('w30', '{}'); SAVEPOINT s; "+
			"INSERT INTO f.docs (id, doc) VALUES ('w31', '{}'); ROLLBACK TO s; COMMIT"); err != nil {
			t.Error(err)
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO f.docs (id, doc) VALUES ('w1', '{}')"); sqlCode(err) != "23505" {
			t.Error(err)
		}
		if n := c.object("GET", "/shop", "")["doc_count"]; fmt.Sprint(n) != "28" { // with the design document
			t.Errorf("%v documents", n)
		}
		var more int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM f.docs WHERE doc @> '{"more":true}'`).
			Scan(&more); err != nil || more != 2 {
			t.Errorf("%d documents updated, %v", more, err)
		}
		run("DELETE FROM f.docs WHERE id LIKE 'w%'")
		run("DROP SERVER shop CASCADE; DROP SCHEMA f CASCADE")
	}
}
