package auth_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

func TestAuthenticator_Proxy(t *testing.T) {
	ask := func(a *auth.Authenticator, headers ...string) auth.UserCtx {
		t.Helper()
		r := request(t, "")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		u, err := a.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	handlers := map[string]string{"authentication_handlers": allHandlers}
	open, _ := withOptions(t, map[string]map[string]string{"chttpd": handlers})
	u := ask(open, "X-Auth-CouchDB-UserName", "ann", "X-Auth-CouchDB-Roles", "a , b,")
	if u.Name != "ann" || u.Handler != "proxy" || strings.Join(u.Roles, "|") != "a|b" {
		t.Errorf("%+v", u)
	}
	if u := ask(open, "X-Auth-CouchDB-UserName", "", "X-Auth-CouchDB-Roles", "_admin"); u.Name != "" || u.IsAdmin() {
		t.Errorf("without a name: %+v", u)
	}
	off, _ := newAuth(t, nil)
	if u := ask(off, "X-Auth-CouchDB-UserName", "ann", "X-Auth-CouchDB-Roles", "_admin"); u.Name != "" || u.IsAdmin() {
		t.Errorf("without the handler: %+v", u)
	}
	signed, _ := withOptions(t, map[string]map[string]string{"chttpd": handlers, "chttpd_auth": {
		"proxy_use_secret": "true", "secret": "shared", "x_auth_username": "X-User", "x_auth_token": "X-Proof"}})
	m := hmac.New(sha1.New, []byte("shared"))
	m.Write([]byte("ann"))
	proof := hex.EncodeToString(m.Sum(nil))
	for _, c := range []struct{ user, proof, want string }{
		{"ann", proof, "ann"}, {"bob", proof, ""}, {"ann", "", ""}, {"ann", proof[1:], ""},
	} {
		if u := ask(signed, "X-User", c.user, "X-Proof", c.proof); u.Name != c.want {
			t.Errorf("%v: %+v", c, u)
		}
	}
}

// Options are effective at once, also for cookies that exist already.
func TestAuthenticator_SetRules(t *testing.T) {
	a, _ := newAuth(t, nil)
	login := func() *http.Cookie {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session",
			strings.NewReader(`{"name":"jan","password":"relax"}`))
		r.Header.Set("Content-Type", "application/json")
		if err := a.ServeSession(w, r, auth.UserCtx{}); err != nil {
			t.Fatal(err)
		}
		return w.Result().Cookies()[0]
	}
	who := func(c *http.Cookie) string {
		t.Helper()
		r := request(t, "")
		r.AddCookie(c)
		u, err := a.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		return u.Name
	}
	set := func(options map[string]string) {
		t.Helper()
		rules, err := auth.ParseRules(auth.Rules{Timeout: time.Minute, Iterations: 4096},
			map[string]map[string]string{"chttpd_auth": options})
		if err == nil {
			err = a.SetRules(rules)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := login()
	set(map[string]string{"cookie_domain": "example.com", "same_site": "Strict", "hash_algorithms": "sha512, sha256"})
	second := login()
	if second.Domain != "example.com" || second.SameSite != http.SameSiteStrictMode {
		t.Errorf("%+v", second)
	}
	if who(first) != "jan" || who(second) != "jan" {
		t.Error("a hash that is still listed is not accepted")
	}
	set(map[string]string{"hash_algorithms": "sha256"})
	if who(first) != "jan" || who(second) != "" {
		t.Error("a hash that is no longer listed is accepted")
	}
	set(map[string]string{"secret": "another"})
	if who(first) != "" {
		t.Error("a cookie outlived its secret")
	}
}

func TestAuthenticator_PasswordRules(t *testing.T) {
	a, _ := withOptions(t, map[string]map[string]string{"chttpd_auth": {"iterations": "4096",
		"password_regexp": `[{".{10,}", "At least 10 characters."}, "(?=.*\\d)(?=.*[a-z])", {"^[^ ]*$"}]`}})
	const refused = "Password does not conform to requirements."
	for password, want := range map[string]string{
		"correct4horse": "", "short1": refused + " At least 10 characters.", "withoutdigits": refused,
		"with 1 space": refused,
	} {
		_, err := a.HashUserDocument(t.Context(), []byte(`{"name":"x","password":"`+password+`"}`))
		var e *layer.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Reason != want || e.Kind != layer.Invalid) {
			t.Errorf("%s: %v", password, err)
		}
	}
	// A rule that takes for ever refuses, soon.
	slow, _ := withOptions(t, map[string]map[string]string{"chttpd_auth": {"password_regexp": `["^(a+)+$"]`}})
	began := time.Now()
	_, err := slow.HashUserDocument(t.Context(), []byte(`{"name":"x","password":"`+strings.Repeat("a", 99)+`!"}`))
	if layer.KindOf(err) != layer.Invalid || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestAuthenticator_Iterations(t *testing.T) {
	for options, want := range map[[2]string]string{
		{"min_iterations", "4097"}: "Iteration count is too low for this server",
		{"max_iterations", "4095"}: "Iteration count is too high for this server",
		{"min_iterations", "4096"}: "",
	} {
		a, _ := withOptions(t, map[string]map[string]string{"chttpd_auth": {options[0]: options[1]}})
		_, err := a.Authenticate(request(t, basic("jan:relax")))
		var e *layer.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &e) || e.Reason != want || e.Kind != layer.Forbidden) {
			t.Errorf("%v over HTTP: %v", options, err)
		}
		_, err = a.SCRAM(t.Context(), "jan", nil)
		if (err == nil) != (want == "") {
			t.Errorf("%v over SQL: %v", options, err)
		}
	}
}

// upgradable receives the passwords that are to be hashed anew.
type upgradable struct {
	*users
	got chan string
}

func (u *upgradable) UpgradePassword(_ context.Context, database, name, password string) error {
	u.got <- database + " " + name + " " + password
	return nil
}

func TestAuthenticator_Upgrade(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{"iterations": "5000", "upgrade_hash_on_auth": "true"}, "_users jan relax"},
		{map[string]string{"iterations": "4096", "upgrade_hash_on_auth": "true"}, ""},
		{map[string]string{"iterations": "4096", "pbkdf2_prf": "sha512", "upgrade_hash_on_auth": "true"},
			"_users jan relax"},
		{map[string]string{"iterations": "5000", "upgrade_hash_on_auth": "false"}, ""},
	} {
		var docs *upgradable
		a, _ := newAuth(t, func(o *auth.Options) {
			docs = &upgradable{o.Users.(*users), make(chan string, 9)}
			o.Users = docs
			var err error
			o.Rules, err = auth.ParseRules(o.Rules, map[string]map[string]string{"chttpd_auth": c.options})
			if err != nil {
				t.Fatal(err)
			}
		})
		for _, credentials := range []string{"jan:relax", "root:sesame"} {
			if _, err := a.Authenticate(request(t, basic(credentials))); err != nil {
				t.Fatal(err)
			}
		}
		if c.want != "" {
			if got := <-docs.got; got != c.want {
				t.Errorf("%v: upgraded %q", c.options, got)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if len(docs.got) > 0 {
			t.Errorf("%v: also upgraded %q", c.options, <-docs.got)
		}
	}
	a, _ := withOptions(t, map[string]map[string]string{"chttpd_auth": {"iterations": "5000"}})
	doc, err := auth.WithSamePassword([]byte(janDoc), "relax")
	if err == nil {
		doc, err = a.HashUserDocument(t.Context(), doc)
	}
	if err != nil || !strings.Contains(string(doc), `"salt":"58b32fafc2979a10649a376ab874fff1","iterations":5000`) {
		t.Errorf("%s, %v", doc, err)
	}
}
