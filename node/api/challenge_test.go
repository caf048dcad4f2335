package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
)

// wrongPassword refuses all logins.
type wrongPassword struct{ testAuth }

func (wrongPassword) ServeSession(http.ResponseWriter, *http.Request, api.User) error {
	return &layer.Error{Kind: layer.Unauthorized, Name: "unauthorized", Reason: "Name or password is incorrect."}
}

// A client without valid credentials is asked for them, or led to a page, as the options say (chttpd:error_headers).
func TestChallenge(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = wrongPassword{testAuth{"root": {"sesame", []string{"_admin"}}}} })
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, accept, body string, admin bool) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		if admin {
			r.SetBasicAuth("root", "sesame")
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		if a.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if a.StatusCode == http.StatusFound && !strings.HasPrefix(string(text), `{"error":"unauthorized",`) {
			t.Errorf("%s %s: %s with %q", method, path, a.Status, text)
		}
		return a
	}
	set := func(option, value string) {
		t.Helper()
		method, body := http.MethodPut, `"`+value+`"`
		if value == "" {
			method, body = http.MethodDelete, ""
		}
		if a := ask(method, "/_node/_local/_config/"+option, "", body, true); a.StatusCode != http.StatusOK {
			t.Fatalf("%s = %q: %s", option, value, a.Status)
		}
	}
	check := func(what, accept string, status int, header, want string) {
		t.Helper()
		a := ask("GET", "/_all_dbs", accept, "", false)
		if got := a.Header.Get(header); a.StatusCode != status || strings.ReplaceAll(got, s.URL, "") != want {
			t.Errorf("%s: %s, %s %q, want %d, %q", what, a.Status, header, got, status, want)
		}
	}
	const page = "/_utils/session.html?return=%2F_all_dbs&reason=You%20are%20not%20a%20server%20admin."
	check("a program", "application/json", 401, "WWW-Authenticate", "")
	check("a program that takes anything", "", 401, "Location", "")
	check("a browser that takes anything", "text/html,*/*;q=0.8", 401, "Location", "")
	check("a browser", "text/html", 302, "Location", page)
	check("a browser that takes no JSON", "text/*, application/json;q=0", 302, "Location", page)
	if a := ask("POST", "/_session", "text/html", "", false); a.StatusCode != 401 {
		t.Errorf("a login that fails: %s, Location %q", a.Status, a.Header.Get("Location"))
	}
	if a := ask("GET", "/_session", "text/html", "", false); a.StatusCode != 302 {
		t.Errorf("a page that asks who it is: %s", a.Status)
	}
	set("chttpd_auth/authentication_redirect", "/login")
	check("another page", "text/html", 302, "Location", strings.Replace(page, "/_utils/session.html", "/login", 1))
	set("chttpd/WWW-Authenticate", `Basic realm=\"shop\"`)
	check("a browser that is asked", "text/html", 401, "WWW-Authenticate", `Basic realm="shop"`)
	check("a program that is asked", "application/json", 401, "WWW-Authenticate", `Basic realm="shop"`)
	set("chttpd/WWW-Authenticate", "")
	set("chttpd/require_valid_user", "true")
	check("a valid user is required", "text/html", 401, "WWW-Authenticate", `Basic realm="divan"`)

	// The console: whoever opens it is asked for a password, but not for each request of its scripts.
	for header, want := range map[string]string{"": `Basic realm="divan"`, "Accept: text/html": `Basic realm="divan"`,
		"Sec-Fetch-Dest: document": `Basic realm="divan"`, "Sec-Fetch-Dest: empty": "",
		"X-Requested-With: XMLHttpRequest": "", "Accept: text/event-stream": ""} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/_dashboard/api/verdict", nil)
		if err != nil {
			t.Fatal(err)
		}
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := a.Header.Get("WWW-Authenticate"); a.StatusCode != 401 || got != want {
			t.Errorf("the console with %q: %s, %q, want %q", header, a.Status, got, want)
		}
	}
}

// couchdb/default_security says who may use new databases.
func TestDefaultSecurity(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = testAuth{"root": {"sesame", []string{"_admin"}}} })
	status := func(method, path, body string, admin bool) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if admin {
			r.SetBasicAuth("root", "sesame")
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	for i, c := range []struct {
		value string
		want  int
	}{{"", 401}, {"everyone", 200}, {"admin_only", 401}} {
		if c.value != "" && status("PUT", "/_node/_local/_config/couchdb/default_security", `"`+c.value+`"`, true) != 200 {
			t.Fatalf("%q was refused", c.value)
		}
		db := "/db" + string(rune('a'+i))
		if got := status("PUT", db, "", true); got != 201 {
			t.Fatalf("PUT %s: %d", db, got)
		}
		if got := status("GET", db, "", false); got != c.want {
			t.Errorf("default_security %q: a new database answers nobody with %d, want %d", c.value, got, c.want)
		}
	}
}

// The header Server names no version if the options say so.
func TestServerHeader(t *testing.T) {
	s := serve(t, nil)
	for _, c := range []struct{ versions, want string }{{"true", "Divan/0.0-test"}, {"false", "Divan"}} {
		s.ask(t, "PUT", "/_node/_local/_config/chttpd/server_header_versions", `"`+c.versions+`"`)
		a, err := http.Get(s.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := a.Header.Get("Server"); got != c.want {
			t.Errorf("server_header_versions %s: %q, want %q", c.versions, got, c.want)
		}
	}
}
