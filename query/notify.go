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
	channels map[channelKey]map[*notifications]struct{}
}

type channelKey struct{ database, name string }

// notifyAction is a LISTEN, UNLISTEN or NOTIFY of the transaction under way.
type notifyAction struct {
	verb, channel, payload string
	// since is the sequence from which on a listener to the feed is told of changes.
	since string
}

// notifications are a session's side.
type notifications struct {
	hub    *notifier
	client pgwire.Client
	pid    uint32
	access *access
	log    *slog.Logger
	notice func(*sqlstate.Error)

	actions []notifyAction // of the transaction; the connection's goroutine's
	stop    func()         // ends following the feed, and waits for it; nil while it is not followed

	mu        sync.Mutex
	listening map[string]bool
	pending   []pgwire.Notification
}

// want notes what is to be done when the transaction is committed.
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
			WithHint("It tells of changes of documents. Choose another name for messages of your own.")
	case verb == "notify" && slices.Contains(n.actions, a):
		return nil // as in PostgreSQL, the same message once in a transaction
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

// drop forgets what a transaction that is rolled back wanted, from a mark on.
func (n *notifications) drop(mark int) {
	n.actions = n.actions[:mark]
}

// commit does what the transaction wanted.
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
		done := make(chan struct{}) // closed when the feed is left
		go func() {
			defer close(done)
			n.followFeed(ctx, a.since)
		}()
		n.stop = func() { cancel(); <-done }
	}
}

// unlisten leaves a channel, "*" for all.
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

// followFeed tells of changes until ctx ends. The read waits for commits; nothing is asked again and again.
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

// changed puts a sequence into the message of the feed that waits, or makes one.
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

// add puts a message behind those that wait. It answers false where there are too many.
func (n *notifications) add(m pgwire.Notification) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) >= maxPending && m.Notice == nil {
		return false
	}
	n.pending = append(n.pending, m)
	return true
}

// take takes those that wait.
func (n *notifications) take() []pgwire.Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.pending
	n.pending = nil
	return out
}

// channels are those that the session listens to.
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

// send gives a message to all who listen, the sender too. A listener that does not read loses those that come while
// maxPending wait.
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
