package node

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/replicate"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/sqlstate"
)

// reporter turns what the parts of a node report into events.
type reporter struct {
	*events.Recorder
	name    string                         // of the node
	began   time.Time                      // when the node began to start
	running *atomic.Pointer[actors.System] // nil before the actors start
	taking  *events.Takeovers
}

// startConsole creates the console. It answers other nodes from then on, before this node is a member.
func (n *Node) startConsole(context.Context) error {
	n.happened = &reporter{Recorder: events.New(n.name, n.log), name: n.name, began: time.Now().UTC(),
		running: &n.running, taking: events.NewTakeovers(n.log)}
	n.history = history.New()
	n.measuring.indexLag.Store(-1)
	n.console = console.New(console.Options{Node: n.name, Events: n.happened.Recorder, History: n.history,
		Here: own{n}.here(), Acts: own{n}.acts(), User: userOf, Still: stillAdmin(&n.auth),
		From: func(r *http.Request) string { return auth.ClientAddr(n.auth, r).String() }, SQL: n.runSQL,
		Plain:  plainly,
		Secret: func() []byte { return n.auth.DerivedSecret("console") },
		Peers:  consolePeers{&n.joined}})
	return nil
}

// stillAdmin returns a function that reports whether a request is still one of an admin. While the store does not
// answer, it is taken for one.
func stillAdmin(of **auth.Authenticator) func(*http.Request) bool {
	return func(r *http.Request) bool {
		u, err := (*of).Authenticate(r)
		if kind := layer.KindOf(err); err != nil && kind != layer.Unauthorized && kind != layer.Invalid {
			return true
		}
		return err == nil && u.IsAdmin()
	}
}

// consolePeers implements console.Peers with the cluster, once it has started.
type consolePeers struct {
	joined *atomic.Pointer[cluster.Cluster]
}

// Others implements console.Peers.
func (p consolePeers) Others() (names []string) {
	c := p.joined.Load()
	if c == nil || c.Displaced() {
		return nil
	}
	for _, m := range c.Members() {
		if !m.Self && m.Status != cluster.Left {
			names = append(names, m.Name)
		}
	}
	return names
}

// Request implements console.Peers.
func (p consolePeers) Request(ctx context.Context, member string, request []byte) ([]byte, error) {
	c := p.joined.Load()
	if c == nil {
		return nil, cluster.ErrNotMember
	}
	answer, err := c.Request(ctx, member, request)
	if errors.Is(err, cluster.ErrNotMember) {
		err = console.Refused("it has left, or uses another store")
	}
	if errors.Is(err, cluster.ErrBusy) {
		err = console.Refused("too many questions to it wait to be sent")
	}
	var refused *cluster.RequestError
	if errors.As(err, &refused) { // the console says of which node it speaks
		err = console.Refused(refused.Reason)
	}
	return answer, err
}

// memberKinds maps the kinds of events of package cluster.
var memberKinds = map[cluster.EventKind]state.EventKind{
	cluster.MemberJoined: state.MemberJoined, cluster.MemberSuspected: state.MemberSilent,
	cluster.MemberAnswers: state.MemberAnswers, cluster.MemberDead: state.MemberDead,
	cluster.MemberLeft: state.MemberLeft, cluster.MemberReturned: state.MemberReturned,
	cluster.MemberRestarted: state.MemberRestart, cluster.WrongSecret: state.WrongSecret,
	cluster.NameClash: state.NameClash, cluster.NameRefused: state.NameClash, cluster.MemberPaused: state.NodePaused,
}

// memberEvent records what happened to a member.
func (r *reporter) memberEvent(e cluster.Event) {
	record := state.Event{At: e.At, Kind: memberKinds[e.Kind], Member: e.Member, Address: e.Address}
	if e.Kind == cluster.MemberJoined {
		record.Object = e.Version
	}
	if !e.Since.IsZero() {
		since := e.Since.UTC()
		record.Since = &since
		record.Seconds = e.At.Sub(e.Since).Seconds()
	}
	if e.Kind == cluster.NameRefused {
		record.Detail = "it has not started"
	}
	if e.Kind == cluster.NameClash {
		r.Keep(record) // package cluster has logged it, with advice
		return
	}
	r.Record(record)
}

// membersChanged returns what is told of each event of a member. One that has died may not have recorded what its last
// commits did.
func membersChanged(n *Node) func(cluster.Event) {
	return func(e cluster.Event) {
		n.happened.memberEvent(e)
		if n.learning.begin(e.At); e.Kind == cluster.MemberReturned { // what it has told meanwhile, too
			n.learning.begin(e.Since)
		}
		if e.Kind == cluster.MemberDead || e.Kind == cluster.MemberRestarted {
			n.changed.Compare()
		}
		gone := e.Kind == cluster.MemberDead || e.Kind == cluster.MemberRestarted || e.Kind == cluster.MemberLeft
		if gone && n.running.Load() != nil { // otherwise it has not begun to resume anything
			n.resuming.begin()
			n.survey.Again()
		}
	}
}

// learning says when a node asks the others for what they tell of members. It is safe for concurrent use.
type learning struct {
	mu struct {
		sync.Mutex
		from  time.Time   // of what is asked for
		at    []time.Time // when to ask
		asked time.Time   // when that was last
	}
}

// learnEvery is how often a node asks the others for the latest.
const learnEvery = 10 * time.Second

// learnAfter is when a node asks the others after something has happened to a member or to the store: soon, since they
// may be restarted next, and again for what follows from it, such as jobs that are resumed when their leases end.
var learnAfter = []time.Duration{0, 2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute}

// learnBefore is for how long before that others may have told what belongs to it.
const learnBefore = time.Minute

// begin notes that something has happened, or has lasted since a time. A node that starts, with the time zero, asks for
// all there is.
func (l *learning) begin(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := at
	if !at.IsZero() {
		from = at.Add(-learnBefore)
	}
	if len(l.mu.at) == 0 || from.Before(l.mu.from) {
		l.mu.from = from
	}
	l.mu.at = l.mu.at[:0]
	for _, after := range learnAfter {
		l.mu.at = append(l.mu.at, time.Now().Add(after))
	}
}

// due reports whether it is time to ask, and for what.
func (l *learning) due(now time.Time) (from time.Time, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from = l.mu.from
	for len(l.mu.at) > 0 && !now.Before(l.mu.at[0]) {
		l.mu.at, due = l.mu.at[1:], true
	}
	if !due && now.Sub(l.mu.asked) >= learnEvery {
		from, due = now.Add(-learnBefore), true
	}
	if due {
		l.mu.asked = now
	}
	return from, due
}

// placed records which changes shards with listeners here moved away from members that are gone.
func (r *reporter) placed(before, after []cluster.Member) {
	running := r.running.Load()
	if running == nil {
		return
	}
	there := map[string]bool{}
	for _, m := range after {
		there[m.Name] = true
	}
	gone := false
	for _, m := range before {
		gone = gone || !there[m.Name]
	}
	if !gone {
		return
	}
	moved := map[[2]string][]string{} // from, to: shards
	running.Listened(func(kind, id string) {
		from, to := cluster.Place(before, kind, id), cluster.Place(after, kind, id)
		if from != to && from != "" && !there[from] {
			h := fnv.New64a()
			_, _ = h.Write([]byte(id))
			moved[[2]string{from, to}] = append(moved[[2]string{from, to}], strconv.FormatUint(h.Sum64(), 36))
		}
	})
	for way, shards := range moved {
		r.Record(state.Event{Kind: state.ShardsMoved, From: way[0], To: way[1], Count: int64(len(shards)),
			Items: shards})
	}
}

// actorEvent records what happened to actors.
func (r *reporter) actorEvent(e actors.Event) {
	switch {
	case e.Failed != nil:
		r.Keep(state.Event{At: e.At, Kind: state.ActorFailed, Actor: e.Failed.Actor,
			Detail: e.Failed.Reason + "\n" + e.Failed.Stack, Count: int64(e.Failed.Restarts)})
	case e.Took != nil:
		database, _, _ := strings.Cut(e.Took.ID, "/")
		r.Keep(state.Event{At: e.At, Kind: state.JobTaken, Job: e.Took.Type + " " + e.Took.ID,
			Database: database, From: e.Took.From, To: r.name, Token: e.Took.Token})
		r.taking.Add(e.Took.From)
	}
}

// loginRefused records a wrong password, or counts an attempt during a lockout, which follows several of these. A name
// that no user has is not shown: it may be a password.
func (r *reporter) loginRefused(name string, known, locked bool, from netip.Addr) {
	e := state.Event{Kind: state.LoginRefused, Address: from.String()}
	if known {
		e.User = name
	}
	if locked {
		r.Count(e)
		return
	}
	r.Record(e)
}

// settingChanged records that a client has changed a setting. The value may be secret.
func (r *reporter) settingChanged(section, key, user string) {
	r.Record(state.Event{Kind: state.SettingChanged, Object: section + "/" + key, User: user})
}

func (r *reporter) resharded(database string, shards int, user string) {
	r.Record(state.Event{Kind: state.Resharded, Database: database, Count: int64(shards), User: user})
}

// slowFrom is how long a statement takes that is reported as slow.
const slowFrom = 2 * time.Second

// statementEnded records slow statements, but not those that follow a feed, which end when their client wants, nor
// those that have waited for a store that does not answer: an outage is told once.
func (r *reporter) statementEnded(s query.Ended) {
	lost := s.Failed != nil && s.Failed.Code == sqlstate.CannotConnectNow
	if s.Took < slowFrom || lost || strings.Contains(s.Statement, "changes_follow") {
		return
	}
	e := state.Event{Kind: state.SlowStatement, User: s.User, Database: s.Database,
		Object: s.Application, Seconds: s.Took.Seconds(), Count: s.Rows, Examined: s.Examined,
		Detail: strings.TrimSpace(s.Statement + "\n\n" + s.Plan)}
	e.Text = events.Slow(&e, howEnded(s))
	r.Record(e)
}

// howEnded says what a statement did for as long as it took.
func howEnded(s query.Ended) string {
	switch {
	case s.Cut:
		return "was ended with its session after"
	case s.Failed == nil:
		return "took"
	case s.Failed.Code == sqlstate.QueryCanceled:
		if strings.HasSuffix(s.Failed.Message, "timeout") { // a setting of its session
			return "was ended by its timeout after"
		}
		return "was cancelled after"
	}
	return "failed after"
}

// replicationFailed records that a replication has failed.
func (r *reporter) replicationFailed(f replicate.Failed) {
	e := state.Event{Kind: state.ReplicationFailed, Database: f.Database, Object: f.Document, From: f.Source,
		To: f.Target, Detail: f.Reason, Count: int64(f.Errors)}
	if f.Document == "" {
		e.Object = f.ID
	}
	if !f.Again.IsZero() {
		e.Seconds = time.Until(f.Again).Seconds()
	}
	r.Keep(e) // package replicate logs it
}
