package console

import (
	"cmp"
	"context"
	"net/http"

	"github.com/divandb/divan/node/console/state"
)

// What notPermitted says of a request.
const (
	acting  = "an action of the console"
	writing = "a write of the console"
)

// Audit serves the API with the console below a prefix, and records who may not do what the console does: the API
// refuses users who are not admins before the console is asked.
func Audit(c *Console, prefix string, api http.Handler) http.Handler {
	audited := map[string]string{prefix + "/act": acting, prefix + "/sql": "SQL of the console"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what, ok := audited[r.URL.Path]
		if !ok || r.Method != http.MethodPost {
			api.ServeHTTP(w, r)
			return
		}
		by := &sender{}
		api.ServeHTTP(&observed{ResponseWriter: w, before: func(status int) {
			if status == http.StatusUnauthorized || status == http.StatusForbidden {
				notPermitted(c, r, by.user, what)
			}
		}}, r.WithContext(context.WithValue(r.Context(), senderKey{}, by)))
	})
}

// sender is what MaySend tells Audit.
type sender struct{ user string }

type senderKey struct{}

// notPermitted records that a request was refused, with who has sent it, if that is known. Of somebody who is not
// logged in only requests of other sites are told: the console's page sends some when its session has ended, and any
// program can send others. A wrong password is an event of its own.
func notPermitted(c *Console, r *http.Request, user, what string) {
	e := state.Event{Kind: state.ActionRefused, User: user, Object: what}
	switch of, ours := c.tokens.user(r.Header.Get(TokenHeader)); {
	case !sameOrigin(r):
		e.Detail = "it came from a page of another site"
	case user == "":
		return
	case !ours:
		e.Detail = "it had no valid token"
	case of != user:
		e.Detail = "it had the token of " + cmp.Or(of, "nobody")
	default:
		e.Detail = "the user is not an admin"
	}
	if c.o.From != nil {
		e.Address = c.o.From(r)
	}
	c.o.Events.Count(e)
}

// SignalRefused records that a user has tried by SQL to cancel the statement of another user's session of a node, or to
// end the session.
func SignalRefused(c *Console, node, user string, pid uint32, terminate bool) {
	a := signal(node, pid, terminate)
	c.o.Events.Count(state.Event{Kind: state.ActionRefused, User: user, Object: acts[a.Do].did(a),
		Detail: string(notYours)})
}

const notYours = Refused("the session belongs to another user")
