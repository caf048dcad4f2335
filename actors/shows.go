package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
	"github.com/divandb/divan/layer"
)

// This file has the methods of System, which delegate to its parts.

// Listen registers a listener for shards of a database (clause C7). woken receives a value after every commit of an
// entry in one of them that happens after Listen returned, and after a reshard or the deletion of the database. Several
// wake-ups may be combined, and spurious ones are allowed. So the caller reads the feed after Listen, then waits. While
// the store fails, woken also receives values, at growing intervals, so that the reader notices. The channel is never
// closed. Call cancel when done, at least once.
//
// For any number of listeners on any number of nodes, there is one watch in the store per shard, on the node that the
// shard's actor is placed on. That node wakes the others. If it fails silently, a wake-up may be late by the time it
// takes to notice (Options.Beat). While nothing can be relied on to wake a listener, because actors fail or are stuck,
// it is woken twice a second.
func (s *System) Listen(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	return s.feeds.Listen(db, shards...)
}

// Owner returns the node that the actor of a shard belongs on, in this node's view.
func (s *System) Owner(db ports.Database, shard layer.ShardID) string {
	return s.feeds.Owner(db, shard)
}

// Receive processes a message that another member's System sent with Peers.Send. It does not block.
func (s *System) Receive(from string, message []byte) { s.feeds.Receive(from, message) }

// Ensure blocks until the index of a design has everything that was committed to the database before the call (clause
// V3). It makes up for a small lag itself. For a larger one it enqueues a job, which a worker on any node takes. Ensure
// returns an error early if the job fails, for example because its indexer crashes repeatedly, and Timeout when ctx
// ends, while the job continues.
func (s *System) Ensure(ctx context.Context, db ports.Database, design *layer.Design) error {
	return s.indexing.Ensure(ctx, db, design)
}

// EnsureSoon requests an update of the index without waiting for it (update=lazy).
func (s *System) EnsureSoon(ctx context.Context, db ports.Database, design *layer.Design) error {
	return s.indexing.EnsureSoon(ctx, db, design)
}

// Use keeps an index warm for a while (clause V9). It does not block.
func (s *System) Use(db ports.Database, design *layer.Design) {
	s.indexing.Use(db, design, s.tree.Now(), false)
}

// Resume keeps an index warm as if this node had been asked for it at a time in the past, for as long as its database
// belongs on this node. Which indexes are in use is known only to the nodes that were asked for them: this is for those
// that may have been in use on a node that has ended. It does not block.
func (s *System) Resume(db ports.Database, design *layer.Design, from time.Time) {
	s.indexing.Use(db, design, from, true)
}

// Waiting returns how many requests to this node wait for an index.
func (s *System) Waiting(db ports.Database, design *layer.Design) int {
	return s.indexing.Waiting(db, design)
}

// Tree returns the current supervision tree.
func (s *System) Tree() runtime.Node { return s.tree.Snapshot() }

// EachActor calls visit for each actor, without its children and with Look in place of Facts, until it returns false.
// Then it returns the place of that actor, behind which another EachActor begins; one without a place begins with all.
// parent is the id of the actor's parent, or "". recent is how often the actor has failed within the last minute.
func (s *System) EachActor(behind []string, visit func(n runtime.Node, parent string, recent int) bool) (at []string) {
	return s.tree.Each(behind, visit)
}

// Restart restarts an actor of this node, by its id, with all below it. Nothing is lost, since an actor owns nothing
// but what it can get again. It waits until the actor has begun again, at most until ctx ends.
func (s *System) Restart(ctx context.Context, id string) error { return s.tree.Restart(ctx, id) }

// TreeJSON returns Tree as GET /_actors answers it: {"node": name, "tree": Node}.
func (s *System) TreeJSON(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Node string       `json:"node"`
		Tree runtime.Node `json:"tree"`
	}{s.node, s.Tree()})
}

// Indexes returns the state of the indexes that this node builds or was recently asked for, by database and design
// document. It returns at most most of them: those being built and those asked for last. Each costs some reads; the
// others cost none. Those that cannot be read are left out; the error is that of one of them.
func (s *System) Indexes(ctx context.Context, most int) ([]indexing.IndexInfo, error) {
	return indexing.Infos(ctx, s.indexing.Used(ctx), most)
}

// Shards returns the changes shards that are watched on this node, in any order.
func (s *System) Shards() iter.Seq[feeds.ShardInfo] { return s.feeds.Shards() }

// Tasks lists the running index builds and the running compaction on this node, by database and design document.
func (s *System) Tasks() []indexing.Task {
	list := s.indexing.Tasks()
	if c, ok := s.compactor.Task(); ok {
		list = append(list, indexing.Task{Type: "database_compaction", Node: s.node, PID: "compaction:" + c.Database,
			Database: c.Database, Phase: "superseded_revisions", Progress: c.Progress,
			IndexerFacts: indexing.IndexerFacts{Documents: c.Done, Total: c.Total},
			StartedOn:    c.Began.Unix(), UpdatedOn: c.Updated.Unix()})
	}
	slices.SortFunc(list, func(a, b indexing.Task) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Design, b.Design),
			cmp.Compare(a.Shard, b.Shard))
	})
	return list
}

// ActiveTasks returns Tasks as JSON objects (GET /_active_tasks).
func (s *System) ActiveTasks(context.Context) ([][]byte, error) {
	var list [][]byte
	for _, t := range s.Tasks() {
		b, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("actors: render a task: %w", err)
		}
		list = append(list, b)
	}
	return list, nil
}

// Upkeep returns metrics on this node's removal of unused indexes. See Compactions for compaction, and
// layer.Store.Upkeep for the upkeep within every Store.
func (s *System) Upkeep() []layer.UpkeepMetrics { return []layer.UpkeepMetrics{s.cleanup.Metrics()} }

// Compactions returns the metrics of this node's compactions.
func (s *System) Compactions() upkeep.CompactionFacts { return s.compactor.Metrics() }

// Metrics are the values of the Prometheus metrics of actors. These have protoactor's names:
//
//	protoactor_actor_mailbox_length{actortype}                      gauge, Kind.Mailbox
//	protoactor_actor_spawn_count{actortype}                         counter, Kind.Spawned
//	protoactor_actor_stopped_count{actortype}                       counter, Kind.Stopped
//	protoactor_actor_restarted_count{actortype}                     counter, Kind.Restarted
//	protoactor_actor_failure_count{actortype}                       counter, Kind.Restarted: failures cause restarts
//	protoactor_actor_message_receive_duration_seconds{actortype}    histogram, Kind.Durations
//	protoactor_deadletter_count                                     counter, DeadLetters
type Metrics struct {
	Kinds       []runtime.KindMetrics // by kind
	DeadLetters int64
	// Listeners is the number of waiting feeds on this node, whatever number of shards each listens to, and Wakes how
	// often shards woke their listeners. What this node does by itself, such as keeping indexes warm, is no feed.
	Listeners int
	Wakes     int64
	// Indexed is the number of documents that index builds on this node have processed, IndexRows that of the rows they
	// have written.
	Indexed, IndexRows int64
	// Steps is how long the steps of these builds took.
	Steps runtime.Histogram
}

// Metrics returns the current metrics.
func (s *System) Metrics() Metrics {
	m := Metrics{}
	m.Listeners, m.Wakes = s.feeds.Metrics()
	m.Indexed, m.IndexRows = s.indexing.Counted()
	m.Steps = s.indexing.Steps()
	m.Kinds, m.DeadLetters = s.tree.Metrics()
	return m
}

// maxReasons is the maximum number of actors that Degraded names.
const maxReasons = 10

// Degraded returns which actors fail repeatedly or are stuck, which databases cannot be compacted, and that the store
// has too few watches: "actor_failing: ...", "compaction_failing: ...", "too_many_watches: ...". It returns nil if all
// is well, also some time after the last failure. It does no I/O.
func (s *System) Degraded() []string {
	list := slices.Concat(s.tree.Degraded(), s.compactor.Degraded(), s.feeds.Shortage.Degraded(s.tree.Now()))
	slices.Sort(list)
	if more := len(list) - maxReasons; more > 0 {
		list = append(list[:maxReasons], fmt.Sprintf("actor_failing: %d more", more))
	}
	return list
}
