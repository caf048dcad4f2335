package e2e_test

import (
	"slices"
	"testing"
)

// Statements that Divan does not support are refused with the same codes for every client, and leave its connection
// usable. A user who may not read a database cannot connect to it.
func TestSQL_RefusedUsers(t *testing.T) {
	p, admin := sqlUsers(t)
	admin.ok("PUT", "/_users/org.couchdb.user:guest", `{"name":"guest","password":"relax","roles":[],"type":"user"}`)
	host, port, _ := sqlServers(t, p, "")
	cases := []struct{ sql, want string }{
		{"SELECT id FROM docs", "ok"},
		{`SELECT key FROM "by".name`, "ok"},
		{`SELECT count(*) FROM "by".name`, "ok"},
		{"SELECT * FROM changes", "ok"},
		{"SELECT * FROM conflicts", "ok"},
		{"SELECT id FROM docs WHERE id = 'oslo'", "ok"},
		{"EXPLAIN ANALYZE SELECT id FROM docs", "ok"},
		{"DECLARE c CURSOR WITH HOLD FOR SELECT id FROM docs", "ok"},
		{"LISTEN changes", "ok"},
		{"INSERT INTO changes (id) VALUES ('x')", "0A000"},
		{"UPDATE all_docs SET id = 'x'", "0A000"},
		{"DELETE FROM design_docs", "0A000"},
		{"TRUNCATE docs", "0A000"},
		{"MERGE INTO docs USING docs d ON false WHEN MATCHED THEN DELETE", "0A000"},
		{"CREATE TABLE t (a int)", "0A000"},
		{"DROP TABLE docs", "0A000"},
		{"NOTIFY changes", "42501"},
		{"ALTER USER eve PASSWORD 'x'", "42501"},
		{"SET ROLE root", "22023"},
		{"SELECT 1", "ok"},
	}
	statements := []string{}
	for _, c := range cases {
		statements = append(statements, c.sql)
	}
	for _, client := range []sqlClient{
		{script: "refused.py", probe: []string{debianPython, "-c", "import psycopg"}, packages: "python3-psycopg"},
		{script: "refused.js", probe: []string{"node", "--version"}, packages: "nodejs"},
	} {
		t.Run(client.script, func(t *testing.T) {
			t.Parallel()
			client.installed(t)
			ask := func(user string) []string {
				return client.run(t, []string{"PGHOST=" + host, "PGPORT=" + port, "PGUSER=" + user, "PGPASSWORD=relax",
					"PGDATABASE=db", "STATEMENTS=" + encode(t, statements)})
			}
			got := ask("jan")
			if len(got) != len(cases) {
				t.Fatalf("%d answers to %d statements: %q", len(got), len(cases), got)
			}
			for i, c := range cases {
				if got[i] != c.want {
					t.Errorf("%s: %s, want %s", c.sql, got[i], c.want)
				}
			}
			if got := ask("guest"); !slices.Equal(got, []string{`permission denied for database "db"`}) {
				t.Errorf("a user who may not read the database gets %q", got)
			}
		})
	}
}
