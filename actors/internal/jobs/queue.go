package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Queue is this node's access to the store's job queue. It is safe for concurrent use.
type Queue struct {
	Options
	Tree *runtime.Tree

	draining atomic.Bool     // no further jobs are taken
	Work     context.Context // context of the steps of jobs; ends when the node begins to drain
	endWork  context.CancelFunc
}

// Options are what a Queue needs.
type Options struct {
	Store ports.Store
	Node  string // this node as a worker
	Life  string // id of this process
	Lease time.Duration
	Grace time.Duration
	// Owns reports whether a job of a type belongs on this node.
	Owns func(typ, job string) bool
	Left func(member string) bool // nil: there are no other nodes
	// Took, if not nil, is called after each claim of a job that another worker, job.TakenFrom, has left. It must not
	// block.
	Took func(job *layer.Job)
}

// New returns a node's Queue.
func New(t *runtime.Tree, o Options) *Queue {
	q := &Queue{Options: o, Tree: t}
	q.Work, q.endWork = context.WithCancel(t.Running)
	return q
}

// Drain stops taking jobs, and ends the steps of running jobs.
func (q *Queue) Drain() {
	q.draining.Store(true)
	q.endWork()
}

// Drains reports whether the node has stopped taking jobs.
func (q *Queue) Drains() bool { return q.draining.Load() }

// worker describes this node to the job queue. For a grace period, it leaves a job that belongs on another node to that
// node. Then it takes the job, since the owner may be busy or dead, or the placement may be changing.
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

// Taker configures an actor that takes jobs of a type.
type Taker struct {
	Kind, Typ string
	Owns      func(job string) bool // reports whether a job belongs on this node; nil means Options.Owns
	// Crowd, unless nil, returns the Crowd of its Worker for one claim.
	Crowd func() func(job string) int
	// Limit is how many jobs it may run at once, and Running returns how many there are. Running is nil if Take
	// completes a job before it returns.
	Limit   int
	Running func() int
	// Allowed, if not nil, returns the limit instead, which may change. Such a taker may take several jobs at once.
	Allowed func() int
	// Take prepares or completes a claimed job. It may block. With Allowed, it only prepares it, and does not fail.
	Take func(ctx context.Context, job *layer.Job) Taken
	// HandOver passes on what Take has prepared, on the actor's goroutine.
	HandOver func(sh *runtime.Shell, task any)
}

// Spec returns the actor of a taker.
func (q *Queue) Spec(k Taker) runtime.Spec {
	if k.Owns == nil {
		k.Owns = func(job string) bool { return q.Owns(k.Typ, job) }
	}
	worker := q.worker(k.Owns)
	room := func() int { return 1 }
	if k.Allowed != nil {
		worker.Owns = k.Owns
		room = func() int { return k.Allowed() - k.Running() }
	} else {
		limit := k.Limit
		k.Allowed = func() int { return limit }
	}
	if k.Running == nil {
		k.Running = func() int { return 0 }
	}
	return runtime.Spec{
		Kind: k.Kind,
		Make: func() runtime.Behavior {
			return &jobsBehavior{
				running: k.Running,
				limit:   k.Allowed,
				every:   q.Lease / Renewals,
				backoff: runtime.NewBackoff(20*time.Millisecond, 5*time.Second),
			}
		},
		Perform: func(sh *runtime.Shell, e runtime.Effect) {
			switch e := e.(type) {
			case takeNext:
				sh.Do(func(ctx context.Context) any {
					claims := worker
					claims.Room = room()
					if k.Crowd != nil {
						claims.Crowd = k.Crowd()
					}
					return q.takeNext(ctx, &k, claims)
				})
			case awaitQueue:
				sh.Do(func(ctx context.Context) any {
					q.await(ctx, e.watch, e.until)
					return queueChanged{}
				})
			case releaseSilent:
				sh.Do(func(ctx context.Context) any { return q.release(ctx, k.Typ, worker) })
			case handOver:
				k.HandOver(sh, e.task)
			}
		},
	}
}

// takeNext takes the next job, or watches the queue if none is due.
func (q *Queue) takeNext(ctx context.Context, k *Taker, worker layer.Worker) any {
	if q.Drains() {
		return Taken{None: true}
	}
	lasting, cancel := Lasting(ctx) // a claim that is broken off may be a job that nobody knows of
	defer cancel()
	c, err := q.Store.Claim(lasting, k.Typ, worker)
	switch {
	case err != nil:
		return queueArmed{err: err}
	case c.Job == nil:
		return queueArmed{watch: q.Tree.Hold(ctx, c.Watch), next: c.Next}
	case q.Drains() || ctx.Err() != nil: // meanwhile
		err := q.Store.GiveBack(lasting, c.Job)
		for _, job := range c.More {
			err = errors.Join(err, q.Store.GiveBack(lasting, job))
		}
		return Taken{None: true, Err: err}
	}
	q.noteTaken(c.Job)
	taken := k.Take(ctx, c.Job)
	for _, job := range c.More {
		q.noteTaken(job)
		if more := k.Take(ctx, job); more.Task != nil {
			taken.More = append(taken.More, more.Task)
		}
	}
	return taken
}

// noteTaken tells of a claimed job that another node has left.
func (q *Queue) noteTaken(job *layer.Job) {
	if q.Took != nil && job.TakenFrom != "" && job.TakenFrom != q.Node {
		q.Took(job)
	}
}

// release gives jobs back for workers that have stopped renewing.
func (q *Queue) release(ctx context.Context, typ string, worker layer.Worker) any {
	if q.Drains() {
		return silentReleased{}
	}
	next, _ := q.Store.Release(ctx, typ, worker) // it is tried again soon
	return silentReleased{next}
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

// RenewUntil renews the lease of a job until ctx ends. It calls lost if another worker has taken the job.
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

// Renewals is how often a worker renews a job's lease within its length.
const Renewals = 4

// GiveBackWithin is how long a node may take to give its jobs back.
const GiveBackWithin = 2 * time.Second

// Lasting returns a context that ends GiveBackWithin later than ctx, for what remains to be done with a job when its
// node stops: to end its run, so that another node can continue at once. The caller calls cancel.
func Lasting(ctx context.Context) (lasting context.Context, cancel func()) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(GiveBackWithin, end)
		context.AfterFunc(lasting, func() { t.Stop() })
	})
	return lasting, func() {
		stop()
		end()
	}
}
