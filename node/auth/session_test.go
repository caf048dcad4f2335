package auth_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

// nano's cookie jar keeps a session only if the cookie has Expires. Browsers would be content with Max-Age.
func TestAuthenticator_CookieExpires(t *testing.T) {
	for _, persistent := range []bool{true, false} {
		a, _ := newAuth(t, func(o *auth.Options) { o.PersistentCookies = persistent })
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session",
			strings.NewReader(`{"name":"jan","password":"relax"}`))
		r.Header.Set("Content-Type", "application/json")
		if err := a.ServeSession(w, r, auth.UserCtx{}); err != nil {
			t.Fatal(err)
		}
		c := w.Result().Cookies()[0]
		if (c.Expires.After(time.Now()) && c.MaxAge > 0) != persistent || c.Expires.IsZero() == persistent {
			t.Errorf("persistent %v: %s", persistent, c.Raw)
		}
	}
}

// GET /_session reports credentials that name no user, which are ignored elsewhere.
func TestAuthenticator_SessionTells(t *testing.T) {
	a, _ := newAuth(t, nil)
	cookie := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	login := httptest.NewRecorder()
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session",
		strings.NewReader(`{"name":"jan","password":"relax"}`))
	post.Header.Set("Content-Type", "application/json")
	if err := a.ServeSession(login, post, auth.UserCtx{}); err != nil {
		t.Fatal(err)
	}
	good := login.Result().Cookies()[0].Value
	fresh := fmt.Sprintf("%X", time.Now().Unix())
	for name, c := range map[string]struct {
		authorization, cookie string
		session               layer.Kind // of GET /_session
		passed                bool       // ignored elsewhere
		ok                    bool
	}{
		"nothing":                  {ok: true},
		"an empty header":          {authorization: " ", ok: true},
		"the logged-out pair":      {authorization: basic("_:_"), ok: true},
		"scheme only":              {authorization: "Basic", session: layer.Unauthorized, passed: true},
		"scheme and space":         {authorization: "Basic ", session: layer.Unauthorized, passed: true},
		"no colon":                 {authorization: basic("jan"), session: layer.Unauthorized, passed: true},
		"a lone colon":             {authorization: basic(":"), session: layer.Unauthorized, passed: true},
		"no name":                  {authorization: basic(":x"), session: layer.Unauthorized, passed: true},
		"no scheme":                {authorization: "foo", session: layer.Unauthorized, passed: true},
		"Bearer":                   {authorization: "Bearer abc", session: layer.Unauthorized, passed: true},
		"Digest":                   {authorization: `Digest username="jan"`, session: layer.Unauthorized, passed: true},
		"a wrong password":         {authorization: basic("jan:x"), session: layer.Unauthorized},
		"no base64":                {authorization: "Basic !!!", session: layer.Invalid},
		"cut base64":               {authorization: "Basic x", session: layer.Invalid},
		"an empty cookie":          {cookie: "AuthSession=", ok: true},
		"an empty quoted cookie":   {cookie: `AuthSession=""; a=b`, ok: true},
		"another cookie":           {cookie: `a="AuthSession=x"`, ok: true},
		"a session":                {cookie: "a=b; AuthSession=" + good, ok: true},
		"a quoted session":         {cookie: `AuthSession="` + good + `"`, ok: true},
		"a session after an empty": {cookie: "AuthSession=; AuthSession=" + good, ok: true},
		"half a quote":             {cookie: `AuthSession="x`, session: layer.Invalid},
		"a lone quote":             {cookie: `AuthSession="`, session: layer.Invalid},
		"a quote that goes on":     {cookie: `AuthSession="x; a=b"`, session: layer.Invalid},
		"a backslash":              {cookie: `AuthSession=a\b`, session: layer.Invalid},
		"no ASCII":                 {cookie: "AuthSession=\xe4", session: layer.Invalid},
		"a second cookie":          {cookie: "AuthSession=; AuthSession=x", session: layer.Invalid},
		"two parts":                {cookie: "AuthSession=" + cookie("jan:"+fresh), session: layer.Invalid},
		"no time":                  {cookie: "AuthSession=" + cookie("jan:zz:x"), session: layer.Invalid},
		"a forged cookie": {cookie: "AuthSession=" + cookie("jan:"+fresh+":x"), session: layer.Unauthorized,
			passed: true},
		"an old forged cookie": {cookie: "AuthSession=" + cookie("jan:5F000000:x"), session: layer.Unauthorized,
			passed: true},
		"a cookie of an unknown user": {cookie: "AuthSession=" + cookie("nobody:"+fresh+":x"), session: layer.Unauthorized,
			passed: true},
		"a forged one with basic": {cookie: "AuthSession=" + cookie("jan:"+fresh+":x"),
			authorization: basic("jan:relax"), ok: true},
	} {
		r := request(t, c.authorization)
		r.URL.Path = "/_session"
		if c.cookie != "" {
			r.Header.Set("Cookie", c.cookie)
		}
		w := httptest.NewRecorder()
		u, err := a.Authenticate(r)
		if (c.ok || c.passed) != (err == nil) {
			t.Errorf("%s: on other paths: %v", name, err)
		}
		if err == nil {
			err = a.ServeSession(w, r, u)
		}
		if c.ok != (err == nil) || !c.ok && layer.KindOf(err) != c.session {
			t.Errorf("%s: %v", name, err)
		}
		if cleared := strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0"); cleared != (c.passed &&
			c.cookie != "") {
			t.Errorf("%s: the cookie is cleared: %v", name, cleared)
		}
	}
	later, _ := newAuth(t, func(o *auth.Options) { o.Timeout = time.Nanosecond })
	ended := request(t, "")
	ended.URL.Path = "/_session"
	ended.Header.Set("Cookie", "AuthSession="+good)
	u, err := later.Authenticate(ended)
	if err != nil || u.Name != "" {
		t.Errorf("a session that has ended: %+v, %v", u, err)
	}
	if err := later.ServeSession(httptest.NewRecorder(), ended, u); err != nil {
		t.Errorf("a session that has ended: %v", err)
	}
	two := request(t, basic("jan:relax"))
	two.Header.Add("Authorization", basic("jan:relax"))
	if _, err := a.Authenticate(two); layer.KindOf(err) != layer.Invalid {
		t.Errorf("two headers: %v", err)
	}
}

// serve answers every request as node/api does, except for the bodies of errors.
func serve(t *testing.T, a *auth.Authenticator) (*httptest.Server, *http.Client) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := a.Authenticate(r)
		if err == nil {
			err = a.ServeSession(w, r, u)
		}
		var e *layer.Error
		if errors.As(err, &e) {
			w.WriteHeader(map[string]int{"unauthorized": 401, "bad_request": 400, "bad_content_type": 415,
				"method_not_allowed": 405, "too_large": 413}[e.Name])
		} else if err != nil {
			w.WriteHeader(500)
		}
	}))
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Client()
	c.Jar = jar
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, c
}

func TestAuthenticator_CookieLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, db := newAuth(t, nil)
		login := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session",
			strings.NewReader("name=jan&password=relax"))
		login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if err := a.ServeSession(w, login, auth.UserCtx{}); err != nil {
			t.Fatal(err)
		}
		cookie := w.Result().Cookies()[0] //nolint:bodyclose // a recorder's
		if cookie.Name != "AuthSession" || !cookie.HttpOnly || cookie.Path != "/" {
			t.Fatalf("cookie %+v", cookie)
		}
		who := func(c *http.Cookie) (string, bool) {
			r := request(t, "")
			r.AddCookie(c)
			u, err := a.Authenticate(r)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			a.Renew(w.Header(), r, u)
			return u.Name, w.Header().Get("Set-Cookie") != ""
		}
		if name, renewed := who(cookie); name != "jan" || renewed {
			t.Errorf("at once: %q, renewed %v", name, renewed)
		}
		time.Sleep(5 * time.Minute)
		if name, renewed := who(cookie); name != "jan" || !renewed {
			t.Errorf("after 5 minutes: %q, renewed %v", name, renewed)
		}
		for _, forged := range []func(string) string{
			func(v string) string { return strings.Replace(v, "jan:", "root:", 1) },
			func(v string) string { return strings.Replace(v, "jan:", "jan:F", 1) }, // a later time
			func(v string) string { return v[:len(v)-1] + string(v[len(v)-1]^1) },
			func(v string) string { return v[:len(v)-4] },
		} {
			raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
			if err != nil {
				t.Fatal(err)
			}
			bad := &http.Cookie{Name: "AuthSession",
				Value: base64.RawURLEncoding.EncodeToString([]byte(forged(string(raw))))}
			if name, _ := who(bad); name != "" {
				t.Errorf("forged %q is accepted as %q", forged(string(raw)), name)
			}
		}
		time.Sleep(6 * time.Minute)
		if name, _ := who(cookie); name != "" {
			t.Errorf("after 11 minutes: %q", name)
		}

		// A new password ends the sessions of the old one.
		w = httptest.NewRecorder()
		login.Body = http.NoBody
		changed := strings.Replace(janDoc, "58b32f", "58b330", 1)
		fresh := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session",
			strings.NewReader("name=jan&password=relax"))
		fresh.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if err := a.ServeSession(w, fresh, auth.UserCtx{}); err != nil {
			t.Fatal(err)
		}
		cookie = w.Result().Cookies()[0] //nolint:bodyclose // a recorder's
		db.set("jan", changed)
		if name, _ := who(cookie); name != "" {
			t.Errorf("after a new password: %q", name)
		}
	})
}

func TestAuthenticator_ServeSession(t *testing.T) {
	a, _ := newAuth(t, nil)
	const form, js = "application/x-www-form-urlencoded", "application/json"
	for _, c := range []struct {
		name, method, target, kind, body string
		status                           int
		answer, location                 string
	}{
		{"anonymous", "GET", "/_session", "", "", 200,
			`{"ok":true,"userCtx":{"name":null,"roles":[]},"info":{"authentication_handlers":["cookie","default"]}}`,
			""},
		{"asked to log in", "GET", "/_session?basic=true", "", "", 401, "", ""},
		{"login by form", "POST", "/_session", form, "name=jan&password=relax", 200,
			`{"ok":true,"name":"jan","roles":["dev"]}`, ""},
		{"login by JSON", "POST", "/_session", js + "; charset=utf-8", `{"username":"jan","password":"relax"}`, 200,
			`{"ok":true,"name":"jan","roles":["dev"]}`, ""},
		{"login of an admin", "POST", "/_session", form, "name=root&password=sesame", 200,
			`{"ok":true,"name":"root","roles":["_admin"]}`, ""},
		{"wrong password", "POST", "/_session", form, "name=jan&password=relay", 401, "", ""},
		{"no password", "POST", "/_session", js, `{"name":"jan"}`, 401, "", ""},
		{"no name", "POST", "/_session", js, `{"password":"jan"}`, 400, "", ""},
		{"two names", "POST", "/_session", js, `{"name":"jan","username":"root","password":"relax"}`, 400, "", ""},
		{"bad JSON", "POST", "/_session", js, `{`, 400, "", ""},
		{"other members", "POST", "/_session", js, `{"name":"jan","password":"relax","next":5,"x":{"name":1}}`, 200,
			`{"ok":true,"name":"jan","roles":["dev"]}`, ""},
		{"JSON of another type", "POST", "/_session", js, `{"name":["jan"],"password":1}`, 400, "", ""},
		{"bad form", "POST", "/_session", form, "name=%zz", 400, "", ""},
		{"bad type", "POST", "/_session", "text/plain", "x", 415, "", ""},
		{"huge", "POST", "/_session", form, strings.Repeat("x", 1<<20), 413, "", ""},
		{"next", "POST", "/_session?next=/app", form, "name=jan&password=relax", 302, "", "/app"},
		{"next elsewhere", "POST", "/_session?next=//evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a tab", "POST", "/_session?next=/%09/evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a line", "POST", "/_session?next=/%0a/evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a backslash", "POST", "/_session?next=/%5cevil.example", form, "name=jan&password=relax", 400, "",
			""},
		{"next with a nul", "POST", "/_session?next=/%00", form, "name=jan&password=relax", 400, "", ""},
		{"next with an invalid byte", "POST", "/_session?next=/%ff/x", form, "name=jan&password=relax", 400, "", ""},
		{"next relative", "POST", "/_session?next=evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a scheme", "POST", "/_session?next=javascript:alert(1)", form, "name=jan&password=relax", 400, "",
			""},
		{"next after a space", "POST", "/_session?next=%20//evil.example", form, "name=jan&password=relax", 400, "",
			""},
		{"next with others", "POST", "/_session?next=/a%20b/%E2%82%AC?x=1%26y%23z", form, "name=jan&password=relax",
			302, "", "/a%20b/%E2%82%AC?x=1&y#z"},
		{"fail elsewhere", "POST", "/_session?fail=/%09/evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"logging out elsewhere", "DELETE", "/_session?next=/%09/evil.example", "", "", 400, "", ""},
		{"next absolute", "POST", "/_session?next=http://evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"fail", "POST", "/_session?fail=/sorry", form, "name=jan&password=x", 302, "", "/sorry"},
		{"logout", "DELETE", "/_session", "", "", 200, `{"ok":true}`, ""},
		{"another method", "PUT", "/_session", "", "", 405, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := serve(t, a)
			status, body, header := do(t, client, c.method, s.URL+c.target, c.kind, c.body)
			if status != c.status {
				t.Fatalf("status %d, want %d", status, c.status)
			}
			if c.answer != "" && body != c.answer+"\n" {
				t.Errorf("body %s, want %s", body, c.answer)
			}
			if got := strings.TrimPrefix(header.Get("Location"), s.URL); got != c.location {
				t.Errorf("location %q, want %q", got, c.location)
			}
		})
	}
}

// A login that is refused because of its form says what is wrong with it.
func TestAuthenticator_malformedLogin(t *testing.T) {
	a, _ := newAuth(t, nil)
	for body, want := range map[string]string{
		`{`:                               "invalid UTF-8 JSON",
		`["jan"]`:                         "request body must be a JSON object",
		`null`:                            "request body must be a JSON object",
		`{}`:                              "request body must contain a username",
		`{"name":5}`:                      "name must be a string",
		`{"name":null,"password":"x"}`:    "name must be a string",
		`{"username":{}}`:                 "username must be a string",
		`{"name":"jan","password":1}`:     "password must be a string",
		`{"name":"jan","username":"eve"}`: "request body contains different usernames",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		err := a.ServeSession(httptest.NewRecorder(), r, auth.UserCtx{})
		if e := (*layer.Error)(nil); !errors.As(err, &e) || e.Kind != layer.Invalid || e.Reason != want {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

// The body of a login may be compressed, as Cloudant's client for Node does. Its limits hold for what it says.
func TestAuthenticator_compressedLogin(t *testing.T) {
	a, _ := newAuth(t, nil)
	s, client := serve(t, a)
	zipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	login := zipped(`{"name":"jan","password":"relax"}`)
	for _, c := range []struct {
		name, encoding, body string
		status               int
	}{
		{"gzip", "gzip", login, 200},
		{"in capitals", "GZIP", login, 200},
		{"identity", "identity", `{"name":"jan","password":"relax"}`, 200},
		{"not said", "", login, 400},
		{"not compressed", "gzip", `{"name":"jan","password":"relax"}`, 400},
		{"cut short", "gzip", login[:len(login)-9], 400},
		{"another encoding", "br", login, 415},
		{"a bomb", "gzip", zipped(strings.Repeat(" ", 10<<20)), 413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/_session", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.name, answer.StatusCode, c.status)
		}
	}
}

func TestAuthenticator_LoginAndOut(t *testing.T) {
	a, _ := newAuth(t, nil)
	s, client := serve(t, a)
	do(t, client, "POST", s.URL+"/_session", "application/x-www-form-urlencoded", "name=jan&password=relax")
	const in = `{"ok":true,"userCtx":{"name":"jan","roles":["dev"]},"info":{"authentication_handlers":["cookie","default"],"authenticated":"cookie"}}`
	if _, body, _ := do(t, client, "GET", s.URL+"/_session", "", ""); body != in+"\n" {
		t.Errorf("logged in: %s", body)
	}
	do(t, client, "DELETE", s.URL+"/_session", "", "")
	if _, body, _ := do(t, client, "GET", s.URL+"/_session", "", ""); !strings.Contains(body, `"name":null`) {
		t.Errorf("logged out: %s", body)
	}
	r := request(t, "")
	r.AddCookie(&http.Cookie{Name: "AuthSession", Value: "xx"})
	if _, err := a.Authenticate(r); layer.KindOf(err) != layer.Invalid {
		t.Errorf("a malformed cookie: %v", err)
	}
}
