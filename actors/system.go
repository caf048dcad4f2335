// Package actors is who does the background work of a node: an actor per open database and per changes shard, and the
// indexers, under one supervision tree (clauses N1, C7, V3). A System puts it together of the packages below: runtime
// runs actors, feeds wakes those who wait for changes, jobs takes work from the store's queue, indexing builds indexes,
// upkeep compacts databases and removes indexes. Here are the root of the tree and the actors of databases.
//
// An actor owns only what can be lost: watches, listeners, progress. Truth lives in the store, and its transactions
// decide; two actors for one shard, or none for a while, cost speed and never correctness. Each actor's logic is a
// behavior, a state machine that is tested without protoactor; the shell runs it as a protoactor actor and does its I/O
// in goroutines that the System waits for. What an actor should be doing is always read anew from where it is kept (the
// listeners, the job queue), never only told by a message, so that a restarted actor goes on where the failed one was.
//
// The tree: node > databases > database > shard, indexer, warm; node > jobs, cleanup, compaction; and where there are
// other nodes node > exchange, shard jobs.
package actors

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
)

// System is the running actors of one node. All methods are safe for concurrent use.
type System struct {
	node      string
	tree      *runtime.Tree
	queue     *jobs.Queue
	feeds     *feeds.Feeds
	indexing  *indexing.Indexing
	compactor *upkeep.Compactor
	cleanup   *upkeep.Cleanup
}

// Start starts the tree. It does no I/O and returns at once. Stop it before the store closes.
func Start(o Options) (*System, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("actors: no store")
	}
	o = o.withDefaults()
	if o.System == nil {
		o.System = runtime.NewActorSystem(o.Logger)
	}
	life := rand.Text()[:8] // another one after every start
	t := runtime.NewTree(o.System, o.Logger)
	changed := func(db ports.Database) { t.Tell(databasesKey, databaseChanged{db}) }
	var left func(string) bool
	var company func() bool
	if o.Peers != nil {
		left, company = o.Peers.Left, o.Peers.Company
	}
	s := &System{node: o.Node, tree: t}
	s.feeds = feeds.New(t, feeds.Options{Store: o.Store, Peers: o.Peers, Node: o.Node, Life: life, Beat: o.Beat,
		Linger: o.Linger, Changed: changed})
	s.queue = jobs.New(t, jobs.Options{Store: o.Store, Node: o.Node, Life: life, Lease: o.Lease, Grace: o.OwnersGrace,
		Owns: o.Placer.Owns, Left: left})
	s.indexing = indexing.New(t, s.queue, indexing.Options{
		OwnsShard: func(shard string) bool { return o.Placer.Owns(feeds.ShardKind, shard) }, Company: company,
		MaxIndexers: o.MaxIndexers, ShareFrom: o.ShareFrom, MaxShards: o.MaxShards, Batch: o.Batch,
		Parallel: processors(),
		WarmFor:  o.WarmFor, WarmGather: o.WarmGather, Changed: changed, Listen: s.feeds.Listen,
	})
	s.compactor, s.cleanup = upkeep.NewCompactor(s.queue, o.CompactionShare), upkeep.NewCleanup(s.queue)
	children := []runtime.Spawn{{Key: databasesKey, Spec: databasesSpec(s.feeds, s.indexing, o.Linger)}}
	children = append(children, s.indexing.Takers()...)
	children = append(children,
		runtime.Spawn{Key: upkeep.CleanupKey, Spec: s.cleanup.Spec()},
		runtime.Spawn{Key: upkeep.CompactionKey, Spec: s.compactor.Spec()})
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

// Stop ends all actors and waits for them and their I/O, or for ctx. Jobs under way are given back, so that another
// node, or this one after a restart, need not wait for the end of their leases.
func (s *System) Stop(ctx context.Context) error {
	s.tree.Stop()
	done := make(chan error, 1)
	go func() {
		err := s.tree.End()
		s.feeds.Close()
		s.indexing.GiveBack(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("actors: stop: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: stop: %w", ctx.Err())
	}
}

// Drain stops this node's jobs, gives them back, so that other nodes go on with them at once, and takes no new ones.
// Who waits for an index here goes on waiting, for another node to build it. Drain returns when all jobs are given back
// or ctx ends; Stop waits for the rest.
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

// databasesKey is the root's child that keeps the actors of databases.
const databasesKey = "databases"
