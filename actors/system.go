// Package actors is who does the background work of a node: an actor per open database and per changes shard, and the
// indexers, under one supervision tree (clauses N1, C7, V3).
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
)

// System is the running actors of one node. All methods are safe for concurrent use.
type System struct {
	node      string
	tree      *tree
	queue     *queue
	feeds     *feeds
	indexing  *indexing
	compactor *compactor
}

// Start starts the tree. It does no I/O and returns at once. Stop it before the store closes.
func Start(o Options) (*System, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("actors: no store")
	}
	o = o.withDefaults()
	if o.System == nil {
		o.System = NewActorSystem(o.Logger)
	}
	life := rand.Text()[:8] // another one after every start
	t := newTree(o.System, o.Logger)
	changed := func(db Database) { t.tell(databasesKey, databaseChanged{db}) }
	var left func(string) bool
	var company func() bool
	if o.Peers != nil {
		left, company = o.Peers.Left, o.Peers.Company
	}
	s := &System{node: o.Node, tree: t}
	s.feeds = newFeeds(t, feedsOptions{store: o.Store, peers: o.Peers, node: o.Node, life: life, beat: o.Beat,
		linger: o.Linger, changed: changed})
	s.queue = newQueue(t, queueOptions{store: o.Store, node: o.Node, life: life, lease: o.Lease, grace: o.OwnersGrace,
		owns: o.Placer.Owns, left: left})
	s.indexing = newIndexing(t, s.queue, indexingOptions{
		ownsShard: func(shard string) bool { return o.Placer.Owns(shardKind, shard) }, company: company,
		maxIndexers: o.MaxIndexers, shareFrom: o.ShareFrom, maxShards: o.MaxShards, batch: o.Batch, parallel: processors(),
		warmFor: o.WarmFor, warmGather: o.WarmGather, changed: changed, listen: s.feeds.listen,
	})
	s.compactor = newCompactor(s.queue, o.CompactionShare)
	children := []spawn{{key: databasesKey, spec: databasesSpec(s.feeds, s.indexing, o.Linger)}}
	children = append(children, s.indexing.takers()...)
	children = append(children,
		spawn{key: cleanupKey, spec: newCleanup(s.queue).spec()},
		spawn{key: compactionKey, spec: s.compactor.spec()})
	if o.Peers != nil {
		children = append(children, spawn{key: exchangeKey, spec: s.feeds.exchangeSpec()})
	}
	if err := t.start(rootSpec(o.Node, children)); err != nil {
		s.feeds.close()
		return nil, err
	}
	t.run(s.feeds.guard)
	return s, nil
}

// Stop ends all actors and waits for them and their I/O, or for ctx. Jobs under way are given back, so that another
// node, or this one after a restart, need not wait for the end of their leases.
func (s *System) Stop(ctx context.Context) error {
	s.tree.stop()
	done := make(chan error, 1)
	go func() {
		err := s.tree.end()
		s.feeds.close()
		s.indexing.giveBack(ctx)
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
	s.queue.drain()
	done := make(chan struct{})
	s.tree.run(func() {
		defer close(done)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
		defer cancel()
		s.indexing.giveBack(within)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// databasesKey is the root's child that keeps the actors of databases.
const databasesKey = "databases"
