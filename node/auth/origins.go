package auth

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// EveryPage warns if every page of the web may use the node with the credentials that the browser has for it: CouchDB
// and its set-up tools allow that. The zero value is ready. It is safe for concurrent use.
type EveryPage struct{ may atomic.Bool }

// Heed takes the CouchDB options by section and key. It warns if they allow this and those of the last call did not.
func (p *EveryPage) Heed(options map[string]map[string]string, log *slog.Logger) {
	cors := options["cors"]
	may := options["chttpd"]["enable_cors"] == "true" && cors["credentials"] == "true" && cors["origins"] == "*"
	if before := p.may.Swap(may); may && !before {
		log.Warn("http.cors allows every origin with credentials: any web page that a user opens who is logged in to " +
			"this node can act as that user; name the origins instead")
	}
}

// CheckOrigins returns what is wrong with the origins whose pages may use the node from a browser, or "". node.yaml and
// _config have the same rules.
func CheckOrigins(origins []string) (why string) {
	if slices.Contains(origins, "*") {
		if len(origins) > 1 {
			return `"*" stands for every origin; name no others beside it`
		}
		return ""
	}
	for _, o := range origins {
		if !isOrigin(o) {
			return fmt.Sprintf("%q is not an origin; write scheme://host or scheme://host:port", o)
		}
	}
	return ""
}

// isOrigin reports whether a browser could send o in an Origin header (RFC 6454, section 6.2). A star stands for all
// origins, never for part of one.
func isOrigin(o string) bool {
	u, err := url.Parse(o)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && strings.EqualFold(o, u.Scheme+"://"+u.Host) &&
		!strings.ContainsAny(o, "*, \t")
}

// corsMethods are the methods that may be allowed.
var corsMethods = []string{"CONNECT", "COPY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

// CheckMethods returns what is wrong with the methods that pages of other origins may use, or "".
func CheckMethods(methods []string) (why string) {
	for _, m := range methods {
		if !slices.Contains(corsMethods, strings.ToUpper(m)) {
			return fmt.Sprintf("%q is not a method; there are %s", m, strings.Join(corsMethods, ", "))
		}
	}
	return ""
}

// CheckHeaders returns what is wrong with the headers that pages of other origins may send or read, or "".
func CheckHeaders(headers []string) (why string) {
	for _, h := range headers {
		if h == "" || strings.ContainsFunc(h, func(r rune) bool { return !isTokenRune(r) }) {
			return fmt.Sprintf("%q is not the name of a header", h)
		}
	}
	return ""
}

// isTokenRune reports whether r may be part of a token (RFC 9110, section 5.6.2).
func isTokenRune(r rune) bool {
	return r < 0x7f && r > ' ' && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
}
