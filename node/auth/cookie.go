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

// A session cookie is base64url(NAME:TIME:MAC) as in CouchDB, where TIME is in hex seconds and MAC is the HMAC-SHA-256
// of NAME:TIME under the server's secret and the user's salt. A new password has a new salt, which ends existing
// sessions.

// cookies creates and checks session cookies.
type cookies struct {
	secret     []byte
	timeout    time.Duration
	persistent bool
	sameSite   string
}

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

// byCookie returns the user of the session cookie. As in CouchDB, a cookie that has expired, or that does not match
// this node's secret and users, is ignored: ok is false, and basic credentials may follow. forged is true in the second
// case.
func (a *Authenticator) byCookie(r *http.Request) (u UserCtx, ok, forged bool, err error) {
	value := sessionCookie(r)
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
	acc, found, err := a.accounts.find(r.Context(), name)
	if err != nil {
		return UserCtx{}, false, false, err
	}
	if !found || subtle.ConstantTimeCompare([]byte(sum), a.cookies.mac(acc, stamp)) != 1 {
		return UserCtx{}, false, true, nil
	}
	left := time.Until(time.Unix(issued, 0).Add(a.cookies.timeout))
	if left <= 0 {
		return UserCtx{}, false, false, nil
	}
	u = acc.userCtx("cookie")
	if left < a.cookies.timeout*9/10 {
		u.renew = acc.hash.salt
	}
	return u, true, false, nil
}

func (c *cookies) mac(acc account, stamp string) []byte {
	return mac(append(append([]byte{}, c.secret...), acc.hash.salt...), acc.name+":"+stamp)
}

// Renew sets a fresh cookie in the response's header if u was authenticated by one that has used up a tenth of its
// time. Call it before the first byte of the body.
func (a *Authenticator) Renew(h http.Header, r *http.Request, u UserCtx) {
	if u.renew != "" {
		a.cookies.set(h, r, account{name: u.Name, hash: Hash{salt: u.renew}})
	}
}

func (c *cookies) set(h http.Header, r *http.Request, acc account) {
	stamp := fmt.Sprintf("%X", time.Now().Unix())
	value := acc.name + ":" + stamp + ":" + string(c.mac(acc, stamp))
	made := c.cookie(r, base64.RawURLEncoding.EncodeToString([]byte(value)))
	if c.persistent {
		made.MaxAge = int(c.timeout.Seconds())
		made.Expires = time.Now().Add(c.timeout) // as CouchDB does; nano reads only Expires
	}
	h.Set("Set-Cookie", made.String())
}

func (c *cookies) clear(h http.Header, r *http.Request) {
	gone := c.cookie(r, "")
	gone.MaxAge = -1
	h.Set("Set-Cookie", gone.String())
}

func (c *cookies) cookie(r *http.Request, value string) *http.Cookie {
	made := &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, Secure: r.TLS != nil}
	switch c.sameSite {
	case "lax":
		made.SameSite = http.SameSiteLaxMode
	case "strict":
		made.SameSite = http.SameSiteStrictMode
	case "none":
		made.SameSite = http.SameSiteNoneMode
	}
	return made
}
