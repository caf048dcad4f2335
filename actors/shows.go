package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
	"github.com/divandb/divan/layer"
)

// This file is what a System does for the node, and shows of itself. The work is its parts'.

// Listen registers a listener for shards of a database (clause C7). After every commit of an entry in one of them that
// happens after Listen returned, and after a reshard or the deletion of the database, woken receives a value; several
// wakes may be one, and a wake without reason is allowed. So read the feed after Listen, then wait. While the store
// fails, woken receives values too, at growing pauses, for the reader to find out. The channel is never closed. Call
// cancel when done, once or more.
//
// However many listen, on however many nodes, there is one watch in the store per shard, by the node that the shard's
// actor is placed on; other nodes are woken by it. Where that node fails without a word, a wake may be late by the time
// it takes to notice (Options.Beat). While nothing can be relied on to wake a listener, because actors fail or are
// stuck, it is woken twice a second.
func (s *System) Listen(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func()) {
	return s.feeds.Listen(db, shards...)
}

// Owner names the node that the actor of a database's shard belongs on, in this node's view.
func (s *System) Owner(db ports.Database, shard layer.ShardID) string {
	return s.feeds.Owner(db, shard)
}

// Receive takes what another member's System sent by Peers.Send. It does not block.
func (s *System) Receive(from string, message []byte) { s.feeds.Receive(from, message) }

// Ensure blocks until the index of a design reflects everything that was committed to the database before the call
// (clause V3). A small lag is caught up here; for a larger one a job is put into the queue, which a worker on any node
// takes. Ensure returns early with an error when the job fails, also because its indexer kept crashing, and with
// Timeout when ctx ends; the job goes on then.
func (s *System) Ensure(ctx context.Context, db ports.Database, design *layer.Design) error {
	return s.indexing.Ensure(ctx, db, design)
}

// EnsureSoon has the index brought up to date and does not wait for it (update=lazy).
func (s *System) EnsureSoon(ctx context.Context, db ports.Database, design *layer.Design) error {
	return s.indexing.EnsureSoon(ctx, db, design)
}

// Use keeps an index warm for a while (clause V9). It does not block.
func (s *System) Use(db ports.Database, design *layer.Design) { s.indexing.Use(db, design) }

// Waiting is how many requests to this node wait for an index to be brought up to date.
func (s *System) Waiting(db ports.Database, design *layer.Design) int {
	return s.indexing.Waiting(db, design)
}

// Tree is the supervision tree at this moment.
func (s *System) Tree() runtime.Node { return s.tree.Snapshot(0) }

// TreeOf is the same with no more than most children of each actor, those first that have failed of late.
func (s *System) TreeOf(most int) runtime.Node { return s.tree.Snapshot(most) }

// TreeJSON is Tree as GET /_actors answers it: {"node": name, "tree": Node}.
func (s *System) TreeJSON(context.Context) ([]byte, error) {
	return json.Marshal(struct {
		Node string       `json:"node"`
		Tree runtime.Node `json:"tree"`
	}{s.node, s.Tree()})
}

// Indexes tells where the indexes stand that this node builds, or was asked for lately, by database and design
// document: of no more than most, those that are built and those that it was asked for last. Each costs some reads;
// the others cost none. Those that cannot be read are left out.
func (s *System) Indexes(ctx context.Context, most int) ([]indexing.IndexInfo, error) {
	return s.indexing.Indexes(ctx, most)
}

// CountIndexes is how many indexes this node was asked for lately.
func (s *System) CountIndexes() int { return s.indexing.CountIndexes() }

// Shards lists changes shards that are watched on this node, by database: no more than most, those first whose actors
// have an error.
func (s *System) Shards(most int) []feeds.ShardInfo { return s.feeds.Shards(most) }

// CountShards is how many changes shards are watched on this node.
func (s *System) CountShards() int { return s.feeds.CountShards() }

// Tasks lists the index builds and the compaction under way on this node, by database and design document.
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

// ActiveTasks is Tasks as JSON objects (GET /_active_tasks).
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

// Upkeep says how the removal of indexes that no design document has gets on, here. Compactions is the same for
// compaction, and layer.Store.Upkeep for what every Store looks after by itself.
func (s *System) Upkeep() []layer.UpkeepMetrics { return []layer.UpkeepMetrics{s.cleanup.Metrics()} }

// Compactions are the metrics of this node's compactions.
func (s *System) Compactions() upkeep.CompactionFacts { return s.compactor.Metrics() }

// Metrics are the numbers behind the Prometheus metrics of actors. The names there are protoactor's own:
//
//	protoactor_actor_mailbox_length{actortype}                      gauge, Kind.Mailbox
//	protoactor_actor_spawn_count{actortype}                         counter, Kind.Spawned
//	protoactor_actor_stopped_count{actortype}                       counter, Kind.Stopped
//	protoactor_actor_restarted_count{actortype}                     counter, Kind.Restarted
//	protoactor_actor_failure_count{actortype}                       counter, Kind.Restarted too: failures end in one
//	protoactor_actor_message_receive_duration_seconds{actortype}    histogram, Kind.Durations
//	protoactor_deadletter_count                                     counter, DeadLetters
type Metrics struct {
	Kinds       []runtime.KindMetrics // by kind
	DeadLetters int64
	// Listeners are the feeds that wait on this node, Wakes how often shards woke theirs.
	Listeners int
	Wakes     int64
}

// Metrics are the numbers of this moment.
func (s *System) Metrics() Metrics {
	m := Metrics{}
	m.Listeners, m.Wakes = s.feeds.Metrics()
	m.Kinds, m.DeadLetters = s.tree.Metrics()
	return m
}

// maxReasons bounds the actors that Degraded names.
const maxReasons = 10

// Degraded says which actors fail again and again, or are stuck, and which databases cannot be compacted:
// "actor_failing: ...", "compaction_failing: ..."; nil where all is well, as it is again a while after the last
// failure. It does no I/O.
func (s *System) Degraded() []string {
	list := append(s.tree.Degraded(), s.compactor.Degraded()...)
	slices.Sort(list)
	if more := len(list) - maxReasons; more > 0 {
		list = append(list[:maxReasons], fmt.Sprintf("actor_failing: %d more actors fail", more))
	}
	return list
}
