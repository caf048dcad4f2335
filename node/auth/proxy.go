package auth

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/divandb/divan/layer"
)

// ProxyRules are the headers in which a reverse proxy says who it has authenticated.
type ProxyRules struct {
	Username, Roles, Token string
	// UseSecret asks for Token, the HMAC of the user's name under the secret of cookies, in hex. Without it, whoever
	// can reach the node can be any user, so that only the proxy may reach it.
	UseSecret bool
}

func (p *ProxyRules) setDefaults() {
	for field, text := range map[*string]string{&p.Username: "X-Auth-CouchDB-UserName",
		&p.Roles: "X-Auth-CouchDB-Roles", &p.Token: "X-Auth-CouchDB-Token"} {
		if *field == "" {
			*field = text
		}
	}
}

// signatureHashes are the hash functions of the signatures of cookies and proxies, by CouchDB's names.
var signatureHashes = map[string]func() hash.Hash{
	"sha": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	"sha3_224": func() hash.Hash { return sha3.New224() }, "sha3_256": func() hash.Hash { return sha3.New256() },
	"sha3_384": func() hash.Hash { return sha3.New384() }, "sha3_512": func() hash.Hash { return sha3.New512() },
}

func readHashes(r *Rules, _, value string) error {
	list := splitList(value)
	for _, name := range list {
		if signatureHashes[name] == nil {
			return errHashes
		}
	}
	if len(list) == 0 {
		return errHashes
	}
	r.Hashes = list
	return nil
}

// sign returns the HMAC of a text under a secret, with one of the Hashes.
func sign(name string, secret []byte, text string) []byte {
	m := hmac.New(signatureHashes[name], secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// signed reports whether a signature is that of the text with any of the Hashes. text may make it anew for each.
func (r *Rules) signed(secret []byte, text string, is func(sum []byte) bool) bool {
	ok := false
	for _, name := range r.Hashes {
		ok = is(sign(name, secret, text)) || ok
	}
	return ok
}

// byProxy returns the user whom a proxy has authenticated. As in CouchDB, a wrong token is ignored.
func (v *visit) byProxy() (u UserCtx, ok bool) {
	name := v.r.Header.Get(v.rules.Proxy.Username)
	if name == "" {
		return UserCtx{}, false
	}
	if v.rules.Proxy.UseSecret {
		token := []byte(v.r.Header.Get(v.rules.Proxy.Token))
		if !v.rules.signed(v.a.secret(v.rules), name, func(sum []byte) bool {
			return hmac.Equal(token, hex.AppendEncode(nil, sum))
		}) {
			return UserCtx{}, false
		}
	}
	roles := splitRoles(v.r.Header.Get(v.rules.Proxy.Roles))
	return UserCtx{UserCtx: layer.UserCtx{Name: name, Roles: roles}, Handler: HandlerProxy}, true
}

// splitRoles splits a list of roles as CouchDB does: empty ones at the end are dropped.
func splitRoles(text string) []string {
	roles := strings.Split(text, ",")
	for i := range roles {
		roles[i] = strings.TrimSpace(roles[i])
	}
	for len(roles) > 0 && roles[len(roles)-1] == "" {
		roles = roles[:len(roles)-1]
	}
	return roles
}
