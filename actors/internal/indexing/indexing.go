package indexing

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Indexing builds indexes on this node and keeps them warm (clauses V3, V9). It is safe for concurrent use.
type Indexing struct {
	Options
	tree   *runtime.Tree
	queue  *jobs.Queue
	store  ports.Store
	builds *builds

	documents, rows atomic.Int64 // processed and written by builds on this node

	steps struct {
		sync.Mutex
		took runtime.Histogram
	}
}

// stepBounds are the upper bounds of the durations of steps, in seconds. Steps are made to take about slowBatch.
var stepBounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30}

// Counted returns how many documents builds on this node have processed, and how many rows they have written.
func (x *Indexing) Counted() (documents, rows int64) { return x.documents.Load(), x.rows.Load() }

// Steps returns how long the steps of builds on this node took. A step reads, maps and writes a batch of documents.
func (x *Indexing) Steps() runtime.Histogram {
	x.steps.Lock()
	defer x.steps.Unlock()
	h := x.steps.took
	h.Counts = slices.Clone(h.Counts)
	return h
}

// stepped counts a step.
func (x *Indexing) stepped(r layer.StepResult, took time.Duration) {
	x.documents.Add(int64(r.Documents))
	x.rows.Add(int64(r.Rows))
	x.steps.Lock()
	defer x.steps.Unlock()
	x.steps.took.Add(took.Seconds())
}

// Options are what Indexing needs.
type Options struct {
	// reports whether the actor of a shard belongs on this node: "database/shard"
	OwnsShard func(shard string) bool
	// reports whether the actor of a database belongs on this node
	OwnsDatabase func(database string) bool
	HasOthers    func() bool // reports whether there are other members now; nil: there never are
	MaxIndexers  int
	ShareFrom    int64
	MaxShards    int
	Batch        int
	Parallel     int           // shards of one build at a time
	Turn         time.Duration // of a build, while others wait for a worker
	WarmFor      time.Duration
	WarmGather   time.Duration
	// Changed is called when this node starts or ends an index job, or starts or stops keeping an index warm.
	Changed func(db ports.Database)
	// Listen registers a listener for shards of a database.
	Listen func(db ports.Database, shards ...layer.ShardID) (woken <-chan struct{}, cancel func())
}

// New returns an Indexing. It starts no work.
func New(t *runtime.Tree, q *jobs.Queue, o Options) *Indexing {
	x := &Indexing{Options: o, tree: t, queue: q, store: q.Store, builds: newBuilds(o.OwnsDatabase)}
	x.steps.took = runtime.Histogram{Bounds: stepBounds, Counts: make([]int64, len(stepBounds))}
	return x
}

// Keys, below the root, of the actors that take index jobs.
const (
	jobsKey      = "jobs"
	shardJobsKey = "shard jobs"
)

// Takers returns the actors that every node has for index jobs.
func (x *Indexing) Takers() []runtime.Spawn {
	list := []runtime.Spawn{{Key: jobsKey, Spec: x.jobsSpec("jobs", indexJobs, x.MaxIndexers, nil)}}
	if x.HasOthers != nil {
		list = append(list,
			runtime.Spawn{Key: shardJobsKey, Spec: x.jobsSpec("shard jobs", shardJobs, x.MaxShards, x.ownsShardJob)})
	}
	return list
}

// jobsSpec returns the actor that claims jobs of a type.
func (x *Indexing) jobsSpec(kind, typ string, limit int, owns func(job string) bool) runtime.Spec {
	return x.queue.Spec(jobs.Taker{
		Kind: kind, Typ: typ, Owns: owns, Limit: limit,
		Crowd:   func() func(string) int { return crowd(typ, x.builds.list()) },
		Running: func() int { return x.builds.count(typ) },
		Take:    x.take,
		HandOver: func(sh *runtime.Shell, claimed any) {
			t := claimed.(*task)
			x.builds.add(t)
			x.Changed(t.key.db)
			if x.queue.Drains() { // claimed meanwhile
				sh.Do(func(ctx context.Context) any {
					x.GiveBack(ctx)
					return nil
				})
			}
		},
	})
}

// crowd returns how many of the tasks are about the same database as a job of a type.
func crowd(typ string, tasks []*task) func(job string) int {
	of := map[string]int{}
	for _, t := range tasks {
		of[t.what.Database]++
	}
	return func(job string) int { return of[databaseOf(typ, job)] }
}

// Children returns the actors of a database: one for each index job on this node, and one that keeps indexes warm.
func (x *Indexing) Children(db ports.Database) (list []runtime.Spawn) {
	for _, t := range x.builds.listIn(db) {
		list = append(list,
			runtime.Spawn{Key: "index " + t.key.signature + " " + string(t.key.shard), Spec: x.indexerSpec(t)})
	}
	if len(x.builds.warmIn(db, x.tree.Now())) > 0 {
		w := warmer{Indexing: x, db: db}
		list = append(list, runtime.Spawn{Key: "warm", Spec: w.spec()})
	}
	return list
}

// Databases returns the databases with index jobs or warm indexes.
func (x *Indexing) Databases() []ports.Database { return x.builds.databases(x.tree.Now()) }

// Concerns reports whether a database has index jobs or warm indexes.
func (x *Indexing) Concerns(db ports.Database) bool { return x.builds.has(db, x.tree.Now()) }

// Rest sets whether this node keeps no index warm for now. Indexes are then brought up to date when they are asked for.
func (x *Indexing) Rest(rests bool) {
	for _, db := range x.builds.rest(rests, x.tree.Now()) {
		x.Changed(db)
	}
}

// GiveBack gives the jobs of this node back, so that other nodes can take them.
func (x *Indexing) GiveBack(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range x.builds.list() {
		all.Go(func() {
			job := t.job
			job.Progress = t.furthest()
			if err := x.store.GiveBack(ctx, &job); err != nil && layer.KindOf(err) != layer.Conflict {
				x.tree.Log.Warn("could not give back an index job", "job", t.job.ID, "error", err)
			}
		})
	}
	all.Wait()
}
