// Package actors does the background work of a node, with one supervision tree of an actor per open database, an actor
// per changes shard, and indexers (clauses N1, C7, V3). System combines the packages below: runtime runs actors, feeds
// wakes those who wait for changes, jobs takes work from the store's queue, indexing builds indexes, replicating runs
// replications, upkeep compacts databases and removes indexes. This package itself has the root of the tree and the
// actors of databases.
//
// An actor owns only what may be lost: watches, listeners, progress. Everything else is in the store, whose
// transactions decide. Two actors for one shard, or none for a while, cost speed but never correctness. Each actor's
// logic is a behavior, a state machine that is tested without protoactor. A shell runs it as a protoactor actor and
// does its I/O in goroutines that the System waits for. An actor always reads what it should do from where that is kept
// (the listeners, the job queue), and never learns it only from a message, so a restarted actor continues where the
// failed one was.
//
// The tree: node > databases > database > shard, indexer, warm; node > jobs, cleanup, compaction, replications; and, if
// there are other nodes, node > exchange, shard jobs.
package actors

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/replicating"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
	"github.com/divandb/divan/layer"
)

// System has the running actors of one node. All methods are safe for concurrent use.
type System struct {
	node      string
	tree      *runtime.Tree
	queue     *jobs.Queue
	feeds     *feeds.Feeds
	indexing  *indexing.Indexing
	compactor *upkeep.Compactor
	cleanup   *upkeep.Cleanup
}

// Start starts the tree. It does no I/O and returns at once. The caller must Stop the System before it closes the
// store.
func Start(o Options) (*System, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("actors: no store")
	}
	o = o.withDefaults()
	if o.System == nil {
		o.System = runtime.NewActorSystem(o.Logger)
	}
	life := rand.Text()[:8] // differs after every start
	t := runtime.NewTree(o.System, o.Logger)
	waiting := newChanges()
	changed := func(db ports.Database) {
		if waiting.add(db) {
			t.Tell(databasesKey, databaseChanged{db})
		}
	}
	var left func(string) bool
	var hasOthers func() bool
	if o.Peers != nil {
		left, hasOthers = o.Peers.Left, o.Peers.HasOthers
	}
	s := &System{node: o.Node, tree: t}
	var took func(*layer.Job)
	if o.Notify != nil {
		t.Failed = func(f runtime.ActorFailure) { o.Notify(Event{At: t.Now(), Failed: &f}) }
		took = func(j *layer.Job) {
			o.Notify(Event{At: t.Now(), Took: &JobTaken{j.Type, j.ID, j.TakenFrom, j.Token}})
		}
	}
	s.feeds = feeds.New(t, feeds.Options{Store: o.Store, Peers: o.Peers, Node: o.Node, Life: life, Beat: o.Beat,
		Linger: o.Linger, Changed: changed})
	s.queue = jobs.New(t, jobs.Options{Store: o.Store, Node: o.Node, Life: life, Lease: o.Lease, Grace: o.OwnersGrace,
		Owns: o.Placer.Owns, Left: left, Took: took})
	s.indexing = indexing.New(t, s.queue, indexing.Options{
		OwnsShard:    func(shard string) bool { return o.Placer.Owns(feeds.ShardKind, shard) },
		OwnsDatabase: func(name string) bool { return o.Placer.Owns(DatabaseKind, name) }, HasOthers: hasOthers,
		MaxIndexers: o.MaxIndexers, ShareFrom: o.ShareFrom, MaxShards: o.MaxShards, Batch: o.Batch,
		Parallel: processors(), Turn: o.BuildTurn,
		WarmFor: o.WarmFor, WarmGather: o.WarmGather, Changed: changed, Listen: feeds.ForUpkeep(s.feeds),
	})
	s.compactor, s.cleanup = upkeep.NewCompactor(s.queue, o.CompactionShare), upkeep.NewCleanup(s.queue)
	children := []runtime.Spawn{{Key: databasesKey, Spec: databasesSpec(s.feeds, s.indexing, waiting, o.Linger)}}
	children = append(children, s.indexing.Takers()...)
	children = append(children,
		runtime.Spawn{Key: upkeep.CleanupKey, Spec: s.cleanup.Spec()},
		runtime.Spawn{Key: upkeep.CompactionKey, Spec: s.compactor.Spec()})
	if o.Replications != nil {
		children = append(children, runtime.Spawn{Key: replicating.Key,
			Spec: replicating.New(s.queue, o.Replications).Spec()})
	}
	if o.Peers != nil {
		children = append(children, runtime.Spawn{Key: feeds.ExchangeKey, Spec: s.feeds.ExchangeSpec()})
	}
	if err := t.Start(runtime.RootSpec(o.Node, children)); err != nil {
		s.feeds.Close()
		return nil, err
	}
	t.Run(s.feeds.Guard)
	return s, nil
}

// Ending tells the System that the node has begun to stop: requests end, Stop follows, and then the store is closed.
// Listeners that go are not looked after any more, and Stop leaves the watches of shards to the store, which drops them
// all when it is closed: one by one, that would take the time that Stop has for very many shards. It does not block.
func (s *System) Ending() { s.feeds.Ending() }

// Stop stops all actors and waits for them and their I/O, or until ctx ends. It gives running jobs back, so that no
// node has to wait for the end of their leases.
func (s *System) Stop(ctx context.Context) error {
	s.tree.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.tree.End()
		s.feeds.Close()
		s.indexing.GiveBack(ctx)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: stop: %w", ctx.Err())
	}
}

// Drain stops this node's jobs, gives them back so that other nodes can continue them at once, and takes no new ones.
// Requests that wait for an index here continue to wait, for another node to build it. Drain returns when all jobs are
// given back or ctx ends. Stop waits for the rest.
func (s *System) Drain(ctx context.Context) {
	s.queue.Drain()
	done := make(chan struct{})
	s.tree.Run(func() {
		defer close(done)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.GiveBackWithin)
		defer cancel()
		s.indexing.GiveBack(within)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// SetMemoryShort tells the System that the process has little memory left, or has enough again. While it has little, no
// index is kept warm: the actors that do it end, and requests bring indexes up to date. Everything that a request or
// another node waits for goes on. It does not block.
func (s *System) SetMemoryShort(short bool) { s.indexing.Rest(short) }

// databasesKey is the key, below the root, of the actor that keeps the actors of databases.
const databasesKey = "databases"
