package console

import (
	"net/http"
	"strings"
)

// Guard serves the API below a prefix for the console's page. A browser sends the name and password of the page only to
// addresses below the page's own. Requests that may change something need the token. What is answered is not run by a
// browser that is led to show it: it may be an attachment.
func Guard(c *Console, prefix string, api http.Handler) http.Handler {
	inner := http.StripPrefix(strings.TrimSuffix(prefix, "/"), api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix) {
			api.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			switch {
			case !sameOrigin(r):
				refuse(w, http.StatusForbidden, "The request comes from another site.")
				return
			case !c.tokens.ours(r.Header.Get(TokenHeader)):
				refuse(w, http.StatusForbidden, "The header "+TokenHeader+" must have the token of GET token.")
				return
			}
		}
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		inner.ServeHTTP(w, r)
	})
}
