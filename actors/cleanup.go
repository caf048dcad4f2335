package actors

import (
	"context"

	"github.com/divandb/divan/layer"
)

// cleanup removes indexes that no design document has any more (clause V8), one database at a time. Its jobs are
// enqueued by the transactions that write design documents, where the settings ask for it, and are due a while later.
type cleanup struct{ queue *queue }

func newCleanup(q *queue) *cleanup { return &cleanup{queue: q} }

// cleanupKey is the root's child that does it.
const cleanupKey = "cleanup"

// spec is that actor.
func (c *cleanup) spec() spec {
	return c.queue.spec(taker{kind: "cleanup", typ: layer.CleanupJobs, limit: 1, claim: c.next})
}

// next claims a job and does it.
func (c *cleanup) next(ctx context.Context, worker layer.Worker) claimed {
	job, err := c.queue.store.Claim(ctx, layer.CleanupJobs, worker)
	if err != nil || job == nil {
		return claimed{none: job == nil, err: err}
	}
	db, err := c.queue.store.Database(ctx, job.ID)
	if err == nil {
		err = db.CleanupViews(ctx)
	}
	switch {
	case layer.KindOf(err) == layer.NotFound:
		err = nil // with the database its indexes are gone
	case err != nil:
		c.queue.tree.log.Warn("unused indexes not removed", "database", job.ID, "error", err)
	}
	return claimed{err: c.queue.store.Finish(ctx, job, err)}
}
