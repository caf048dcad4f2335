package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sqlUsers starts a node with an admin root, users jan and eve with the role dev, and a database that devs can read.
func sqlUsers(t *testing.T) (*process, *client) {
	t.Helper()
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	admin := p.as("root:sesame")
	admin.ok("PUT", "/db", "")
	for _, user := range []string{"jan", "eve"} {
		admin.ok("PUT", "/_users/org.couchdb.user:"+user,
			fmt.Sprintf(`{"name":%q,"password":"relax","roles":["dev"],"type":"user"}`, user))
	}
	admin.ok("PUT", "/db/_security", `{"members":{"roles":["dev"]}}`)
	admin.ok("PUT", "/db/oslo", `{"name":"Oslo"}`)
	admin.ok("PUT", "/db/_design/by", `{"views":{"name":{"map":"function (doc) { emit(doc.name, 1) }"}}}`)
	return p, admin
}

func sqlCode(err error) string {
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &pe):
		return pe.Code
	}
	return err.Error()
}

// Users can see and end their own statements, and admins those of everyone. The messages are PostgreSQL 15's.
func TestSQL_OtherPeoplesStatements(t *testing.T) {
	p, _ := sqlUsers(t)
	jan, eve, root := connect(t, p, "db", "jan:relax"), connect(t, p, "db", "eve:relax"),
		connect(t, p, "db", "root:sesame")
	secret := "SELECT pg_sleep(600), 'a secret of jan'"
	ended := make(chan error, 1)
	go func() {
		_, err := jan.Exec(context.Background(), secret)
		ended <- err
	}()
	pid := jan.PgConn().PID()
	// When an admin sees the statement, it is running.
	eventually(t, "jan's statement is seen", time.Minute, func() bool {
		var state, query string
		err := root.QueryRow(t.Context(),
			"SELECT coalesce(state, ''), coalesce(query, '') FROM pg_stat_activity WHERE pid = $1",
			int32(pid)).Scan(&state, &query)
		return err == nil && state == "active" && query == secret
	})
	var user, query string
	var state, client *string
	err := eve.QueryRow(t.Context(),
		"SELECT usename, query, state, client_addr::text FROM pg_stat_activity WHERE pid = $1", int32(pid)).
		Scan(&user, &query, &state, &client)
	if err != nil || user != "jan" || query != "<insufficient privilege>" || state != nil || client != nil {
		t.Errorf("eve sees %s %q %v %v, %v", user, query, state, client, err)
	}
	for _, src := range []string{"SELECT count(*) FROM divan.sessions WHERE username <> 'eve'",
		"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%secret of%jan' AND usename <> 'eve'"} {
		var n int
		if err := eve.QueryRow(t.Context(), src).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", src, n, err)
		}
	}
	for _, c := range []struct{ src, code, message string }{
		{fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid), "42501",
			"must be a member of the role whose query is being canceled or member of pg_signal_backend"},
		{fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid), "42501",
			"must be a member of the role whose process is being terminated or member of pg_signal_backend"},
		{fmt.Sprintf("SELECT pg_cancel_backend(%d)", root.PgConn().PID()), "42501",
			"must be a superuser to cancel superuser query"},
		{fmt.Sprintf("SELECT pg_terminate_backend(%d)", root.PgConn().PID()), "42501",
			"must be a superuser to terminate superuser process"},
		// Users are told of no others, whether they exist or not.
		{"SET ROLE root", "22023", `role "root" does not exist`},
		{"SET SESSION AUTHORIZATION root", "22023", `role "root" does not exist`},
		{"SET ROLE divan", "42501", `permission denied to set role "divan"`},
	} {
		_, err := eve.Exec(t.Context(), c.src)
		if sqlCode(err) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.src, err)
		}
	}
	var told []string
	for _, e := range p.as("root:sesame").events("not allowed to eve").Events {
		told = append(told, strings.Replace(e.Text, e.Node, "NODE", 1))
	}
	if want := fmt.Sprintf("not allowed to eve: session %d on NODE ended; the session belongs to another user",
		pid); len(told) != 4 || !slices.Contains(told, want) {
		t.Errorf("events %q, want 4 and %q", told, want)
	}
	var done bool
	if err := eve.QueryRow(t.Context(), "SELECT pg_cancel_backend(1)").Scan(&done); err != nil || done {
		t.Errorf("nobody's: %v, %v", done, err)
	}
	// Her own statements and an admin's.
	other := connect(t, p, "db", "jan:relax")
	if err := other.QueryRow(t.Context(), "SELECT pg_cancel_backend($1)", int32(pid)).Scan(&done); err != nil || !done {
		t.Errorf("cancel one's own: %v, %v", done, err)
	}
	if err := <-ended; sqlCode(err) != "57014" {
		t.Errorf("the cancelled statement: %v", err)
	}
	if err := root.QueryRow(t.Context(), "SELECT pg_terminate_backend($1)", int32(pid)).Scan(&done); err != nil ||
		!done {
		t.Errorf("terminate as an admin: %v, %v", done, err)
	}
	if _, err := jan.Exec(t.Context(), "SELECT 1"); sqlCode(err) == "" {
		t.Error("the terminated session answers")
	}
	// What was done to the sessions of others is on record, and what was refused is not.
	rows, err := root.Query(t.Context(), "SELECT regexp_replace(text, '[0-9]+ on [^ ]+', '..') FROM divan.events "+
		"WHERE kind = 'action' ORDER BY at")
	if err != nil {
		t.Fatal(err)
	}
	acted, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{"statement of session .. cancelled by jan", "session .. ended by root"}; err != nil ||
		!slices.Equal(acted, want) {
		t.Errorf("acted %q, %v", acted, err)
	}
}

// Permissions are checked again whenever a prepared statement, a cursor or a feed continues.
func TestSQL_PermissionsThatChange(t *testing.T) {
	p, admin := sqlUsers(t)
	open := func() { admin.ok("PUT", "/db/_security", `{"members":{"roles":["dev"]}}`) }
	shut := func() { admin.ok("PUT", "/db/_security", `{"members":{"roles":["ops"]}}`) }
	read := func(c *pgx.Conn, what, name, want string) {
		t.Helper()
		_, err := c.Exec(t.Context(), name)
		if got := sqlCode(err); got != want {
			t.Errorf("%s: %s answers %q, want %q: %v", what, name, got, want, err)
		}
	}
	jan := connect(t, p, "db", "jan:relax")
	for name, src := range map[string]string{"docs": "SELECT id FROM docs", "view": `SELECT key FROM "by".name`,
		"one":  "SELECT id FROM docs WHERE id = 'oslo'",
		"plan": "EXPLAIN SELECT key FROM \"by\".name"} {
		if _, err := jan.Prepare(t.Context(), name, src); err != nil {
			t.Fatal(err)
		}
		read(jan, "a member", name, "")
	}
	if _, err := jan.Exec(t.Context(), "PREPARE p AS SELECT id FROM docs"); err != nil {
		t.Fatal(err)
	}
	if _, err := jan.Exec(t.Context(),
		"DECLARE held CURSOR WITH HOLD FOR SELECT id FROM docs; FETCH held"); err != nil {
		t.Fatal(err)
	}
	shut()
	for _, name := range []string{"docs", "view", "one", "plan", "EXECUTE p", "FETCH held"} {
		read(jan, "no member any more", name, "42501")
	}
	open()
	for _, name := range []string{"docs", "view", "one", "plan", "EXECUTE p"} {
		read(jan, "a member again", name, "")
	}

	// A feed ends at the first change after the permission was withdrawn, without showing it.
	eve := connect(t, p, "db", "eve:relax")
	rows, err := eve.Query(t.Context(), "SELECT id FROM changes_follow")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for seen < 2 && rows.Next() {
		seen++
	}
	shut()
	admin.ok("PUT", "/db/secret", `{}`)
	for rows.Next() {
		var id string
		if _ = rows.Scan(&id); id == "secret" {
			t.Error("a feed shows what its reader may no longer see")
		}
	}
	if sqlCode(rows.Err()) != "42501" {
		t.Errorf("the feed ends with %v", rows.Err())
	}
	open()

	// Now the view.
	body := admin.object("GET", "/db/_design/by", "")
	rev, _ := body["_rev"].(string)
	r := admin.object("PUT", "/db/_design/by",
		fmt.Sprintf(`{"_rev":%q,"views":{"name":{"map":"function (doc) { emit(doc.name + '!', 1) }"}}}`, rev))
	rev, _ = r["rev"].(string)
	var key string
	if err := jan.QueryRow(t.Context(), "view").Scan(&key); err != nil || !strings.Contains(key, "!") {
		t.Errorf("a view that has changed: %s, %v", key, err)
	}
	admin.ok("DELETE", "/db/_design/by?rev="+rev, "")
	read(jan, "a view that has gone", "view", "42P01")

	// Now the user, first its roles and then its existence, and the database.
	user := admin.object("GET", "/_users/org.couchdb.user:jan", "")
	rev, _ = user["_rev"].(string)
	r = admin.object("PUT", "/_users/org.couchdb.user:jan",
		fmt.Sprintf(`{"_rev":%q,"name":"jan","password":"relax","roles":[],"type":"user"}`, rev))
	rev, _ = r["rev"].(string)
	read(jan, "without the role", "docs", "42501")
	read(jan, "without the role", "SELECT count(*) FROM divan.databases", "")
	admin.ok("DELETE", "/_users/org.couchdb.user:jan?rev="+rev, "")
	read(jan, "deleted", "docs", "42501")
	read(jan, "deleted", "SELECT * FROM divan.databases", "42501")
	root := connect(t, p, "db", "root:sesame")
	if _, err := root.Prepare(t.Context(), "docs", "SELECT id FROM docs"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Prepare(t.Context(), "star", "SELECT * FROM name"); err == nil {
		t.Error("a view that has gone is found by its name")
	}
	// A name that now refers to another relation.
	admin.ok("PUT", "/db/_design/a", `{"views":{"members":{"map":"function (doc) { emit(1, 1) }"}}}`)
	if _, err := root.Exec(t.Context(), "SET search_path = divan"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Prepare(t.Context(), "star", "SELECT * FROM members"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Exec(t.Context(), "SET search_path = a"); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Exec(t.Context(), "star"); sqlCode(err) != "0A000" ||
		!strings.Contains(err.Error(), "cached plan must not change result type") {
		t.Errorf("another relation of that name: %v", err)
	}
	if _, err := root.Exec(t.Context(), "SET search_path = public"); err != nil {
		t.Fatal(err)
	}
	read(root, "an admin", "docs", "")
	admin.ok("DELETE", "/db", "")
	read(root, "a database that has gone", "docs", "3D000")
}
