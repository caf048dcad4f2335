package feeds

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Feeds wakes listeners on this node (clause C7), and other nodes that follow a shard here. It is safe for concurrent
// use.
type Feeds struct {
	Options
	tree     *runtime.Tree
	hub      *hub
	exchange *exchange
	probes   singleflight.Group
	// when the newest question that the store has answered was asked, in nanoseconds since began
	reached     atomic.Int64
	began       time.Time       // when the Feeds was created
	waiting     atomic.Int64    // listeners but upkeep, each of any number of shards
	wakes       atomic.Int64    // number of times that shards' listeners were woken
	Shortage    Shortage        // of watches
	ending      atomic.Bool     // see Ending
	placement   <-chan struct{} // receives after changes of placement; nil without peers
	unsubscribe func()
}

// Options are what Feeds needs.
type Options struct {
	Store  ports.Store
	Peers  Peers // nil: there are no other nodes
	Node   string
	Life   string // id of this process
	Beat   time.Duration
	Linger time.Duration
	// Changed is called when a database gets its first listener or loses its last, or when its shards' actors must
	// check which node to follow.
	Changed func(db ports.Database)
}

// New returns a Feeds without listeners. Close it after the tree has ended.
func New(t *runtime.Tree, o Options) *Feeds {
	f := &Feeds{Options: o, tree: t, hub: newHub(o.Life), unsubscribe: func() {}, began: t.Now()}
	f.exchange = newExchange(o.Beat, f.began)
	if o.Peers != nil {
		f.placement, f.unsubscribe = o.Peers.Subscribe()
	}
	return f
}

// Close tells the nodes that still follow shards here that this node watches no more, with one message to each for
// very many shards, and releases the remaining resources. Call it after the tree has ended.
func (f *Feeds) Close() {
	f.unsubscribe()
	f.send(f.hub.end(f.tree.Now()))
}

// Ending tells Feeds that the tree will stop soon, that all listeners end before, and that the store is closed
// afterwards. Listeners need not be looked after any more, and watches need not be cancelled, so that they end without
// work for each shard.
func (f *Feeds) Ending() { f.ending.Store(true) }

// Databases returns the databases with subscribers.
func (f *Feeds) Databases() []ports.Database { return f.hub.databases() }

// Listened reports whether a database has subscribers.
func (f *Feeds) Listened(db ports.Database) bool { return f.hub.listened(db) }

// Places calls visit for each shard of a database that has subscribers, with the id that its actor is placed by.
func (f *Feeds) Places(db ports.Database, visit func(shard layer.ShardID, id string)) {
	for shard := range f.hub.wanted(db) {
		visit(shard, shardPlace(db, shard))
	}
}

// Children returns the actors of a database's shards that have subscribers.
func (f *Feeds) Children(db ports.Database) (list []runtime.Spawn) {
	for shard := range f.hub.wanted(db) {
		list = append(list, runtime.Spawn{Key: "shard " + string(shard), Spec: f.shardSpec(db, shard)})
	}
	return list
}

// Listen registers a listener for shards of a database. See System.Listen in package actors.
func (f *Feeds) Listen(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	woken, end := listen(f, db, listener{}, shards)
	f.waiting.Add(1)
	var once sync.Once
	return woken, func() {
		once.Do(func() { f.waiting.Add(-1) })
		end()
	}
}

// ForUpkeep returns Listen for what this node does by itself, such as keeping an index warm: it is no waiting feed.
func ForUpkeep(f *Feeds) func(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	return func(db ports.Database, shards ...layer.ShardID) (<-chan struct{}, func()) {
		return listen(f, db, listener{upkeep: true}, shards)
	}
}

func listen(f *Feeds, db ports.Database, l listener, shards []layer.ShardID) (woken <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	first := false
	for _, shard := range shards {
		first = f.hub.add(db, shard, ch, l) || first
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
			if last && !f.ending.Load() {
				f.Changed(db)
			}
		})
	}
}

// Owner returns the node that the actor of a shard belongs on, in this node's view. Nodes that have handed the shard
// over for now are left out.
func (f *Feeds) Owner(db ports.Database, shard layer.ShardID) string {
	if f.Peers == nil {
		return f.Node
	}
	refusing := f.exchange.refusing(f.tree.Now(), shardKey{db, shard})
	return f.Peers.Owner(ShardKind, shardPlace(db, shard), slices.Collect(maps.Keys(refusing))...)
}

// Receive processes a message from another member's Feeds. It does not block.
func (f *Feeds) Receive(from string, message []byte) {
	if f.Peers == nil {
		return
	}
	l, err := decodeMessage(message)
	if err != nil {
		f.tree.Log.Warn("could not decode a message from a member", "member", from, "error", err)
		return
	}
	// Wakes do not go through actors, because listeners wait for them.
	for _, k := range f.exchange.woken(from, l.Wake) {
		f.wake(k.db, k.shard)
	}
	wake, changed := f.exchange.answered(f.tree.Now(), from, l)
	for _, k := range wake {
		f.wake(k.db, k.shard)
	}
	eachChanged(f, changed)
	if len(l.Follow) > 0 || len(l.Unfollow) > 0 || l.Same != nil {
		if !f.tree.TellIfRoom(ExchangeKey, exchangeKind, messageCame{from, l}, mostWaiting) {
			f.exchange.dropped.Add(1)
		}
	}
}

// Metrics returns the number of waiting feeds, and how often shards woke their listeners.
func (f *Feeds) Metrics() (waiting int, wakes int64) { return int(f.waiting.Load()), f.wakes.Load() }

// eachChanged calls Changed once for each database of some shards: it makes the actors of all shards of a database
// check, so that a call for each of them would be quadratic.
func eachChanged(f *Feeds, shards []shardKey) {
	done := map[ports.Database]bool{}
	for _, k := range shards {
		if !done[k.db] {
			done[k.db] = true
			f.Changed(k.db)
		}
	}
}

// noteNews makes the exchange's actor tell the news, if they are the first since it did.
func noteNews(f *Feeds, first bool) {
	if first {
		f.tree.Tell(ExchangeKey, newsCame{})
	}
}

// send sends messages.
func (f *Feeds) send(list []outgoing) {
	for _, m := range list {
		f.Peers.Send(m.to, m.encode())
	}
}

// reaches reports whether the store has answered a question that this node asked within the last half beat. If there is
// none, it asks one and waits at most two beats for the answer. Watches use the same connection as the question: if it
// is broken, followers should watch the store themselves.
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
