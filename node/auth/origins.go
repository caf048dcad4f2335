package auth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckOrigins checks the origins whose pages may use the node from a browser. It returns the faulty setting (origins
// or credentials) and what is wrong with it, or two empty strings. node.yaml and _config have the same rules.
func CheckOrigins(origins []string, credentials bool) (setting, why string) {
	if slices.Contains(origins, "*") {
		switch {
		case len(origins) > 1:
			return "origins", `"*" stands for every origin; name no others beside it`
		case credentials:
			return "credentials", `browsers send no credentials where origins is "*"; name the origins`
		}
		return "", ""
	}
	for _, o := range origins {
		if !isOrigin(o) {
			return "origins", fmt.Sprintf("%q is not an origin; write scheme://host or scheme://host:port", o)
		}
	}
	return "", ""
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
