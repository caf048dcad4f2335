package actors

import (
	"context"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// indexing builds indexes on this node, and keeps them warm (clauses V3, V9). Safe for concurrent use.
type indexing struct {
	indexingOptions
	tree   *tree
	queue  *queue
	store  Store
	builds *builds
}

// indexingOptions are what indexing needs of others.
type indexingOptions struct {
	ownsShard   func(shard string) bool // whether the actor of a shard belongs on this node: "database/shard"
	company     func() bool             // whether there are other members now; nil: there never are
	maxIndexers int
	shareFrom   int64
	maxShards   int
	batch       int
	parallel    int // shards of one build at a time
	warmFor     time.Duration
	warmGather  time.Duration
	// changed is told that this node took on an index job, or an index to keep warm, or has done with one.
	changed func(db Database)
	// listen has somebody woken for shards of a database.
	listen func(db Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

func newIndexing(t *tree, q *queue, o indexingOptions) *indexing {
	return &indexing{indexingOptions: o, tree: t, queue: q, store: q.store, builds: newBuilds()}
}

// The root's children that take jobs of indexes.
const (
	jobsKey      = "jobs"
	shardJobsKey = "shard jobs"
)

// takers are the actors that every node has for its indexes.
func (x *indexing) takers() []spawn {
	list := []spawn{{key: jobsKey, spec: x.jobsSpec("jobs", indexJobs, x.maxIndexers, nil)}}
	if x.company != nil {
		list = append(list, spawn{key: shardJobsKey, spec: x.jobsSpec("shard jobs", shardJobs, x.maxShards, x.ownsShardJob)})
	}
	return list
}

// jobsSpec is the actor that claims jobs of a type.
func (x *indexing) jobsSpec(kind, typ string, limit int, owns func(job string) bool) spec {
	return x.queue.spec(taker{
		kind: kind, typ: typ, owns: owns, limit: limit,
		running: func() int { return x.builds.count(typ) },
		claim: func(ctx context.Context, worker layer.Worker) claimed {
			return x.claim(ctx, typ, worker)
		},
		handOver: func(sh *shell, claimed any) {
			t := claimed.(*task)
			x.builds.add(t)
			x.changed(t.key.db)
			if x.queue.drains() { // it was claimed meanwhile
				sh.do(func(ctx context.Context) any {
					x.giveBack(ctx)
					return nil
				})
			}
		},
	})
}

// children are the actors of a database: one for each index job that this node has, and one that keeps indexes warm.
func (x *indexing) children(db Database) (list []spawn) {
	for _, t := range x.builds.listIn(db) {
		list = append(list, spawn{key: "index " + t.key.signature + " " + string(t.key.shard), spec: x.indexerSpec(t)})
	}
	if len(x.builds.usedIn(db, x.tree.now())) > 0 {
		w := warmer{indexing: x, db: db}
		list = append(list, spawn{key: "warm", spec: w.spec()})
	}
	return list
}

// databases are those that have an index being built or kept warm.
func (x *indexing) databases() []Database { return x.builds.databases(x.tree.now()) }

// concerns reports whether a database is one of them.
func (x *indexing) concerns(db Database) bool { return x.builds.has(db, x.tree.now()) }

// giveBack makes the jobs of this node due for others.
func (x *indexing) giveBack(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range x.builds.list() {
		all.Go(func() {
			job := t.job
			job.Progress = t.furthest()
			if err := x.store.GiveBack(ctx, &job); err != nil && layer.KindOf(err) != layer.Conflict {
				x.tree.log.Warn("index job not given back", "job", t.job.ID, "error", err)
			}
		})
	}
	all.Wait()
}
