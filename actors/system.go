// Package actors is who does the background work of a node: an actor per open database and per changes shard, and the indexers, under one supervision
// tree (clauses N1, C7, V3).
//
// An actor owns only what can be lost: watches, listeners, progress. Truth lives in the store, and its transactions decide; two actors for one
// shard, or none for a while, cost speed and never correctness. Each actor's logic is a behavior, a state machine that is tested without
// protoactor; the shell runs it as a protoactor actor and does its I/O in goroutines that the System waits for. What an actor should be doing is
// always read anew from where it is kept (the listeners, the job queue), never only told by a message, so that a restarted actor goes on where
// the failed one was.
//
// The tree: node > databases > database > shard, indexer, warm; node > jobs, cleanup, compaction; and where there are
// other nodes node > exchange, shard jobs.
package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/divandb/divan/layer"
	"golang.org/x/sync/singleflight"
)

// Options of Start. The zero value of a field is its default.
type Options struct {
	// System is the protoactor system to run in, from NewActorSystem; the cluster sets up remoting on it before. nil makes one without remoting.
	System *actor.ActorSystem
	// Store is where databases and jobs are: FromLayer. Required.
	Store Store
	// Placer says which actors belong on this node. nil: all of them.
	Placer Placer
	// Peers is the other nodes. nil: there are none. Where it is set and Placer is not, it is the Placer too.
	Peers Peers
	// Node is this node's name, as members and as the worker of its jobs. "local" by default.
	Node   string
	Logger *slog.Logger

	// Linger is how long an actor without work is kept. 10 s by default.
	Linger time.Duration
	// Beat paces what nodes tell each other about changes shards: a node whose listeners hear of a shard from another one that has fallen silent watches by
	// itself after three of them. 250 ms by default.
	Beat time.Duration
	// Lease is how long a job's worker may be silent before another node takes the job over. The jobs of a killed node
	// go on elsewhere after at most one and a half times that. 1.6 s by default.
	Lease time.Duration
	// OwnersGrace is how long a job waits for the node it belongs on before any other takes it. 200 ms by default.
	OwnersGrace time.Duration
	// MaxIndexers bounds the index builds under way on this node. 4 by default.
	MaxIndexers int
	// ShareFrom is from how many changes on the first build of an index is shared with other nodes, a job for each changes shard. 10,000 by default.
	ShareFrom int64
	// MaxShards bounds the shards of shared builds that this node works on at once. As many as there are processors by default.
	MaxShards int
	// Batch is how many documents an indexer takes at first; it adapts. 100 by default (V6).
	Batch int
	// CompactionShare is how much of the time compaction may work on this node, in per cent. 20 by default.
	CompactionShare int
	// WarmFor is how long an index is kept warm after somebody asked for it. 1 h by default; negative: never.
	WarmFor time.Duration
	// WarmGather is how long changes are gathered before warm indexes are updated. 250 ms by default.
	WarmGather time.Duration
}

// Placer is what actors ask of the cluster.
type Placer interface {
	// Owns reports whether the actor of that kind and id belongs on this node, at the moment and in this node's view. It does not block.
	Owns(kind, id string) bool
}

// System is the running actors of one node. All methods are safe for concurrent use.
type System struct {
	o           Options
	store       Store
	log         *slog.Logger
	proto       *actor.ActorSystem
	supervision *supervision
	figures     *figures
	hub         *hub
	exchange    *exchange
	builds      *builds
	compactions *compactions
	probes      singleflight.Group
	reached     atomic.Int64    // when the newest question that the store has answered was asked, in nanoseconds since began
	began       time.Time       // the System
	placement   <-chan struct{} // receives after changes; nil without peers
	unsubscribe func()

	draining atomic.Bool     // no more jobs are taken
	work     context.Context // of the steps of jobs; ends when Drain begins
	endWork  context.CancelFunc

	running context.Context // ends when Stop begins
	stop    context.CancelFunc
	io      sync.WaitGroup // the goroutines of actors
	root    *actor.PID
	tree    *record
	serial  atomic.Int64 // makes process names new
}

// NewActorSystem makes a protoactor system that logs to l what an operator wants to know of it.
func NewActorSystem(l *slog.Logger) *actor.ActorSystem {
	logger := slog.New(demoted{l.Handler()}).With("lib", "protoactor")
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return logger }),
		// A goroutine lives this long after a letter to an actor that has stopped, which is nothing unusual.
		actor.WithDeadLetterThrottleInterval(100*time.Millisecond))
}

// demoted lowers every record by one level: protoactor's information is for its developers, and what it calls an error is a peer that hung up.
type demoted struct{ slog.Handler }

const oneLevel = slog.LevelInfo - slog.LevelDebug

func (d demoted) Enabled(ctx context.Context, l slog.Level) bool {
	return d.Handler.Enabled(ctx, l-oneLevel)
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r.Level -= oneLevel
	return d.Handler.Handle(ctx, r)
}

func (d demoted) WithAttrs(a []slog.Attr) slog.Handler { return demoted{d.Handler.WithAttrs(a)} }
func (d demoted) WithGroup(n string) slog.Handler      { return demoted{d.Handler.WithGroup(n)} }

// Start starts the tree. It does no I/O and returns at once. Stop it before the store closes.
func Start(o Options) (*System, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("actors: no store")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.System == nil {
		o.System = NewActorSystem(o.Logger)
	}
	if o.Placer == nil && o.Peers != nil {
		o.Placer = o.Peers
	}
	if o.Placer == nil {
		o.Placer = everything{}
	}
	if o.Node == "" {
		o.Node = "local"
	}
	if o.Linger == 0 {
		o.Linger = 10 * time.Second
	}
	if o.Beat == 0 {
		o.Beat = 250 * time.Millisecond
	}
	if o.Lease == 0 {
		o.Lease = 1600 * time.Millisecond
	}
	if o.OwnersGrace == 0 {
		o.OwnersGrace = 200 * time.Millisecond
	}
	if o.MaxIndexers == 0 {
		o.MaxIndexers = 4
	}
	if o.ShareFrom == 0 {
		o.ShareFrom = 10_000
	}
	if o.MaxShards == 0 {
		o.MaxShards = runtime.GOMAXPROCS(0)
	}
	if o.Batch == 0 {
		o.Batch = 100
	}
	if o.CompactionShare == 0 {
		o.CompactionShare = 20
	}
	if o.WarmFor == 0 {
		o.WarmFor = time.Hour
	}
	if o.WarmGather == 0 {
		o.WarmGather = 250 * time.Millisecond
	}
	s := &System{o: o, store: o.Store, log: o.Logger, proto: o.System, hub: newHub(), builds: newBuilds(),
		compactions: &compactions{}, figures: newFigures(o.System)}
	s.began = s.now()
	s.exchange, s.unsubscribe = newExchange(o.Beat, s.now()), func() {}
	if o.Peers != nil {
		s.placement, s.unsubscribe = o.Peers.Subscribe()
	}
	s.supervision = &supervision{s}
	s.running, s.stop = context.WithCancel(context.Background())
	s.work, s.endWork = context.WithCancel(s.running)
	s.tree = newRecord(nil, "system", "", s.now()) // holds the root, is not shown
	props := s.props(s.tree, s.rootSpec()).Configure(actor.WithGuardian(s.supervision))
	s.root = s.proto.NewLocalPID("divan") // before its children run, which send to it
	if _, err := s.proto.Root.SpawnNamed(props, s.root.Id); err != nil {
		s.stop()
		s.unsubscribe()
		return nil, fmt.Errorf("actors: start the root: %w", err)
	}
	s.io.Go(s.guard)
	return s, nil
}

// Stop ends all actors and waits for them and their I/O, or for ctx. Jobs under way are given back, so that another node, or this one after a restart, need
// not wait for the end of their leases.
func (s *System) Stop(ctx context.Context) error {
	s.stop()
	done := make(chan error, 1)
	go func() {
		err := s.proto.Root.StopFuture(s.root).Wait()
		s.io.Wait()
		s.unsubscribe()
		s.giveBack(ctx)
		s.figures.close()
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
	s.draining.Store(true)
	s.endWork()
	done := make(chan struct{})
	s.io.Go(func() {
		defer close(done)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
		defer cancel()
		s.giveBack(within)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// giveBackWithin is how long that may take.
const giveBackWithin = 2 * time.Second

// giveBack makes the jobs of this node due for others.
func (s *System) giveBack(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range s.builds.list() {
		all.Go(func() {
			job := t.job
			job.Progress = t.furthest()
			if err := s.store.GiveBack(ctx, &job); err != nil && layer.KindOf(err) != layer.Conflict {
				s.log.Warn("index job not given back", "job", t.job.ID, "error", err)
			}
		})
	}
	all.Wait()
}

// Tree is the supervision tree at this moment.
func (s *System) Tree() Node { return s.TreeOf(0) }

// TreeOf is the same with no more than most children of each actor, those first that have failed of late.
func (s *System) TreeOf(most int) Node {
	all := s.tree.snapshot(s.now(), most).Children
	if len(all) == 0 {
		return Node{ID: "node", Kind: "node", State: stateStopping, Mailbox: 0}
	}
	return all[0]
}

// TreeJSON is Tree as GET /_actors answers it: {"node": name, "tree": Node}.
func (s *System) TreeJSON(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Node string `json:"node"`
		Tree Node   `json:"tree"`
	}{s.o.Node, s.Tree()})
}

// Activate finds or starts the actor of a kind and id for another member; the cluster calls it. Databases and shards are started by those who use
// them on each node, so only the root is answered today.
func (s *System) Activate(kind, id string) (*actor.PID, error) {
	if kind == "node" {
		return s.root, nil
	}
	return nil, fmt.Errorf("actors: a %s cannot be activated from another node", kind)
}

func (s *System) now() time.Time { return time.Now() }

// rootSpec is the top of the tree: it starts what every node has.
func (s *System) rootSpec() spec {
	ownsIndex := func(job string) bool { return s.o.Placer.Owns(indexJobs, job) }
	children := []spawn{{databasesKey, s.databasesSpec()}, {jobsKey, s.jobsSpec("jobs", indexJobs, s.o.MaxIndexers, ownsIndex)},
		{cleanupKey, s.cleanupSpec()}, {compactionKey, s.compactionSpec()}}
	if s.o.Peers != nil {
		children = append(children, spawn{exchangeKey, s.exchangeSpec()},
			spawn{shardJobsKey, s.jobsSpec("shard jobs", shardJobs, s.o.MaxShards, s.ownsShardJob)})
	}
	return spec{kind: "node", name: s.o.Node, make: func() behavior { return &rootBehavior{children: children} }}
}

// rootBehavior starts its children and keeps them.
type rootBehavior struct{ children []spawn }

func (b *rootBehavior) step(_ time.Time, message any) []effect {
	switch m := message.(type) {
	case started:
		var e []effect
		for _, c := range b.children {
			e = append(e, c)
		}
		return e
	case childGone:
		for _, c := range b.children {
			if c.key == m.key {
				return []effect{c}
			}
		}
	case toChild:
		return []effect{tell(m)}
	}
	return nil
}

func (b *rootBehavior) status() (string, any) { return "running", nil }

// The root's children.
const (
	databasesKey = "databases"
	jobsKey      = "jobs"
	cleanupKey   = "cleanup"

	compactionKey = "compaction"

	exchangeKey  = "exchange"
	shardJobsKey = "shard jobs"
)

// toChild is passed on to one of them.
type toChild struct {
	key     string
	message any
}

// toDatabases and its kin send a message to a child of the root. Before it is up the message waits in the root's mailbox; after Stop it is lost.
func (s *System) toDatabases(message any) {
	s.proto.Root.Send(s.root, toChild{databasesKey, message})
}

func (s *System) toJobs(message any) { s.proto.Root.Send(s.root, toChild{jobsKey, message}) }

func (s *System) toShardJobs(message any) {
	if s.o.Peers != nil {
		s.proto.Root.Send(s.root, toChild{shardJobsKey, message})
	}
}

func (s *System) toExchange(message any) { s.proto.Root.Send(s.root, toChild{exchangeKey, message}) }

// everything is the placement of a node alone.
type everything struct{}

func (everything) Owns(string, string) bool { return true }
