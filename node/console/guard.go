package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// DeleteHeader names the database that a request of the page deletes, escaped as in its path.
const DeleteHeader = "X-Divan-Delete-Database"

// Guard serves the API below a prefix for the console's page. A browser sends the name and password of the page only to
// addresses below the page's own. Requests that may change something need the token, and the API asks MaySend whether
// it is that of who sends them. What is answered is not run by a browser that is led to show it: it may be an
// attachment.
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
			user, ours := c.tokens.user(r.Header.Get(TokenHeader))
			switch {
			case !sameOrigin(r):
				notPermitted(c, r, "", writing)
				refuse(w, http.StatusForbidden, "The request comes from another site.")
				return
			case !ours:
				refuse(w, http.StatusForbidden, "The header "+TokenHeader+" must have the token of GET token.")
				return
			}
			g := &guarded{user: user}
			r = r.WithContext(context.WithValue(r.Context(), guardedKey{}, g))
			answer := &observed{ResponseWriter: w, before: func(int) {
				if g.foreign {
					notPermitted(c, r, g.sender, writing)
				}
			}}
			defer answer.end()
			w = answer
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
			answer := &observed{ResponseWriter: w, before: func(status int) { databaseDeleted(c, r, name, status) }}
			defer answer.end()
			w = answer
		}
		api.ServeHTTP(w, inner)
	})
}

// guarded is what Guard and the API tell each other of a request that needed the token.
type guarded struct {
	user    string // whose token it has
	sender  string // who has sent it
	foreign bool   // that is somebody else
}

type guardedKey struct{}

// MaySend reports whether a user may send a request, as far as Guard is concerned, and lets Audit know who sends it. If
// not, its token is that of another user: this one has signed in since the page that sends it was opened, and the API
// must refuse it.
func MaySend(ctx context.Context, user string) bool {
	if by, ok := ctx.Value(senderKey{}).(*sender); ok {
		by.user = user
	}
	g, ok := ctx.Value(guardedKey{}).(*guarded)
	if !ok {
		return true
	}
	g.sender, g.foreign = user, g.user != user
	return !g.foreign
}

// databaseDeleted records that the page has deleted a database, or tried to. A status of 0 is no answer.
func databaseDeleted(c *Console, r *http.Request, name string, status int) {
	g := r.Context().Value(guardedKey{}).(*guarded)
	if g.foreign {
		return // whose token it is has not tried anything, and nothing was done
	}
	e := state.Event{Kind: state.ActionDone, User: g.user, Database: name, Object: "database " + name + " deleted"}
	switch {
	case status >= http.StatusInternalServerError || status == 0:
		e.Object = events.PerhapsNotDone + e.Object
	case status >= http.StatusMultipleChoices:
		e.Object = events.NotDone + e.Object
	}
	c.o.Events.Record(e)
}

// observed calls before with the status of an answer before any of it is sent: what it records can be read by
// whoever has the answer.
type observed struct {
	http.ResponseWriter
	before func(status int)
	told   bool
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	if status >= http.StatusOK { // those below come before the answer
		o.tell(status)
	}
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *observed) Write(b []byte) (int, error) {
	o.tell(http.StatusOK)
	return o.ResponseWriter.Write(b)
}

// end calls before with 0 if nothing was answered, as when the handler has panicked.
func (o *observed) end() { o.tell(0) }

func (o *observed) tell(status int) {
	if !o.told {
		o.told = true
		o.before(status)
	}
}

// Unwrap is for http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

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
