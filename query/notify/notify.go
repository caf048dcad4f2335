// Package notify is LISTEN and NOTIFY. Channel changes is the feed of the session's database: after commits, whether by
// HTTP or on another node, listeners are sent the newest sequence, one notification for all changes since the last one.
// All other channels belong to the clients, between sessions of this node and database.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
)

// feedChannel is the channel of the feed.
const feedChannel = "changes"

// Limits of what is pending.
const (
	maxPayload   = 8000 // bytes, as in PostgreSQL
	maxChannel   = 63   // bytes of a name
	maxListening = 1000 // channels of a session
	maxPending   = 1000 // notifications for a session, or of a transaction
)

// Hub passes notifications between the sessions of a server. The zero value is ready. It is safe for concurrent use.
type Hub struct {
	mu struct {
		sync.Mutex
		channels map[channelKey]map[*Session]struct{}
	}
}

type channelKey struct{ database, name string }

// action is a LISTEN, UNLISTEN or NOTIFY of the current transaction.
type action struct {
	verb, channel, payload string
	// since is the sequence after which a listener to the feed is notified of changes.
	since string
}

// Options are what a session brings.
type Options struct {
	Hub      *Hub
	Client   pgwire.Client // is woken when there are notifications
	PID      uint32
	Database string
	Log      *slog.Logger
	// Notice sends a warning.
	Notice func(*sqlstate.Error)
	// Open opens the database, and Newest returns its newest sequence. Both may block. They are called by the
	// goroutine that runs the session's statements, Follow by another one, to read the feed. Nil means that there is
	// no feed.
	Open, Follow func(ctx context.Context) (exec.Database, error)
	Newest       func(ctx context.Context, db exec.Database) (string, error)
}

// Session is what one session listens to. Take, Channels and what other sessions send are safe for concurrent use; all
// else belongs to the goroutine that runs the session's statements.
type Session struct {
	Options

	actions []action // of the transaction; used only by the connection's goroutine
	stop    func()   // stops following the feed and waits for the end; nil while it is not followed

	mu struct {
		sync.Mutex
		listening map[string]bool
		pending   []pgwire.Notification
	}
}

// New returns the notifications of a session, which listens to nothing yet.
func New(o Options) *Session { return &Session{Options: o} }

// Want records what to do when the transaction is committed.
func (n *Session) Want(ctx context.Context, verb, channel, payload string) error {
	a := action{verb: verb, channel: channel, payload: payload}
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
		return sqlstate.New(sqlstate.InsufficientPrivilege, `permission denied for channel "%s"`, channel).
			WithHint("It reports changes of documents. Choose another name for your own notifications.")
	case verb == "notify" && slices.Contains(n.actions, a):
		return nil // as in PostgreSQL, a transaction sends equal notifications only once
	case verb == "listen" && channel == feedChannel && n.Open != nil:
		db, err := n.Open(ctx)
		if err != nil {
			return err
		}
		if a.since, err = n.Newest(ctx, db); err != nil {
			return err
		}
	}
	n.actions = append(n.actions, a)
	return nil
}

// Mark returns a mark for Drop.
func (n *Session) Mark() int { return len(n.actions) }

// Drop discards the actions of a transaction that is rolled back, from a mark on.
func (n *Session) Drop(mark int) {
	n.actions = n.actions[:mark]
}

// Commit performs the actions of the transaction.
func (n *Session) Commit() {
	actions := n.actions
	n.actions = nil
	for _, a := range actions {
		switch a.verb {
		case "listen":
			n.listen(a)
		case "unlisten":
			n.Unlisten(a.channel)
		default:
			n.Hub.send(n, a)
		}
	}
}

func (n *Session) listen(a action) {
	n.mu.Lock()
	known := n.mu.listening[a.channel]
	full := len(n.mu.listening) >= maxListening
	if !known && !full {
		if n.mu.listening == nil {
			n.mu.listening = map[string]bool{}
		}
		n.mu.listening[a.channel] = true
	}
	n.mu.Unlock()
	switch {
	case known:
	case full:
		n.Notice(sqlstate.New(sqlstate.Warning, "a session may listen to at most %d channels", maxListening))
	case a.channel != feedChannel:
		n.Hub.join(n, a.channel)
	case n.Open != nil:
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{}) // closed when following the feed has ended
		go func() {
			defer close(done)
			n.followFeed(ctx, a.since)
		}()
		n.stop = func() { cancel(); <-done }
	}
}

// Unlisten leaves a channel, or all for "*".
func (n *Session) Unlisten(channel string) {
	n.mu.Lock()
	var left []string
	for name := range n.mu.listening {
		if channel == "*" || channel == name {
			left = append(left, name)
			delete(n.mu.listening, name)
		}
	}
	n.mu.Unlock()
	for _, name := range left {
		n.Hub.leave(n, name)
		if name == feedChannel && n.stop != nil {
			n.stop()
			n.stop = nil
		}
	}
}

// followFeed reports changes until ctx ends. Its read waits for commits; there is no polling.
func (n *Session) followFeed(ctx context.Context, since string) {
	err := n.readFeed(ctx, since)
	if ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	delete(n.mu.listening, feedChannel)
	n.mu.Unlock()
	message := "the feed has ended"
	if err != nil {
		message = sqlstate.From(exec.StoreError(err)).Message
	}
	n.add(pgwire.Notification{Notice: sqlstate.New(sqlstate.Warning, "LISTEN %s has ended: %s", feedChannel, message)})
	n.Client.Wake()
}

func (n *Session) readFeed(ctx context.Context, since string) error {
	db, err := n.Follow(ctx)
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
			n.Client.Wake()
			newest = ""
		}
	}
}

// changed sets the sequence of the pending notification of the feed, or adds one.
func (n *Session) changed(seq string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.mu.pending {
		if n.mu.pending[i].Channel == feedChannel {
			n.mu.pending[i].Payload = seq
			return
		}
	}
	n.mu.pending = append(n.mu.pending, pgwire.Notification{Channel: feedChannel, Payload: seq})
}

// add appends a notification to the pending ones. It returns false if there are too many.
func (n *Session) add(m pgwire.Notification) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.pending) >= maxPending && m.Notice == nil {
		return false
	}
	n.mu.pending = append(n.mu.pending, m)
	return true
}

// Take removes and returns the pending notifications.
func (n *Session) Take() []pgwire.Notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.mu.pending
	n.mu.pending = nil
	return out
}

// Channels returns the channels that the session listens to.
func (n *Session) Channels() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for name := range n.mu.listening {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (h *Hub) join(n *Session, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{n.Database, channel}
	if h.mu.channels == nil {
		h.mu.channels = map[channelKey]map[*Session]struct{}{}
	}
	if h.mu.channels[key] == nil {
		h.mu.channels[key] = map[*Session]struct{}{}
	}
	h.mu.channels[key][n] = struct{}{}
}

func (h *Hub) leave(n *Session, channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := channelKey{n.Database, channel}
	delete(h.mu.channels[key], n)
	if len(h.mu.channels[key]) == 0 {
		delete(h.mu.channels, key)
	}
}

// send passes a notification to all listeners, including the sender. If maxPending notifications are pending for a
// listener, further ones are lost.
func (h *Hub) send(from *Session, a action) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range h.mu.channels[channelKey{from.Database, a.channel}] {
		m := pgwire.Notification{PID: from.PID, Channel: a.channel, Payload: a.payload}
		if !n.add(m) {
			n.Log.Warn("sql notification dropped", "pid", n.PID)
			continue
		}
		n.Client.Wake()
	}
}
