package actors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/divandb/divan/layer"
)

// feeds wakes those on this node who wait for changes (clause C7), and other nodes that follow a shard here. Safe for
// concurrent use.
type feeds struct {
	feedsOptions
	tree        *tree
	hub         *hub
	exchange    *exchange
	probes      singleflight.Group
	reached     atomic.Int64    // when the newest question was asked that the store has answered: nanoseconds since began
	began       time.Time       // the feeds
	wakes       atomic.Int64    // how often the listeners of a shard were woken
	placement   <-chan struct{} // receives after changes; nil without peers
	unsubscribe func()
}

// feedsOptions are what feeds needs of others.
type feedsOptions struct {
	store  Store
	peers  peers // nil: there are no other nodes
	node   string
	life   string // of this process
	beat   time.Duration
	linger time.Duration
	// changed is told that somebody began or ceased to listen to a database, or that its shards' actors are to look
	// whom to hear from.
	changed func(db Database)
}

func newFeeds(t *tree, o feedsOptions) *feeds {
	f := &feeds{feedsOptions: o, tree: t, hub: newHub(o.life), unsubscribe: func() {}, began: t.now()}
	f.exchange = newExchange(o.beat, f.began)
	if o.peers != nil {
		f.placement, f.unsubscribe = o.peers.Subscribe()
	}
	return f
}

// close ends what is left when the tree has ended.
func (f *feeds) close() { f.unsubscribe() }

// databases are those that somebody wants to hear of.
func (f *feeds) databases() []Database { return f.hub.databases() }

// listened reports whether somebody wants to hear of a database.
func (f *feeds) listened(db Database) bool { return f.hub.listened(db) }

// children are the actors of a database's shards that somebody wants to hear of.
func (f *feeds) children(db Database) (list []spawn) {
	for shard := range f.hub.wanted(db) {
		list = append(list, spawn{key: "shard " + string(shard), spec: f.shardSpec(db, shard)})
	}
	return list
}

// listen is System.Listen.
func (f *feeds) listen(db Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	first := false
	for _, shard := range shards {
		first = f.hub.add(db, shard, ch) || first
	}
	if first {
		f.changed(db)
	}
	var once sync.Once
	return ch, func() {
		once.Do(func() {
			last := false
			for _, shard := range shards {
				last = f.hub.remove(db, shard, ch) || last
			}
			if last {
				f.changed(db)
			}
		})
	}
}

// owner names the node that the actor of a database's shard belongs on, in this node's view.
func (f *feeds) owner(db Database, shard layer.ShardID) string {
	if f.peers == nil {
		return f.node
	}
	return f.peers.Owner(shardKind, shardPlace(db, shard))
}

// receive takes what another member's feeds sent. It does not block.
func (f *feeds) receive(from string, message []byte) {
	if f.peers == nil {
		return
	}
	l, err := decodeLetter(message)
	if err != nil {
		f.tree.log.Warn("a member's message cannot be read", "member", from, "error", err)
		return
	}
	// Wakes take no way through actors: they are what listeners wait for.
	for _, k := range f.exchange.woken(from, l.Wake) {
		f.wake(k.db, k.shard)
	}
	wake, changed := f.exchange.answered(f.tree.now(), from, l)
	for _, k := range wake {
		f.wake(k.db, k.shard)
	}
	for _, k := range changed {
		f.changed(k.db)
	}
	if len(l.Follow) > 0 || len(l.Unfollow) > 0 {
		f.tree.tell(exchangeKey, letterCame{from, l})
	}
}

// wake wakes the listeners of a shard: those of this node, and by one message each the nodes that follow it here.
func (f *feeds) wake(db Database, shard layer.ShardID) {
	for member, st := range f.hub.wake(db, shard) {
		f.peers.Send(member, (&letter{Wake: []standing{st}}).encode())
	}
	f.wakes.Add(1)
}

// metrics are how many listeners there are, and how often shards woke theirs.
func (f *feeds) metrics() (listeners int, wakes int64) { return f.hub.count(), f.wakes.Load() }

// send sends letters.
func (f *feeds) send(list []mail) {
	for _, m := range list {
		f.peers.Send(m.to, m.encode())
	}
}

// reaches reports whether the store has answered a question of this node that was asked within the last half of a beat.
// Where none was, it asks, and waits for the answer no longer than two beats. Watches go the same way as the question:
// where it is broken, who follows this node had better watch by itself.
func (f *feeds) reaches(ctx context.Context) bool {
	if last := f.reached.Load(); last != 0 && f.tree.now().Sub(f.began)-time.Duration(last) < f.beat/2 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, lookBeats*f.beat)
	defer cancel()
	_, err, _ := f.probes.Do("", func() (any, error) {
		asked := f.tree.now().Sub(f.began)
		if err := f.store.Reach(ctx); err != nil {
			return nil, err
		}
		f.reached.Store(max(1, int64(asked)))
		return nil, nil
	})
	return err == nil
}
