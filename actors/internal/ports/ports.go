package ports

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Store is what actors need of layer.Store. See FromLayer.
type Store interface {
	// Database opens a database by name. It returns the same value for the same database.
	Database(ctx context.Context, name string) (Database, error)

	// Reach returns once the store has answered a request made after the call.
	Reach(ctx context.Context) error

	// The job queue: see layer.Store.
	Enqueue(ctx context.Context, typ, id string, data []byte) error
	Job(ctx context.Context, typ, id string) (*layer.Job, kv.Watch, error)
	Claim(ctx context.Context, typ string, w layer.Worker) (layer.Claimed, error)
	Renew(ctx context.Context, j *layer.Job, progress []byte) error
	RenewAll(ctx context.Context, jobs []*layer.Job) (lost []*layer.Job, err error)
	Release(ctx context.Context, typ string, w layer.Worker) (next time.Time, err error)
	GiveBack(ctx context.Context, j *layer.Job) error
	Finish(ctx context.Context, j *layer.Job, runErr error) error
	Postpone(ctx context.Context, j *layer.Job, delay time.Duration, why error) error
	Waiting(ctx context.Context, typ string, most int) (int, error)
	RemoveJob(ctx context.Context, typ, id string) error
}

// Database is what actors need of layer.Database. See Of. Values are compared, to distinguish a database from a later
// one of the same name.
type Database interface {
	Name() string
	// Number distinguishes the database from all others in the store, including those of the same name before or after
	// it.
	Number() int64
	// Shards returns the current changes shards.
	Shards(ctx context.Context) ([]layer.ShardID, error)
	// WatchShard arms a watch on a shard. It calls settled as layer.Database.WatchShard does.
	WatchShard(ctx context.Context, shard layer.ShardID, settled func()) (w kv.Watch, seen layer.Seq, err error)
	// Designs lists the design documents.
	Designs(ctx context.Context) ([]*layer.Design, error)
	// CompactionState returns what there is to compact.
	CompactionState(ctx context.Context) (layer.CompactionState, error)
	// RunCompaction compacts the database. It calls done after every transaction; an error from done ends it.
	RunCompaction(ctx context.Context, done func(layer.Compacted) error) error
	// CleanupViews removes indexes that no design document has.
	CleanupViews(ctx context.Context) error
	// IndexOf returns the index of a design, without I/O.
	IndexOf(design *layer.Design) Index
	// Begin begins the build of a job's index (layer.Database.StartBuild).
	Begin(ctx context.Context, of layer.IndexJob, token int64, with layer.BuildOptions) (Build, error)
	// Join joins a shared build.
	Join(ctx context.Context, of layer.IndexJob, token int64, shard layer.ShardID) (Build, error)
}

// Index is what actors need of layer.Index.
type Index interface {
	State(ctx context.Context) (layer.IndexState, error)
	// BriefState is State without Shards and Views.
	BriefState(ctx context.Context) (layer.IndexState, error)
	CatchUp(ctx context.Context, n int) (bool, error)
	// Aggregate brings the stored reductions up to date with the rows.
	Aggregate(ctx context.Context) error
	// FollowBuild is BriefState together with the index's job, and watches the job. RequestBuild also enqueues the job
	// if the index has not reached until and the job is not running.
	FollowBuild(ctx context.Context) (layer.BuildProgress, error)
	RequestBuild(ctx context.Context, until layer.Seq) (layer.BuildProgress, error)
}

// Build is what actors need of layer.Build.
type Build interface {
	Plan() Plan
	Step(ctx context.Context, shard layer.ShardID, n int) (layer.StepResult, error)
	// Reached returns how far a shard of a shared build is, whichever node works on it.
	Reached(ctx context.Context, shard layer.ShardID) (layer.StepResult, error)
	// Hurry makes steps end soon, after some progress, until it is called with false.
	Hurry(on bool)
	Finish(ctx context.Context) error
	Close()
}

// Plan describes what a build is about to do.
type Plan struct {
	Goal    layer.Seq
	Shards  []layer.ShardID
	Changes int64 // number of changes to process, roughly; 0 if unknown
	Shared  bool  // other nodes may join
	Resumed bool  // it continues an earlier run of the same build
}

// FromLayer returns a Store for a layer.Store.
func FromLayer(s *layer.Store) Store { return layerStore{s} }

// Of returns a Database for a layer.Database. All handles of one database yield the same value.
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
	return d.Index(design)
}

func (d layerDatabase) Begin(ctx context.Context, of layer.IndexJob, token int64, with layer.BuildOptions) (Build,
	error) {
	b, err := d.StartBuild(ctx, of, token, with)
	if err != nil {
		return nil, err
	}
	return layerBuild{b}, nil
}

func (d layerDatabase) Join(ctx context.Context, of layer.IndexJob, token int64, shard layer.ShardID) (Build, error) {
	b, err := d.JoinBuild(ctx, of, token, shard)
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
