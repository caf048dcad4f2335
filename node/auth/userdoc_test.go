package auth_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/script"
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
	design := readUserDesign(t)
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
		{"type of salt", id, `{"name":"jan","roles":[],"type":"user","salt":1}`, "", false, root, "wrong type"},
		{"type of iterations", id, `{"name":"jan","roles":[],"type":"user","iterations":0.5}`, "", false, root,
			"wrong type"},
		{"a verifier", id, `{"name":"jan","roles":[],"type":"user","password_scheme":"scram-sha-256","scram_verifier":"` +
			postgres + `"}`, "", false, root, ""},
		{"a damaged verifier", id, `{"name":"jan","roles":[],"type":"user","password_scheme":"scram-sha-256",` +
			`"scram_verifier":"` + postgres[:40] + `"}`, "", false, root, "scram_verifier must be"},
		{"a malformed document", id, `{"name":"jan","roles":[],"type":"user"}`, `{"name":1}`, false, jan,
			"Only admins may replace"},
		{"admin replaces a malformed document", id, old, `{"name":"jan","roles":{},"type":"user"}`, false, root, ""},
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
			if same := design.check(t, up); layer.KindOf(same) != layer.KindOf(err) ||
				fmt.Sprint(same) != strings.TrimPrefix(fmt.Sprint(err), "forbidden: ") {
				t.Errorf("the function of _design/_auth says %v, the node %v", same, err)
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

// userDesign is the function of _design/_auth, as a client reads it.
type userDesign struct {
	run  layer.Validator
	json []byte
}

func readUserDesign(t *testing.T) *userDesign {
	t.Helper()
	sandbox := script.New(script.Options{})
	t.Cleanup(func() { _ = sandbox.Close() })
	engine, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	store, err := layer.Open(t.Context(), engine, layer.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := store.Create(t.Context(), auth.UsersDatabase, layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // as two nodes do
		if err := auth.EnsureUserDesign(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := db.Get(t.Context(), "_design/_auth", layer.GetOptions{Conflicts: true})
	if err != nil || len(doc.Conflicts) > 0 || doc.Rev.Pos != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	return &userDesign{layer.NewValidator(sandbox), doc.AppendJSON(nil)}
}

// check asks the function what auth.CheckUserUpdate is asked.
func (d *userDesign) check(t *testing.T, up auth.UserUpdate) error {
	t.Helper()
	head := `{"_id":"` + up.ID + `",`
	if up.Deleted {
		head += `"_deleted":true,`
	}
	doc := []byte(strings.TrimSuffix(head, ",") + strings.Replace(","+string(up.New[1:]), ",}", "}", 1))
	return d.run.Validate(t.Context(), "key", func() ([]byte, error) { return d.json, nil }, doc, up.Old, &up.By,
		auth.UsersDatabase, []byte("{}"))
}

// In databases of users, the function is not run: the node has checked its rules. Elsewhere it is, and others are.
func TestNewValidator(t *testing.T) {
	design := readUserDesign(t)
	v := auth.NewValidator(design.run)
	const bad = `{"_id":"x","type":"other"}`
	another := strings.Replace(string(design.json), "doc.type must be user", "another", 1)
	for range 2 {
		for _, c := range []struct{ key, design, database, want string }{
			{"_design/_auth a", string(design.json), "_users", "<nil>"},
			{"_design/_auth a", string(design.json), "x/_users", "<nil>"},
			{"_design/_auth a", string(design.json), "copy", "doc.type must be user"},
			{"_design/_auth b", another, "_users", "another"},
			{"_design/other c", string(design.json), "_users", "doc.type must be user"},
		} {
			err := v.Validate(t.Context(), c.key, func() ([]byte, error) { return []byte(c.design), nil }, []byte(bad),
				nil, &layer.UserCtx{Name: "jan"}, c.database, []byte("{}"))
			if fmt.Sprint(err) != c.want {
				t.Errorf("%s in %s: %v, want %s", c.key, c.database, err, c.want)
			}
		}
	}
}
