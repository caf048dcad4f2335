package upkeep

import (
	"context"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// Cleanup removes indexes that no design document has (clause V8), one database at a time. If the settings ask for it,
// the transactions that write design documents enqueue its jobs, which become due some time later.
type Cleanup struct {
	queue *jobs.Queue

	mu      sync.Mutex
	metrics layer.UpkeepMetrics
	began   time.Time // start of the current run; zero if there is none
	done    time.Time // end of the last run without an error
}

// NewCleanup returns a Cleanup for a queue.
func NewCleanup(q *jobs.Queue) *Cleanup { return &Cleanup{queue: q} }

// CleanupKey is the key of its actor below the root.
const CleanupKey = "cleanup"

// Spec returns the actor.
func (c *Cleanup) Spec() runtime.Spec {
	return c.queue.Spec(jobs.Taker{Kind: "cleanup", Typ: layer.CleanupJobs, Limit: 1, Take: c.take})
}

// take completes a claimed job, or gives it back if the node stops or drains.
func (c *Cleanup) take(ctx context.Context, job *layer.Job) jobs.Taken {
	lasting, cancel := jobs.Lasting(ctx)
	defer cancel()
	run, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.queue.Work, stop)()
	c.begin()
	db, err := c.queue.Store.Database(run, job.ID)
	if err == nil {
		err = db.CleanupViews(run)
	}
	if err != nil && run.Err() != nil {
		c.interrupted()
		return jobs.Taken{Err: c.queue.Store.GiveBack(lasting, job)}
	}
	c.ended(err)
	switch {
	case layer.KindOf(err) == layer.NotFound:
		err = nil // the indexes were deleted with the database
	case err != nil:
		c.queue.Tree.Log.Warn("unused indexes could not be removed", "database", job.ID, "error", err)
	}
	return jobs.Taken{Err: c.queue.Store.Finish(lasting, job, err)}
}

func (c *Cleanup) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = c.queue.Tree.Now()
}

// interrupted ends a run that does not count.
func (c *Cleanup) interrupted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began = time.Time{}
}

// ended counts a run. A deleted database is not a failure.
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

// Metrics returns the metrics of this node's runs.
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
