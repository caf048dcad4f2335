package query

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/sqlstate"
)

// LISTEN and NOTIFY. Channel changes is the feed of the session's database: after commits, whether by HTTP or on
// another node, listeners are sent the newest sequence, one notification for all changes since the last one. All other
// channels belong to the clients, between sessions of this node and database.

// feedChannel is the channel of the feed.
const feedChannel = "changes"

// Limits of what is pending.
const (
	maxPayload   = 8000 // bytes, as in PostgreSQL
	maxChannel   = 63   // bytes of a name
	maxListening = 1000 // channels of a session
	maxPending   = 1000 // notifications for a session, or of a transaction
)

// notifier passes notifications between sessions.
type notifier struct {
	mu       sync.Mutex
	channels map[channelKey]map[*notifications]struct{}
}

type channelKey struct{ database, name string }

// notifyAction is a LISTEN, UNLISTEN or NOTIFY of the current transaction.
type notifyAction struct {
	verb, channel, payload string
	// since is the sequence after which a listener to the feed is notified of changes.
	since string
}

// notifications is the state of a session.
type notifications struct {
	hub    *notifier
	client pgwire.Client
	pid    uint32
	access *access
	log    *slog.Logger
	notice func(*sqlstate.Error)

	actions []notifyAction // of the transaction; used only by the connection's goroutine
	stop    func()         // stops following the feed and waits for the end; nil while it is not followed

	mu        sync.Mutex
	listening map[string]bool
	pending   []pgwire.Notification
}

// want records what to do when the transaction is committed.
func (n *notifications) want(ctx context.Context, verb, channel, payload string) error {
	a := notifyAction{verb: verb, channel: channel, payload: payload}
	switch {
	case channel == "":
		return sqlstate.New(sqlstate.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) > maxChannel:
		return sqlstate.New(sqlstate.InvalidParameterValue, "channel name too long")
	case len(payload) >= maxPayload:
		return sqlstate.New(sqlstate.InvalidParameterValue, "payload string too long")
	case len(n.actions) >= maxPending:
		return sqlstate.New(sqlstate.ProgramLimitExceeded, "a transaction may have at most %d notifications",
			maxPending)
	case verb == "notify" && channel == feedChannel:
		return sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied for channel %q", channel).
			WithHint("It reports changes of documents. Choose another name for your own notifications.")
	case verb == "notify" && slices.Contains(n.actions, a):
		return nil // as in PostgreSQL, a transaction sends equal notifications only once
	case verb == "listen" && channel == feedChannel && !n.access.virtual:
		db, err := n.access.open(ctx)
		if err != nil {
			return err
		}
		if a.since, err = plan.Newest(ctx, db); err != nil {
			return err
		}
	}
	n.actions = append(n.actions, a)
	return nil
}

// drop discards the actions of a transaction that is rolled back, from a mark on.
func (n *notifications) drop(mark int) {
	n.actions = n.actions[:mark]
}

// commit performs the actions of the transaction.
func (n *notifications) commit() {
	actions := n.actions
	n.actions = nil
	for _, a := range actions {
		switch a.verb {
		case "listen":
			n.listen(a)
		case "unlisten":
			n.unlisten(a.channel)
		default:
			n.hub.send(n, a)
		}
	}
}

func (n *notifications) listen(a notifyAction) {
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
		n.notice(sqlstate.New(sqlstate.Warning, "a session may listen to at most %d channels", maxListening))
	case a.channel != feedChannel:
		n.hub.join(n, a.channel)
	case !n.access.virtual:
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{}) // closed when following the feed has ended
		go func() {
			defer close(done)
			n.followFeed(ctx, a.since)
		}()
		n.stop = func() { cancel(); <-done }
	}
}

// unlisten leaves a channel, or all for "*".
func (n *notifications) unlisten(channel string) {
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
		n.hub.leave(n, name)
		if name == feedChannel && n.stop != nil {
			n.stop()
			n.stop = nil
		}
	}
}

// followFeed reports changes until ctx ends. Its read waits for commits; there is no polling.
func (n *notifications) followFeed(ctx context.Context, since string) {
	err := n.readFeed(ctx, since)
	if ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	delete(n.listening, feedChannel)
	n.mu.Unlock()
	message := "the feed has ended"
	if err != nil {
		message = sqlstate.From(exec.StoreError(err)).Message
	}
	n.add(pgwire.Notification{Notice: sqlstate.New(sqlstate.Warning, "LISTEN %s has ended: %s", feedChannel, message)})
	n.client.Wake()
}

func (n *notifications) readFeed(ctx context.Context, since string) error {
	cat, err := n.access.of(ctx, n.access.who)
	if err != nil {
		return err
	}
	db, err := cat.Database(ctx, n.access.database)
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
			n.changed(newest)
			n.client.Wake()
			newest = ""
		}
	}
}

// changed sets the sequence of the pending notification of the feed, or adds one.
func (n *notifications) changed(seq string) {
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

// add appends a notification to the pending ones. It returns false if there are too many.
func (n *notifications) add(m pgwire.Notification) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) >= maxPending && m.Notice == nil {
		return false
	}
	n.pending = append(n.pending, m)
	return true
}

// take removes and returns the pending notifications.
func (n *notifications) take() []pgwire.Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.pending
	n.pending = nil
	return out
}

// channels returns the channels that the session listens to.
func (n *notifications) channels() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for name := range n.listening {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (h *notifier) join(n *notifications, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{n.access.database, channel}
	if h.channels == nil {
		h.channels = map[channelKey]map[*notifications]struct{}{}
	}
	if h.channels[key] == nil {
		h.channels[key] = map[*notifications]struct{}{}
	}
	h.channels[key][n] = struct{}{}
}

func (h *notifier) leave(n *notifications, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{n.access.database, channel}
	delete(h.channels[key], n)
	if len(h.channels[key]) == 0 {
		delete(h.channels, key)
	}
}

// send passes a notification to all listeners, including the sender. If maxPending notifications are pending for a
// listener, further ones are lost.
func (h *notifier) send(from *notifications, a notifyAction) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.channels[channelKey{from.access.database, a.channel}] {
		m := pgwire.Notification{PID: from.pid, Channel: a.channel, Payload: a.payload}
		if !n.add(m) {
			n.log.Warn("sql notification dropped", "pid", n.pid)
			continue
		}
		n.client.Wake()
	}
}
