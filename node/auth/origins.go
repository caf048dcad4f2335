package auth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// CheckOrigins says what is wrong with the origins whose pages may use the node from a browser: the setting (origins or
// credentials) and why; both are empty where nothing is. node.yaml and _config have the same rules.
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
// origins, never for a part of one.
func isOrigin(o string) bool {
	u, err := url.Parse(o)
	return err == nil && u.Scheme != "" && u.Hostname() != "" && strings.EqualFold(o, u.Scheme+"://"+u.Host) &&
		!strings.ContainsAny(o, "*, \t")
}

// corsMethods are the methods that a list of allowed ones may name.
var corsMethods = []string{"CONNECT", "COPY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

// CheckMethods says what is wrong with the methods that pages of other origins may use; empty where nothing is.
func CheckMethods(methods []string) (why string) {
	for _, m := range methods {
		if !slices.Contains(corsMethods, strings.ToUpper(m)) {
			return fmt.Sprintf("%q is not a method; there are %s", m, strings.Join(corsMethods, ", "))
		}
	}
	return ""
}

// CheckHeaders says what is wrong with the headers that pages of other origins may send or read; empty where nothing
// is.
func CheckHeaders(headers []string) (why string) {
	for _, h := range headers {
		if h == "" || strings.ContainsFunc(h, func(r rune) bool { return !isTokenRune(r) }) {
			return fmt.Sprintf("%q is not the name of a header", h)
		}
	}
	return ""
}

// isTokenRune is about RFC 9110, section 5.6.2.
func isTokenRune(r rune) bool {
	return r < 0x7f && r > ' ' && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
}
