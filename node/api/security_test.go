package api_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
)

var accounts = testAuth{
	"root":   {"pw", []string{"_admin"}},
	"owner":  {"pw", nil},
	"member": {"pw", []string{"staff"}},
	"other":  {"pw", []string{"guest"}},
}

func (s *server) as(t *testing.T, user, method, path, body string) (int, string) {
	t.Helper()
	if user == "" {
		return s.call(t, method, path, body)
	}
	return s.call(t, method, path, body, "Authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte(user+":pw")))
}

// Who may do what, with CouchDB's messages (chttpd_auth_request, couch_db). "" is anonymous.
func TestSecurity(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	const notAdmin = `{"error":"unauthorized","reason":"You are not a server admin."}`
	const notDBAdmin = `"reason":"You are not a db or server admin."`
	setup := func(method, path, body string) {
		t.Helper()
		if status, text := s.as(t, "root", method, path, body); status >= 300 {
			t.Fatal(path, status, text)
		}
	}
	setup("PUT", "/fresh", "")
	setup("PUT", "/open", "")
	setup("PUT", "/open/_security", `{}`)
	setup("PUT", "/closed", "")
	setup("PUT", "/closed/_security", `{"admins":{"names":["owner"]},"members":{"roles":["staff"]}}`)
	setup("PUT", "/closed/a", `{}`)
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		text                     string
	}{
		{"root", "GET", "/fresh/_security", "", 200, `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`},
		{"member", "GET", "/fresh", "", 403, `{"error":"forbidden","reason":"You are not allowed to access this db."}`},
		{"", "GET", "/fresh", "", 401, `{"error":"unauthorized","reason":"You are not authorized to access this db."}`},
		{"", "GET", "/closed/a", "", 401, "You are not authorized to access this db."},
		{"other", "GET", "/closed/a", "", 403, "You are not allowed to access this db."},
		{"other", "POST", "/closed/_bulk_docs", `{"docs":[]}`, 403, ""},
		{"other", "GET", "/closed/_changes", "", 403, ""},
		{"member", "GET", "/closed/a", "", 200, ""},
		{"owner", "GET", "/closed/a", "", 200, ""},
		{"root", "GET", "/closed/a", "", 200, ""},
		{"member", "PUT", "/closed/b", `{}`, 201, ""},
		{"member", "PUT", "/closed/_design/d", `{}`, 403, notDBAdmin},
		{"member", "POST", "/closed/_bulk_docs", `{"docs":[{"_id":"_design/e"},{"_id":"c"}]}`, 201,
			`[{"id":"_design/e","error":"forbidden",` + notDBAdmin + `},{"ok":true,"id":"c",`},
		{"owner", "PUT", "/closed/_design/d", `{}`, 201, ""},
		{"member", "PUT", "/closed/_security", `{}`, 403, notDBAdmin},
		{"member", "PUT", "/closed/_revs_limit", `10`, 403, notDBAdmin},
		{"owner", "PUT", "/closed/_revs_limit", `10`, 200, ""},
		{"member", "POST", "/closed/_compact", `{}`, 401, "You are not a server or db admin."},
		{"owner", "POST", "/closed/_compact", `{}`, 202, ""},
		{"member", "POST", "/closed/_changes/_reshard", `{"shard_count":2}`, 401, ""},
		{"owner", "POST", "/closed/_purge", `{"a":[]}`, 401, notAdmin},
		{"", "GET", "/open", "", 200, ""},
		{"", "PUT", "/open/a", `{}`, 201, ""},
		{"", "PUT", "/open/_design/d", `{}`, 401, notDBAdmin},
		{"owner", "PUT", "/new", "", 401, notAdmin},
		{"owner", "DELETE", "/closed", "", 401, notAdmin},
		{"owner", "GET", "/_all_dbs", "", 401, notAdmin},
		{"root", "GET", "/_all_dbs", "", 200, `["closed","fresh","open"]`},
		{"owner", "GET", "/_node/_local/_config", "", 401, notAdmin},
		{"owner", "GET", "/_active_tasks", "", 401, notAdmin},
		{"owner", "GET", "/_membership", "", 401, notAdmin},
		{"owner", "GET", "/_actors", "", 401, notAdmin},
		{"owner", "GET", "/_jobs", "", 401, notAdmin},
		{"owner", "GET", "/_nothing", "", 401, notAdmin},
		{"owner", "GET", "/_node/_local/_stats", "", 401, "You are not a server admin or read-only metrics user"},
		{"", "GET", "/", "", 200, ""},
		{"", "GET", "/_up", "", 200, ""},
		{"", "GET", "/_uuids", "", 200, ""},
		{"", "GET", "/unknown", "", 404, "Database does not exist."},
	} {
		t.Run(strings.TrimSpace(c.user+" "+c.method+" "+c.path), func(t *testing.T) {
			status, text := s.as(t, c.user, c.method, c.path, c.body)
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("got %d %s\nwant %d %s", status, text, c.status, c.text)
			}
		})
	}
	if status, text := s.call(t, "GET", "/", "", "Authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte("root:wrong"))); status != 401 ||
		text != `{"error":"unauthorized","reason":"Name or password is incorrect."}`+"\n" {
		t.Error(status, text)
	}
}

// Who is not a member of a database of users or replications is told so before admins are asked for, but for the two
// lists that CouchDB reserves for server admins. Members get 403 for what only admins may do here. "" is anonymous.
func TestSecurity_SystemDatabases(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Auth = accounts
		o.Settings = api.NewSettings(map[string]map[string]string{"couchdb": {"users_db_security_editable": "true"}})
	})
	for _, db := range []string{"/_users", "/_replicator"} {
		if status, text := s.as(t, "root", "PUT", db, ""); status != 201 {
			t.Fatal(status, text)
		}
	}
	paths := map[string]string{"GET /_design_docs": "", "POST /_find": `{"selector":{}}`, "GET /_design/d/_view/v": "",
		"POST /_purge": `{}`, "POST /_sync_shards": "", "GET /_auto_purge": "", "POST /_compact": "",
		"POST /_compact/d": "", "POST /_view_cleanup": "", "GET /_all_docs": "", "GET /_changes": ""}
	check := func(user, reason string, status int) {
		t.Helper()
		for path, body := range paths {
			method, path, _ := strings.Cut(path, " ")
			want, reason := status, reason
			if path == "/_all_docs" || path == "/_changes" {
				want, reason = 401, "You are not a server admin."
			}
			for _, db := range []string{"/_users", "/_replicator"} {
				if got, text := s.as(t, user, method, db+path, body); got != want || !strings.Contains(text, reason) {
					t.Errorf("%s %s%s as %q: %d %s, want %d", method, db, path, user, got, text, want)
				}
			}
		}
	}
	check("", "You are not authorized to access this db.", 401)
	check("member", "You are not allowed to access this db.", 403)
	for _, db := range []string{"/_users", "/_replicator"} {
		if status, text := s.as(t, "root", "PUT", db+"/_security", `{"members":{"names":["member"]}}`); status != 200 {
			t.Fatal(status, text)
		}
	}
	check("member", "You are not a server ", 403)
}

func TestSecurity_RequireUser(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = strictAuth{accounts} })
	for path, want := range map[string]int{"/": 401, "/_uuids": 401, "/livez": 200, "/readyz": 200} {
		if status, _ := s.as(t, "", "GET", path, ""); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := s.as(t, "other", "GET", "/", ""); status != 200 {
		t.Error(status)
	}
}

// When an admin writes the first user or the first replication, its database is created, for admins only. Nothing else
// creates it.
func TestSecurity_firstDocument(t *testing.T) {
	for _, db := range []string{"/_users", "/_replicator"} {
		for _, write := range [][3]string{{"PUT", "/org.couchdb.user:a", `{"_id":"org.couchdb.user:a"}`},
			{"POST", "", `{"_id":"org.couchdb.user:a"}`}, {"PUT", "/_design/d", `{}`}, {"PUT", "/_design/_auth", `{}`},
			{"POST", "/_bulk_docs", `{"docs":[{"_id":"org.couchdb.user:a"}]}`}} {
			s := serve(t, func(o *api.Options) { o.Auth = accounts })
			for _, no := range [][4]string{{"owner", write[0], write[1], write[2]}, {"", write[0], write[1], write[2]},
				{"root", "GET", "", ""}, {"root", "GET", "/_all_docs", ""}, {"root", "POST", "/_find", `{"selector":{}}`},
				{"root", "DELETE", "/a?rev=1-a", ""}, {"root", "POST", "/_all_docs", `{"keys":[]}`}} {
				if status, text := s.as(t, no[0], no[1], db+no[2], no[3]); status != 404 && status != 401 {
					t.Errorf("%s %s %s%s: %d %s", no[0], no[1], db, no[2], status, text)
				}
			}
			if _, text := s.as(t, "root", "GET", "/_all_dbs", ""); text != "[]\n" {
				t.Errorf("before %s %s%s there is %s", write[0], db, write[1], text)
			}
			if status, text := s.as(t, "root", write[0], db+write[1], write[2]); status != 201 {
				t.Errorf("%s %s%s: %d %s", write[0], db, write[1], status, text)
			}
			_, text := s.as(t, "root", "GET", db+"/_security", "")
			if !strings.Contains(text, `"members":{"roles":["_admin"]}`) {
				t.Errorf("%s has %s", db, text)
			}
			if status, _ := s.as(t, "root", "GET", "/_users/_design/_auth", ""); (status == 200) != (db == "/_users") {
				t.Errorf("%s: the design document of users: %d", db, status)
			}
		}
	}
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	if status, text := s.as(t, "root", "PUT", "/x%2F_replicator/a", `{}`); status != 404 {
		t.Error(status, text)
	}
}

// userRules implements the hooks of the users' database and records calls.
type userRules struct{ t *testing.T }

func (userRules) BeforeWrite(_ context.Context, _ string, u api.User, admin bool, e *layer.Edit) error {
	if !admin && e.ID != "org.couchdb.user:"+u.Name {
		return &layer.Error{Kind: layer.NotFound, Reason: "missing"}
	}
	e.Body = []byte(`{"derived":true}`)
	return nil
}

func (userRules) AfterRead(u api.User, admin bool, doc *layer.Document) error {
	if doc.ID == "org.couchdb.user:panic" {
		panic("asked for")
	}
	if !admin && doc.ID != "org.couchdb.user:"+u.Name {
		return &layer.Error{Kind: layer.NotFound, Reason: "missing"}
	}
	return nil
}

// Every way to access a document of _users goes through its rules.
func TestSecurity_UsersDatabase(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Auth, o.Users = accounts, userRules{t}
		o.Settings = api.NewSettings(map[string]map[string]string{"couchdb": {"users_db_security_editable": "true"}})
	})
	s.as(t, "root", "PUT", "/_users", "")
	if status, text := s.as(t, "root", "PUT", "/_users/_security", `{}`); status != 200 {
		t.Fatal(text)
	}
	for _, name := range []string{"owner", "other"} {
		s.as(t, "root", "PUT", "/_users/org.couchdb.user:"+name, `{"password":"secret"}`)
	}
	own, foreign := "/_users/org.couchdb.user:owner", "/_users/org.couchdb.user:other"
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		text                     string
	}{
		{"owner", "GET", own, "", 200, `"derived":true`},
		{"owner", "GET", foreign, "", 404, ""},
		{"owner", "GET", foreign + "?open_revs=all", "", 404, ""},
		{"owner", "GET", foreign + "/attachment", "", 404, "missing"},
		{"owner", "COPY", foreign, "", 404, ""},
		{"owner", "DELETE", foreign + "?rev=1-a", "", 404, ""},
		{"owner", "POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:other"}]}`, 200,
			`"error":"not_found"`},
		{"owner", "POST", "/_users/_bulk_docs", `{"docs":[{"_id":"org.couchdb.user:new"}]}`, 201,
			`"error":"not_found"`},
		{"owner", "GET", "/_users/_all_docs?include_docs=true", "", 401, ""},
		{"owner", "GET", "/_users/_changes?include_docs=true", "", 401, ""},
		{"root", "GET", foreign, "", 200, `"derived":true`},
		{"root", "GET", "/_users/_all_docs", "", 200, `"total_rows":3`},
	} {
		t.Run(c.user+" "+c.method+" "+c.path, func(t *testing.T) {
			status, text := s.as(t, c.user, c.method, c.path, c.body)
			if c.method == "COPY" {
				status, text = s.call(t, c.method, c.path, "", "Destination", "org.couchdb.user:owner2",
					"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.user+":pw")))
			}
			if status != c.status || !strings.Contains(text, c.text) || strings.Contains(text, "secret") {
				t.Errorf("got %d %s\nwant %d %s", status, text, c.status, c.text)
			}
		})
	}
}

// What lists documents of users and replications is for server admins, since only single documents are screened.
// Members of another database read all of it.
func TestSecurity_SystemLists(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Auth = accounts
		o.Settings = api.NewSettings(map[string]map[string]string{"couchdb": {"users_db_security_editable": "true"}})
	})
	const design = `{"views":{"v":{"map":"function (doc) { emit(doc._id, doc.source) }"}},
		"lists":{"l":"function (head, req) { var r; while (r = getRow()) send(JSON.stringify(r)) }"},
		"rewrites":[{"from":"/r","to":"_view/v"}]}`
	for _, db := range []string{"/_users", "/x%2F_replicator", "/_replicator", "/plain"} {
		for _, request := range [][3]string{{"PUT", db, ""},
			{"PUT", db + "/_security", `{"members":{"names":["member"]}}`}, {"PUT", db + "/_design/d", design}} {
			if status, text := s.as(t, "root", request[0], request[1], request[2]); status >= 300 {
				t.Fatal(request, status, text)
			}
		}
		system := db != "/plain"
		for _, request := range [][2]string{{"GET", "/_all_docs"}, {"POST", "/_all_docs/queries"}, {"GET", "/_changes"},
			{"GET", "/_changes/1"}, {"GET", "/_design/d/_view/v?include_docs=true"},
			{"GET", "/_design/d/_list/l/v"}, {"GET", "/_design/d/_list/l/_all_docs"}, {"GET", "/_design%2Fd/_list/l/d/v"},
			{"GET", "/_design/d/_rewrite/r"},
			{"GET", "/_design%2Fd/_view/v"}, {"POST", "/_design/d/_view/v"}, {"POST", "/_design/d/_view/v/queries"}} {
			refused := 403
			if strings.HasPrefix(request[1], "/_all_docs") || strings.HasPrefix(request[1], "/_changes") {
				refused = 401
			}
			if status, text := s.as(t, "member", request[0], db+request[1], `{"queries":[]}`); system && status != refused ||
				!system && status == refused {
				t.Errorf("%s %s: %d %s", request[0], db+request[1], status, text)
			}
		}
	}
}

// A website cannot use a node without an admin by the browsers of its machine: neither with a name that leads to the
// node, nor by forms, unless CORS allows it. Its probes answer any name, and nothing changes once there is an admin.
func TestWebsites(t *testing.T) {
	change := func(accounts testAuth) func(*api.Options) {
		return func(o *api.Options) {
			o.Auth = accounts
			o.Settings = api.NewSettings(map[string]map[string]string{
				"chttpd": {"enable_cors": "true"}, "cors": {"origins": "http://app.example"}})
		}
	}
	open, closed := serve(t, change(nil)), serve(t, change(accounts))
	open.must(t, "PUT", "/db", "")
	for _, c := range []struct {
		server                     *server
		host, origin, method, path string
		want                       int
	}{
		{open, "", "", "GET", "/db", 200},
		{open, "localhost:5984", "", "GET", "/db", 200},
		{open, "app.localhost", "", "GET", "/db", 200},
		{open, "[::1]:5984", "", "GET", "/db", 200},
		{open, "[::1]", "", "GET", "/db", 200},
		{open, "10.0.0.1", "", "GET", "/db", 200},
		{open, "127.1:5984", "", "GET", "/db", 200},
		{open, "[::ffff:127.0.0.1%lo]:5984", "", "GET", "/db", 200},
		{open, "couch:5984", "", "GET", "/db", 200},
		{open, "host.docker.internal:5984", "", "GET", "/db", 200},
		{open, "evil.example:5984", "", "GET", "/db", 403},
		{open, "evil.example.", "", "GET", "/db/_all_docs", 403},
		{open, "127.0.0.1.evil.example", "", "DELETE", "/db", 403},
		{open, "localhost.evil.example", "", "GET", "/", 403},
		{open, "evil.example", "", "GET", "/_up", 200},
		{open, "localhost", "http://evil.example", "GET", "/db", 200}, // its page cannot read the answer
		{open, "localhost", "http://evil.example", "POST", "/db/_view_cleanup", 403},
		{open, "localhost", "null", "POST", "/db/_view_cleanup", 403},
		{open, "localhost", "http://app.example", "POST", "/db/_view_cleanup", 202},
		{open, "localhost", "http://localhost", "POST", "/db/_view_cleanup", 202},
		{closed, "db.example", "", "GET", "/", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.server.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s %s for %q from %q: %d, want %d", c.method, c.path, c.host, c.origin, answer.StatusCode, c.want)
		}
	}
}

// sessions counts what reaches a login or a password.
type sessions struct {
	testAuth
	asked *int
}

func (a sessions) Authenticate(r *http.Request, h http.Header) (api.User, error) {
	*a.asked++
	return a.testAuth.Authenticate(r, h)
}

func (a sessions) ServeSession(w http.ResponseWriter, _ *http.Request, _ api.User) error {
	*a.asked++
	w.WriteHeader(http.StatusOK)
	return nil
}

// A page of another site cannot make a browser log in or out, nor have passwords counted as wrong, unless CORS allows
// it with credentials. Other programs, and pages behind a proxy that changes Host, can.
func TestForeignLogins(t *testing.T) {
	asked := 0
	with := func(options string) *server {
		return serve(t, func(o *api.Options) {
			o.Auth = sessions{accounts, &asked}
			o.Settings = api.NewSettings(map[string]map[string]string{"chttpd": {"enable_cors": "true"},
				"cors": {"origins": "http://app.example", "credentials": options}})
		})
	}
	closed, open := with("false"), with("true")
	const app, evil = "http://app.example", "http://evil.example"
	for _, c := range []struct {
		server               *server
		method, site, origin string
		want                 int
	}{
		{closed, "POST", "cross-site", evil, 403},
		{closed, "POST", "same-site", evil, 403},
		{closed, "POST", "cross-site", "null", 403},
		{closed, "POST", "cross-site", "", 403},
		{closed, "DELETE", "cross-site", evil, 403},
		{closed, "POST", "cross-site", app, 403}, // without credentials
		{closed, "GET", "cross-site", evil, 200},
		{closed, "POST", "same-origin", "http://public.example", 200},
		{closed, "POST", "none", "", 200},
		{closed, "POST", "", evil, 200},
		{closed, "DELETE", "", "", 200},
		{open, "POST", "cross-site", app, 200},
		{open, "DELETE", "same-site", app, 200},
		{open, "POST", "cross-site", evil, 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, c.server.URL+"/_session", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		asked = 0
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != c.want || (asked == 0) != (c.want == 403) ||
			c.want == 403 && !strings.HasPrefix(string(text), `{"error":"forbidden","reason":"Pages of other sites `) {
			t.Errorf("%s, %q from %q: %s %s, asked %d times", c.method, c.site, c.origin, answer.Status, text, asked)
		}
	}
}

func TestCORS(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Settings = api.NewSettings(map[string]map[string]string{
			"chttpd": {"enable_cors": "true"},
			"cors":   {"origins": "http://app.example, http://Other.example", "credentials": "true"},
		})
	})
	ask := func(method string, headers ...string) *http.Response {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, s.URL+"/", nil)
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	res := ask("GET", "Origin", "http://app.example")
	if res.Header.Get("Access-Control-Allow-Origin") != "http://app.example" ||
		res.Header.Get("Access-Control-Allow-Credentials") != "true" ||
		!strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "etag") {
		t.Error(res.Header)
	}
	for origin, want := range map[string]bool{"http://evil.example": false, "http://APP.example": false,
		"http://Other.example": true, "http://other.example": true, "http://OTHER.example": false} {
		if got := ask("GET", "Origin", origin).Header.Get("Access-Control-Allow-Origin"); (got == origin) != want {
			t.Errorf("%s: allowed %q", origin, got)
		}
	}
	res = ask("OPTIONS", "Origin", "http://app.example", "Access-Control-Request-Method", "PUT",
		"Access-Control-Request-Headers", "Content-Type, If-Match")
	if res.StatusCode != 204 || !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "PUT") ||
		res.Header.Get("Access-Control-Allow-Headers") != "Content-Type, If-Match" ||
		res.Header.Get("Access-Control-Max-Age") != "600" {
		t.Error(res.StatusCode, res.Header)
	}
	res = ask("OPTIONS", "Origin", "http://app.example", "Access-Control-Request-Method", "PUT",
		"Access-Control-Request-Headers", "X-Strange")
	if res.StatusCode != 405 {
		t.Error(res.StatusCode, res.Header)
	}
	s.must(t, "PUT", "/_node/_local/_config/cors/exposed_headers", `"X-Foo"`)
	res = ask("GET", "Origin", "http://app.example")
	if got := res.Header.Get("Access-Control-Expose-Headers"); got != "content-type, cache-control, x-foo" {
		t.Errorf("exposed: %s", got)
	}
	s.must(t, "PUT", "/_node/_local/_config/httpd/enable_cors", `"false"`) // as in clients' set-up scripts
	if res := ask("GET", "Origin", "http://app.example"); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error(res.Header)
	}
}

// With users_db_public, everyone who may read _users lists it, and sees the members of documents that public_fields
// names (couch_mrview_http:all_docs_req, couch_users_db:strip_non_public_fields).
func TestSecurity_PublicUsers(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Auth = accounts
		o.Settings = api.NewSettings(map[string]map[string]string{"couchdb": {"users_db_security_editable": "true"}})
	})
	for _, step := range []struct{ method, path, body string }{
		{"PUT", "/_users", ""}, {"PUT", "/_users/_security", `{}`},
		{"PUT", "/_users/org.couchdb.user:a", `{"name":"a","city":"Oslo","derived_key":"x"}`},
		{"PUT", "/_users/org.couchdb.user:b", `{"name":"b","derived_key":"y","big":"` + strings.Repeat("x", 200_000) + `"}`},
		{"PUT", "/_users/_design/d", `{"views":{}}`},
		{"PUT", "/other", ""}, {"PUT", "/other/_security", `{}`}, {"PUT", "/other/a", `{"name":"a","city":"Oslo"}`},
	} {
		if status, text := s.as(t, "root", step.method, step.path, step.body); status >= 300 {
			t.Fatal(step.path, status, text)
		}
	}
	set := func(key, value string) {
		t.Helper()
		if status, text := s.as(t, "root", "PUT", "/_node/_local/_config/chttpd_auth/"+key, `"`+value+`"`); status != 200 {
			t.Fatal(key, status, text)
		}
	}
	const list = "/_users/_all_docs?include_docs=true&conflicts=true"
	closed := func(when string) {
		t.Helper()
		if status, text := s.as(t, "other", "GET", list, ""); status != 401 {
			t.Errorf("%s: %d %s", when, status, text)
		}
	}
	closed("at first")
	set("users_db_public", "true")
	closed("without public fields")
	set("public_fields", "name, city")
	status, text := s.as(t, "other", "GET", list, "")
	if status != 200 || !strings.Contains(text, `"doc":{"name":"a","city":"Oslo"}}`) ||
		!strings.Contains(text, `"doc":{"name":"b"}}`) || !strings.Contains(text, `"doc":{}}`) {
		t.Errorf("%d %.500s", status, text)
	}
	status, text = s.as(t, "", "POST", "/_users/_all_docs/queries", `{"queries":[{"include_docs":true,"limit":3}]}`)
	if status != 200 || strings.Contains(text, "derived") || !strings.Contains(text, `"city":"Oslo"`) {
		t.Errorf("%d %.500s", status, text)
	}
	for path, want := range map[string]int{"/_users/_changes": 401, "/_users/_design_docs?include_docs=true": 403} {
		if status, text := s.as(t, "other", "GET", path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := s.as(t, "root", "GET", list, ""); status != 200 || !strings.Contains(text, "derived_key") {
		t.Errorf("an admin sees %d %.500s", status, text)
	}
	if status, text := s.as(t, "other", "GET", "/other/_all_docs?include_docs=true", ""); status != 200 ||
		!strings.Contains(text, `"_rev"`) {
		t.Errorf("another database: %d %s", status, text)
	}
	set("users_db_public", "false")
	closed("afterwards")
}
