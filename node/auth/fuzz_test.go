package auth_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

// FuzzParseHash checks that every accepted hash survives being written and read again.
func FuzzParseHash(f *testing.F) {
	for _, s := range []string{
		auth.NewHash("sesame", 4096).String(), "-hashed-2d86831c82b440b8887169bd2eebb356821d621b,salt",
		"-pbkdf2:sha256-9253c4205f5a591086cd64e5f4ab56dfdb82d77ddffe708ecc8c94251afac7cb,58b32fafc2979a10649a376ab874fff1,600000",
		"-pbkdf2-2d86831c82b440b8887169bd2eebb356821d621b,5e11b9a9228414ab92541beeeacbf125,10",
		"SCRAM-SHA-256$4096:c2FsdA==$a:b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := auth.ParseHash(text)
		if err != nil {
			if !errors.Is(err, auth.ErrHash) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := auth.ParseHash(h.String())
		if err != nil || again.String() != h.String() {
			t.Fatalf("%q became %q, which became %q (%v)", text, h, again, err)
		}
	})
}

// FuzzAuthenticate checks that any header or cookie yields at most a client error, and that only the right ones
// authenticate a user.
func FuzzAuthenticate(f *testing.F) {
	for _, s := range [][3]string{
		{"Basic cm9vdDpzZXNhbWU=", "", "127.0.0.1:5"}, {"Basic !", "AuthSession=cm9vdDo1OmFiYw", "[::1]:5"},
		{"Bearer x", "AuthSession=\"\"; a=b", "x"}, {"basic  Og==", "AuthSession=OjpA", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	db := &users{docs: map[string]string{"jan": janDoc}, conflicted: map[string]bool{}}
	a, err := auth.New(auth.Options{
		Admins: map[string]string{"root": auth.NewHash("sesame",
			4096).String()}, Users: db, Secret: []byte("s"),
		Rules: auth.Rules{Timeout: 1, Iterations: 4096},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, authorization, cookie, remote string) {
		r := request(t, authorization)
		r.Header.Set("Cookie", cookie)
		r.RemoteAddr = remote
		u, err := a.Authenticate(r)
		if err != nil {
			if k := layer.KindOf(err); k != layer.Unauthorized && k != layer.Invalid && k != layer.Forbidden {
				t.Fatalf("%v", err)
			}
			return
		}
		name, password, ok := (&http.Request{Header: r.Header}).BasicAuth()
		if u.Name != "" && (!ok || name != u.Name || (password != "sesame" && password != "relax")) {
			t.Fatalf("%q and %q are %+v", authorization, cookie, u)
		}
	})
}
