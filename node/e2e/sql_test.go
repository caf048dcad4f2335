package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// psql runs statements through the real client and returns rows as psql -At prints them.
func psql(t *testing.T, p *process, db string, statements ...string) (string, error) {
	t.Helper()
	client := need(t, "psql", "install Debian's postgresql-client or the like")
	host, port, err := net.SplitHostPort(p.ready["sql"])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", "tester", "-d", db}
	for _, s := range statements {
		args = append(args, "-c", s)
	}
	cmd := exec.CommandContext(ctx, client, args...)
	cmd.Env = append(os.Environ(), "PGCONNECT_TIMEOUT=10", "PAGER=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%w: %s", err, &stderr)
	}
	return string(out), nil
}

func mustPsql(t *testing.T, p *process, db string, statements ...string) string {
	t.Helper()
	out, err := psql(t, p, db, statements...)
	if err != nil {
		t.Fatalf("%q: %v", statements, err)
	}
	return out
}

func citiesPsql(t *testing.T, p *process, all []city) {
	var oslo []string
	norway := 0
	for _, c := range all {
		if c.Name == "Oslo" {
			oslo = append(oslo, c.ID)
		}
		if c.Country == "NO" {
			norway++
		}
	}
	slices.Sort(oslo)
	for _, q := range []struct{ sql, want string }{
		{`SELECT id FROM "by".name WHERE key = 'Oslo' ORDER BY id`, strings.Join(oslo, "\n")},
		{`SELECT count(*) FROM "by".country WHERE key = 'NO'`, fmt.Sprint(norway)},
		{`SELECT doc->>'name' FROM docs WHERE id = '` + all[0].ID + `'`, all[0].Name},
		{`SELECT id FROM docs WHERE id >= '` + all[0].ID + `' ORDER BY id LIMIT 1`, all[0].ID},
		{`SELECT doc->>'name' FROM docs WHERE id LIKE 'is-%' AND doc->>'name' = 'Akureyri'`, "Akureyri"},
		// including the design document and a deleted one
		{`SELECT count(*) FROM changes`, fmt.Sprint(len(all) + 2)},
		{`SELECT count(*) FROM docs d JOIN "by".country c ON c.id = d.id WHERE c.key = 'NO'`, fmt.Sprint(norway)},
		{`SELECT 1 + 1 AS two`, "2"},
	} {
		if got := strings.TrimSpace(mustPsql(t, p, "cities", q.sql)); got != q.want {
			t.Errorf("%s\ngot  %.200q\nwant %.200q", q.sql, got, q.want)
		}
	}
	plan := mustPsql(t, p, "cities", `EXPLAIN SELECT id FROM "by".name WHERE key = 'Oslo' LIMIT 3`)
	for _, want := range []string{"View", "name", "Oslo"} {
		if !strings.Contains(strings.ToLower(plan), strings.ToLower(want)) {
			t.Errorf("the plan does not show %s:\n%s", want, plan)
		}
	}
	for _, meta := range []struct {
		command string
		shows   []string
	}{
		{`\l`, []string{"cities", "divan"}},
		{`\dt`, []string{"docs", "changes"}},
		{`\d "by".country`, []string{"key", "jsonb", "value"}},
		{`\d docs`, []string{"id", "text", "doc", "jsonb"}},
	} {
		out := mustPsql(t, p, "cities", meta.command)
		for _, want := range meta.shows {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not show %s:\n%s", meta.command, want, out)
			}
		}
	}
	// Mistakes are errors with a position or a hint, and never close the connection.
	for _, bad := range []struct{ sql, says string }{
		{`SELEC 1`, "syntax error"},
		{`SELECT nope FROM docs`, `column "nope" does not exist`},
		{`SELECT * FROM nope`, `relation "nope" does not exist`},
		{`INSERT INTO changes VALUES ('a')`, "HINT"},
		{`TRUNCATE docs`, "HINT"},
	} {
		_, err := psql(t, p, "cities", bad.sql)
		if err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%s: %v, want %q", bad.sql, err, bad.says)
		}
	}
	if _, err := psql(t, p, "nowhere", `SELECT 1`); err == nil ||
		!strings.Contains(err.Error(), `database "nowhere" does not exist`) {
		t.Errorf("an unknown database: %v", err)
	}
}

func connect(t *testing.T, p *process, db, user string) *pgx.Conn {
	t.Helper()
	conn, err := tryConnect(t, p, db, user)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// tryConnect is connect for a client that may be refused.
func tryConnect(t *testing.T, p *process, db, user string) (*pgx.Conn, error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", user, p.ready["sql"], db))
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func citiesPgx(t *testing.T, p *process, all []city) {
	conn := connect(t, p, "cities", "tester")
	want := all[12345]

	// Prepared, with parameters, in binary format.
	var id, rev string
	var doc city
	row := conn.QueryRow(t.Context(), `SELECT id, rev, doc FROM docs WHERE id = $1`, want.ID)
	if err := row.Scan(&id, &rev, &doc); err != nil {
		t.Fatal(err)
	}
	if id != want.ID || doc.Name != want.Name || doc.Rev != rev {
		t.Errorf("got %s %s %+v", id, rev, doc)
	}

	// A range of a view, in its order.
	rows, err := conn.Query(t.Context(), `SELECT key, value, id FROM "by".country WHERE key = $1 ORDER BY key`, `IS`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var key, value json.RawMessage
		var id string
		err := row.Scan(&key, &value, &id)
		return id, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range all {
		if c.Country == "IS" {
			ids = append(ids, c.ID)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("the view has %d rows, want %d", len(got), len(ids))
	}

	// An error leaves the connection usable, and has the fields that tools need.
	_, err = conn.Exec(t.Context(), `SELECT id FROM docs WHERE frob = 1`)
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "42703" || pg.Position == 0 {
		t.Errorf("an unknown column: %#v", err)
	}
	_, err = conn.Exec(t.Context(), `DELETE FROM changes`)
	if !errors.As(err, &pg) || pg.Code != "0A000" || pg.Hint == "" {
		t.Errorf("a write: %#v", err)
	}
	var two int
	if err := conn.QueryRow(t.Context(), `SELECT 1 + 1`).Scan(&two); err != nil || two != 2 {
		t.Errorf("after errors: %d, %v", two, err)
	}

	// A long result is streamed: the first row arrives long before the last one.
	began := time.Now()
	all2, err := conn.Query(t.Context(), `SELECT id FROM docs`)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var first time.Duration
	for all2.Next() {
		if n == 0 {
			first = time.Since(began)
		}
		n++
	}
	if err := all2.Err(); err != nil || n != len(all) {
		t.Errorf("%d rows, %v", n, err)
	}
	if total := time.Since(began); first > total/2 {
		t.Errorf("the first row came after %v of %v", first, total)
	}
}

// The users of HTTP are also the users of SQL, by SCRAM-SHA-256.
func TestSQL_Users(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	admin := p.as("root:sesame")
	admin.ok("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","password":"relax","roles":["dev"],"type":"user"}`)
	admin.ok("PUT", "/open", "")
	admin.ok("PUT", "/open/_security", `{"members":{"roles":["dev"]}}`)
	admin.ok("PUT", "/shut", "")
	admin.ok("PUT", "/shut/_security", `{"members":{"roles":["_admin"]}}`)
	for _, c := range []struct {
		user, password, db string
		code               string // SQLSTATE, or empty if it works
	}{
		{"root", "sesame", "shut", ""},
		{"root", "relax", "shut", "28P01"},
		{"jan", "relax", "open", ""},
		{"jan", "relay", "open", "28P01"},
		{"ghost", "relax", "open", "28P01"},
		{"jan", "relax", "shut", "42501"},
		{"jan", "relax", "_users", "42501"},
	} {
		conn, err := pgx.Connect(t.Context(),
			fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", c.user, c.password, p.ready["sql"], c.db))
		if err == nil {
			_, err = conn.Exec(t.Context(), `SELECT id FROM docs`)
			conn.Close(t.Context())
		}
		var pg *pgconn.PgError
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s:%s on %s: %v", c.user, c.password, c.db, err)
		case c.code != "" && (!errors.As(err, &pg) || pg.Code != c.code):
			t.Errorf("%s:%s on %s: %v, want %s", c.user, c.password, c.db, err, c.code)
		}
	}
}
