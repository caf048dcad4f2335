package call

import (
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/divandb/divan/node/api/internal/fault"
)

// Origin returns the scheme and host by which the client reaches this server, perhaps through a proxy, such as
// "https://example.org" (chttpd:absolute_uri).
func Origin(q *Request) string {
	forwarded := func(option, absent string) string { return q.R.Header.Get(Option(q, "chttpd", option, absent)) }
	scheme := "http"
	if q.R.TLS != nil || forwarded("x_forwarded_ssl", "X-Forwarded-Ssl") == "on" ||
		forwarded("x_forwarded_proto", "X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	host := forwarded("x_forwarded_host", "X-Forwarded-Host")
	if host == "" {
		host = q.R.Host
	}
	return scheme + "://" + host
}

// FrameOptions tells browsers which pages may show the answer in a frame, if the options say so
// (chttpd_xframe_options).
func FrameOptions(q *Request) {
	if Option(q, "chttpd", "enable_xframe_options", "") != "true" {
		return
	}
	value := "DENY"
	if Option(q, "x_frame_options", "same_origin", "") == "true" {
		value = "SAMEORIGIN"
	} else {
		origin := Origin(q)
		for host := range strings.SplitSeq(Option(q, "x_frame_options", "hosts", ""), ",") {
			if host = strings.TrimSpace(host); host == "*" || host == origin {
				value = "ALLOW-FROM " + origin
			}
		}
	}
	q.W.Header().Set("X-Frame-Options", value)
}

// ContentPolicy returns the Content-Security-Policy of a kind of answers (utils, attachments, showlist), or "" if the
// options turn it off.
func ContentPolicy(q *Request, kind, absent string) string {
	if Option(q, "csp", kind+"_enable", "true") != "true" {
		return ""
	}
	return Option(q, "csp", kind+"_header_value", absent)
}

// challenge prepares the answer to a request without valid credentials, as chttpd:error_headers does. It asks for them
// if the client or the options want that, or if a browser opens the dashboard. It returns true if a browser is led to a
// page for logging in instead. A login that fails is told to who asked for it.
func challenge(q *Request, f *fault.Fault) (redirect bool) {
	if q.Method == http.MethodPost && q.Part(0) == "_session" {
		return false
	}
	h := q.W.Header()
	ask := q.R.Header.Get("X-CouchDB-WWW-Authenticate")
	dashboard := q.Part(0) == "_dashboard"
	if dashboard && ask == "" && scripted(q.R.Header) {
		return false
	}
	if ask == "" {
		ask = Option(q, "chttpd", "WWW-Authenticate", "")
	}
	if ask == "" && (dashboard || Option(q, "chttpd", "require_valid_user", "") == "true") {
		ask = `Basic realm="divan"`
	}
	if ask != "" {
		h.Set("WWW-Authenticate", ask)
		return false
	}
	page := Option(q, "chttpd_auth", "authentication_redirect", "")
	if page == "" || f.Name != "unauthorized" || accepts(q.R.Header, "application/json") ||
		!accepts(q.R.Header, "text/html") {
		return false
	}
	h.Set("Location", Origin(q)+page+"?return="+Escape(q.R.URL.Path)+"&reason="+Escape(f.Reason))
	return true
}

// refusedPage answers a browser that opens the console for somebody who is no admin with a page that says so, and what
// to do. It returns false if that is not what is asked for.
func refusedPage(q *Request, f *fault.Fault, status int) bool {
	h := q.R.Header
	if status != http.StatusUnauthorized && status != http.StatusForbidden || q.Part(0) != "_dashboard" ||
		q.Part(1) != "" || scripted(h) || !strings.Contains(h.Get("Accept"), "text/html") {
		return false
	}
	who := html.EscapeString(f.Reason) + " Reload this page and give the name and the password of an admin."
	if q.User.Name != "" {
		who = "You are signed in as <b>" + html.EscapeString(q.User.Name) + "</b>, who is no admin. Sign in as one, " +
			"or ask an admin for what you need. Documents are at the addresses of their databases, over HTTP and SQL."
	}
	const begin = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Divan: not for you</title>` +
		`<meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<meta name="color-scheme" content="light dark"><h1>Divan</h1><p>The console is for server admins.</p><p>`
	out := q.W.Header()
	out.Set("Content-Type", "text/html; charset=utf-8")
	out.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	out.Set("X-Content-Type-Options", "nosniff")
	out.Set("Cache-Control", "no-store")
	_ = q.SendBytes(status, []byte(begin+who+"</p></html>\n")) // an error means that the client is gone
	return true
}

// scripted reports whether a script of a page makes a request, which tells the user by itself that credentials are
// missing: the browser would ask for them at each request. Browsers say what makes a request (Sec-Fetch-Dest) only
// where they trust the connection.
func scripted(h http.Header) bool {
	return h.Get("Sec-Fetch-Dest") == "empty" || h.Get("X-Requested-With") == "XMLHttpRequest" ||
		h.Get("Accept") == "text/event-stream"
}

// accepts reports whether a client takes an answer of a media type.
func accepts(h http.Header, mediaType string) bool {
	header := strings.Join(h.Values("Accept"), ",")
	if header == "" {
		return true
	}
	family, _, _ := strings.Cut(mediaType, "/")
	for item := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case mediaType, family + "/*", "*/*":
			_, weight, ok := strings.Cut(strings.ReplaceAll(params, " ", ""), "q=")
			if q, err := strconv.ParseFloat(weight, 64); !ok || err != nil || q > 0 {
				return true
			}
		}
	}
	return false
}
