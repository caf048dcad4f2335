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

// A session cookie is base64url(NAME:TIME:MAC), TIME in hex seconds, MAC the HMAC-SHA-256 of NAME:TIME under the server's
// secret and the user's salt, as CouchDB's. A new password has a new salt, which ends the sessions of the old one.

func (a *Authenticator) byCookie(r *http.Request) (UserCtx, bool, error) {
	c, _ := r.Cookie(cookieName) // its only error is that there is none
	if c == nil || c.Value == "" {
		return UserCtx{}, false, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(c.Value, "="))
	parts := strings.SplitN(string(raw), ":", 3)
	if err != nil || len(parts) != 3 {
		return UserCtx{}, false, errCookie
	}
	name, stamp, sum := parts[0], parts[1], parts[2]
	// A cookie that has ended, or whose user is gone, is no credential; basic ones may follow.
	issued, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil {
		return UserCtx{}, false, nil //nolint:nilerr // see above
	}
	left := time.Until(time.Unix(issued, 0).Add(a.o.Timeout))
	if left <= 0 {
		return UserCtx{}, false, nil
	}
	acc, found, err := a.account(r.Context(), name)
	if err != nil || !found {
		return UserCtx{}, false, err
	}
	if subtle.ConstantTimeCompare([]byte(sum), a.sessionMAC(acc, stamp)) != 1 {
		return UserCtx{}, false, nil
	}
	u := acc.userCtx("cookie")
	if left < a.o.Timeout*9/10 {
		u.renew = acc.hash.salt
	}
	return u, true, nil
}

func (a *Authenticator) sessionMAC(acc account, stamp string) []byte {
	return mac(append(append([]byte{}, a.o.Secret...), acc.hash.salt...), acc.name+":"+stamp)
}

// Renew sets a fresh cookie in the answer's header where u came by one that has used up a tenth of its time. Call it before the first byte of the body.
func (a *Authenticator) Renew(h http.Header, r *http.Request, u UserCtx) {
	if u.renew != "" {
		a.setCookie(h, r, account{name: u.Name, hash: Hash{salt: u.renew}})
	}
}

func (a *Authenticator) setCookie(h http.Header, r *http.Request, acc account) {
	stamp := fmt.Sprintf("%X", time.Now().Unix())
	value := acc.name + ":" + stamp + ":" + string(a.sessionMAC(acc, stamp))
	c := a.cookie(r, base64.RawURLEncoding.EncodeToString([]byte(value)))
	if a.o.PersistentCookies {
		c.MaxAge = int(a.o.Timeout.Seconds())
	}
	h.Set("Set-Cookie", c.String())
}

func (a *Authenticator) clearCookie(h http.Header, r *http.Request) {
	c := a.cookie(r, "")
	c.MaxAge = -1
	h.Set("Set-Cookie", c.String())
}

func (a *Authenticator) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, Secure: r.TLS != nil}
	switch a.o.SameSite {
	case "lax":
		c.SameSite = http.SameSiteLaxMode
	case "strict":
		c.SameSite = http.SameSiteStrictMode
	case "none":
		c.SameSite = http.SameSiteNoneMode
	}
	return c
}
