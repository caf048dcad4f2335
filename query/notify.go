package query

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// LISTEN and NOTIFY. The channel changes is the feed of the session's database: after commits, by whatever way and on
// whatever node, listeners are told the newest sequence that they know of, one message for all that has come since the
// last. Every other channel is the clients' own, between sessions of this node and database.

// feedChannel is the channel of the feed.
const feedChannel = "changes"

// Bounds of what waits.
const (
	maxPayload   = 8000 // bytes, as in PostgreSQL
	maxChannel   = 63   // bytes of a name
	maxListening = 1000 // channels of a session
	maxPending   = 1000 // messages for a session, or of a transaction
)

// notifier passes messages on between sessions.
type notifier struct {
	mu       sync.Mutex
	channels map[channelKey]map[*session]struct{}
}

type channelKey struct{ database, name string }

// notifyAction is a LISTEN, UNLISTEN or NOTIFY of the transaction under way.
type notifyAction struct {
	verb, channel, payload string
	// since is the sequence from which on a listener to the feed is told of changes.
	since string
}

// notifyState is a session's side.
type notifyState struct {
	actions []notifyAction // of the transaction; the connection's goroutine's
	stop    func()         // ends following the feed, and waits for it; nil while it is not followed

	mu        sync.Mutex
	listening map[string]bool
	pending   []pgwire.Notification
}

// notify carries out a statement: it has its effect when the transaction is committed.
func (ss *session) notify(ctx context.Context, s *ast.Notify) error {
	return ss.addNotify(ctx, s.Verb, s.Channel, s.Payload)
}

// Notify implements catalog.Notifier: pg_notify.
func (ss *session) Notify(ctx context.Context, channel, payload string) error {
	return ss.addNotify(ctx, "notify", channel, payload)
}

func (ss *session) addNotify(ctx context.Context, verb, channel, payload string) error {
	a := notifyAction{verb: verb, channel: channel, payload: payload}
	switch {
	case channel == "":
		return sqlstate.New(sqlstate.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) > maxChannel:
		return sqlstate.New(sqlstate.InvalidParameterValue, "channel name too long")
	case len(payload) >= maxPayload:
		return sqlstate.New(sqlstate.InvalidParameterValue, "payload string too long")
	case len(ss.notes.actions) >= maxPending:
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a transaction may have at most %d notifications", maxPending)
	case verb == "notify" && channel == feedChannel:
		return sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied for channel %q", channel).
			WithHint("It tells of changes of documents. Choose another name for messages of your own.")
	case verb == "notify" && slices.Contains(ss.notes.actions, a):
		return nil // as in PostgreSQL, the same message once in a transaction
	case verb == "listen" && channel == feedChannel && !ss.virtual:
		db, err := (&resolver{ss: ss}).Database(ctx)
		if err != nil {
			return err
		}
		if a.since, err = plan.Newest(ctx, db); err != nil {
			return err
		}
	}
	ss.notes.actions = append(ss.notes.actions, a)
	return nil
}

// dropNotify forgets what a transaction that is rolled back wanted, from a mark on.
func (ss *session) dropNotify(mark int) {
	ss.notes.actions = ss.notes.actions[:mark]
}

// commitNotify does what the transaction wanted.
func (ss *session) commitNotify() {
	actions := ss.notes.actions
	ss.notes.actions = nil
	for _, a := range actions {
		switch a.verb {
		case "listen":
			ss.listen(a)
		case "unlisten":
			ss.unlisten(a.channel)
		default:
			ss.srv.notes.send(ss, a)
		}
	}
}

func (ss *session) listen(a notifyAction) {
	n := &ss.notes
	n.mu.Lock()
	known := n.listening[a.channel]
	full := len(n.listening) >= maxListening
	if !known && !full {
		if n.listening == nil {
			n.listening = map[string]bool{}
		}
		n.listening[a.channel] = true
	}
	n.mu.Unlock()
	switch {
	case known:
	case full:
		ss.notice(sqlstate.New(sqlstate.Warning, "a session may listen to at most %d channels", maxListening))
	case a.channel != feedChannel:
		ss.srv.notes.join(ss, a.channel)
	case !ss.virtual:
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{}) // closed when the feed is left
		go func() {
			defer close(done)
			ss.followFeed(ctx, a.since)
		}()
		n.stop = func() { cancel(); <-done }
	}
}

// unlisten leaves a channel, "*" for all.
func (ss *session) unlisten(channel string) {
	n := &ss.notes
	n.mu.Lock()
	var left []string
	for name := range n.listening {
		if channel == "*" || channel == name {
			left = append(left, name)
			delete(n.listening, name)
		}
	}
	n.mu.Unlock()
	for _, name := range left {
		ss.srv.notes.leave(ss, name)
		if name == feedChannel && n.stop != nil {
			n.stop()
			n.stop = nil
		}
	}
}

// followFeed tells of changes until ctx ends. The read waits for commits; nothing is asked again and again.
func (ss *session) followFeed(ctx context.Context, since string) {
	err := ss.readFeed(ctx, since)
	if ctx.Err() != nil {
		return
	}
	n := &ss.notes
	n.mu.Lock()
	delete(n.listening, feedChannel)
	n.mu.Unlock()
	message := "the feed has ended"
	if err != nil {
		message = sqlstate.From(exec.StoreError(err)).Message
	}
	n.add(pgwire.Notification{Notice: sqlstate.New(sqlstate.Warning, "LISTEN %s has ended: %s", feedChannel, message)})
	ss.client.Wake()
}

func (ss *session) readFeed(ctx context.Context, since string) error {
	cat, err := ss.srv.opts.Catalog(ctx, ss.principal())
	if err != nil {
		return err
	}
	db, err := cat.Database(ctx, ss.start.Database)
	if err != nil {
		return err
	}
	if since == "0" {
		since = ""
	}
	rows, err := db.Changes(ctx, exec.ChangesRead{Since: since, Follow: true})
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var row exec.Row
	newest := ""
	for {
		err := rows.Next(ctx, &row)
		switch {
		case err == nil:
			newest = max(newest, row.Seq)
			continue
		case !errors.Is(err, exec.ErrIdle):
			return err
		}
		if newest != "" {
			ss.notes.changed(newest)
			ss.client.Wake()
			newest = ""
		}
	}
}

// changed puts a sequence into the message of the feed that waits, or makes one.
func (n *notifyState) changed(seq string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.pending {
		if n.pending[i].Channel == feedChannel {
			n.pending[i].Payload = seq
			return
		}
	}
	n.pending = append(n.pending, pgwire.Notification{Channel: feedChannel, Payload: seq})
}

// add puts a message behind those that wait. It answers false where there are too many.
func (n *notifyState) add(m pgwire.Notification) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) >= maxPending && m.Notice == nil {
		return false
	}
	n.pending = append(n.pending, m)
	return true
}

// Notifications implements pgwire.Session.
func (ss *session) Notifications() []pgwire.Notification {
	n := &ss.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.pending
	n.pending = nil
	return out
}

// Listening implements catalog.Notifier: pg_listening_channels.
func (ss *session) Listening() []string {
	n := &ss.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for name := range n.listening {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (h *notifier) join(ss *session, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{ss.start.Database, channel}
	if h.channels == nil {
		h.channels = map[channelKey]map[*session]struct{}{}
	}
	if h.channels[key] == nil {
		h.channels[key] = map[*session]struct{}{}
	}
	h.channels[key][ss] = struct{}{}
}

func (h *notifier) leave(ss *session, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{ss.start.Database, channel}
	delete(h.channels[key], ss)
	if len(h.channels[key]) == 0 {
		delete(h.channels, key)
	}
}

// send gives a message to all who listen, the sender too. A listener that does not read loses those that come while
// maxPending wait.
func (h *notifier) send(from *session, a notifyAction) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ss := range h.channels[channelKey{from.start.Database, a.channel}] {
		m := pgwire.Notification{PID: from.start.PID, Channel: a.channel, Payload: a.payload}
		if !ss.notes.add(m) {
			ss.srv.log.Warn("sql notification dropped", "pid", ss.start.PID)
			continue
		}
		ss.client.Wake()
	}
}
