package indexing

import (
	"context"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Indexing builds indexes on this node, and keeps them warm (clauses V3, V9). Safe for concurrent use.
type Indexing struct {
	Options
	tree   *runtime.Tree
	queue  *jobs.Queue
	store  ports.Store
	builds *builds
}

// Options are what indexing needs of others.
type Options struct {
	OwnsShard   func(shard string) bool // whether the actor of a shard belongs on this node: "database/shard"
	Company     func() bool             // whether there are other members now; nil: there never are
	MaxIndexers int
	ShareFrom   int64
	MaxShards   int
	Batch       int
	Parallel    int // shards of one build at a time
	WarmFor     time.Duration
	WarmGather  time.Duration
	// Changed is told that this node took on an index job, or an index to keep warm, or has done with one.
	Changed func(db ports.Database)
	// Listen has somebody woken for shards of a database.
	Listen func(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

// New builds nothing yet.
func New(t *runtime.Tree, q *jobs.Queue, o Options) *Indexing {
	return &Indexing{Options: o, tree: t, queue: q, store: q.Store, builds: newBuilds()}
}

// The root's children that take jobs of indexes.
const (
	jobsKey      = "jobs"
	shardJobsKey = "shard jobs"
)

// Takers are the actors that every node has for its indexes.
func (x *Indexing) Takers() []runtime.Spawn {
	list := []runtime.Spawn{{Key: jobsKey, Spec: x.jobsSpec("jobs", indexJobs, x.MaxIndexers, nil)}}
	if x.Company != nil {
		list = append(list,
			runtime.Spawn{Key: shardJobsKey, Spec: x.jobsSpec("shard jobs", shardJobs, x.MaxShards, x.ownsShardJob)})
	}
	return list
}

// jobsSpec is the actor that claims jobs of a type.
func (x *Indexing) jobsSpec(kind, typ string, limit int, owns func(job string) bool) runtime.Spec {
	return x.queue.Spec(jobs.Taker{
		Kind: kind, Typ: typ, Owns: owns, Limit: limit,
		Running: func() int { return x.builds.count(typ) },
		Claim: func(ctx context.Context, worker layer.Worker) jobs.Claimed {
			return x.claim(ctx, typ, worker)
		},
		HandOver: func(sh *runtime.Shell, claimed any) {
			t := claimed.(*task)
			x.builds.add(t)
			x.Changed(t.key.db)
			if x.queue.Drains() { // it was claimed meanwhile
				sh.Do(func(ctx context.Context) any {
					x.GiveBack(ctx)
					return nil
				})
			}
		},
	})
}

// Children are the actors of a database: one for each index job that this node has, and one that keeps indexes warm.
func (x *Indexing) Children(db ports.Database) (list []runtime.Spawn) {
	for _, t := range x.builds.listIn(db) {
		list = append(list,
			runtime.Spawn{Key: "index " + t.key.signature + " " + string(t.key.shard), Spec: x.indexerSpec(t)})
	}
	if len(x.builds.usedIn(db, x.tree.Now())) > 0 {
		w := warmer{Indexing: x, db: db}
		list = append(list, runtime.Spawn{Key: "warm", Spec: w.spec()})
	}
	return list
}

// Databases are those that have an index being built or kept warm.
func (x *Indexing) Databases() []ports.Database { return x.builds.databases(x.tree.Now()) }

// Concerns reports whether a database is one of them.
func (x *Indexing) Concerns(db ports.Database) bool { return x.builds.has(db, x.tree.Now()) }

// GiveBack makes the jobs of this node due for others.
func (x *Indexing) GiveBack(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range x.builds.list() {
		all.Go(func() {
			job := t.job
			job.Progress = t.furthest()
			if err := x.store.GiveBack(ctx, &job); err != nil && layer.KindOf(err) != layer.Conflict {
				x.tree.Log.Warn("index job not given back", "job", t.job.ID, "error", err)
			}
		})
	}
	all.Wait()
}
