package jobs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Queue is this node's part in the store's queue of jobs. Safe for concurrent use.
type Queue struct {
	Options
	Tree *runtime.Tree

	draining atomic.Bool     // no more jobs are taken
	Work     context.Context // of the steps of jobs; ends when the node begins to drain
	endWork  context.CancelFunc
}

// Options are what queue needs of others.
type Options struct {
	Store ports.Store
	Node  string // the worker of its jobs
	Life  string // of this process
	Lease time.Duration
	Grace time.Duration
	// Owns reports whether a job of a type belongs on this node.
	Owns func(typ, job string) bool
	Left func(member string) bool // nil: there are no others
}

// New takes part in the queue of a store.
func New(t *runtime.Tree, o Options) *Queue {
	q := &Queue{Options: o, Tree: t}
	q.Work, q.endWork = context.WithCancel(t.Running)
	return q
}

// Drain takes no more jobs, and ends the steps of those that are under way.
func (q *Queue) Drain() {
	q.draining.Store(true)
	q.endWork()
}

// Drains reports whether the node takes no more jobs.
func (q *Queue) Drains() bool { return q.draining.Load() }

// worker describes this node to the queue of jobs. It leaves a job that belongs on another node to that node for a
// grace period. After that it takes the job: the owner may be busy or dead, or the placement may be changing.
func (q *Queue) worker(owns func(job string) bool) layer.Worker {
	return layer.Worker{
		Name:  q.Node,
		Life:  q.Life,
		Lease: q.Lease,
		Gone:  q.Left,
		Grace: func(job string) time.Duration {
			if owns(job) {
				return 0
			}
			return q.Grace
		},
	}
}

// Taker is an actor that takes jobs of a type.
type Taker struct {
	Kind, Typ string
	Owns      func(job string) bool // whether a job belongs on this node; nil: as queueOptions.owns says
	// Limit is how many jobs it has at once, and running how many there are. A claim that does a whole job before it
	// returns leaves running nil.
	Limit   int
	Running func() int
	// Claim takes a job, if there is one, and prepares or does it. It may block.
	Claim func(ctx context.Context, worker layer.Worker) Claimed
	// HandOver passes on what claim has prepared, on the actor's goroutine.
	HandOver func(sh *runtime.Shell, task any)
}

// Spec is the actor of a taker.
func (q *Queue) Spec(k Taker) runtime.Spec {
	if k.Owns == nil {
		k.Owns = func(job string) bool { return q.Owns(k.Typ, job) }
	}
	worker := q.worker(k.Owns)
	if k.Running == nil {
		k.Running = func() int { return 0 }
	}
	return runtime.Spec{
		Kind: k.Kind,
		Make: func() runtime.Behavior {
			return &jobsBehavior{
				running: k.Running,
				limit:   k.Limit,
				backoff: runtime.NewBackoff(20*time.Millisecond, 5*time.Second),
			}
		},
		Perform: func(sh *runtime.Shell, e runtime.Effect) {
			switch e := e.(type) {
			case claimJob:
				sh.Do(func(ctx context.Context) any {
					if q.Drains() {
						return Claimed{None: true}
					}
					return k.Claim(ctx, worker)
				})
			case handOver:
				k.HandOver(sh, e.task)
			default:
				q.perform(sh, k.Typ, worker, e)
			}
		},
	}
}

// perform watches the queue.
func (q *Queue) perform(sh *runtime.Shell, typ string, worker layer.Worker, e runtime.Effect) {
	switch e := e.(type) {
	case watchQueue:
		sh.Do(func(ctx context.Context) any {
			w, next, err := q.Store.WatchJobs(ctx, typ, worker)
			if err != nil {
				return queueArmed{err: err}
			}
			return queueArmed{watch: q.Tree.Hold(ctx, w), next: next}
		})
	case dropQueue:
		e.watch.Cancel()
	case awaitQueue:
		sh.Do(func(ctx context.Context) any {
			q.await(ctx, e.watch, e.until)
			return queueChanged{}
		})
	}
}

// await returns when the queue has changed, when its next job is due, or when ctx ends.
func (q *Queue) await(ctx context.Context, watch kv.Watch, until time.Time) {
	defer watch.Cancel()
	var due <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(q.Tree.Now()))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-watch.Done():
	}
}

// RenewUntil keeps a job until ctx ends. It calls lost where another worker has it.
func (q *Queue) RenewUntil(ctx context.Context, job *layer.Job, lost func()) {
	tick := time.NewTicker(q.Lease / Renewals)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.Store.Renew(ctx, job, nil); layer.KindOf(err) == layer.Conflict {
			lost()
			return
		}
	}
}

// Renewals is how often a worker renews a heartbeat in the time after which a job is taken from it.
const Renewals = 4

// GiveBackWithin is how long a node may take to give its jobs back.
const GiveBackWithin = 2 * time.Second
