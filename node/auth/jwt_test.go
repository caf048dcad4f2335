package auth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
)

// jwtKeys are keys of each type, and the options with which a node knows them.
type jwtKeys struct {
	secret  []byte
	rsa     *rsa.PrivateKey
	ec      map[string]*ecdsa.PrivateKey // by algorithm
	options map[string]string
}

func newKeys(t *testing.T) jwtKeys {
	t.Helper()
	k := jwtKeys{secret: []byte("a secret that nobody knows"), ec: map[string]*ecdsa.PrivateKey{}}
	var err error
	if k.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	k.options = map[string]string{
		"hmac:_default": base64.StdEncoding.EncodeToString(k.secret), "rsa:_default": publicPEM(t, &k.rsa.PublicKey),
	}
	for alg, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(),
		"ES512": elliptic.P521()} {
		if k.ec[alg], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
		k.options["ec:"+alg] = publicPEM(t, &k.ec[alg].PublicKey)
	}
	return k
}

// publicPEM returns a public key as CouchDB's configuration has it, in one line.
func publicPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", `\n`)
}

// token signs claims with a key.
func token(t *testing.T, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	for name, value := range header {
		tok.Header[name] = value
	}
	text, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withOptions returns an Authenticator with CouchDB's options.
func withOptions(t *testing.T, options map[string]map[string]string) (*auth.Authenticator, *users) {
	t.Helper()
	return newAuth(t, func(o *auth.Options) {
		var err error
		if o.Rules, err = auth.ParseRules(o.Rules, options); err != nil {
			t.Fatal(err)
		}
	})
}

const allHandlers = "{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, proxy_authentication_handler}, " +
	"{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}"

func TestAuthenticator_Tokens(t *testing.T) {
	keys := newKeys(t)
	a, _ := withOptions(t, map[string]map[string]string{
		"chttpd": {"authentication_handlers": allHandlers}, "jwt_keys": keys.options,
	})
	later := time.Now().Add(time.Hour).Unix()
	good := map[string]any{"sub": "ann", "exp": later, "_couchdb.roles": []string{"dev"}}
	with := func(name string, value any) map[string]any {
		m := map[string]any{"sub": "ann", "exp": later, "_couchdb.roles": []string{"dev"}}
		m[name] = value
		return m
	}
	_, forger, err := ed25519.GenerateKey(nil)
	other, otherErr := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err, otherErr); err != nil {
		t.Fatal(err)
	}
	public := []byte(strings.ReplaceAll(keys.options["rsa:_default"], `\n`, "\n"))
	hs := func(claims map[string]any) string { return token(t, jwt.SigningMethodHS256, keys.secret, nil, claims) }
	kid := func(id any) map[string]any { return map[string]any{"kid": id} }
	for name, c := range map[string]struct {
		token, reason string // no reason: accepted
	}{
		"HS256": {hs(good), ""}, "HS512": {token(t, jwt.SigningMethodHS512, keys.secret, nil, good), ""},
		"RS256": {token(t, jwt.SigningMethodRS256, keys.rsa, nil, good), ""},
		"RS384": {token(t, jwt.SigningMethodRS384, keys.rsa, nil, good), ""},
		"ES256": {token(t, jwt.SigningMethodES256, keys.ec["ES256"], kid("ES256"), good), ""},
		"ES384": {token(t, jwt.SigningMethodES384, keys.ec["ES384"], kid("ES384"), good), ""},
		"ES512": {token(t, jwt.SigningMethodES512, keys.ec["ES512"], kid("ES512"), good), ""},
		"none": {token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, good),
			"Invalid alg header parameter"},
		"EdDSA": {token(t, jwt.SigningMethodEdDSA, forger, nil, good), "Invalid alg header parameter"},
		"PS256": {token(t, jwt.SigningMethodPS256, keys.rsa, nil, good), "Invalid alg header parameter"},
		"no algorithm": {token(t, jwt.SigningMethodHS256, keys.secret, map[string]any{"alg": nil}, good),
			"Missing alg header parameter"},
		"the public key as a secret": {token(t, jwt.SigningMethodHS256, public, nil, good), "Bad HMAC"},
		"another secret":             {token(t, jwt.SigningMethodHS256, []byte("x"), nil, good), "Bad HMAC"},
		"another RSA key":            {token(t, jwt.SigningMethodRS256, other, nil, good), "Bad signature"},
		"a curve for another": {token(t, jwt.SigningMethodES256, keys.ec["ES256"], kid("ES384"), good),
			"Bad signature"},
		"RS with the key of EC": {token(t, jwt.SigningMethodRS256, keys.rsa, kid("ES256"), good), "Unknown kid"},
		"an unknown key":        {token(t, jwt.SigningMethodHS256, keys.secret, kid("x"), good), "Unknown kid"},
		"a kid that is no text": {token(t, jwt.SigningMethodHS256, keys.secret, kid(5), good), "Unknown kid"},
		"expired":               {hs(with("exp", time.Now().Add(-time.Second).Unix())), "exp not in future"},
		"exp of text":           {hs(with("exp", "never")), "exp not in future"},
		"without exp":           {hs(map[string]any{"sub": "ann"}), "Missing exp claim"},
		"without sub":           {hs(map[string]any{"exp": later}), "Token missing sub claim."},
		"sub is no text":        {hs(with("sub", 7)), "Malformed token"},
		"sub is empty":          {hs(with("sub", "")), "Malformed token"},
		"roles are numbers":     {hs(with("_couchdb.roles", []int{1})), "Malformed token"},
		"another type": {token(t, jwt.SigningMethodHS256, keys.secret, map[string]any{"typ": "at+jwt"}, good),
			"Invalid typ header parameter"},
		"cut":          {hs(good)[:len(hs(good))-4], "Bad HMAC"},
		"no signature": {hs(good)[:strings.LastIndexByte(hs(good), '.')+1], "Bad HMAC"},
		"two parts":    {hs(good)[:strings.LastIndexByte(hs(good), '.')], "Malformed token"},
		"rubbish":      {"a.b.c", "Malformed token"},
		"too long":     {hs(with("x", strings.Repeat("x", 40_000))), "Malformed token"},
	} {
		u, err := a.Authenticate(request(t, "Bearer "+c.token))
		var refused *layer.Error
		switch {
		case c.reason == "" &&
			(err != nil || u.Name != "ann" || u.Handler != "jwt" || !slices.Equal(u.Roles, []string{"dev"})):
			t.Errorf("%s: %+v, %v", name, u, err)
		case c.reason != "" && (!errors.As(err, &refused) || refused.Reason != c.reason || u.Name != ""):
			t.Errorf("%s: %+v, %v; want %q", name, u, err, c.reason)
		}
	}
	for _, scheme := range []string{"bearer ", "BEARER "} {
		if u, err := a.Authenticate(request(t, scheme+hs(good))); err != nil || u.Name != "ann" {
			t.Errorf("scheme %s: %+v, %v", scheme, u, err)
		}
	}
	// Without the handler, tokens are not looked at.
	plain, _ := withOptions(t, map[string]map[string]string{"jwt_keys": keys.options})
	if u, err := plain.Authenticate(request(t, "Bearer "+hs(good))); err != nil || u.Name != "" {
		t.Errorf("without the handler: %+v, %v", u, err)
	}
}

func TestAuthenticator_TokenClaims(t *testing.T) {
	secret := []byte("a secret that nobody knows")
	key := base64.StdEncoding.EncodeToString(secret)
	now := time.Now().Unix()
	for _, c := range []struct {
		options map[string]string
		claims  map[string]any
		reason  string
		roles   []string
	}{
		{map[string]string{"required_claims": "exp,nbf"}, map[string]any{"nbf": now - 9}, "", nil},
		{map[string]string{"required_claims": "exp,nbf"}, map[string]any{"nbf": now + 99}, "nbf not in past", nil},
		{map[string]string{"required_claims": "exp, nbf"}, nil, "Missing nbf claim", nil},
		{map[string]string{"required_claims": `{iss, "me"}`}, map[string]any{"iss": "me"}, "", nil},
		{map[string]string{"required_claims": `{iss, "me"}`}, map[string]any{"iss": "you"}, "Invalid iss claim", nil},
		{map[string]string{"required_claims": "iat"}, map[string]any{"iat": 1.5}, "Invalid iat claim", nil},
		{map[string]string{"required_claims": "kid"}, nil, "Missing kid claim", nil},
		{map[string]string{"required_claims": ""}, map[string]any{"exp": 5}, "", nil},
		{nil, map[string]any{"_couchdb.roles": " a, b ,"}, "", []string{"a", "b"}},
		{map[string]string{"roles_claim_name": "groups"}, map[string]any{"groups": []string{"x"}}, "", []string{"x"}},
		{map[string]string{"roles_claim_path": `my.a\.b.roles`},
			map[string]any{"my": map[string]any{"a.b": map[string]any{"roles": []string{"y"}}}}, "", []string{"y"}},
		{map[string]string{"roles_claim_path": "my.roles"}, map[string]any{"my": map[string]any{}},
			"missing json key: roles", nil},
		{map[string]string{"roles_claim_path": "my.roles"}, map[string]any{"my": 5}, "json_mismatch", nil},
	} {
		a, _ := withOptions(t, map[string]map[string]string{"chttpd": {"authentication_handlers": allHandlers},
			"jwt_auth": c.options, "jwt_keys": {"hmac:_default": key}})
		claims := map[string]any{"sub": "ann", "exp": now + 99}
		for name, value := range c.claims {
			claims[name] = value
		}
		u, err := a.Authenticate(request(t, "Bearer "+token(t, jwt.SigningMethodHS256, secret, nil, claims)))
		var refused *layer.Error
		if c.reason == "" && (err != nil || u.Name != "ann" || !slices.Equal(u.Roles, c.roles)) ||
			c.reason != "" && (!errors.As(err, &refused) || refused.Reason != c.reason) {
			t.Errorf("%v %v: %+v, %v", c.options, c.claims, u, err)
		}
	}
}
