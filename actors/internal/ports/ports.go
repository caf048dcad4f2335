package ports

import (
	"context"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Store is what actors need of the layer's Store: FromLayer.
type Store interface {
	// Database opens a database by name. The same database is the same value each time.
	Database(ctx context.Context, name string) (Database, error)

	// Reach returns when the store has answered a question that was asked after the call.
	Reach(ctx context.Context) error

	// The job queue: see layer.Store.
	Enqueue(ctx context.Context, typ, id string, data []byte) error
	Job(ctx context.Context, typ, id string) (*layer.Job, kv.Watch, error)
	Claim(ctx context.Context, typ string, w layer.Worker) (*layer.Job, error)
	Renew(ctx context.Context, j *layer.Job, progress []byte) error
	GiveBack(ctx context.Context, j *layer.Job) error
	Finish(ctx context.Context, j *layer.Job, runErr error) error
	RemoveJob(ctx context.Context, typ, id string) error
	WatchJobs(ctx context.Context, typ string, worker layer.Worker) (w kv.Watch, next *layer.DueJob, err error)
}

// Database is what actors need of a layer.Database: Of. Values are compared, to tell a database from one of the same
// name that came after it.
type Database interface {
	Name() string
	// Number tells it from every other database of the store, also one of the same name before or after it.
	Number() int64
	// Shards is the current changes shards.
	Shards(ctx context.Context) ([]layer.ShardID, error)
	// WatchShard arms a watch on a shard. settled is called before: see layer.Database.WatchShard.
	WatchShard(ctx context.Context, shard layer.ShardID, settled func()) (w kv.Watch, seen layer.Seq, err error)
	// Designs lists the design documents.
	Designs(ctx context.Context) ([]*layer.Design, error)
	// CompactionState is what there is to compact.
	CompactionState(ctx context.Context) (layer.CompactionState, error)
	// RunCompaction compacts the database, and calls done after every transaction, whose error ends it.
	RunCompaction(ctx context.Context, done func(layer.Compacted) error) error
	// CleanupViews removes the indexes that no design document has.
	CleanupViews(ctx context.Context) error
	// IndexOf is the index of a design. No I/O.
	IndexOf(design *layer.Design) Index
}

// Index is what actors need of a layer.Index.
type Index interface {
	State(ctx context.Context) (layer.IndexState, error)
	// Standing is State without Shards and Views.
	Standing(ctx context.Context) (layer.IndexState, error)
	CatchUp(ctx context.Context, n int) (bool, error)
	// Aggregate brings what is stored of the reductions up to date with the rows.
	Aggregate(ctx context.Context) error
	// Begin begins a build that other nodes may join where it has that many changes to process
	// (layer.Index.StartSharedBuild); never with 0.
	Begin(ctx context.Context, token, share int64) (Build, error)
	// Join takes part in one.
	Join(ctx context.Context, token int64, shard layer.ShardID) (Build, error)
}

// Build is what actors need of a layer.Build.
type Build interface {
	Plan() Plan
	Step(ctx context.Context, shard layer.ShardID, n int) (layer.StepResult, error)
	// Reached is how far a shard of a shared build has come, whoever steps on it.
	Reached(ctx context.Context, shard layer.ShardID) (layer.StepResult, error)
	Finish(ctx context.Context) error
	Close()
}

// Plan is what a build is about to do.
type Plan struct {
	Goal    layer.Seq
	Shards  []layer.ShardID
	Changes int64 // to process, roughly; 0 where that is not known
	Shared  bool  // other nodes may join
	Resumed bool  // it goes on with what an earlier run of the same build has done
}

// FromLayer makes a Store of the layer's.
func FromLayer(s *layer.Store) Store { return layerStore{s} }

// Of makes a Database of the layer's: the same value for all handles of one database.
func Of(db *layer.Database) Database { return layerDatabase{db.Shared()} }

type layerStore struct{ *layer.Store }

func (s layerStore) Database(ctx context.Context, name string) (Database, error) {
	db, err := s.Store.Database(ctx, name)
	if err != nil {
		return nil, err
	}
	return Of(db), nil
}

type layerDatabase struct{ *layer.Database }

func (d layerDatabase) Shards(ctx context.Context) ([]layer.ShardID, error) {
	seq, err := d.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	maps, err := d.ShardMaps(ctx, seq)
	if err != nil {
		return nil, err
	}
	return maps[len(maps)-1].Shards, nil
}

func (d layerDatabase) IndexOf(design *layer.Design) Index {
	return layerIndex{d.Index(design)}
}

type layerIndex struct{ *layer.Index }

func (ix layerIndex) Begin(ctx context.Context, token, share int64) (Build, error) {
	b, err := ix.StartSharedBuild(ctx, token, share)
	if err != nil {
		return nil, err
	}
	return layerBuild{b}, nil
}

func (ix layerIndex) Join(ctx context.Context, token int64, shard layer.ShardID) (Build, error) {
	b, err := ix.JoinBuild(ctx, token, shard)
	if err != nil {
		return nil, err
	}
	return layerBuild{b}, nil
}

type layerBuild struct{ *layer.Build }

func (b layerBuild) Plan() Plan {
	return Plan{Goal: b.Goal, Shards: b.Build.Shards, Changes: b.Build.Changes, Shared: b.Build.Shared,
		Resumed: b.Build.Resumed}
}
