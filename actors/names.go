package actors

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/replicating"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
	"github.com/divandb/divan/layer"
)

// The layer as actors see it. FromLayer and Of convert the layer's own types.
type (
	Store    = ports.Store
	Database = ports.Database
	Index    = ports.Index
	Build    = ports.Build
	Plan     = ports.Plan
)

// What a System reports about itself.
type (
	Node            = runtime.Node
	KindMetrics     = runtime.KindMetrics
	Histogram       = runtime.Histogram
	ShardInfo       = feeds.ShardInfo
	ShardFacts      = feeds.ShardFacts
	IndexInfo       = indexing.IndexInfo
	Task            = indexing.Task
	IndexerFacts    = indexing.IndexerFacts
	CompactionFacts = upkeep.CompactionFacts
)

// ReplicationWorker does the work of the jobs of replications.
type ReplicationWorker = replicating.Worker

// DatabaseKind is the kind that databases are placed by, for work that one node does for each.
const DatabaseKind = "database"

// WarmFor is the default of Options.WarmFor, and for how long what may have been in use before is resumed.
const WarmFor = time.Hour

// ShardKind is the kind that the actors of changes shards are placed by.
const ShardKind = feeds.ShardKind

// InfoOf describes an index of a database by its state.
func InfoOf(database string, design *layer.Design, state *layer.IndexState) IndexInfo {
	return indexing.InfoOf(database, design, state)
}

// FromLayer returns a Store for a layer.Store.
func FromLayer(s *layer.Store) Store { return ports.FromLayer(s) }

// Of returns a Database for a layer.Database. All handles of one database yield the same value.
func Of(db *layer.Database) Database { return ports.Of(db) }

// NewActorSystem returns a protoactor system that logs to l what matters to an operator.
func NewActorSystem(l *slog.Logger) *actor.ActorSystem { return runtime.NewActorSystem(l) }
