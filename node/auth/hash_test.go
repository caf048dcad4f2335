package auth_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/node/auth"
)

// Hashes made by other programs: CouchDB 1.6 (the two in its manual), CouchDB 3.5, Postgres 15, and Python's hashlib in
// CouchDB's notation.
const (
	couchAdmin16 = "-pbkdf2-71c01cb429088ac1a1e95f3482202622dc1e53fe,226701bece4ae0fc9a373a5e02bf5d07,10"
	couchAnna16  = "-pbkdf2-2d86831c82b440b8887169bd2eebb356821d621b,5e11b9a9228414ab92541beeeacbf125,10"
	couchSHA256  = "-pbkdf2:sha256-9253c4205f5a591086cd64e5f4ab56dfdb82d77ddffe708ecc8c94251afac7cb,58b32fafc2979a10649a376ab874fff1,600000"
	couchSHA512  = "-pbkdf2:sha512-3dc0521596a1039c5d6c1ae56e559513105ade8437f8003c0588753b76b343da" +
		"1fd561d987c648d2d0718df2066eea1a7415849853a0f586fe530561a4bd4311,7f9a1c0d3e5b4a6988776655443322aa,100"
	couchSimple = "-hashed-4bc2aa135aca81217962a12ee2cc36a9d052f696,7f9a1c0d3e5b4a6988776655443322aa"
	postgres    = "SCRAM-SHA-256$4096:emixvXZub9Bm3ZYLUGSJMg==$H4aLSAQLKBDj/xXn9LFMvxk3JiTkf27zQRLjVKA+hco=:d1rSMk4vRDsggvMwfwOpni0GDIgznx6gfR/uY2W00Aw="
	// Postgres stores this for a password with the ligature U+FB01, which SASLprep decomposes.
	postgresLigature = "SCRAM-SHA-256$4096:94OxVzybUuILS4Wa9a8s7A==$thBeP9RlC8GVqPkvY+k/0MdexzDZcgGWFRaVygaIM8o=:yaERZERw1roXZpxiCDYsdZT9NUZnQtC5Mmv4CoRKU/A="
)

func TestHash_MatchesOthers(t *testing.T) {
	for _, c := range []struct{ name, hash, password string }{
		{"CouchDB 1.6 admin", couchAdmin16, "password"},
		{"CouchDB 1.6 anna", couchAnna16, "secret"},
		{"CouchDB 3.5", couchSHA256, "relax"},
		{"PBKDF2 SHA-512", couchSHA512, "relax"},
		{"CouchDB 1.0", couchSimple, "relax"},
		{"Postgres", postgres, "relax"},
		{"Postgres after SASLprep", postgresLigature, "\ufb01nance"},
		{"Postgres after SASLprep, typed decomposed", postgresLigature, "finance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := auth.ParseHash(c.hash)
			if err != nil {
				t.Fatal(err)
			}
			if !h.Matches(c.password) {
				t.Error("does not match its password")
			}
			if h.Matches(c.password + " ") {
				t.Error("matches another password")
			}
			if h.String() != c.hash {
				t.Errorf("writes itself as %s", h)
			}
		})
	}
}

func TestHash_NewMatchesOnlyItsPassword(t *testing.T) {
	for _, password := range []string{"relax", "p:ss, wörd$", strings.Repeat("x", 500), " "} {
		h := auth.NewHash(password, 4096)
		again, err := auth.ParseHash(h.String())
		if err != nil {
			t.Fatalf("ParseHash(%q): %v", h, err)
		}
		if again.String() != h.String() {
			t.Errorf("round trip: %q became %q", h, again)
		}
		if !again.Matches(password) {
			t.Errorf("%q does not match itself", password)
		}
		for _, other := range []string{"", password + "x", strings.ToUpper(password) + "!"} {
			if again.Matches(other) {
				t.Errorf("hash of %q matches %q", password, other)
			}
		}
		if h.String() == auth.NewHash(password, 4096).String() {
			t.Error("two hashes of one password are the same: the salt is not random")
		}
	}
}

func TestParseHash_RefusesWhatIsNoHash(t *testing.T) {
	for _, text := range []string{
		"", "secret", "-pbkdf2-", "-pbkdf2-xyz,salt,10", "-pbkdf2-00ff,salt,10", "-pbkdf2:md5-00,salt,10",
		"-pbkdf2-" + strings.Repeat("0", 40) + ",salt,0", "-pbkdf2-" + strings.Repeat("0", 40) + ",salt,99999999999",
		"-pbkdf2-" + strings.Repeat("0", 40) + ",salt", "-hashed-00", "-hashed-zz,salt",
		"SCRAM-SHA-256$4096:c2FsdA==$AAAA:AAAA", "SCRAM-SHA-256$x:c2FsdA==$" + zeros + ":" + zeros,
		"SCRAM-SHA-256$4096:$" + zeros + ":" + zeros, "SCRAM-SHA-256$4096:c2FsdA==$" + zeros,
	} {
		_, err := auth.ParseHash(text)
		if !errors.Is(err, auth.ErrHash) {
			t.Errorf("ParseHash(%q): %v", text, err)
			continue
		}
		if len(text) > 5 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats the text, which may be a password: %v", err)
		}
	}
}

const zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// The keys of a CouchDB hash must admit a SCRAM client: check the client's proof as RFC 5802 section 3 describes.
func TestHash_SCRAM(t *testing.T) {
	for _, text := range []string{auth.NewHash("relax", 4096).String(), couchSHA256, postgres} {
		h, err := auth.ParseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		keys, ok := h.SCRAM()
		if !ok {
			t.Fatalf("no SCRAM keys for %s", text)
		}
		if !clientFits(t, keys, "relax") || clientFits(t, keys, "relay") {
			t.Errorf("%s: the client's key does not match", text)
		}
	}
	h, err := auth.ParseHash(couchAnna16)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := h.SCRAM(); ok {
		t.Error("a SHA-1 hash cannot give SCRAM-SHA-256 keys")
	}
}

// clientFits computes a client's key as RFC 5802 section 3 describes, and compares it.
func clientFits(t *testing.T, keys auth.SCRAMKeys, password string) bool {
	t.Helper()
	salted, err := pbkdf2.Key(sha256.New, password, keys.Salt, keys.Iterations, 32)
	if err != nil {
		t.Fatal(err)
	}
	m := hmac.New(sha256.New, salted)
	m.Write([]byte("Client Key"))
	stored := sha256.Sum256(m.Sum(nil))
	return bytes.Equal(stored[:], keys.StoredKey)
}
