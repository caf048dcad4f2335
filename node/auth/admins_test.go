package auth_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

func TestAuthenticator_NoAdmins(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { o.Admins = nil })
	u, err := a.Authenticate(request(t, ""))
	if err != nil || !u.IsAdmin() || u.Name != "" {
		t.Errorf("anonymous: %+v, %v", u, err)
	}
	u, err = a.Authenticate(request(t, basic("jan:relax")))
	if err != nil || u.IsAdmin() || u.Name != "jan" {
		t.Errorf("a user with credentials: %+v, %v", u, err)
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
		t.Errorf("delete an unknown name: %v", err)
	}
	for _, bad := range []struct{ name, password string }{{"", "x"}, {"a:b", "x"}, {"a", ""}} {
		if _, err := a.SetAdmin(bad.name, bad.password); layer.KindOf(err) != layer.Forbidden {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, broken := range []string{
		"SCRAM-SHA-256$1:a$b:c", "SCRAM-SHA-256$", "-pbkdf2-zzz", "-pbkdf2:sha256-zzz,00,0",
		"-pbkdf2-00,00,999999999999",
		"-pbkdf2foo", "-hashed-zz", "-pbkdf2sha256-" + strings.Repeat("00", 32) + ",00,10",
	} {
		_, err := a.SetAdmin("a", broken)
		if layer.KindOf(err) != layer.Invalid || !strings.Contains(err.Error(), "not a password hash") {
			t.Errorf("%s: %v", broken, err)
		}
		if _, err := auth.ParseHash(broken); err == nil { // node.yaml refuses it too
			t.Errorf("node.yaml accepts %s", broken)
		}
	}
	for _, again := range []*auth.Authenticator{a, start(nil)} { // now, and after a restart
		if _, err := again.Authenticate(request(t, basic("root:sesame"))); err == nil {
			t.Error("the deleted admin can log in")
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

	// A password on the command line overrides the file.
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
			t.Errorf("%s was accepted", text)
		}
	}
}
