package replicating

import (
	"context"
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
}

// New returns a Replicating for a queue.
func New(q *jobs.Queue, w Worker) *Replicating {
	r := &Replicating{queue: q, worker: w}
	w.Attach(r.lookAgain, func(job string) bool { return q.Owns(layer.ReplicationJobs, job) })
	return r
}

const (
	// Key is the key of its actor below the root.
	Key = "replications"
	// lease is longer than that of other jobs, because a node may run hundreds, and each renews it several times. If
	// their node is known to have ended, they are taken over after a third of it.
	lease = 5 * time.Second
)

// Spec returns the actor.
func (r *Replicating) Spec() runtime.Spec {
	return r.queue.Spec(jobs.Taker{
		Kind: "replications", Typ: layer.ReplicationJobs, Allowed: r.worker.Limit, Lease: lease,
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
	ctx, cancel := context.WithCancel(r.queue.Tree.Running)
	defer cancel()
	held := *job // a copy, since a renewal may change its job
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		r.queue.RenewEvery(ctx, &held, lease/jobs.Renewals, cancel)
	}()
	r.worker.Replicate(ctx, r.queue.Work.Done(), job)
	cancel()
	<-renewed
}
