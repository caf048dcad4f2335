package auth

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const cookieName = "AuthSession"

// A session cookie is base64url(NAME:TIME:MAC) as in CouchDB, where TIME is in hex seconds and MAC is the HMAC of
// NAME:TIME under the server's secret and the user's salt. A new password has a new salt, which ends existing sessions.

// sessionCookie returns the value of the request's session cookie, or "" if it has none. Of several it returns the
// first that is not empty. It does not use net/http's parser, which drops cookies that it considers malformed, so that
// the client would get no error.
func sessionCookie(r *http.Request) string {
	for _, header := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(header, ";") {
			name, value, _ := strings.Cut(pair, "=")
			if strings.TrimSpace(name) != cookieName {
				continue
			}
			value = strings.TrimSpace(value)
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			if value != "" {
				return value
			}
		}
	}
	return ""
}

// cookies makes and checks session cookies by rules.
type cookies struct {
	rules  *Rules
	secret []byte
}

func (a *Authenticator) cookies() cookies {
	rules := a.rules.Load()
	return cookies{rules, a.secret(rules)}
}

// byCookie returns the user of the session cookie. As in CouchDB, a cookie that has expired, or that does not match
// this node's secret and users, is ignored: ok is false, and basic credentials may follow. forged is true in the second
// case.
func (v *visit) byCookie() (u UserCtx, ok, forged bool, err error) {
	value := sessionCookie(v.r)
	if value == "" {
		return UserCtx{}, false, false, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(value, "="))
	parts := strings.SplitN(string(raw), ":", 3)
	if err != nil || len(parts) != 3 {
		return UserCtx{}, false, false, errCookie
	}
	name, stamp, sum := parts[0], parts[1], parts[2]
	issued, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil {
		return UserCtx{}, false, false, errCookie
	}
	acc, found, err := v.a.accounts.find(v.r.Context(), name)
	if err != nil {
		return UserCtx{}, false, false, err
	}
	key := cookies{v.rules, v.a.secret(v.rules)}.key(acc)
	if !found || !v.rules.signed(key, acc.name+":"+stamp, func(want []byte) bool {
		return subtle.ConstantTimeCompare([]byte(sum), want) == 1
	}) {
		return UserCtx{}, false, true, nil
	}
	left := time.Until(time.Unix(issued, 0).Add(v.rules.Timeout))
	if left <= 0 {
		return UserCtx{}, false, false, nil
	}
	u = acc.userCtx("cookie")
	if left < v.rules.Timeout*9/10 {
		u.renew = acc.hash.salt
	}
	return u, true, false, nil
}

func (c cookies) key(acc account) []byte {
	return append(append([]byte{}, c.secret...), acc.hash.salt...)
}

// Renew sets a fresh cookie in the response's header if u was authenticated by one that has used up a tenth of its
// time. Call it before the first byte of the body.
func (a *Authenticator) Renew(h http.Header, r *http.Request, u UserCtx) {
	if u.renew != "" {
		a.cookies().set(h, r, account{name: u.Name, hash: Hash{salt: u.renew}})
	}
}

func (c cookies) set(h http.Header, r *http.Request, acc account) {
	stamp := fmt.Sprintf("%X", time.Now().Unix())
	text := acc.name + ":" + stamp
	value := text + ":" + string(sign(c.rules.Hashes[0], c.key(acc), text))
	made := c.rules.cookie(r, base64.RawURLEncoding.EncodeToString([]byte(value)))
	if c.rules.PersistentCookies {
		made.MaxAge = int(c.rules.Timeout.Seconds())
		made.Expires = time.Now().Add(c.rules.Timeout) // as CouchDB does; nano reads only Expires
	}
	h.Set("Set-Cookie", made.String())
}

func (c cookies) clear(h http.Header, r *http.Request) {
	gone := c.rules.cookie(r, "")
	gone.MaxAge = -1
	h.Set("Set-Cookie", gone.String())
}

func (r *Rules) cookie(request *http.Request, value string) *http.Cookie {
	made := &http.Cookie{Name: cookieName, Value: value, Path: "/", Domain: r.CookieDomain, HttpOnly: true,
		Secure: request.TLS != nil}
	switch r.SameSite {
	case "lax":
		made.SameSite = http.SameSiteLaxMode
	case "strict":
		made.SameSite = http.SameSiteStrictMode
	case "none":
		made.SameSite = http.SameSiteNoneMode
	}
	return made
}
