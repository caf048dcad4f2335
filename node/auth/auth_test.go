package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

// users is a _users database in memory.
type users struct {
	mu         sync.Mutex
	docs       map[string]string
	conflicted map[string]bool
	err        error
}

func (u *users) UserDocument(_ context.Context, name string) ([]byte, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if doc, ok := u.docs[name]; ok {
		return []byte(doc), u.conflicted[name], u.err
	}
	return nil, false, u.err
}

func (u *users) set(name, doc string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.docs[name] = doc
}

// slowDoc is what CouchDB 3.5 stored for the password "relax"; janDoc the same with fewer iterations.
const slowDoc = `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"58b32fafc2979a10649a376ab874fff1","iterations":600000,
"derived_key":"9253c4205f5a591086cd64e5f4ab56dfdb82d77ddffe708ecc8c94251afac7cb","name":"jan","roles":["dev"],"type":"user"}`

const janDoc = `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"58b32fafc2979a10649a376ab874fff1","iterations":4096,
"derived_key":"5797b87806ee38ba1d41eba889adcd01ecffe8ab0d53d3d57b0ce661d1159902","name":"jan","roles":["dev"],"type":"user"}`

func newAuth(t *testing.T, change func(*auth.Options)) (*auth.Authenticator, *users) {
	t.Helper()
	db := &users{docs: map[string]string{"jan": janDoc}, conflicted: map[string]bool{}}
	o := auth.Options{
		Admins:     map[string]string{"root": auth.NewHash("sesame", 4096).String()},
		Users:      db,
		Secret:     []byte("a secret"),
		Timeout:    10 * time.Minute,
		Iterations: 4096,
	}
	if change != nil {
		change(&o)
	}
	a, err := auth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a, db
}

func request(t *testing.T, authorization string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/db", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestAuthenticator_Basic(t *testing.T) {
	a, _ := newAuth(t, nil)
	for _, c := range []struct {
		name, header string
		user         string
		roles        []string
		refused      bool
	}{
		{name: "none"},
		{name: "admin", header: basic("root:sesame"), user: "root", roles: []string{"_admin"}},
		{name: "user", header: basic("jan:relax"), user: "jan", roles: []string{"dev"}},
		{name: "user again, remembered", header: basic("jan:relax"), user: "jan", roles: []string{"dev"}},
		{name: "scheme in lower case", header: strings.Replace(basic("jan:relax"), "Basic", "basic", 1), user: "jan", roles: []string{"dev"}},
		{name: "wrong password", header: basic("jan:relay"), refused: true},
		{name: "wrong admin password", header: basic("root:relax"), refused: true},
		{name: "empty password", header: basic("jan:"), refused: true},
		{name: "unknown name", header: basic("nobody:relax"), refused: true},
		{name: "unknown name, empty password", header: basic("nobody:"), refused: true},
		{name: "empty", header: basic("")},
		{name: "colon only", header: basic(":")},
		{name: "no colon", header: basic("jan")},
		{name: "scheme only", header: "Basic"},
		{name: "scheme and space", header: "Basic "},
		{name: "the logged-out pair", header: basic("_:_")},
		{name: "another scheme", header: "Bearer abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := a.Authenticate(request(t, c.header))
			if c.refused {
				if layer.KindOf(err) != layer.Unauthorized || err == nil {
					t.Fatalf("got user %+v, error %v; want unauthorized", u, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if u.Name != c.user || !slices.Equal(u.Roles, c.roles) || u.Roles == nil {
				t.Errorf("got %q %q, want %q %q", u.Name, u.Roles, c.user, c.roles)
			}
			if u.IsAdmin() != (c.user == "root") {
				t.Errorf("IsAdmin is %v", u.IsAdmin())
			}
		})
	}
}

// nano's cookie jar keeps a session only where the cookie says when it ends (Expires); browsers would do with Max-Age.
func TestAuthenticator_CookieExpires(t *testing.T) {
	for _, persistent := range []bool{true, false} {
		a, _ := newAuth(t, func(o *auth.Options) { o.PersistentCookies = persistent })
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session", strings.NewReader(`{"name":"jan","password":"relax"}`))
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

// GET /_session tells of credentials that name nobody, which elsewhere are passed over.
func TestAuthenticator_SessionTells(t *testing.T) {
	a, _ := newAuth(t, nil)
	cookie := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	login := httptest.NewRecorder()
	post := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session", strings.NewReader(`{"name":"jan","password":"relax"}`))
	post.Header.Set("Content-Type", "application/json")
	if err := a.ServeSession(login, post, auth.UserCtx{}); err != nil {
		t.Fatal(err)
	}
	good := login.Result().Cookies()[0].Value
	fresh := fmt.Sprintf("%X", time.Now().Unix())
	for name, c := range map[string]struct {
		authorization, cookie string
		session               layer.Kind // of GET /_session
		passed                bool       // anonymous elsewhere
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
		"a forged cookie":          {cookie: "AuthSession=" + cookie("jan:"+fresh+":x"), session: layer.Unauthorized, passed: true},
		"an old forged cookie":     {cookie: "AuthSession=" + cookie("jan:5F000000:x"), session: layer.Unauthorized, passed: true},
		"a cookie of nobody":       {cookie: "AuthSession=" + cookie("nobody:"+fresh+":x"), session: layer.Unauthorized, passed: true},
		"a forged one with basic":  {cookie: "AuthSession=" + cookie("jan:"+fresh+":x"), authorization: basic("jan:relax"), ok: true},
	} {
		r := request(t, c.authorization)
		r.URL.Path = "/_session"
		if c.cookie != "" {
			r.Header.Set("Cookie", c.cookie)
		}
		w := httptest.NewRecorder()
		u, err := a.Authenticate(r)
		if (c.ok || c.passed) != (err == nil) {
			t.Errorf("%s: elsewhere: %v", name, err)
		}
		if err == nil {
			err = a.ServeSession(w, r, u)
		}
		if c.ok != (err == nil) || !c.ok && layer.KindOf(err) != c.session {
			t.Errorf("%s: %v", name, err)
		}
		if cleared := strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0"); cleared != (c.passed && c.cookie != "") {
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

func TestAuthenticator_WithoutAdminsEverybodyIsOne(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { o.Admins = nil })
	u, err := a.Authenticate(request(t, ""))
	if err != nil || !u.IsAdmin() || u.Name != "" {
		t.Errorf("anonymous: %+v, %v", u, err)
	}
	u, err = a.Authenticate(request(t, basic("jan:relax")))
	if err != nil || u.IsAdmin() || u.Name != "jan" {
		t.Errorf("a user who says who he is: %+v, %v", u, err)
	}
	if _, err = a.Authenticate(request(t, basic("ghost:x"))); layer.KindOf(err) != layer.Unauthorized {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestAuthenticator_AdminPassword(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { o.AdminPasswords = map[string]string{"root": "open", "jan": "two"} })
	for _, c := range []struct {
		credentials string
		ok          bool
	}{{"root:open", true}, {"root:sesame", false}, {"jan:two", true}, {"jan:relax", false}} {
		u, err := a.Authenticate(request(t, basic(c.credentials)))
		if (err == nil) != c.ok || (c.ok && !u.IsAdmin()) {
			t.Errorf("%s: %+v, %v", c.credentials, u, err)
		}
		if c.credentials == "jan:two" && !slices.Equal(u.Roles, []string{"_admin", "dev"}) {
			t.Errorf("an admin with a user document has roles %q", u.Roles)
		}
	}
}

func TestAuthenticator_ChangedPasswordCountsAtOnce(t *testing.T) {
	a, db := newAuth(t, nil)
	if _, err := a.Authenticate(request(t, basic("jan:relax"))); err != nil {
		t.Fatal(err)
	}
	changed, err := a.HashUserDocument(t.Context(), []byte(`{"name":"jan","password":"other","roles":[],"type":"user"}`))
	if err != nil {
		t.Fatal(err)
	}
	db.set("jan", string(changed))
	if _, err := a.Authenticate(request(t, basic("jan:relax"))); layer.KindOf(err) != layer.Unauthorized || err == nil {
		t.Errorf("the old password: %v", err)
	}
	if u, err := a.Authenticate(request(t, basic("jan:other"))); err != nil || len(u.Roles) != 0 {
		t.Errorf("the new password: %+v, %v", u, err)
	}
	db.conflicted["jan"] = true
	if _, err := a.Authenticate(request(t, basic("jan:other"))); layer.KindOf(err) != layer.Unauthorized || err == nil {
		t.Errorf("a document with conflicts: %v", err)
	}
}

func TestAuthenticator_StoreFails(t *testing.T) {
	a, db := newAuth(t, nil)
	db.err = &layer.Error{Kind: layer.Unavailable, Reason: "no store"}
	if _, err := a.Authenticate(request(t, basic("jan:relax"))); layer.KindOf(err) != layer.Unavailable {
		t.Errorf("a user: %v", err)
	}
	if u, err := a.Authenticate(request(t, basic("root:sesame"))); err != nil || !u.IsAdmin() {
		t.Errorf("an admin must get in to repair the store: %+v, %v", u, err)
	}
}

func TestAuthenticator_RequireUser(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { o.RequireUser = true })
	for _, c := range []struct {
		method, path string
		ok           bool
	}{{"GET", "/", false}, {"GET", "/_session", false}, {"POST", "/_session", true}, {"GET", "/_up", true}} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		if _, err := a.Authenticate(r); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		r.Header.Set("Authorization", basic("jan:relax"))
		if _, err := a.Authenticate(r); err != nil {
			t.Errorf("%s %s with credentials: %v", c.method, c.path, err)
		}
	}
}

// The scrypt-like cost of a password must be paid once per credentials, not once per request.
func TestAuthenticator_SlowHashOnce(t *testing.T) {
	a, db := newAuth(t, nil)
	db.set("jan", slowDoc)
	began := time.Now()
	if _, err := a.Authenticate(request(t, basic("jan:relax"))); err != nil {
		t.Fatal(err)
	}
	first := time.Since(began)
	began = time.Now()
	for range 100 {
		if _, err := a.Authenticate(request(t, basic("jan:relax"))); err != nil {
			t.Fatal(err)
		}
	}
	if rest := time.Since(began); rest > 20*first {
		t.Errorf("the first request took %v, the next hundred %v", first, rest)
	}
}

func TestAuthenticator_SCRAM(t *testing.T) {
	a, db := newAuth(t, nil)
	db.set("old", `{"password_scheme":"pbkdf2","salt":"5e11b9a9228414ab92541beeeacbf125","iterations":10,
		"derived_key":"2d86831c82b440b8887169bd2eebb356821d621b","name":"old","roles":[],"type":"user"}`)
	for _, c := range []struct {
		name, password string
		known          bool // to the SQL port
		user           bool
	}{{"root", "sesame", true, true}, {"jan", "relax", true, true}, {"ghost", "", false, false}, {"old", "secret", false, true}} {
		keys, err := a.SCRAM(t.Context(), c.name, nil)
		if err != nil || len(keys.StoredKey) != 32 || len(keys.ServerKey) != 32 || len(keys.Salt) == 0 || keys.Iterations < 4096 {
			t.Errorf("%s: keys that no exchange can use: %+v, %v", c.name, keys, err)
			continue
		}
		if known := clientFits(t, keys.SCRAMKeys, c.password); known != c.known {
			t.Errorf("%s: the password fits: %v", c.name, known)
		}
		again, err := a.SCRAM(t.Context(), c.name, nil)
		if err != nil || string(again.Salt) != string(keys.Salt) {
			t.Errorf("%s: the salt changes, which tells that there is no such user", c.name)
		}
		user, err := a.User(t.Context(), c.name)
		if (err == nil) != c.user || (c.user && user.Name != c.name) {
			t.Errorf("%s: %+v, %v", c.name, user, err)
		}
	}
	db.err = errors.New("down")
	if _, err := a.SCRAM(t.Context(), "jan", nil); err == nil {
		t.Error("a store that fails went unnoticed")
	}
}

// rawSaltedHash is as `divan hash-password` made them before salts were hex.
const rawSaltedHash = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" +
	"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

// TestAuthenticator_SCRAM_Salts: the form of a salt, which anybody can ask for, does not tell which names there are.
func TestAuthenticator_SCRAM_Salts(t *testing.T) {
	form := func(salt []byte) string {
		if _, err := hex.DecodeString(string(salt)); err == nil {
			return fmt.Sprint("hex of ", len(salt))
		}
		return fmt.Sprint("raw of ", len(salt))
	}
	for _, c := range []struct {
		name   string
		admins map[string]string
		ghosts []string // the forms of names that nobody has
	}{
		{"new hashes", map[string]string{"root": auth.NewHash("sesame", 4096).String()}, []string{"hex of 32"}},
		{"a hash of old", map[string]string{"root": rawSaltedHash}, []string{"hex of 32", "raw of 16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, db := newAuth(t, func(o *auth.Options) {
				o.Admins, o.AdminPasswords = c.admins, map[string]string{"flag": "sesame"}
			})
			doc, err := a.HashUserDocument(t.Context(), []byte(`{"name":"new","password":"relax","roles":[],"type":"user"}`))
			if err != nil {
				t.Fatal(err)
			}
			db.set("new", string(doc))
			salt := func(name string) string {
				keys, err := a.SCRAM(t.Context(), name, nil)
				if err != nil {
					t.Fatal(err)
				}
				return form(keys.Salt)
			}
			var ghosts []string
			for i := range 40 {
				ghosts = append(ghosts, salt(fmt.Sprint("ghost", i)))
			}
			slices.Sort(ghosts)
			if ghosts = slices.Compact(ghosts); !slices.Equal(ghosts, c.ghosts) {
				t.Errorf("salts of names that nobody has are %q, want %q", ghosts, c.ghosts)
			}
			for _, name := range []string{"root", "flag", "new"} {
				if got := salt(name); !slices.Contains(ghosts, got) {
					t.Errorf("%s exists, as the salt tells: %s", name, got)
				}
			}
		})
	}
}

// serve answers every request as node/api does, but for the body of errors.
func serve(t *testing.T, a *auth.Authenticator) (*httptest.Server, *http.Client) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := a.Authenticate(r)
		if err == nil {
			err = a.ServeSession(w, r, u)
		}
		var e *layer.Error
		if errors.As(err, &e) {
			w.WriteHeader(map[string]int{"unauthorized": 401, "bad_request": 400, "bad_content_type": 415, "method_not_allowed": 405, "too_large": 413}[e.Name])
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
		login := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session", strings.NewReader("name=jan&password=relax"))
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
			bad := &http.Cookie{Name: "AuthSession", Value: base64.RawURLEncoding.EncodeToString([]byte(forged(string(raw))))}
			if name, _ := who(bad); name != "" {
				t.Errorf("forged %q passes as %q", forged(string(raw)), name)
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
		fresh := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_session", strings.NewReader("name=jan&password=relax"))
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
		{"anonymous", "GET", "/_session", "", "", 200, `{"ok":true,"userCtx":{"name":null,"roles":[]},"info":{"authentication_handlers":["cookie","default"]}}`, ""},
		{"asked to log in", "GET", "/_session?basic=true", "", "", 401, "", ""},
		{"login by form", "POST", "/_session", form, "name=jan&password=relax", 200, `{"ok":true,"name":"jan","roles":["dev"]}`, ""},
		{"login by JSON", "POST", "/_session", js + "; charset=utf-8", `{"username":"jan","password":"relax"}`, 200, `{"ok":true,"name":"jan","roles":["dev"]}`, ""},
		{"login of an admin", "POST", "/_session", form, "name=root&password=sesame", 200, `{"ok":true,"name":"root","roles":["_admin"]}`, ""},
		{"wrong password", "POST", "/_session", form, "name=jan&password=relay", 401, "", ""},
		{"no password", "POST", "/_session", js, `{"name":"jan"}`, 401, "", ""},
		{"no name", "POST", "/_session", js, `{"password":"jan"}`, 400, "", ""},
		{"two names", "POST", "/_session", js, `{"name":"jan","username":"root","password":"relax"}`, 400, "", ""},
		{"bad JSON", "POST", "/_session", js, `{`, 400, "", ""},
		{"JSON of another type", "POST", "/_session", js, `{"name":["jan"],"password":1}`, 400, "", ""},
		{"bad form", "POST", "/_session", form, "name=%zz", 400, "", ""},
		{"bad type", "POST", "/_session", "text/plain", "x", 415, "", ""},
		{"huge", "POST", "/_session", form, strings.Repeat("x", 1<<20), 413, "", ""},
		{"next", "POST", "/_session?next=/app", form, "name=jan&password=relax", 302, "", "/app"},
		{"next elsewhere", "POST", "/_session?next=//evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a tab", "POST", "/_session?next=/%09/evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a line", "POST", "/_session?next=/%0a/evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a backslash", "POST", "/_session?next=/%5cevil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a nul", "POST", "/_session?next=/%00", form, "name=jan&password=relax", 400, "", ""},
		{"next with a bad byte", "POST", "/_session?next=/%ff/x", form, "name=jan&password=relax", 400, "", ""},
		{"next relative", "POST", "/_session?next=evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with a scheme", "POST", "/_session?next=javascript:alert(1)", form, "name=jan&password=relax", 400, "", ""},
		{"next behind a space", "POST", "/_session?next=%20//evil.example", form, "name=jan&password=relax", 400, "", ""},
		{"next with others", "POST", "/_session?next=/a%20b/%E2%82%AC?x=1%26y%23z", form, "name=jan&password=relax", 302, "", "/a%20b/%E2%82%AC?x=1&y#z"},
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
			if got := header.Get("Location"); got != c.location {
				t.Errorf("location %q, want %q", got, c.location)
			}
		})
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

func TestAuthenticator_AdminsAtRunTime(t *testing.T) {
	dir := t.TempDir()
	configured := map[string]string{"root": auth.NewHash("sesame", 4096).String()}
	start := func(change func(*auth.Options)) *auth.Authenticator {
		a, _ := newAuth(t, func(o *auth.Options) {
			o.Dir, o.Admins = dir, configured
			if change != nil {
				change(o)
			}
		})
		return a
	}
	a := start(nil)
	hash, err := a.SetAdmin("eve", "apple")
	if err != nil || a.Admins()["eve"] != hash || strings.Contains(hash, "apple") {
		t.Fatalf("set: %q, %v", hash, err)
	}
	if err := a.DeleteAdmin("root"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.SetAdmin("hashed", hash); err != nil || a.Admins()["hashed"] != hash {
		t.Errorf("a stored hash: %v", err)
	}
	if err := a.DeleteAdmin("hashed"); err != nil {
		t.Error(err)
	}
	if err := a.DeleteAdmin("nobody"); layer.KindOf(err) != layer.NotFound {
		t.Errorf("delete nobody: %v", err)
	}
	for _, bad := range []struct{ name, password string }{{"", "x"}, {"a:b", "x"}, {"a", ""}} {
		if _, err := a.SetAdmin(bad.name, bad.password); layer.KindOf(err) != layer.Forbidden {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, broken := range []string{
		"SCRAM-SHA-256$1:a$b:c", "SCRAM-SHA-256$", "-pbkdf2-zzz", "-pbkdf2:sha256-zzz,00,0", "-pbkdf2-00,00,999999999999",
		"-pbkdf2foo", "-hashed-zz", "-pbkdf2sha256-" + strings.Repeat("00", 32) + ",00,10",
	} {
		_, err := a.SetAdmin("a", broken)
		if layer.KindOf(err) != layer.Invalid || !strings.Contains(err.Error(), "not a password hash") {
			t.Errorf("%s: %v", broken, err)
		}
		if _, err := auth.ParseHash(broken); err == nil { // what node.yaml asks
			t.Errorf("node.yaml takes %s", broken)
		}
	}
	for _, again := range []*auth.Authenticator{a, start(nil)} { // at once, and after a restart
		if _, err := again.Authenticate(request(t, basic("root:sesame"))); err == nil {
			t.Error("the deleted admin gets in")
		}
		if u, err := again.Authenticate(request(t, basic("eve:apple"))); err != nil || !u.IsAdmin() {
			t.Errorf("the new admin: %+v, %v", u, err)
		}
		if len(again.Admins()) != 1 {
			t.Errorf("admins %v", again.Admins())
		}
	}
	if stored, err := auth.StoredAdmins(dir); !stored || err != nil {
		t.Errorf("stored %v, %v", stored, err)
	}

	// A password on the command line is stronger than what the file says.
	forced := start(func(o *auth.Options) { o.AdminPasswords = map[string]string{"eve": "pear", "root": "plum"} })
	for _, c := range []string{"eve:pear", "root:plum"} {
		if _, err := forced.Authenticate(request(t, basic(c))); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}

	exposed := start(func(o *auth.Options) { o.Exposed = true })
	if err := exposed.DeleteAdmin("eve"); layer.KindOf(err) != layer.Forbidden {
		t.Errorf("the last admin of an exposed node: %v", err)
	}
	if err := a.DeleteAdmin("eve"); err != nil || !a.Open() {
		t.Errorf("the last admin on loopback: %v", err)
	}
}

func TestAuthenticator_BrokenAdminsFile(t *testing.T) {
	for _, text := range []string{"{", `{"a":"clear"}`, `[]`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "admins.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.New(auth.Options{Dir: dir}); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
