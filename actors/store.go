package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Store is what actors need of the layer's Store.
type Store interface {
	// Database opens a database by name. The same database is the same value each time.
	Database(ctx context.Context, name string) (Database, error)

	// The job queue: see layer.Store.
	Enqueue(ctx context.Context, typ, id string, data []byte) error
	Claim(ctx context.Context, typ, worker string, lease time.Duration) (*layer.Job, error)
	Renew(ctx context.Context, j *layer.Job, lease time.Duration, progress []byte) error
	Finish(ctx context.Context, j *layer.Job, runErr error) error
	WatchJobs(ctx context.Context, typ string) (w kv.Watch, next time.Time, err error)
}

// Database is what actors need of a layer.Database: Of. Values are compared, to tell a database from one of the same name that came after it.
type Database interface {
	Name() string
	WatchShard(ctx context.Context, shard layer.ShardID) (w kv.Watch, seen layer.Seq, err error)
}

// FromLayer makes a Store of the layer's.
func FromLayer(s *layer.Store) Store { return layerStore{s} }

// Of makes a Database of the layer's.
func Of(db *layer.Database) Database { return layerDatabase{db} }

type layerStore struct{ *layer.Store }

func (s layerStore) Database(ctx context.Context, name string) (Database, error) {
	db, err := s.Store.Database(ctx, name)
	if err != nil {
		return nil, err
	}
	return Of(db), nil
}

type layerDatabase struct{ *layer.Database }
