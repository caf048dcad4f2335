package settings

import (
	"net/http"
	"slices"
	"strings"

	"github.com/divandb/divan/node/couchopts"
)

// corsRules are the [cors] settings, parsed (chttpd_cors).
type corsRules struct {
	enabled          bool
	origins          []string // as they are set, and in lower case, as browsers send them
	credentials      bool
	methods, headers []string
	exposed          string
	maxAge           string
}

var (
	corsMethods = []string{"CONNECT", "COPY", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE"}
	corsHeaders = []string{
		"accept", "accept-language", "authorization", "content-length", "content-range", "content-type", "destination",
		"expires",
		"if-match", "last-modified", "origin", "pragma", "x-couch-full-commit", "x-couch-id", "x-couch-persist",
		"x-couchdb-www-authenticate", "x-http-method-override", "x-requested-with", "x-couchdb-vhost-path",
	}
	corsExposed = []string{"accept-ranges", "etag", "server", "x-couch-request-id",
		"x-couch-update-newrev", "x-couchdb-body-time"}
)

// corsRules returns the parsed settings, which it parses once after each change.
func (s *Settings) corsRules() *corsRules {
	s.mu.RLock()
	rules := s.mu.cors
	s.mu.RUnlock()
	if rules != nil {
		return rules
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.cors != nil {
		return s.mu.cors
	}
	section := s.mu.sections["cors"]
	rules = &corsRules{
		enabled:     s.mu.sections["chttpd"]["enable_cors"] == "true",
		credentials: section["credentials"] == "true",
		methods:     corsMethods,
		headers:     corsHeaders,
		exposed:     exposed(corsExposed),
		maxAge:      "600",
	}
	for _, origin := range split(section["origins"]) {
		rules.origins = append(rules.origins, origin, strings.ToLower(origin))
	}
	if v, ok := section["methods"]; ok {
		rules.methods = split(strings.ToUpper(v))
	}
	if v, ok := section["headers"]; ok {
		rules.headers = split(strings.ToLower(v))
	}
	if v, ok := section["exposed_headers"]; ok {
		rules.exposed = exposed(split(strings.ToLower(v)))
	}
	if v, ok := section["max_age"]; ok {
		rules.maxAge = v
	}
	s.mu.cors = rules
	return rules
}

// exposed returns the header that tells a page which headers it may read: two that any page may, and others.
func exposed(others []string) string {
	return strings.Join(append([]string{"content-type", "cache-control"}, others...), ", ")
}

func (c *corsRules) allows(origin string) bool {
	return c.enabled && origin != "" &&
		(slices.Contains(c.origins, "*") || slices.Contains(c.origins, origin))
}

// CORS sets the headers in h that let a page of another origin read the response. preflight is true if the request only
// asks whether it is allowed.
func (s *Settings) CORS(r *http.Request, method string, h http.Header) (preflight bool) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	rules := s.corsRules()
	if !rules.allows(origin) {
		return false
	}
	if method == http.MethodOptions && rules.preflight(r.Header, h, origin) {
		return true
	}
	rules.allowOrigin(h, origin)
	h.Set("Access-Control-Expose-Headers", rules.exposed)
	return false
}

func (c *corsRules) allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
}

// preflight answers a browser's preflight request. It returns false if the request is none, or asks for something that
// is not allowed.
func (c *corsRules) preflight(ask, h http.Header, origin string) bool {
	method := ask.Get("Access-Control-Request-Method")
	if method == "" || !slices.Contains(c.methods, method) {
		return false
	}
	wanted := ask.Get("Access-Control-Request-Headers")
	for _, name := range split(strings.ToLower(wanted)) {
		if !slices.Contains(c.headers, name) {
			return false
		}
	}
	c.allowOrigin(h, origin)
	h.Set("Access-Control-Max-Age", c.maxAge)
	h.Set("Access-Control-Allow-Methods", strings.Join(c.methods, ", "))
	if wanted != "" {
		h.Set("Access-Control-Allow-Headers", wanted)
	}
	return true
}

// split splits a comma-separated option, dropping empty members.
func split(v string) []string {
	var list []string
	for _, one := range couchopts.Members(v) {
		if one != "" {
			list = append(list, one)
		}
	}
	return list
}
