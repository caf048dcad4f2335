package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/console/state"
)

// acts are what the console can do on this node.
func (n own) acts() console.Acts {
	started := func() bool { return n.running.Load() != nil && n.sql != nil }
	within := func(ctx context.Context, name string, do func(*layer.Database) error) error {
		db, err := n.store.Database(ctx, name)
		if err == nil {
			err = do(db)
		}
		return refused(err)
	}
	var draining sync.Mutex // two of them must not overlap, see layer.NodeName.Drain
	return console.Acts{
		Cancel:    func(pid uint32) bool { return started() && n.sql.Wire().Cancel(pid) },
		Terminate: func(pid uint32) bool { return started() && n.sql.Wire().Terminate(pid) },
		RetryJob: func(ctx context.Context, typ, id string) error {
			j, err := n.job(ctx, typ, id)
			if err == nil && j.State != layer.JobPending {
				return console.Refused("the job is " + string(j.State))
			}
			if err == nil {
				err = n.store.Enqueue(ctx, typ, id, j.Data)
			}
			return refused(err)
		},
		DropJob: func(ctx context.Context, typ, id string) error {
			j, err := n.job(ctx, typ, id)
			if err == nil {
				err = n.drop(ctx, j)
			}
			return refused(err)
		},
		Reshard: func(ctx context.Context, name string, shards int) error {
			return within(ctx, name, func(db *layer.Database) error {
				_, err := db.Reshard(ctx, shards)
				return err
			})
		},
		Compact: func(ctx context.Context, name string) error {
			return within(ctx, name, func(db *layer.Database) error { return db.RequestCompaction(ctx) })
		},
		Rebuild: func(ctx context.Context, name, id string) error {
			return within(ctx, name, func(db *layer.Database) error {
				design, err := db.Design(ctx, id)
				if err == nil {
					err = db.Index(design).Rebuild(ctx)
				}
				return err
			})
		},
		RestartActor: func(ctx context.Context, id string) error {
			running := n.running.Load()
			if running == nil {
				return console.Refused("the node is starting")
			}
			ctx, cancel := context.WithTimeout(ctx, restartWithin)
			defer cancel()
			if err := running.Restart(ctx, id); errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the actor has not restarted within %v, and may still: %w", restartWithin, err)
			} else if err != nil {
				return console.Refused(err.Error())
			}
			return nil
		},
		Forget: func(ctx context.Context, member string) bool {
			c := n.joined.Load()
			return c != nil && forget(ctx, c, member)
		},
		Forgotten: func(member string, at time.Time) {
			if c := n.joined.Load(); c != nil {
				c.Forget(member, at)
			}
		},
		LogLevel: n.levels.set,
		Drain: func(ctx context.Context) error {
			if !started() {
				return console.Refused("the node is starting")
			}
			draining.Lock()
			defer draining.Unlock()
			if n.draining.Load() {
				return console.Refused("the node is being drained already")
			}
			return n.drainForOthers(ctx)
		},
	}
}

// drainForOthers drains the node if another one works. Each is asked whether it is there, but the store decides, since
// they may be drained at the same moment.
func (n own) drainForOthers(ctx context.Context) error {
	answering, _ := n.console.Nodes(ctx)
	asking, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	drained, err := n.claim.Drain(asking, working(n.name, answering))
	switch {
	case err != nil:
		return refused(err)
	case !drained:
		return console.Refused("no other node could do its background work: all others are drained, silent or gone")
	}
	n.handOver(ctx, n.cluster.Drain)
	return nil
}

// drainWithin is how long the store may take to record that a node is drained.
const drainWithin = 2 * time.Second

// working returns the other nodes that have just answered and are not drained. What gossip says would be some seconds
// old: a node that was killed a moment ago would be counted on.
func working(self string, nodes []state.Node) (names []string) {
	for _, x := range nodes {
		if x.Name != self && x.Answers() {
			names = append(names, x.Name)
		}
	}
	return names
}

// forget forgets a member. Another node may know a little earlier than this one that the member is gone.
func forget(ctx context.Context, c *cluster.Cluster, member string) bool {
	ctx, cancel := context.WithTimeout(ctx, forgetWithin)
	defer cancel()
	for !c.Forget(member, time.Now()) {
		there := slices.ContainsFunc(c.Members(), func(m cluster.Member) bool { return m.Name == member && !m.Self })
		if !there {
			return false
		}
		select {
		case <-ctx.Done():
			return c.Forget(member, time.Now())
		case <-time.After(forgetWithin / 20):
		}
	}
	return true
}

// forgetWithin is how much later than another node this one may learn that a member is gone.
const forgetWithin = time.Second

// restartWithin is how long an actor may take to begin a new life.
const restartWithin = 2 * time.Second

// job returns a job that is not finished. It may be damaged.
func (n own) job(ctx context.Context, typ, id string) (*layer.Job, error) {
	for j, err := range n.store.JobsOf(ctx, typ, id) {
		switch {
		case err != nil:
			return nil, err
		case j.ID != id: // the first one is that with the id itself
		case j.State == layer.JobFinished:
			return nil, console.Refused("the job is finished, and its record is removed some minutes later")
		default:
			return &j, nil
		}
		break
	}
	return nil, console.Refused("there is no such job any more")
}

// drop removes a job. That of a replication document would come back with the next start of a node, so it is only
// replaced, if it is damaged, as long as the document asks for it.
func (n own) drop(ctx context.Context, j *layer.Job) error {
	what, asked, err := n.replications.View().Asked(ctx, j)
	switch {
	case err != nil:
		return err
	case asked && j.State == layer.JobDamaged:
		return n.store.Enqueue(ctx, j.Type, j.ID, what.Encode())
	case asked:
		return console.Refused(fmt.Sprintf("the document %s in %s asks for this replication; delete it to end that",
			what.Document, what.Database))
	}
	return n.store.RemoveJob(ctx, j.Type, j.ID)
}

// refused turns errors about what was asked for into reasons.
func refused(err error) error {
	switch kind := layer.KindOf(err); kind {
	case layer.NotFound, layer.Invalid, layer.Conflict, layer.TooLarge:
		reason := err.Error()
		if e := (*layer.Error)(nil); errors.As(err, &e) && e.Reason != "" {
			reason = e.Reason
		}
		if kind == layer.NotFound && (reason == "missing" || reason == "deleted") { // of a document
			reason = "it does not exist any more"
		}
		return console.Refused(reason)
	}
	return err
}

// levels changes the level of the log for some time. It is safe for concurrent use.
type levels struct {
	log *slog.Logger
	mu  struct {
		sync.Mutex
		usual slog.Level  // while back is set
		until time.Time   // when back fires
		back  *time.Timer // restores the usual level; nil if it is in force
	}
}

var errFixedLevel = console.Refused("the level of this node's log cannot be changed")

// usually sets the level that is in force unless set has changed it for some time.
func (l *levels) usually(to slog.Level) {
	h, ok := l.log.Handler().(leveled)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.usual = to
	if l.mu.back == nil {
		h.level.Set(to)
	}
}

// set implements console.Acts.LogLevel.
func (l *levels) set(level string, lasts time.Duration) error {
	h, ok := l.log.Handler().(leveled)
	if !ok {
		return errFixedLevel
	}
	var to slog.Level
	if err := to.UnmarshalText([]byte(level)); err != nil {
		return console.Refused(err.Error())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	usual := h.level.Level()
	if l.mu.back != nil {
		usual = l.mu.usual
	}
	if to > usual { // the log must have what is done here
		return console.Refused("the log of this node has what is of level " + strings.ToLower(usual.String()) +
			" by its setting, and cannot be made to have less")
	}
	l.mu.usual, l.mu.until = usual, time.Now().Add(lasts)
	if l.mu.back != nil {
		l.mu.back.Stop()
	}
	h.level.Set(to)
	var timer *time.Timer
	timer = time.AfterFunc(lasts, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.mu.back == timer {
			h.level.Set(l.mu.usual)
			l.mu.back = nil
		}
	})
	l.mu.back = timer
	return nil
}

// raised returns the level that set has put in force in place of the usual one, and until when. until is zero if it is
// the usual one.
func (l *levels) raised() (level string, until time.Time) {
	h, ok := l.log.Handler().(leveled)
	if !ok {
		return "", until
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := h.level.Level(); l.mu.back != nil && now != l.mu.usual {
		return strings.ToLower(now.String()), l.mu.until
	}
	return "", until
}

// userOf returns the user of a request to the console.
func userOf(ctx context.Context) string { return api.DashboardUser(ctx) }
