package api

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// With no admin configured, every client on the machine is an admin, and so would be any website that a browser there
// shows: its name may lead to 127.0.0.1, so that the browser takes the node for a part of it, and forms can be sent
// anywhere.

var (
	errPublicName = &fault.Fault{Status: http.StatusForbidden, Name: "forbidden",
		Reason: "With no admin configured, this node answers as localhost, by its address, or by a name without " +
			"dots, so that websites cannot use it."}
	errOtherSite = &fault.Fault{Status: http.StatusForbidden, Name: "forbidden",
		Reason: "With no admin configured, this node takes nothing from pages of other sites that http.cors does not " +
			"allow."}
	errForeignLogin = &fault.Fault{Status: http.StatusForbidden, Name: "forbidden",
		Reason: "Pages of other sites log nobody in or out, unless http.cors allows them with credentials."}
)

// refuseWebsites refuses what a website may have made a browser send to a node without an admin. CORS must have been
// decided before.
func refuseWebsites(q *call.Request) error {
	if q.User.Name != "" || !q.User.IsAdmin() {
		return nil
	}
	if isPublicName(q.R.Host) {
		return errPublicName
	}
	origin := q.R.Header.Get("Origin")
	if origin == "" || q.Method == http.MethodGet || q.Method == http.MethodHead ||
		q.W.Header().Get("Access-Control-Allow-Origin") != "" {
		return nil
	}
	if from, err := url.Parse(origin); err != nil || !strings.EqualFold(from.Host, q.R.Host) {
		return errOtherSite
	}
	return nil
}

// refuseForeignLogins refuses what a page of another site makes a browser send to /_session: it could log the browser
// in as somebody else, or have the user of a name locked out by wrong passwords, which would come from the user's
// address. Only the browser's word counts, not the header Origin: a proxy may have changed Host, and other programs
// send what they like. CORS must have been decided before, and no password been looked at.
func refuseForeignLogins(q *call.Request, e *endpoint) error {
	if !e.tells || q.Method == http.MethodGet || q.Method == http.MethodHead || q.Method == http.MethodOptions {
		return nil
	}
	site := q.R.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && q.W.Header().Get("Access-Control-Allow-Credentials") != "true" {
		return errForeignLogin
	}
	return nil
}

// private are the ends of names that no website has: those of this machine, and of the host of a container.
var private = []string{".localhost", ".internal"}

// isPublicName reports whether the value of the header Host is a name that a website can have: one with a dot, and no
// address. A name that ends in a number is an address too, such as 127.1.
func isPublicName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := strings.LastIndexByte(host, '.')
	if last < 0 || strings.Contains(host, ":") || strings.Trim(host[last+1:], "0123456789") == "" {
		return false
	}
	return !slices.ContainsFunc(private, func(end string) bool { return strings.HasSuffix(host, end) })
}
