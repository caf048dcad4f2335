package auth_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/auth"
)

// sealing sets 5000 iterations for derived keys and 4096 for verifiers.
func sealing(o *auth.Options) { o.Iterations, o.SQLIterations = 5000, 4096 }

func hashed(t *testing.T, a *auth.Authenticator, doc string) map[string]any {
	t.Helper()
	out, err := a.HashUserDocument(t.Context(), []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// A user logs in over SQL with fewer iterations than over HTTP. The verifier for that is of no use without the secret,
// for another name, or after the password was changed by a program that does not know it.
func TestAuthenticator_SealedVerifier(t *testing.T) {
	a, db := newAuth(t, sealing)
	const ann = `{"name":"ann","password":"first","roles":[],"type":"user"}`
	doc := hashed(t, a, ann)
	sealed, _ := doc["sql_verifier"].(string)
	if sealed == "" || strings.Contains(sealed, "SCRAM") || doc["iterations"] != 5000.0 {
		t.Fatalf("the document is %v", doc)
	}
	put := func(name string, doc map[string]any) {
		t.Helper()
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		db.set(name, string(text))
	}
	check := func(a *auth.Authenticator, name, password string, iterations int) {
		t.Helper()
		keys, err := a.SCRAM(t.Context(), name, nil)
		if err != nil || keys.Iterations != iterations || !clientFits(t, keys.SCRAMKeys, password) {
			t.Errorf("%s with %s: %d iterations, %v", name, password, keys.Iterations, err)
		}
		if u, err := a.Authenticate(request(t, basic(name+":"+password))); err != nil || u.Name != name {
			t.Errorf("%s with %s over http: %v", name, password, err)
		}
	}
	put("ann", doc)
	check(a, "ann", "first", 4096)

	// CouchDB replaces only the members that it knows.
	other, _ := newAuth(t, func(o *auth.Options) { o.Iterations = 5000 })
	changed := hashed(t, other, strings.Replace(ann, "first", "second", 1))
	if changed["sql_verifier"] != nil {
		t.Errorf("a verifier where the derived key serves both: %v", changed)
	}
	changed["sql_verifier"] = sealed
	put("ann", changed)
	check(a, "ann", "second", 5000)

	// Another user's document with ann's verifier.
	bob := hashed(t, a, strings.Replace(ann, "ann", "bob", 1))
	bob["sql_verifier"], bob["derived_key"], bob["salt"] = sealed, doc["derived_key"], doc["salt"]
	put("bob", bob)
	check(a, "bob", "first", 5000)

	// A node with another secret, and invalid verifiers.
	stranger, strangers := newAuth(t, func(o *auth.Options) { sealing(o); o.Secret = []byte("another secret") })
	for _, v := range []string{sealed, "", "AAAA", "no base64", auth.NewHash("first", 4096).String()} {
		doc["sql_verifier"] = v
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		strangers.set("ann", string(text))
		check(stranger, "ann", "first", 5000)
	}
	// A new password replaces the verifier. One sent by a client is dropped.
	again := hashed(t, a, `{"sql_verifier":"mine","name":"ann","password":"third","roles":[],"type":"user"}`)
	if v := again["sql_verifier"]; v == "mine" || v == sealed || v == nil {
		t.Errorf("the document is %v", again)
	}
}

// The numbers of iterations, which anyone can ask for, do not reveal which names exist.
func TestAuthenticator_SCRAM_Iterations(t *testing.T) {
	a, _ := newAuth(t, func(o *auth.Options) { sealing(o); o.AdminPasswords = map[string]string{"flag": "sesame"} })
	if _, err := a.SetAdmin(t.Context(), "late", "sesame"); err != nil {
		t.Fatal(err)
	}
	iterations := func(name string) int {
		keys, err := a.SCRAM(t.Context(), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return keys.Iterations
	}
	for _, admin := range []string{"flag", "late"} {
		if n := iterations(admin); n != 4096 {
			t.Errorf("%s: %d iterations", admin, n)
		}
	}
	var ghosts []int
	for i := range 40 {
		ghosts = append(ghosts, iterations("ghost"+strings.Repeat("x", i)))
	}
	slices.Sort(ghosts)
	if ghosts = slices.Compact(ghosts); !slices.Equal(ghosts, []int{4096, 5000}) {
		t.Errorf("unknown names have %v", ghosts)
	}
}
