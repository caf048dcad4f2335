package console

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// Acts are what the console can do on this node. They return an error of kind Refused if what they are about is not
// there, or cannot be done.
type Acts struct {
	// Cancel cancels the statement of an SQL session of this node, and Terminate ends the session. They report whether
	// there is such a session.
	Cancel, Terminate func(pid uint32) bool
	// RetryJob lets a waiting job start now, and DropJob removes a job.
	RetryJob, DropJob func(ctx context.Context, typ, id string) error
	// Reshard changes the number of a database's changes shards, and Compact removes superseded revisions.
	Reshard func(ctx context.Context, database string, shards int) error
	Compact func(ctx context.Context, database string) error
	// Rebuild removes the index of a design document and has it built again.
	Rebuild func(ctx context.Context, database, design string) error
	// RestartActor restarts an actor of this node and all below it.
	RestartActor func(ctx context.Context, id string) error
	// Forget makes this node forget a member that is gone. It reports whether it knows the member as gone, for which it
	// waits a short time.
	Forget func(ctx context.Context, member string) bool
	// Forgotten makes this node forget a member that is gone, and that it has not heard since another node forgot it.
	Forgotten func(member string, at time.Time)
	// Drain lets other nodes take over this node's shards and jobs, and makes it answer that it is not ready. It still
	// serves requests.
	Drain func(ctx context.Context) error
	// LogLevel sets the level of this node's log for some time.
	LogLevel func(level string, lasts time.Duration) error
}

// Refused is the reason why an action is not done.
type Refused string

func (e Refused) Error() string { return string(e) }

// Action is what a page asks for. Which fields are needed depends on Do.
type Action struct {
	// Do is "cancel" or "terminate" (Node, PID), "retry_job" or "drop_job" (Type, ID), "reshard" (Database, Shards),
	// "compact" (Database), "rebuild_index" (Database, Design), "restart_actor" (Node, ID), "forget" (Member), "drain"
	// (Node), or "log_level" (Level, Minutes; Node or all nodes).
	Do       string `json:"do"`
	Node     string `json:"node,omitempty"`
	PID      uint32 `json:"pid,omitempty"`
	Type     string `json:"type,omitempty"`
	ID       string `json:"id,omitempty"`
	Database string `json:"database,omitempty"`
	Design   string `json:"design,omitempty"`
	Shards   int    `json:"shards,omitempty"`
	Member   string `json:"member,omitempty"`
	Level    string `json:"level,omitempty"`
	Minutes  int    `json:"minutes,omitempty"`
}

const (
	maxLogMinutes  = 60
	defaultMinutes = 10
	// actWithin is how long another node may take for an action. One that has not answered in time may still do it.
	actWithin = 10 * time.Second
	// forgetWithin is the same for forgetting a member, for which a node only waits, a second at most.
	forgetWithin = 2 * time.Second
)

// act is one kind of Action.
type act struct {
	// needs are the names of the members of an Action that must be set.
	needs []string
	// did says what was done, for the event.
	did func(Action) string
	// on returns the nodes that the action is done on; nil means that any node does it, for all.
	on func(c *Console, a Action) []string
	// each reports that each of these nodes has to do it. Otherwise it is done if one of them has; those that have not
	// answered are named nevertheless.
	each bool
	// within is how long another node may take for it; 0 means actWithin.
	within time.Duration
	// do does it, on one node.
	do func(ctx context.Context, acts Acts, a Action) error
}

// oneNode and allNodes are values of act.on.
func oneNode(_ *Console, a Action) []string { return []string{a.Node} }

func allNodes(c *Console, a Action) []string {
	if a.Node != "" {
		return []string{a.Node}
	}
	return append([]string{c.o.Node}, c.peers.Others()...)
}

var noSession = Refused("there is no such session any more")

var acts = map[string]act{
	"cancel": {
		needs: []string{"node", "pid"}, on: oneNode,
		did: func(a Action) string { return fmt.Sprintf("statement of session %d on %s cancelled", a.PID, a.Node) },
		do: func(_ context.Context, acts Acts, a Action) error {
			if !acts.Cancel(a.PID) {
				return noSession
			}
			return nil
		},
	},
	"terminate": {
		needs: []string{"node", "pid"}, on: oneNode,
		did: func(a Action) string { return fmt.Sprintf("session %d on %s ended", a.PID, a.Node) },
		do: func(_ context.Context, acts Acts, a Action) error {
			if !acts.Terminate(a.PID) {
				return noSession
			}
			return nil
		},
	},
	"retry_job": {
		needs: []string{"type", "id"},
		did:   func(a Action) string { return fmt.Sprintf("job %s %s queued to run at once", a.Type, a.ID) },
		do:    func(ctx context.Context, acts Acts, a Action) error { return acts.RetryJob(ctx, a.Type, a.ID) },
	},
	"drop_job": {
		needs: []string{"type", "id"},
		did:   func(a Action) string { return fmt.Sprintf("job %s %s dropped", a.Type, a.ID) },
		do:    func(ctx context.Context, acts Acts, a Action) error { return acts.DropJob(ctx, a.Type, a.ID) },
	},
	"reshard": {
		needs: []string{"database", "shards"},
		did:   func(a Action) string { return a.Database + " resharded to " + plural(a.Shards, "shard", "shards") },
		do:    func(ctx context.Context, acts Acts, a Action) error { return acts.Reshard(ctx, a.Database, a.Shards) },
	},
	"compact": {
		needs: []string{"database"},
		did:   func(a Action) string { return "compaction of " + a.Database + " asked for" },
		do:    func(ctx context.Context, acts Acts, a Action) error { return acts.Compact(ctx, a.Database) },
	},
	"rebuild_index": {
		needs: []string{"database", "design"},
		did: func(a Action) string {
			return fmt.Sprintf("index of %s in %s removed and queued to be built again", a.Design, a.Database)
		},
		do: func(ctx context.Context, acts Acts, a Action) error { return acts.Rebuild(ctx, a.Database, a.Design) },
	},
	"restart_actor": {
		needs: []string{"node", "id"}, on: oneNode,
		did: func(a Action) string { return "actor " + a.ID + " restarted" },
		do:  func(ctx context.Context, acts Acts, a Action) error { return acts.RestartActor(ctx, a.ID) },
	},
	"forget": {
		needs: []string{"member"}, on: allNodes, within: forgetWithin,
		did: func(a Action) string { return "member " + a.Member + " forgotten" },
		do: func(ctx context.Context, acts Acts, a Action) error {
			if !acts.Forget(ctx, a.Member) {
				return notGone(a.Member)
			}
			return nil
		},
	},
	"drain": {
		needs: []string{"node"}, on: oneNode,
		did: func(a Action) string { return a.Node + " drained" },
		do:  func(ctx context.Context, acts Acts, _ Action) error { return acts.Drain(ctx) },
	},
	"log_level": {
		needs: []string{"level"}, on: allNodes, each: true,
		did: func(a Action) string {
			where := "all nodes"
			if a.Node != "" {
				where = a.Node
			}
			return fmt.Sprintf("log level of %s set to %s for %d min", where, a.Level, a.Minutes)
		},
		do: func(_ context.Context, acts Acts, a Action) error {
			return acts.LogLevel(a.Level, time.Duration(a.Minutes)*time.Minute)
		},
	},
}

// check returns an error if an action lacks something, and fills in defaults.
func (a *Action) check() (act, error) {
	kind, ok := acts[a.Do]
	if !ok {
		return act{}, badRequest(fmt.Sprintf("there is no action %q", a.Do))
	}
	has := map[string]bool{"node": a.Node != "", "pid": a.PID != 0, "type": a.Type != "", "id": a.ID != "",
		"database": a.Database != "", "design": a.Design != "", "shards": a.Shards > 0, "member": a.Member != "",
		"level": a.Level != ""}
	for _, name := range kind.needs {
		switch {
		case has[name]:
		case name == "shards":
			return act{}, badRequest("`shards` must be 1 or more")
		default:
			return act{}, badRequest(fmt.Sprintf("`%s` is missing", name))
		}
	}
	if a.Do == "log_level" {
		if a.Minutes == 0 {
			a.Minutes = defaultMinutes
		}
		if a.Minutes < 0 || a.Minutes > maxLogMinutes {
			return act{}, badRequest(fmt.Sprintf("`minutes` must be a number from 1 to %d", maxLogMinutes))
		}
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, a.Level) {
			return act{}, badRequest("`level` must be debug, info, warn or error")
		}
	}
	return kind, nil
}

// actHere does an action on this node alone.
func (c *local) actHere(ctx context.Context, a Action) error {
	kind, err := a.check()
	if err != nil {
		return err
	}
	return kind.do(ctx, c.o.Acts, a)
}

// actQuestion asks a node to do an action. A node of version 0.2.0, which knows no Doubts, gets and gives each failure
// as a refusal.
type actQuestion struct {
	Action
	Doubts bool `json:"doubts,omitempty"`
}

// actAnswer is the answer of a node that has not refused. Doubt says why it does not know whether it has done it.
type actAnswer struct {
	Doubt string `json:"doubt,omitempty"`
}

// actAsked does an action for another node.
func (c *local) actAsked(ctx context.Context, q actQuestion) (a actAnswer, err error) {
	err = c.actHere(ctx, q.Action)
	if q.Doubts && perhapsDone(err) {
		return actAnswer{c.o.told(err)}, nil
	}
	return a, err
}

// onlyTold reports whether a member is told to be gone, but not in this node's list: all nodes that knew it may have
// been restarted since.
func onlyTold(ctx context.Context, c *Console, member string) bool {
	if slices.ContainsFunc(c.o.Here.Members(), func(n state.Node) bool { return n.Name == member }) {
		return false
	}
	all, _ := c.All(ctx)
	return events.Lasts(all, member)
}

// Act does an action for a user, on the nodes that it concerns, and records it as an event.
func (c *Console) Act(ctx context.Context, user string, a Action) error {
	kind, err := a.check()
	if err != nil {
		return err
	}
	var waited error
	if a.Do == "forget" {
		waited = untilGone(ctx, c, a)
	}
	nodes := []string{c.o.Node}
	if kind.on != nil {
		nodes = kind.on(c, a)
	}
	failures := []error{waited}
	if waited == nil {
		failures = make([]error, len(nodes))
		var acting sync.WaitGroup
		for i, node := range nodes {
			acting.Go(func() { failures[i] = c.actOn(ctx, node, a) })
		}
		acting.Wait()
	}
	done, failed := slices.Contains(failures, nil), errors.Join(failures...)
	if a.Do == "forget" && waited == nil && !done {
		done = onlyTold(ctx, c, a.Member)
	}
	e := state.Event{Kind: state.ActionDone, User: user, Database: a.Database, Member: a.Member, Object: kind.did(a)}
	if done && !kind.each { // a node that refuses has nothing to do
		failed = errors.Join(slices.DeleteFunc(failures, func(err error) bool { return !perhapsDone(err) })...)
	}
	partly := done && failed != nil
	switch {
	case partly:
		e.Object, e.Detail = events.PartlyDone+e.Object, failed.Error()
	case done:
	case slices.ContainsFunc(failures, perhapsDone):
		e.Object, e.Detail = events.PerhapsNotDone+e.Object, failed.Error()
	default:
		e.Object, e.Detail = events.NotDone+e.Object, failed.Error()
	}
	if done && a.Do == "reshard" { // has an event of its own, whoever asks for it
		c.o.Events.Record(state.Event{Kind: state.Resharded, User: user, Database: a.Database, Count: int64(a.Shards)})
	}
	c.o.Events.Record(e)
	if a.Database != "" {
		c.known.change(a.Database) // also if it is not known whether it is done
	}
	switch {
	case partly:
		return fmt.Errorf("done, but not on every node: %w", failed)
	case done:
		return nil
	}
	return failed
}

// perhapsDone reports whether an action that failed may have been done nevertheless: it was not refused, but it is not
// known what has become of it, such as when an answer is missing or a commit has an unknown result.
func perhapsDone(err error) bool {
	var refused Refused
	var bad badRequest
	return err != nil && !errors.As(err, &refused) && !errors.As(err, &bad)
}

func notGone(member string) error { return Refused(member + " is not a member that is gone") }

// untilGone waits until the members take a member for gone. One that was killed is not known to be at once. It is asked
// meanwhile, and if it answers, it is not gone.
func untilGone(ctx context.Context, c *Console, a Action) error {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	up := func() bool { return slices.Contains(c.peers.Others(), a.Member) }
	answered := make(chan struct{})
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	if up() {
		asking.Go(func() {
			if err := c.actOn(ctx, a.Member, a); !perhapsDone(err) && up() {
				close(answered)
			}
		})
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for up() {
		select {
		case <-answered:
			return notGone(a.Member)
		case <-ctx.Done():
			return notGone(a.Member)
		case <-look.C:
		}
	}
	return nil
}

// lookAgain is the pause after which untilGone looks at the members again.
const lookAgain = 50 * time.Millisecond

func (c *Console) actOn(ctx context.Context, node string, a Action) error {
	if node == c.o.Node {
		return c.o.plain(c.local.actHere(ctx, a))
	}
	if !slices.Contains(c.peers.Others(), node) {
		return Refused("there is no node " + node)
	}
	request, err := encodeQuestion("act", actQuestion{a, true})
	var r reply
	var told actAnswer
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(acts[a.Do].within, actWithin))
		defer cancel()
		var text []byte
		if text, err = c.peers.Request(ctx, node, request); err == nil {
			err = unreadable(errors.Join(json.Unmarshal(text, &r), json.Unmarshal(r.Value, &told)))
		}
	}
	switch {
	case err == nil && told.Doubt != "":
		return fmt.Errorf("%s: %s", node, told.Doubt)
	case err == nil:
		return nil
	case perhapsDone(err):
		return fmt.Errorf("%s: %w", node, plainly(err))
	}
	return Refused(node + ": " + err.Error())
}

// Signal cancels the statement of a session of another node, or ends the session. A user who is not an admin can only
// do that to their own. It reports whether there is such a session.
func (c *Console) Signal(ctx context.Context, user string, admin bool, pid uint32, terminate bool) (bool, error) {
	found := ""
	var mine bool
	_, err := c.EachSession(ctx, func(s state.Session) bool {
		if s.PID == int64(pid) && s.Node != c.o.Node {
			found, mine = s.Node, s.User == user
		}
		return found == ""
	})
	if err != nil || found == "" {
		return false, err
	}
	if !admin && !mine {
		SignalRefused(c, found, user, pid, terminate)
		return false, notYours
	}
	return true, c.Act(ctx, user, signal(found, pid, terminate))
}

// Signalled records that a user has cancelled the statement of a session of this node by SQL, or ended the session.
func Signalled(c *Console, user string, pid uint32, terminate bool) {
	a := signal(c.o.Node, pid, terminate)
	c.o.Events.Record(state.Event{Kind: state.ActionDone, User: user, Object: acts[a.Do].did(a)})
}

func signal(node string, pid uint32, terminate bool) Action {
	a := Action{Do: "cancel", Node: node, PID: pid}
	if terminate {
		a.Do = "terminate"
	}
	return a
}

// tokens make and check the tokens without which nothing is done: a page of another origin can make a browser send a
// request with its user's cookie, but cannot read a token. All nodes accept the same ones, since what is in front of
// them may send each request of a page to another node.
type tokens struct{ secret func() []byte }

// of returns the token of a user.
func (t *tokens) of(user string) string {
	m := hmac.New(sha256.New, t.secret())
	m.Write([]byte("token of the console\x00" + user))
	return base64.RawURLEncoding.EncodeToString([]byte(user)) + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// user returns whose token it is.
func (t *tokens) user(token string) (name string, ours bool) {
	encoded, _, _ := strings.Cut(token, ".")
	user, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !t.valid(string(user), token) {
		return "", false
	}
	return string(user), true
}

func (t *tokens) valid(user, token string) bool {
	return subtle.ConstantTimeCompare([]byte(t.of(user)), []byte(token)) == 1
}

// TokenHeader is the header with the token of a POST.
const TokenHeader = "X-Divan-Token"

const maxAction = 64 << 10 // bytes

// token answers with the token of the user who asks.
func (p pages) token(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		refuse(w, http.StatusForbidden, "The request comes from another site.")
		return
	}
	user := p.c.o.User(r.Context())
	answerJSON(w, r, map[string]string{"user": user, "token": p.c.tokens.of(user)})
}

// permitted returns the user of a POST that may do something. It answers the others.
func (p pages) permitted(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	user = p.c.o.User(r.Context())
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case !sameOrigin(r):
		refuse(w, http.StatusForbidden, "The request comes from another site.")
	case !p.c.tokens.valid(user, r.Header.Get(TokenHeader)):
		refuse(w, http.StatusForbidden, "The header "+TokenHeader+" must have the token of GET token.")
	case kind != "application/json":
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json.")
	default:
		return user, true
	}
	return user, false
}

// sentence returns an error's text with a full stop. That of another node has one.
func sentence(err error) string { return strings.TrimSuffix(err.Error(), ".") + "." }

// act does what a page asks for.
func (p pages) act(w http.ResponseWriter, r *http.Request) {
	user, ok := p.permitted(w, r)
	if !ok {
		return
	}
	var a Action
	if fault := readBody(w, r, maxAction, &a); fault != "" {
		refuse(w, http.StatusBadRequest, "The body must be an object with what to do: "+fault+".")
		return
	}
	err := p.c.Act(r.Context(), user, a)
	var bad badRequest
	switch {
	case err == nil:
		kind, _ := a.check() // which fills in the defaults, as Act does
		answerJSON(w, r, map[string]any{"ok": true, "did": kind.did(a)})
	case errors.As(err, &bad):
		refuse(w, http.StatusBadRequest, sentence(err))
	case !perhapsDone(err):
		refuse(w, http.StatusConflict, sentence(err))
	default:
		refuse(w, http.StatusServiceUnavailable, sentence(err))
	}
}

// sameOrigin reports whether a request comes from this node's own page, or from a program that is not a browser.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
