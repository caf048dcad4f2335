package auth_test

import (
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

func TestAuthenticator_HashUserDocument(t *testing.T) {
	a, db := newAuth(t, nil)
	out, err := a.HashUserDocument(t.Context(),
		[]byte(`{"salt":"mine","name":"ann","password":"first","big":12345678901234567890.10,`+
			`"password":"pw","roles":[ "x" ],"type":"user","n":{"b":1,"a":2.0}}`))
	if err != nil {
		t.Fatal(err)
	}
	const tail = `,"name":"ann","big":12345678901234567890.10,"roles":[ "x" ],"type":"user","n":{"b":1,"a":2.0}}`
	if !strings.HasPrefix(string(out), `{"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"`) ||
		!strings.HasSuffix(string(out), tail) {
		t.Errorf("got %s", out)
	}
	if strings.Contains(string(out), `"pw"`) || strings.Contains(string(out), "first") ||
		strings.Contains(string(out), "mine") {
		t.Errorf("the plain password or the client's salt was kept: %s", out)
	}
	db.set("ann", string(out))
	if u, err := a.Authenticate(request(t, basic("ann:pw"))); err != nil || u.Name != "ann" {
		t.Errorf("login with the new password: %+v, %v", u, err)
	}
	for _, same := range []string{`{"name":"ann"}`, `{"password":null}`, `{}`} {
		if out, err := a.HashUserDocument(t.Context(), []byte(same)); err != nil || string(out) != same {
			t.Errorf("%s became %s, %v", same, out, err)
		}
	}
	if out, err := a.HashUserDocument(t.Context(), []byte(`{"password":"x"}`)); err != nil ||
		!strings.HasSuffix(string(out), `"}`) {
		t.Errorf("a document with only a password: %s, %v", out, err)
	}
	for _, bad := range []string{`{"password":1}`, `{"password":["x"]}`, `[]`, `{"a"`, ``} {
		if _, err := a.HashUserDocument(t.Context(), []byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestCheckUserUpdate(t *testing.T) {
	root := layer.UserCtx{Name: "root", Roles: []string{"_admin"}}
	jan := layer.UserCtx{Name: "jan"}
	nobody := layer.UserCtx{}
	const id = "org.couchdb.user:jan"
	const old = `{"name":"jan","roles":["a","b"],"type":"user"}`
	for _, c := range []struct {
		name     string
		id       string
		new, old string
		deleted  bool
		by       layer.UserCtx
		refused  string
	}{
		{"admin creates", id, old, "", false, root, ""},
		{"registers himself", id, `{"name":"jan","roles":[],"type":"user"}`, "", false, nobody, ""},
		{"registers with roles", id, old, "", false, nobody, "Only _admin may set roles"},
		{"registers with roles in other case", id, `{"name":"jan","roles":["a"],"Roles":[],"type":"user"}`, "", false,
			nobody, "Only _admin may set roles"},
		{"changes himself", id, `{"name":"jan","roles":["b","a"],"type":"user","x":1}`, old, false, jan, ""},
		{"assigns himself a role", id, `{"name":"jan","roles":["a","b","c"],"type":"user"}`, old, false, jan,
			"Only _admin may edit roles"},
		{"assigns himself a role in other case", id,
			`{"name":"jan","roles":["a","b","c"],"ROLES":["a","b"],"type":"user"}`, old, false, jan,
			"Only _admin may edit roles"},
		{"changes another", id, old, old, false, layer.UserCtx{Name: "ann"},
			"You may only update your own user document."},
		{"admin assigns roles", id, `{"name":"jan","roles":["c"],"type":"user"}`, old, false, root, ""},
		{"admin assigns a system role", id, `{"name":"jan","roles":["_admin"],"type":"user"}`, old, false, root,
			"No system roles"},
		{"admin assigns _metrics", id, `{"name":"jan","roles":["_metrics"],"type":"user"}`, old, false, root, ""},
		{"renames", id, `{"name":"jo","roles":[],"type":"user"}`, old, false, root, "Doc ID must be"},
		{"renamed document", id, old, `{"name":"jo","roles":[],"type":"user"}`, false, root,
			"Usernames can not be changed."},
		{"no type", id, `{"name":"jan","roles":[]}`, "", false, root, "doc.type must be user"},
		{"no name", id, `{"roles":[],"type":"user"}`, "", false, root, "doc.name is required"},
		{"no roles", id, `{"name":"jan","type":"user"}`, "", false, root, "doc.roles must exist"},
		{"roles not an array", id, `{"name":"jan","roles":{},"type":"user"}`, "", false, root,
			"doc.roles must be an array"},
		{"roles not strings", id, `{"name":"jan","roles":[1],"type":"user"}`, "", false, root,
			"doc.roles can only contain strings"},
		{"wrong id", "org.couchdb.user:x", old, "", false, root, "Doc ID must be"},
		{"underscore", "org.couchdb.user:_x", `{"name":"_x","roles":[],"type":"user"}`, "", false, root,
			"Username may not start"},
		{"colon", "org.couchdb.user:a:b", `{"name":"a:b","roles":[],"type":"user"}`, "", false, root, "Character `:`"},
		{"unknown scheme", id, `{"name":"jan","roles":[],"type":"user","password_scheme":"md5"}`, "", false, root,
			"Password scheme"},
		{"no iterations", id, `{"name":"jan","roles":[],"type":"user","password_scheme":"pbkdf2"}`, "", false, root,
			"iterations"},
		{"no key", id, `{"name":"jan","roles":[],"type":"user","password_scheme":"pbkdf2","iterations":1}`, "", false,
			root, "derived_key"},
		{"sha without salt", id, `{"name":"jan","roles":[],"type":"user","password_sha":"00"}`, "", false, root,
			"salt"},
		{"deletes himself", id, `{}`, old, true, jan, ""},
		{"deletes another", id, `{}`, old, true, layer.UserCtx{Name: "ann"}, "Only admins may delete"},
		{"anonymous deletes", id, `{}`, `{}`, true, nobody, "Only admins may delete"},
		{"admin deletes", id, `{}`, old, true, root, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := auth.UserUpdate{ID: c.id, New: []byte(c.new), Deleted: c.deleted, By: c.by,
				DatabaseAdmin: c.by.Name == "root"}
			if c.old != "" {
				up.Old = []byte(c.old)
			}
			err := auth.CheckUserUpdate(up)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" &&
				(err == nil || layer.KindOf(err) != layer.Forbidden || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("got %v, want %q", err, c.refused)
			}
		})
	}
}

func TestCheckUserRead(t *testing.T) {
	jan := layer.UserCtx{Name: "jan"}
	for _, c := range []struct {
		id   string
		by   layer.UserCtx
		want layer.Kind
		ok   bool
	}{
		{"org.couchdb.user:jan", jan, 0, true},
		{"org.couchdb.user:ann", jan, layer.NotFound, false},
		{"org.couchdb.user:", layer.UserCtx{}, layer.NotFound, false},
		{"_design/_auth", jan, layer.Forbidden, false},
	} {
		err := auth.CheckUserRead(c.id, c.by, false)
		if (err == nil) != c.ok || (!c.ok && layer.KindOf(err) != c.want) {
			t.Errorf("%s: %v", c.id, err)
		}
		if err := auth.CheckUserRead(c.id, c.by, true); err != nil {
			t.Errorf("admin, %s: %v", c.id, err)
		}
	}
}
