package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
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
	silent     bool // the store does not answer
}

func (u *users) UserDocument(_ context.Context, _, name string) ([]byte, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if doc, ok := u.docs[name]; ok {
		return []byte(doc), u.conflicted[name], u.err
	}
	return nil, false, u.err
}

func (u *users) HasUserDocument(ctx context.Context, _, name string) (bool, error) {
	if u.silent {
		<-ctx.Done()
		return false, ctx.Err()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.docs[name]
	return ok, u.err
}

func (u *users) set(name, doc string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.docs[name] = doc
}

// slowDoc is what CouchDB 3.5 stored for the password "relax". janDoc is the same with fewer iterations.
const slowDoc = `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"58b32fafc2979a10649a376ab874fff1","iterations":600000,
"derived_key":"9253c4205f5a591086cd64e5f4ab56dfdb82d77ddffe708ecc8c94251afac7cb","name":"jan","roles":["dev"],"type":"user"}`

const janDoc = `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"58b32fafc2979a10649a376ab874fff1","iterations":4096,
"derived_key":"5797b87806ee38ba1d41eba889adcd01ecffe8ab0d53d3d57b0ce661d1159902","name":"jan","roles":["dev"],"type":"user"}`

func newAuth(t *testing.T, change func(*auth.Options)) (*auth.Authenticator, *users) {
	t.Helper()
	db := &users{docs: map[string]string{"jan": janDoc}, conflicted: map[string]bool{}}
	o := auth.Options{
		Admins: map[string]string{"root": auth.NewHash("sesame", 4096).String()},
		Users:  db,
		Secret: []byte("a secret"),
		Rules:  auth.Rules{Timeout: 10 * time.Minute, Iterations: 4096},
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
		{name: "scheme in lower case", header: strings.Replace(basic("jan:relax"), "Basic", "basic", 1), user: "jan",
			roles: []string{"dev"}},
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

func TestAuthenticator_ChangedPasswordCountsAtOnce(t *testing.T) {
	a, db := newAuth(t, nil)
	if _, err := a.Authenticate(request(t, basic("jan:relax"))); err != nil {
		t.Fatal(err)
	}
	changed, err := a.HashUserDocument(t.Context(),
		[]byte(`{"name":"jan","password":"other","roles":[],"type":"user"}`))
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
		t.Errorf("an admin must be able to log in to repair the store: %+v, %v", u, err)
	}
}

func TestAuthenticator_RequireUser(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { o.RequireUserExceptUp = true })
	strict, _ := newAuth(t, func(o *auth.Options) { o.RequireUser = true })
	for _, c := range []struct {
		method, path string
		ok           bool
	}{{"GET", "/", false}, {"GET", "/_session", false}, {"POST", "/_session", true}, {"GET", "/_up", true}} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		u, err := a.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Admit(r, u.UserCtx); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		if err := strict.Admit(r, u.UserCtx); (err == nil) != (c.ok && c.path != "/_up") {
			t.Errorf("%s %s without exceptions: %v", c.method, c.path, err)
		}
		r.Header.Set("Authorization", basic("jan:relax"))
		if _, err := a.Authenticate(r); err != nil {
			t.Errorf("%s %s with credentials: %v", c.method, c.path, err)
		}
	}
}

// The cost of hashing a password must be paid once per credentials, not once per request.
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
		known          bool // as seen at the SQL port
		user           bool
	}{{"root", "sesame", true, true}, {"jan", "relax", true, true}, {"ghost", "", false, false}, {"old", "secret",
		false, true}} {
		keys, err := a.SCRAM(t.Context(), c.name, nil)
		if err != nil || len(keys.StoredKey) != 32 || len(keys.ServerKey) != 32 || len(keys.Salt) == 0 ||
			keys.Iterations < 4096 {
			t.Errorf("%s: unusable keys: %+v, %v", c.name, keys, err)
			continue
		}
		if known := clientFits(t, keys.SCRAMKeys, c.password); known != c.known {
			t.Errorf("%s: the password matches: %v", c.name, known)
		}
		again, err := a.SCRAM(t.Context(), c.name, nil)
		if err != nil || string(again.Salt) != string(keys.Salt) {
			t.Errorf("%s: the salt changes, which reveals that there is no such user", c.name)
		}
		user, err := a.User(t.Context(), c.name)
		if (err == nil) != c.user || (c.user && user.Name != c.name) {
			t.Errorf("%s: %+v, %v", c.name, user, err)
		}
	}
	db.err = errors.New("down")
	if _, err := a.SCRAM(t.Context(), "jan", nil); err == nil {
		t.Error("no error although the store fails")
	}
}

// rawSaltedHash is what `divan hash-password` printed before salts were hex.
const rawSaltedHash = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" +
	"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="

// TestAuthenticator_SCRAM_Salts checks that the form of a salt, which anyone can ask for, does not reveal which names
// exist.
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
		ghosts []string // the salt forms for names that do not exist
	}{
		{"new hashes", map[string]string{"root": auth.NewHash("sesame", 4096).String()}, []string{"hex of 32"}},
		{"a hash of old", map[string]string{"root": rawSaltedHash}, []string{"hex of 32", "raw of 16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, db := newAuth(t, func(o *auth.Options) {
				o.Admins, o.AdminPasswords = c.admins, map[string]string{"flag": "sesame"}
			})
			doc, err := a.HashUserDocument(t.Context(),
				[]byte(`{"name":"new","password":"relax","roles":[],"type":"user"}`))
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
				t.Errorf("salts of unknown names: %q, want %q", ghosts, c.ghosts)
			}
			for _, name := range []string{"root", "flag", "new"} {
				if got := salt(name); !slices.Contains(ghosts, got) {
					t.Errorf("the salt reveals that %s exists: %s", name, got)
				}
			}
		})
	}
}
