package actors

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// queue is this node's part in the store's queue of jobs. Safe for concurrent use.
type queue struct {
	queueOptions
	tree *tree

	draining atomic.Bool     // no more jobs are taken
	work     context.Context // of the steps of jobs; ends when the node begins to drain
	endWork  context.CancelFunc
}

// queueOptions are what queue needs of others.
type queueOptions struct {
	store Store
	node  string // the worker of its jobs
	life  string // of this process
	lease time.Duration
	grace time.Duration
	// owns reports whether a job of a type belongs on this node.
	owns func(typ, job string) bool
	left func(member string) bool // nil: there are no others
}

func newQueue(t *tree, o queueOptions) *queue {
	q := &queue{queueOptions: o, tree: t}
	q.work, q.endWork = context.WithCancel(t.running)
	return q
}

// drain takes no more jobs, and ends the steps of those that are under way.
func (q *queue) drain() {
	q.draining.Store(true)
	q.endWork()
}

// drains reports whether the node takes no more jobs.
func (q *queue) drains() bool { return q.draining.Load() }

// worker describes this node to the queue of jobs. It leaves a job that belongs on another node to that node for a
// grace period. After that it takes the job: the owner may be busy or dead, or the placement may be changing.
func (q *queue) worker(owns func(job string) bool) layer.Worker {
	return layer.Worker{
		Name:  q.node,
		Life:  q.life,
		Lease: q.lease,
		Gone:  q.left,
		Grace: func(job string) time.Duration {
			if owns(job) {
				return 0
			}
			return q.grace
		},
	}
}

// taker is an actor that takes jobs of a type.
type taker struct {
	kind, typ string
	owns      func(job string) bool // whether a job belongs on this node; nil: as queueOptions.owns says
	// limit is how many jobs it has at once, and running how many there are. A claim that does a whole job before it
	// returns leaves running nil.
	limit   int
	running func() int
	// claim takes a job, if there is one, and prepares or does it. It may block.
	claim func(ctx context.Context, worker layer.Worker) claimed
	// handOver passes on what claim has prepared, on the actor's goroutine.
	handOver func(sh *shell, task any)
}

// spec is the actor of a taker.
func (q *queue) spec(k taker) spec {
	if k.owns == nil {
		k.owns = func(job string) bool { return q.owns(k.typ, job) }
	}
	worker := q.worker(k.owns)
	if k.running == nil {
		k.running = func() int { return 0 }
	}
	return spec{
		kind: k.kind,
		make: func() behavior {
			return &jobsBehavior{
				running: k.running,
				limit:   k.limit,
				backoff: newBackoff(20*time.Millisecond, 5*time.Second),
			}
		},
		perform: func(sh *shell, e effect) {
			switch e := e.(type) {
			case claimJob:
				sh.do(func(ctx context.Context) any {
					if q.drains() {
						return claimed{none: true}
					}
					return k.claim(ctx, worker)
				})
			case handOver:
				k.handOver(sh, e.task)
			default:
				q.perform(sh, k.typ, worker, e)
			}
		},
	}
}

// perform watches the queue.
func (q *queue) perform(sh *shell, typ string, worker layer.Worker, e effect) {
	switch e := e.(type) {
	case watchQueue:
		sh.do(func(ctx context.Context) any {
			w, next, err := q.store.WatchJobs(ctx, typ, worker)
			if err != nil {
				return queueArmed{err: err}
			}
			return queueArmed{watch: q.tree.hold(ctx, w), next: next}
		})
	case dropQueue:
		e.watch.Cancel()
	case awaitQueue:
		sh.do(func(ctx context.Context) any {
			q.await(ctx, e.watch, e.until)
			return queueChanged{}
		})
	}
}

// await returns when the queue has changed, when its next job is due, or when ctx ends.
func (q *queue) await(ctx context.Context, watch kv.Watch, until time.Time) {
	defer watch.Cancel()
	var due <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(until.Sub(q.tree.now()))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-watch.Done():
	}
}

// renewUntil keeps a job until ctx ends. It calls lost where another worker has it.
func (q *queue) renewUntil(ctx context.Context, job *layer.Job, lost func()) {
	tick := time.NewTicker(q.lease / renewals)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.store.Renew(ctx, job, nil); layer.KindOf(err) == layer.Conflict {
			lost()
			return
		}
	}
}

// renewals is how often a worker renews a heartbeat in the time after which a job is taken from it.
const renewals = 4

// giveBackWithin is how long a node may take to give its jobs back.
const giveBackWithin = 2 * time.Second
