package e2e_test

import (
	"fmt"
	"testing"
)

// One rule reads _security: whoever may read a database over HTTP may read it over SQL, and nobody else, whatever the
// object looks like. The statuses and users are those of CouchDB 3.5, which answers 500 where 400 is expected here.
func TestSecurity_sameAtBothPorts(t *testing.T) {
	p, admin := sqlUsers(t)
	admin.ok("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"relax","roles":[],"type":"user"}`)
	jan, ann := p.as("jan:relax"), p.as("ann:relax")
	const both, onlyJan, onlyAnn, nobody = "jan ann", "jan", "ann", ""
	const unchanged = `{"members":{"names":["eve"]}}`
	for i, c := range []struct {
		object  string
		status  int
		readers string
	}{
		{`{}`, 200, both},
		{`{"members":{}}`, 200, both},
		{`{"members":{"names":[],"roles":[]},"couchdb_auth_only":true}`, 200, both},
		{`{"MEMBERS":{"names":["ann"]}}`, 200, both},
		{`{"members":{"Names":["ann"]}}`, 200, both},
		{`{"members":{"names":["ann"]}}`, 200, onlyAnn},
		{`{"members":{"names":["a\u006en"]}}`, 200, onlyAnn},
		{`{"m\u0065mbers":{"names":["ann"]}}`, 200, onlyAnn},
		{`{"members":{"names":["ann"],"x":5},"cloudant":{"nobody":[]}}`, 200, onlyAnn},
		{`{"members":{"roles":["dev"]}}`, 200, onlyJan},
		{`{"members":{"roles":[""]}}`, 200, nobody},
		{`{"members":{"names":[""]}}`, 200, nobody},
		{`{"members":{"roles":["_admin"]}}`, 200, nobody},
		{`{"readers":{"names":["ann"]}}`, 200, onlyAnn},
		{`{"members":{"names":["ann"]},"readers":{}}`, 200, onlyAnn},
		{`{"members":{},"readers":{"names":["ann"]}}`, 200, both},
		{`{"admins":{"roles":["dev"]},"members":{"names":["ann"]}}`, 200, both},
		{`{"admins":{"names":[]},"admins":{"names":["jan"]},"members":{"names":["ann"]}}`, 200, both},
		{`{"members":{"names":["ann"]},"members":{}}`, 200, both},
		{`{"members":{},"members":{"names":["ann"]}}`, 200, onlyAnn},
		{`{"members":{"names":["ann"],"names":[]}}`, 200, both},
		{`{"members":5,"members":{"names":["ann"]}}`, 200, onlyAnn},
		{`{"members":{"names":["ann"]},"members":5}`, 400, nobody},
		{`{"members":5}`, 400, nobody},
		{`{"members":null}`, 400, nobody},
		{`{"members":[]}`, 400, nobody},
		{`{"admins":null}`, 400, nobody},
		{`{"members":{"names":null}}`, 400, nobody},
		{`{"members":{"names":"jan"}}`, 400, nobody},
		{`{"members":{"names":["jan",5]}}`, 400, nobody},
		{`{"members":{"names":["\ud800"]}}`, 400, nobody},
		{`[]`, 400, nobody},
		{`null`, 400, nobody},
		{``, 400, nobody},
		{`{`, 400, nobody},
	} {
		db := fmt.Sprintf("db%d", i)
		admin.ok("PUT", "/"+db, "")
		admin.ok("PUT", "/"+db+"/_security", unchanged)
		if status := admin.status("PUT", "/"+db+"/_security", c.object); status != c.status {
			t.Errorf("%s: %d, want %d", c.object, status, c.status)
		}
		var http, sql []string
		for _, u := range []struct {
			name string
			by   *client
		}{{"jan", jan}, {"ann", ann}} {
			if u.by.status("GET", "/"+db+"/_all_docs", "") == 200 {
				http = append(http, u.name)
			}
			conn, err := tryConnect(t, p, db, u.name+":relax")
			if err == nil {
				_, err = conn.Exec(t.Context(), "SELECT count(*) FROM docs")
			}
			if code := sqlCode(err); code == "" {
				sql = append(sql, u.name)
			} else if code != "42501" {
				t.Errorf("%s: %s gets %v over SQL", c.object, u.name, err)
			}
		}
		want := "[" + c.readers + "]"
		if fmt.Sprint(http) != want || fmt.Sprint(sql) != want {
			t.Errorf("%s: %v read over HTTP and %v over SQL, want %s", c.object, http, sql, want)
		}
	}
	// Databases that only server admins may use over HTTP are closed over SQL too.
	for _, db := range []string{"_global_changes", "_users", "_replicator"} {
		_ = admin.status("PUT", "/"+db, "")
		if db != "_users" {
			admin.ok("PUT", "/"+db+"/_security", `{}`)
		}
		if status := jan.status("GET", "/"+db+"/_all_docs", ""); status != 401 {
			t.Errorf("%s over HTTP: %d", db, status)
		}
		conn, err := tryConnect(t, p, db, "jan:relax")
		if err == nil {
			_, err = conn.Exec(t.Context(), "SELECT count(*) FROM docs")
		}
		if sqlCode(err) != "42501" {
			t.Errorf("%s over SQL: %v", db, err)
		}
	}
}
