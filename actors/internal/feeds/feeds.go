package feeds

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Feeds wakes those on this node who wait for changes (clause C7), and other nodes that follow a shard here. Safe for
// concurrent use.
type Feeds struct {
	Options
	tree     *runtime.Tree
	hub      *hub
	exchange *exchange
	probes   singleflight.Group
	// when the newest question was asked that the store has answered: nanoseconds since began
	reached     atomic.Int64
	began       time.Time       // the feeds
	wakes       atomic.Int64    // how often the listeners of a shard were woken
	placement   <-chan struct{} // receives after changes; nil without peers
	unsubscribe func()
}

// Options are what feeds needs of others.
type Options struct {
	Store  ports.Store
	Peers  Peers // nil: there are no other nodes
	Node   string
	Life   string // of this process
	Beat   time.Duration
	Linger time.Duration
	// Changed is told that somebody began or ceased to listen to a database, or that its shards' actors are to look
	// whom to hear from.
	Changed func(db ports.Database)
}

// New makes feeds that nobody listens to yet. Close them after the tree has ended.
func New(t *runtime.Tree, o Options) *Feeds {
	f := &Feeds{Options: o, tree: t, hub: newHub(o.Life), unsubscribe: func() {}, began: t.Now()}
	f.exchange = newExchange(o.Beat, f.began)
	if o.Peers != nil {
		f.placement, f.unsubscribe = o.Peers.Subscribe()
	}
	return f
}

// Close ends what is left when the tree has ended.
func (f *Feeds) Close() { f.unsubscribe() }

// Databases are those that somebody wants to hear of.
func (f *Feeds) Databases() []ports.Database { return f.hub.databases() }

// Listened reports whether somebody wants to hear of a database.
func (f *Feeds) Listened(db ports.Database) bool { return f.hub.listened(db) }

// Children are the actors of a database's shards that somebody wants to hear of.
func (f *Feeds) Children(db ports.Database) (list []runtime.Spawn) {
	for shard := range f.hub.wanted(db) {
		list = append(list, runtime.Spawn{Key: "shard " + string(shard), Spec: f.shardSpec(db, shard)})
	}
	return list
}

// Listen has somebody woken for shards of a database: see System.Listen in package actors.
func (f *Feeds) Listen(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	first := false
	for _, shard := range shards {
		first = f.hub.add(db, shard, ch) || first
	}
	if first {
		f.Changed(db)
	}
	var once sync.Once
	return ch, func() {
		once.Do(func() {
			last := false
			for _, shard := range shards {
				last = f.hub.remove(db, shard, ch) || last
			}
			if last {
				f.Changed(db)
			}
		})
	}
}

// Owner names the node that the actor of a database's shard belongs on, in this node's view.
func (f *Feeds) Owner(db ports.Database, shard layer.ShardID) string {
	if f.Peers == nil {
		return f.Node
	}
	return f.Peers.Owner(ShardKind, shardPlace(db, shard))
}

// Receive takes what another member's feeds sent. It does not block.
func (f *Feeds) Receive(from string, message []byte) {
	if f.Peers == nil {
		return
	}
	l, err := decodeMessage(message)
	if err != nil {
		f.tree.Log.Warn("a member's message cannot be read", "member", from, "error", err)
		return
	}
	// Wakes take no way through actors: they are what listeners wait for.
	for _, k := range f.exchange.woken(from, l.Wake) {
		f.wake(k.db, k.shard)
	}
	wake, changed := f.exchange.answered(f.tree.Now(), from, l)
	for _, k := range wake {
		f.wake(k.db, k.shard)
	}
	for _, k := range changed {
		f.Changed(k.db)
	}
	if len(l.Follow) > 0 || len(l.Unfollow) > 0 {
		f.tree.Tell(ExchangeKey, messageCame{from, l})
	}
}

// wake wakes the listeners of a shard: those of this node, and by one message each the nodes that follow it here.
func (f *Feeds) wake(db ports.Database, shard layer.ShardID) {
	for member, st := range f.hub.wake(db, shard) {
		f.Peers.Send(member, (&message{Wake: []position{st}}).encode())
	}
	f.wakes.Add(1)
}

// Metrics are how many listeners there are, and how often shards woke theirs.
func (f *Feeds) Metrics() (listeners int, wakes int64) { return f.hub.count(), f.wakes.Load() }

// send sends messages.
func (f *Feeds) send(list []outgoing) {
	for _, m := range list {
		f.Peers.Send(m.to, m.encode())
	}
}

// reaches reports whether the store has answered a question of this node that was asked within the last half of a beat.
// Where none was, it asks, and waits for the answer no longer than two beats. Watches go the same way as the question:
// where it is broken, who follows this node had better watch by itself.
func (f *Feeds) reaches(ctx context.Context) bool {
	if last := f.reached.Load(); last != 0 && f.tree.Now().Sub(f.began)-time.Duration(last) < f.Beat/2 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lookBeats*f.Beat)
	defer cancel()
	_, err, _ := f.probes.Do("", func() (any, error) {
		asked := f.tree.Now().Sub(f.began)
		if err := f.Store.Reach(ctx); err != nil {
			return nil, err
		}
		f.reached.Store(max(1, int64(asked)))
		return nil, nil
	})
	return err == nil
}
