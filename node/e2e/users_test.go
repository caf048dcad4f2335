package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// Admins, users and their permissions, over HTTP.
func TestHTTP_Users(t *testing.T) {
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	admin, jan, nobody := p.as("root:sesame"), p.as("jan:relax"), p.client()
	for _, c := range []struct {
		what   string
		by     *client
		method string
		path   string
		body   string
		status int
	}{
		{"anyone gets the welcome", nobody, "GET", "/", "", 200},
		{"an anonymous user creates no database", nobody, "PUT", "/db", "", 401},
		{"a wrong password is refused everywhere", p.as("root:x"), "GET", "/", "", 401},
		{"an admin creates a database", admin, "PUT", "/db", "", 201},
		{"which is for admins", nobody, "GET", "/db", "", 401},
		{"the first user", admin, "PUT", "/_users/org.couchdb.user:jan",
			`{"name":"jan","password":"relax","roles":["dev"],"type":"user"}`, 201},
		{"a malformed user", admin, "PUT", "/_users/org.couchdb.user:x", `{"name":"y","roles":[],"type":"user"}`, 403},
		{"jan may not read yet", jan, "GET", "/db", "", 403},
		{"nor databases of others", jan, "GET", "/_users/_all_docs", "", 401},
		{"an admin gives devs access", admin, "PUT", "/db/_security", `{"members":{"roles":["dev"]}}`, 200},
		{"jan reads", jan, "GET", "/db", "", 200},
		{"jan writes", jan, "PUT", "/db/doc", `{}`, 201},
		{"but no design documents", jan, "PUT", "/db/_design/x", `{}`, 403},
		{"nor security", jan, "PUT", "/db/_security", `{}`, 403},
		{"nor deletes the database", jan, "DELETE", "/db", "", 401},
		{"security of another shape", admin, "PUT", "/db/_security", `{"members":[]}`, 400},
		{"an anonymous user is not a member", nobody, "GET", "/db/doc", "", 401},
		{"the dashboard is for admins", jan, "GET", "/_dashboard/", "", 401},
		{"and admins get it", admin, "GET", "/_dashboard/", "", 200},
		{"a second admin", admin, "PUT", "/_node/_local/_config/admins/eve", `"apple"`, 200},
		{"who is an admin", p.as("eve:apple"), "PUT", "/eves", "", 201},
		{"a session's lifetime", admin, "PUT", "/_node/_local/_config/chttpd_auth/timeout", `"3600"`, 200},
		{"a secret for tokens", admin, "PUT", "/_node/_local/_config/jwt_keys/hmac:_default", `"b3Blbi1zZXNhbWU="`, 200},
		{"and the handler for them", admin, "PUT", "/_node/_local/_config/chttpd/authentication_handlers",
			`"{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, cookie_authentication_handler}, ` +
				`{chttpd_auth, default_authentication_handler}"`, 200},
		{"no claim is required", admin, "PUT", "/_node/_local/_config/jwt_auth/required_claims", `""`, 200},
		{"an unknown option is refused", admin, "PUT", "/_node/_local/_config/couchdb/nonsense", `"true"`, 404},
		{"jan creates none", jan, "PUT", "/_node/_local/_config/admins/jan", `"apple"`, 401},
	} {
		r := c.by.do(c.method, c.path, c.body)
		if r.status != c.status {
			t.Errorf("%s: %s %s answers %d %s, want %d", c.what, c.method, c.path, r.status, r.body, c.status)
		}
	}
	// No password is stored or shown in plain text.
	for _, path := range []string{"/_users/org.couchdb.user:jan", "/_node/_local/_config/admins",
		"/_node/_local/_config", "/_node/_local/_config/jwt_keys/hmac:_default"} {
		if text := string(admin.do("GET", path, "").body); strings.Contains(text, "relax") ||
			strings.Contains(text, "apple") || strings.Contains(text, "sesame") ||
			strings.Contains(text, "b3Blbi1zZXNhbWU=") {
			t.Errorf("%s shows a password: %s", path, text)
		}
	}
	if strings.Contains(p.stderr.whole(), "sesame") || strings.Contains(p.stderr.whole(), "relax") {
		t.Error("the log shows a password")
	}

	// A cookie session outlives the node.
	r := nobody.do("POST", "/_session", `{"name":"jan","password":"relax"}`)
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	if r.status != 200 || !strings.HasPrefix(cookie, "AuthSession=") {
		t.Fatalf("login: %d %s", r.status, r.body)
	}
	r = nobody.do("POST", "/_session", "", "Cookie", cookie, "X-HTTP-Method-Override", "GET")
	if r.status != 200 || !strings.Contains(string(r.body), `"name":"jan"`) {
		t.Errorf("a posted GET: %d %s", r.status, r.body)
	}
	r = nobody.do("POST", "/_session", "", "Cookie", cookie, "X-HTTP-Method-Override", "DELETE")
	if out := r.header.Get("Set-Cookie"); r.status != 200 || !strings.HasPrefix(out, "AuthSession=;") {
		t.Errorf("a posted DELETE: %d %s, %s", r.status, out, r.body)
	}
	p.stop(syscall.SIGTERM)
	again := launch(t, t.TempDir(),
		append([]string{"-data", p.ready["data"], "-admin", "root:sesame"}, freePorts...)...)
	again.waitReady()
	r = again.client().do("GET", "/_session", "", "Cookie", cookie)
	user, _ := decode(t, r.body).(map[string]any)["userCtx"].(map[string]any)
	if fmt.Sprint(user["name"]) != "jan" {
		t.Errorf("after a restart the session is %s", r.body)
	}
	if text := r.header.Get("Set-Cookie"); text != "" || r.status != 200 {
		t.Errorf("the session is renewed: %d %s", r.status, text)
	}
	// {"alg":"HS256","typ":"JWT"}, {"sub":"ann"}, signed with open-sesame.
	const token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ"
	m := hmac.New(sha256.New, []byte("open-sesame"))
	m.Write([]byte(token))
	r = again.client().do("GET", "/_session", "", "Authorization",
		"Bearer "+token+"."+base64.RawURLEncoding.EncodeToString(m.Sum(nil)))
	if !strings.Contains(string(r.body), `"name":"ann"`) || !strings.Contains(string(r.body), `"authenticated":"jwt"`) {
		t.Errorf("after a restart a token is answered with %s", r.body)
	}
	if status := again.as("eve:apple").status("GET", "/_session?basic=true", ""); status != 200 {
		t.Errorf("after a restart the second admin gets %d", status)
	}
	again.stop(syscall.SIGTERM)
}

// _users has the design document that CouchDB has there, which states the rules. The node holds them without it, too.
func TestUsers_Design(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "-admin", "root:sesame")
	root := p.as("root:sesame")
	const path = "/_users/_design/_auth"
	root.ok("PUT", "/_users", "")
	root.ok("PUT", "/a%2F_users", "") // authentication_db names another
	if r := root.do("GET", "/a%2F_users/_design/_auth", ""); r.status != 404 {
		t.Errorf("of other users: %d", r.status)
	}
	doc := root.object("GET", path+"?conflicts=true", "")
	if text, _ := doc["validate_doc_update"].(string); doc["language"] != "javascript" || len(doc) != 4 ||
		!strings.Contains(text, "forbidden") {
		t.Errorf("%v", doc)
	}
	if n := root.object("GET", "/_users", "")["doc_count"]; fmt.Sprint(n) != "1" {
		t.Errorf("%v documents", n)
	}
	root.ok("PUT", "/_users/org.couchdb.user:jan", `{"name":"jan","password":"x","roles":[],"type":"user"}`)
	jan := p.as("jan:x")
	bad := func(root *client) {
		t.Helper()
		r := root.do("PUT", "/_users/org.couchdb.user:eve", `{"name":"eve","password":"x","roles":["_admin"],"type":"user"}`)
		if r.status != 403 || !strings.Contains(string(r.body), "No system roles") {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	bad(root)
	for method, path := range map[string]string{"GET": path, "DELETE": path + "?rev=" + doc["_rev"].(string),
		"PUT": path + "?rev=" + doc["_rev"].(string)} {
		if r := jan.do(method, path, "{}"); r.status != 403 && r.status != 401 {
			t.Errorf("%s by a user: %d %s", method, r.status, r.body)
		}
	}
	// Who replaces or deletes it is right.
	deleted := root.object("DELETE", path+"?rev="+doc["_rev"].(string), "")
	bad(root)
	p.stop(syscall.SIGTERM)
	p = start(t, dir, "-admin", "root:sesame")
	root = p.as("root:sesame")
	if r := root.do("GET", path, ""); r.status != 404 || !strings.Contains(string(r.body), "deleted") {
		t.Errorf("after a restart: %d %s", r.status, r.body)
	}
	// A version that does not know the document has left none.
	root.ok("POST", "/_users/_purge", fmt.Sprintf(`{"_design/_auth":[%q]}`, deleted["rev"]))
	if r := root.do("GET", path, ""); r.status != 404 || strings.Contains(string(r.body), "deleted") {
		t.Errorf("after a purge: %d %s", r.status, r.body)
	}
	p.stop(syscall.SIGTERM)
	p = start(t, dir, "-admin", "root:sesame")
	root = p.as("root:sesame")
	if again := root.object("GET", path, ""); again["_rev"] != doc["_rev"] {
		t.Errorf("%v became %v", doc, again)
	}
	// Another function holds in addition.
	root.ok("PUT", path+"?rev="+doc["_rev"].(string),
		`{"language":"javascript","validate_doc_update":"function (doc) { throw {forbidden: 'never'} }"}`)
	r := root.do("PUT", "/_users/org.couchdb.user:ann", `{"name":"ann","password":"x","roles":[],"type":"user"}`)
	if r.status != 403 || !strings.Contains(string(r.body), "never") {
		t.Errorf("another function: %d %s", r.status, r.body)
	}
	bad(root)
}
