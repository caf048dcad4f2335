package auth_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	kept := &adminStore{changed: map[string]*string{}}
	configured := map[string]string{"root": auth.NewHash("sesame", 4096).String()}
	start := func(change func(*auth.Options)) *auth.Authenticator {
		a, _ := newAuth(t, func(o *auth.Options) {
			o.Keep, o.Admins = kept, configured
			if change != nil {
				change(o)
			}
		})
		kept.nodes = append(kept.nodes, a)
		if err := a.AdminsChanged(kept.changed); err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := start(nil)
	hash, err := a.SetAdmin(t.Context(), "eve", "apple")
	if err != nil || a.Admins()["eve"] != hash || strings.Contains(hash, "apple") {
		t.Fatalf("set: %q, %v", hash, err)
	}
	if err := a.DeleteAdmin(t.Context(), "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.SetAdmin(t.Context(), "hashed", hash); err != nil || a.Admins()["hashed"] != hash {
		t.Errorf("a stored hash: %v", err)
	}
	if err := a.DeleteAdmin(t.Context(), "hashed"); err != nil {
		t.Error(err)
	}
	if err := a.DeleteAdmin(t.Context(), "nobody"); layer.KindOf(err) != layer.NotFound {
		t.Errorf("delete an unknown name: %v", err)
	}
	for _, bad := range []struct{ name, password string }{{"", "x"}, {"a:b", "x"}, {"a", ""}} {
		if _, err := a.SetAdmin(t.Context(), bad.name, bad.password); layer.KindOf(err) != layer.Forbidden {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, broken := range []string{
		"SCRAM-SHA-256$1:a$b:c", "SCRAM-SHA-256$", "-pbkdf2-zzz", "-pbkdf2:sha256-zzz,00,0",
		"-pbkdf2-00,00,999999999999",
		"-pbkdf2foo", "-hashed-zz", "-pbkdf2sha256-" + strings.Repeat("00", 32) + ",00,10",
	} {
		_, err := a.SetAdmin(t.Context(), "a", broken)
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

	// A password on the command line overrides what is stored.
	forced := start(func(o *auth.Options) { o.AdminPasswords = map[string]string{"eve": "pear", "root": "plum"} })
	for _, c := range []string{"eve:pear", "root:plum"} {
		if _, err := forced.Authenticate(request(t, basic(c))); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}

	exposed := start(func(o *auth.Options) { o.Exposed = true })
	if err := exposed.DeleteAdmin(t.Context(), "eve"); layer.KindOf(err) != layer.Forbidden {
		t.Errorf("the last admin of an exposed node: %v", err)
	}
	if err := a.DeleteAdmin(t.Context(), "eve"); err != nil || !a.Open() {
		t.Errorf("the last admin on loopback: %v", err)
	}
	// Another node may delete the last admin of one that it does not know to be exposed.
	if exposed.Open() || len(exposed.Admins()) != 0 {
		t.Error("an exposed node without admins is open to everyone")
	}
}

// adminStore keeps admins in memory, for several nodes.
type adminStore struct {
	changed map[string]*string
	nodes   []*auth.Authenticator
}

func (s *adminStore) ChangeAdmins(_ context.Context, change func(map[string]*string) error) error {
	next := maps.Clone(s.changed)
	if err := change(next); err != nil {
		return err
	}
	s.changed = next
	for _, a := range s.nodes {
		if err := a.AdminsChanged(next); err != nil {
			return err
		}
	}
	return nil
}

// TestAuthenticator_AdminOfCommandLine: an admin of the command line overrides what is stored when the node starts, but
// not what is changed afterwards, on any node.
func TestAuthenticator_AdminOfCommandLine(t *testing.T) {
	stored := auth.NewHash("stored", 4096).String()
	kept := &adminStore{changed: map[string]*string{"root": &stored}}
	for range 2 {
		a, _ := newAuth(t, func(o *auth.Options) {
			o.Keep, o.AdminPasswords = kept, map[string]string{"root": "given"}
		})
		kept.nodes = append(kept.nodes, a)
		if err := a.AdminsChanged(kept.changed); err != nil {
			t.Fatal(err)
		}
	}
	before := kept.nodes[0].Admins()["root"]
	if before == stored {
		t.Error("what is stored overrides the command line")
	}
	hash, err := kept.nodes[0].SetAdmin(t.Context(), "root", "changed")
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range kept.nodes {
		if a.Admins()["root"] != hash {
			t.Errorf("node %d does not have the changed password", i)
		}
	}
	if err := kept.nodes[1].DeleteAdmin(t.Context(), "root"); err != nil {
		t.Fatal(err)
	}
	for i, a := range kept.nodes {
		if len(a.Admins()) != 0 {
			t.Errorf("node %d has the deleted admin", i)
		}
	}
}

func TestOldAdmins(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "admins.json")
	for _, text := range []string{"{", `{"a":"clear"}`, `[]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := auth.OldAdmins(dir); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	hash := auth.NewHash("apple", 4096).String()
	if err := os.WriteFile(file, []byte(`{"eve":"`+hash+`","root":null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if stored, err := auth.StoredAdmins(dir); !stored || err != nil {
		t.Errorf("stored %v, %v", stored, err)
	}
	old, taken, err := auth.OldAdmins(dir)
	if err != nil || len(old) != 2 || *old["eve"] != hash || old["root"] != nil {
		t.Fatalf("%v, %v", old, err)
	}
	if err := taken(); err != nil {
		t.Fatal(err)
	}
	if stored, err := auth.StoredAdmins(dir); stored || err != nil {
		t.Errorf("after they were taken over: %v, %v", stored, err)
	}
	if old, _, err = auth.OldAdmins(dir); err != nil || len(old) != 0 {
		t.Errorf("after they were taken over: %v, %v", old, err)
	}
	if err := auth.KeepAdminsCopy(dir, map[string]*string{"eve": &hash}); err != nil {
		t.Fatal(err)
	}
	copied, err := auth.AdminsCopy(dir)
	if stored, _ := auth.StoredAdmins(dir); !stored || err != nil || *copied["eve"] != hash {
		t.Errorf("copy %v, %v", copied, err)
	}
}

// An admin need not wait for a store that does not answer, but can look at what is wrong.
func TestAdmin_SilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, db := newAuth(t, nil)
		defer a.Close()
		db.silent = true
		begun := time.Now()
		u, err := a.Authenticate(request(t, basic("root:sesame")))
		if err != nil || !u.IsAdmin() {
			t.Errorf("%+v %v", u, err)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("after %v", took)
		}
	})
}
