package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// _config accepts only options that have an effect, and refuses what node.yaml would refuse.
func TestSettings_Check(t *testing.T) {
	type step struct {
		key, value string
		status     int
	}
	for name, steps := range map[string][]step{
		"set-up scripts": {
			{"httpd/enable_cors", "true", 200}, {"chttpd/enable_cors", "true", 200}, {"cors/origins", "*",
				200}, {"cors/methods", "GET, PUT, POST, HEAD, DELETE", 200},
			{"cors/headers", "accept, authorization, content-type, origin, referer, x-csrf-token",
				200}, {"cors/credentials", "false", 200},
		},
		"credentials after the star": {{"cors/origins", "*", 200}, {"cors/credentials", "true", 200}},
		"the star after credentials": {{"cors/credentials", "true", 200}, {"cors/origins", "*", 200},
			{"cors/origins", "https://a.example, *", 400}, {"cors/origins", "https://a.example, app://b", 200}},
		"a star and nothing": {{"cors/origins", "*,", 400}, {"cors/origins", ",*", 400},
			{"cors/origins", "*", 200}, {"cors/origins", "", 200}},
		"lists": {{"cors/methods", "GET, FROB", 400}, {"cors/methods", "GET,", 400},
			{"cors/methods", "get, PATCH", 200}, {"cors/headers", "a,,b", 400}},
		"no origin": {{"cors/origins", "a.example", 400}, {"cors/origins", "https://a.example/path", 400},
			{"cors/origins", "http://*", 400}, {"cors/origins", "https://*.a.example", 400},
			{"cors/origins", "https://a.example?", 400},
			{"cors/origins", "https://x@a.example", 400}, {"cors/origins", "https://a.example#b", 400},
			{"cors/origins", "https://[::1]:80", 200},
			{"cors/origins", "http://:80", 400}, {"cors/origins", "https://a.example,", 400},
		},
		"values": {
			{"chttpd/enable_cors", "maybe", 400}, {"chttpd/require_valid_user", "1", 400}, {"uuids/max_count", "many",
				400}, {"uuids/max_count", "-1", 400},
			{"cors/methods", "GET\r\nX: y", 400}, {"cors/headers", "a b", 400}, {"cors/max_age", "x", 400},
			{"uuids/algorithm", "sorted", 400}, {"cors/origins", strings.Repeat("x", 17<<10), 400},
		},
		"unknown": {{"divan/key", "x", 404}, {"cors/key", "x", 404}, {"chttpd/socket_option", "x", 404},
			{"smooshes/x", "true", 404}},
		"without effect": {{"chttpd/socket_options", "x", 200}, {"couchdb/single_node", "true", 200},
			{"smoosh.ratio_views/min_priority", "2.0", 200}},
		"given": {{"couch_peruser/enable", "false", 200}, {"couch_peruser/enable", "true", 400}},
		"fixed": {{"couchdb/max_document_size", "1", 403}, {"couchdb/database_dir", "x", 403}},
		"logins": {{"chttpd_auth/timeout", "0", 400}, {"couch_httpd_auth/timeout", "60", 200},
			{"chttpd/authentication_handlers", "{chttpd_auth, null_authentication_handler}", 400},
			{"chttpd/authentication_handlers", "{chttpd_auth, jwt_authentication_handler}", 200},
			{"chttpd_auth/password_regexp", `[{"(", "open"}]`, 400}, {"chttpd_auth/password_regexp", "[x]", 400},
			{"chttpd_auth/password_regexp", `[{"(?=.*\\d).{10,}", "Long."}, "a"]`, 200},
			{"chttpd_auth/authentication_db", "users", 400}, {"chttpd_auth/authentication_db", "x/_users", 200},
			{"chttpd_auth/public_fields", "name, salt", 400}, {"chttpd_auth/password_scheme", "simple", 400},
			{"jwt_keys/hmac:x", "!", 400}, {"jwt_keys/x", "YQ==", 400}, {"jwt_keys/hmac:x", "YQ==", 200},
			{"jwt_keys/hmac:x", "(secret)", 400}, {"jwt_keys/rsa:x", "YQ==", 400},
			{"jwt_auth/required_claims", "exp, foo", 400}, {"jwt_auth/required_claims", `exp, {iss, "a"}`, 200},
		},
		"closed sections": {{"native_query_servers/x", "y", 403}, {"os_daemons/x", "y", 403}},
	} {
		s := serve(t, nil)
		for _, step := range steps {
			if a := s.ask(t, "PUT", "/_node/_local/_config/"+step.key, quoted(t, step.value)); a.status != step.status {
				t.Errorf("%s: %s = %.40q: %d %s", name, step.key, step.value, a.status, a.body)
			} else if step.status != 200 && (a.error == "" || a.reason == "") {
				t.Errorf("%s: %s = %.40q: %s", name, step.key, step.value, a.body)
			}
		}
	}
}

// Deleting an option restores node.yaml's value: it opens nothing that was closed.
func TestSettings_Delete(t *testing.T) {
	s := serve(t, func(o *api.Options) {
		o.Settings = api.NewSettings(map[string]map[string]string{"cors": {"origins": "https://a.example"}})
	})
	for key, want := range map[string]string{"chttpd/admin_only_all_dbs": `"true"`,
		"cors/origins": `"https://a.example"`} {
		s.ask(t, "PUT", "/_node/_local/_config/"+key, `"false"`)
		if a := s.ask(t, "DELETE", "/_node/_local/_config/"+key, ""); a.status != 200 {
			t.Errorf("%s: %d %s", key, a.status, a.body)
		}
		if a := s.ask(t, "GET", "/_node/_local/_config/"+key, ""); strings.TrimSpace(a.body) != want {
			t.Errorf("%s is %s", key, a.body)
		}
	}
}

// GET /_session with wrong credentials is an error. Logging in and out are not, nor are the probes.
func TestSession_WrongCredentials(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	for request, status := range map[string]int{"GET /_session": 401, "HEAD /_session": 401, "GET /_up": 200,
		"GET /livez": 200} {
		method, path, _ := strings.Cut(request, " ")
		if a := s.ask(t, method, path, "", "Authorization", "Basic cm9vdDp4"); a.status != status {
			t.Errorf("%s: %d %s", request, a.status, a.body)
		}
	}
}

// quoted is a JSON string.
func quoted(t *testing.T, s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// otherNode answers for the member divan@other.
type otherNode struct{ asked string }

func (o *otherNode) Members() []api.Member {
	return []api.Member{{Name: "divan@test", Status: "alive", Self: true}, {Name: "divan@other", Status: "alive"},
		{Name: "divan@down", Status: "suspect"}}
}

func (o *otherNode) Ask(_ context.Context, member string, r api.NodeRequest) (api.NodeAnswer, error) {
	o.asked = strings.TrimSpace(r.User.Name + " " + r.Method + " " + member + " " + strings.Join(r.Path, " ") + " " +
		string(r.Body))
	if member == "divan@down" {
		return api.NodeAnswer{}, context.DeadlineExceeded
	}
	return api.NodeAnswer{Status: 200, Type: "application/json", Body: []byte("{}\n")}, nil
}

// Requests below another member's name are passed on to it with the caller, once the caller's rights are checked here.
func TestNode_OtherMembers(t *testing.T) {
	other := &otherNode{}
	s := serve(t, func(o *api.Options) { o.Auth, o.Members, o.Others = accounts, other, other })
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		asked                    string
	}{
		{"root", "GET", "/_node/divan@other", "", 200, "root GET divan@other"},
		{"root", "GET", "/_node/divan@other/_config", "", 200, "root GET divan@other _config"},
		{"root", "GET", "/_node/divan@other/_config/uuids", "", 200, "root GET divan@other _config uuids"},
		{"root", "GET", "/_node/divan@other/_config/jwt_keys/hmac:a%2Fb", "", 200,
			"root GET divan@other _config jwt_keys hmac:a/b"},
		{"root", "PUT", "/_node/divan@other/_config/uuids/max_count", `"7"`, 200,
			`root PUT divan@other _config uuids max_count "7"`},
		{"root", "DELETE", "/_node/divan@other/_config/uuids/max_count", "", 200,
			"root DELETE divan@other _config uuids max_count"},
		{"root", "POST", "/_node/divan@other/_config/_reload", "", 200, "root POST divan@other _config _reload"},
		{"root", "PUT", "/_node/divan@none/_config/uuids/max_count", `"7"`, 404, ""},
		{"root", "GET", "/_node/divan@down/_config", "", 503, "root GET divan@down _config"},
		{"root", "PUT", "/_node/divan@test/_config/uuids/max_count", `"7"`, 200, ""},
		{"root", "GET", "/_node/divan@other/_stats/couchdb/httpd", "", 200, "root GET divan@other _stats couchdb httpd"},
		{"root", "GET", "/_node/divan@other/_system", "", 200, "root GET divan@other _system"},
		{"root", "GET", "/_node/divan@test/_system", "", 200, ""},
		{"root", "GET", "/_node/divan@down/_versions", "", 503, "root GET divan@down _versions"},
		{"root", "GET", "/_node/divan@none/_versions", "", 404, ""},
		{"member", "GET", "/_node/divan@other/_system", "", 401, ""},
		{"", "PUT", "/_node/divan@other/_config/uuids/max_count", `"8"`, 401, ""},
	} {
		other.asked = ""
		status, text := s.as(t, c.user, c.method, c.path, c.body)
		if status != c.status || other.asked != c.asked {
			t.Errorf("%v: %d %s, asked %q", c, status, text, other.asked)
		}
		if status == 503 && !strings.Contains(text, "divan@down does not answer") {
			t.Errorf("%v: %s", c, text)
		}
		if strings.HasPrefix(c.path, "/_node/_local/_config") && strings.TrimSpace(text) != `"7"` {
			t.Errorf("the option is %s", text)
		}
	}
}
