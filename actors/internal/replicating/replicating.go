package replicating

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Worker does the work of a job. Its methods are safe for concurrent use.
type Worker interface {
	// Limit returns how many jobs the node may run at once. It does not block.
	Limit() int
	// Attach is called once, with functions that do not block: one to call after Limit has changed, and one that
	// reports whether a job belongs on this node rather than on another one, which may change with the members.
	Attach(changed func(), owns func(job string) bool)
	// Replicate works on a claimed job, and then ends its run: with Finish, Postpone or GiveBack. ctx ends when another
	// worker has the job, or the node ends. When stop is closed, the job is to be given back soon.
	Replicate(ctx context.Context, stop <-chan struct{}, job *layer.Job)
}

// Replicating takes and runs jobs. It is safe for concurrent use.
type Replicating struct {
	queue   *jobs.Queue
	worker  Worker
	running atomic.Int64

	mu       sync.Mutex
	held     map[*layer.Job]func() // what ends the run of each job that is lost
	renewing bool                  // a renew is running
	emptied  chan struct{}         // receives when nothing is held any more
}

// New returns a Replicating for a queue.
func New(q *jobs.Queue, w Worker) *Replicating {
	r := &Replicating{queue: q, worker: w, held: map[*layer.Job]func(){}, emptied: make(chan struct{}, 1)}
	w.Attach(r.lookAgain, func(job string) bool { return q.Owns(layer.ReplicationJobs, job) })
	return r
}

// Key is the key of its actor below the root.
const Key = "replications"

// Spec returns the actor.
func (r *Replicating) Spec() runtime.Spec {
	return r.queue.Spec(jobs.Taker{
		Kind: "replications", Typ: layer.ReplicationJobs, Allowed: r.worker.Limit,
		Running: func() int { return int(r.running.Load()) },
		Take:    func(_ context.Context, job *layer.Job) jobs.Taken { return jobs.Taken{Task: job} },
		HandOver: func(_ *runtime.Shell, task any) {
			r.running.Add(1)
			job := task.(*layer.Job)
			r.queue.Tree.Run(func() { r.run(job) })
		},
	})
}

// lookAgain lets the actor look for jobs.
func (r *Replicating) lookAgain() { r.queue.Tree.Tell(Key, runtime.LookAgain{}) }

// run works on a job while its lease is renewed.
func (r *Replicating) run(job *layer.Job) {
	defer r.lookAgain()
	defer r.running.Add(-1)
	ctx, cancel := jobs.Lasting(r.queue.Tree.Running) // the job is given back when the tree ends
	defer cancel()
	held := *job // a copy, since renewals read it
	r.hold(&held, cancel)
	r.worker.Replicate(ctx, r.queue.Work.Done(), job)
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.held, &held); len(r.held) == 0 {
		select {
		case r.emptied <- struct{}{}:
		default:
		}
	}
}

// hold renews the lease of a job until it is no longer held. lost is called if another worker has taken it.
func (r *Replicating) hold(job *layer.Job, lost func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[job] = lost
	if !r.renewing {
		r.renewing = true
		r.queue.Tree.Run(r.renew)
	}
}

// renew renews the leases of all jobs, of which there may be hundreds, together. It ends when there is none.
func (r *Replicating) renew() {
	tick := time.NewTicker(r.queue.Lease / jobs.Renewals)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.emptied:
		}
		r.mu.Lock()
		list := slices.Collect(maps.Keys(r.held))
		r.renewing = len(list) > 0
		r.mu.Unlock()
		if len(list) == 0 {
			return
		}
		r.renewAll(list)
	}
}

// renewAll renews the leases of some jobs once, and ends the runs of those that are lost.
func (r *Replicating) renewAll(list []*layer.Job) {
	ctx, cancel := jobs.Lasting(r.queue.Tree.Running)
	defer cancel()
	lost, err := r.queue.Store.RenewAll(ctx, list)
	if err != nil {
		r.queue.Tree.Log.Debug("the leases of replications could not be renewed", "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range lost {
		if end := r.held[job]; end != nil { // it may have ended by itself
			end()
		}
	}
}
