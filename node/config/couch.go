package config

import (
	"strconv"
	"time"

	"github.com/divandb/divan/node/auth"
)

// CouchOptions returns the settings that are CouchDB's options too, by section and key. Clients can change them at run
// time. Empty ones, and the secret, are left out.
func (a *Auth) CouchOptions() map[string]map[string]string {
	return map[string]map[string]string{
		"chttpd": {
			"authentication_handlers":          auth.HandlersText(a.Handlers),
			"require_valid_user_except_for_up": strconv.FormatBool(a.RequireUser),
		},
		"chttpd_auth": filled(map[string]string{
			"timeout":                  strconv.Itoa(int(max(1, a.Timeout/time.Second))),
			"allow_persistent_cookies": strconv.FormatBool(a.PersistentCookies),
			"same_site":                a.SameSite,
			"cookie_domain":            a.CookieDomain,
			"iterations":               strconv.Itoa(a.Iterations),
			"password_regexp":          a.PasswordRegexp,
			"proxy_use_secret":         strconv.FormatBool(a.Proxy.Signed),
		}),
		"chttpd_auth_lockout": {
			"mode":         a.Lockout.Mode,
			"threshold":    strconv.Itoa(a.Lockout.Threshold),
			"max_lifetime": strconv.FormatInt(max(1, a.Lockout.Lifetime.Milliseconds()), 10),
			"max_objects":  strconv.Itoa(a.Lockout.MaxObjects),
		},
		"jwt_auth": filled(map[string]string{
			"required_claims":  a.JWT.RequiredClaims,
			"roles_claim_path": a.JWT.RolesClaimPath,
		}),
		"jwt_keys": a.JWT.Keys,
	}
}

// filled returns the texts that are not empty.
func filled(all map[string]string) map[string]string {
	texts := map[string]string{}
	for key, text := range all {
		if text != "" {
			texts[key] = text
		}
	}
	return texts
}
