package upkeep

import (
	"context"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Cleanup removes indexes that no design document has any more (clause V8), one database at a time. Its jobs are
// enqueued by the transactions that write design documents, where the settings ask for it, and are due a while later.
type Cleanup struct {
	queue *jobs.Queue

	mu      sync.Mutex
	metrics layer.UpkeepMetrics
	began   time.Time // the run under way; zero: none
	done    time.Time // the end of the last run without an error
}

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
	c.begin()
	db, err := c.queue.Store.Database(ctx, job.ID)
	if err == nil {
		err = db.CleanupViews(ctx)
	}
	c.ended(err)
	switch {
	case layer.KindOf(err) == layer.NotFound:
		err = nil // with the database its indexes are gone
	case err != nil:
		c.queue.Tree.Log.Warn("unused indexes not removed", "database", job.ID, "error", err)
	}
	return jobs.Claimed{Err: c.queue.Store.Finish(ctx, job, err)}
}

func (c *Cleanup) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = c.queue.Tree.Now()
}

// ended counts a run. A database that is gone is no failure.
func (c *Cleanup) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.queue.Tree.Now()
	c.metrics.Runs++
	c.metrics.Took += now.Sub(c.began)
	c.metrics.Error = ""
	if err != nil && layer.KindOf(err) != layer.NotFound {
		c.metrics.Failures++
		c.metrics.Error = err.Error()
	} else {
		c.done = now
	}
	c.began = time.Time{}
}

// Metrics are the numbers of this node's runs.
func (c *Cleanup) Metrics() layer.UpkeepMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.queue.Tree.Now()
	m := c.metrics
	m.Kind = "unused_indexes"
	if !c.began.IsZero() {
		m.Running = now.Sub(c.began)
	}
	if m.Done = !c.done.IsZero(); m.Done {
		m.Since = now.Sub(c.done)
	}
	return m
}
