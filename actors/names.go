package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/divandb/divan/actors/internal/feeds"
	"github.com/divandb/divan/actors/internal/indexing"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/actors/internal/upkeep"
	"github.com/divandb/divan/layer"
)

// The layer as actors see it. FromLayer and Of make these of the layer's own.
type (
	Store    = ports.Store
	Database = ports.Database
	Index    = ports.Index
	Build    = ports.Build
	Plan     = ports.Plan
)

// What a System shows of itself.
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

// FromLayer makes a Store of the layer's.
func FromLayer(s *layer.Store) Store { return ports.FromLayer(s) }

// Of makes a Database of the layer's: the same value for all handles of one database.
func Of(db *layer.Database) Database { return ports.Of(db) }

// NewActorSystem makes a protoactor system that logs to l what an operator wants to know of it.
func NewActorSystem(l *slog.Logger) *actor.ActorSystem { return runtime.NewActorSystem(l) }
