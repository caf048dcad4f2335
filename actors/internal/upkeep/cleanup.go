package upkeep

import (
	"context"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Cleanup removes indexes that no design document has any more (clause V8), one database at a time. Its jobs are
// enqueued by the transactions that write design documents, where the settings ask for it, and are due a while later.
type Cleanup struct{ queue *jobs.Queue }

// NewCleanup removes indexes by jobs of a queue.
func NewCleanup(q *jobs.Queue) *Cleanup { return &Cleanup{queue: q} }

// CleanupKey is the root's child that does it.
const CleanupKey = "cleanup"

// Spec is that actor.
func (c *Cleanup) Spec() runtime.Spec {
	return c.queue.Spec(jobs.Taker{Kind: "cleanup", Typ: layer.CleanupJobs, Limit: 1, Claim: c.next})
}

// next claims a job and does it.
func (c *Cleanup) next(ctx context.Context, worker layer.Worker) jobs.Claimed {
	job, err := c.queue.Store.Claim(ctx, layer.CleanupJobs, worker)
	if err != nil || job == nil {
		return jobs.Claimed{None: job == nil, Err: err}
	}
	db, err := c.queue.Store.Database(ctx, job.ID)
	if err == nil {
		err = db.CleanupViews(ctx)
	}
	switch {
	case layer.KindOf(err) == layer.NotFound:
		err = nil // with the database its indexes are gone
	case err != nil:
		c.queue.Tree.Log.Warn("unused indexes not removed", "database", job.ID, "error", err)
	}
	return jobs.Claimed{Err: c.queue.Store.Finish(ctx, job, err)}
}
