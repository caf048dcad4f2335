package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/divandb/divan/node/console/state"
)

// DeleteHeader names the database that a request of the page deletes, escaped as in its path.
const DeleteHeader = "X-Divan-Delete-Database"

// Guard serves the API below a prefix for the console's page. A browser sends the name and password of the page only to
// addresses below the page's own. Requests that may change something need the token. What is answered is not run by a
// browser that is led to show it: it may be an attachment.
//
// Each segment of a path below the prefix is escaped twice, full stops too: browsers and proxies remove the segments
// "." and "..", which documents and attachments can be named, also if they are escaped once, and the rest would name
// something else. A database is only deleted if DeleteHeader names it, which is an event like what Act does.
func Guard(c *Console, prefix string, api http.Handler) http.Handler {
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
		inner, reason := meant(r, prefix)
		if reason != "" {
			refuse(w, http.StatusBadRequest, reason)
			return
		}
		w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodDelete && !strings.Contains(inner.URL.RawPath[1:], "/") { // a whole database
			name := inner.URL.Path[1:]
			answered := &answered{ResponseWriter: w}
			api.ServeHTTP(answered, inner)
			databaseDeleted(c, r, name, answered.status)
			return
		}
		api.ServeHTTP(w, inner)
	})
}

// databaseDeleted records that the page has deleted a database, or tried to.
func databaseDeleted(c *Console, r *http.Request, name string, status int) {
	user, _ := c.tokens.user(r.Header.Get(TokenHeader))
	e := state.Event{Kind: state.ActionDone, User: user, Database: name, Object: "database " + name + " deleted"}
	switch {
	case status >= http.StatusInternalServerError || status == 0:
		e.Object = perhapsNotDone + e.Object
	case status >= http.StatusMultipleChoices:
		e.Object = notDone + e.Object
	}
	c.o.Events.Record(e)
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answered) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// meant returns the request to the API that a request of the page stands for, or why it is refused.
func meant(r *http.Request, prefix string) (inner *http.Request, refusal string) {
	sent, found := strings.CutPrefix(r.URL.EscapedPath(), prefix)
	names := strings.Split(sent, "/")
	for i, name := range names {
		var err error
		names[i], err = url.PathUnescape(name)
		switch {
		case !found || err != nil || strings.ContainsAny(names[i], "/."):
			return nil, "Each name in the address must be escaped twice, with its full stops. Reload the page."
		case name == "":
			return nil, "A name is empty."
		}
	}
	if r.Method == http.MethodDelete && len(names) < 2 && r.Header.Get(DeleteHeader) != names[0] {
		return nil, "The header " + DeleteHeader + " must name the database to delete."
	}
	path := "/" + strings.Join(names, "/")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, "Each name in the address must be escaped twice. Reload the page."
	}
	inner = r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = plain, path
	inner.Header.Del("X-HTTP-Method-Override") // the method was judged
	return inner, ""
}
