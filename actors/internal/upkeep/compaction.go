package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

const (
	// compactionTurn is how long a run may take before the job is put behind other waiting jobs.
	compactionTurn = time.Minute
	// longestCompactionPause bounds the pause after a transaction.
	longestCompactionPause = 2 * time.Second
	// requestedShare is the minimum share of the time, in percent, for requested compactions. It also applies once
	// superseded data has waited for lateCompaction, because the configured share is then too small for the writers.
	requestedShare = 50
	lateCompaction = time.Hour
	lateBodies     = 100_000
	// compactionFailing is how many consecutive runs must fail before the node reports that it needs an operator.
	compactionFailing = 3
)

// CompactionFacts describe the compactions on this node since it started.
type CompactionFacts struct {
	Runs            int64     `json:"runs"`
	Failures        int64     `json:"failures"`
	Bodies          int64     `json:"bodies"`           // removed
	BodyBytes       int64     `json:"body_bytes"`       // removed
	AttachmentBytes int64     `json:"attachment_bytes"` // removed
	Working         float64   `json:"seconds"`          // in transactions, without pauses
	LastError       string    `json:"last_error,omitempty"`
	LastErrorAt     time.Time `json:"last_error_at,omitzero"`
	LastDatabase    string    `json:"last_error_database,omitempty"`
}

// Compactor compacts databases, one at a time. It works for a share of the time: after each transaction it pauses in
// proportion to the transaction's duration. If requests slow the node down, its transactions take longer, and so do its
// pauses. It is safe for concurrent use.
type Compactor struct {
	queue *jobs.Queue
	share int // of the time, in percent

	mu      sync.Mutex
	facts   CompactionFacts
	running *compaction
	failing map[string]string // by database: the error of its last run, if several in a row have failed
}

// NewCompactor returns a Compactor that works for a share of the time, in percent.
func NewCompactor(q *jobs.Queue, share int) *Compactor { return &Compactor{queue: q, share: share} }

// compaction is one run.
type compaction struct {
	database       string
	began, updated time.Time
	total          int64 // queued bodies when it began
	done           int64
}

// CompactionKey is the key of its actor below the root.
const CompactionKey = "compaction"

// Spec returns the actor.
func (c *Compactor) Spec() runtime.Spec {
	return c.queue.Spec(jobs.Taker{Kind: "compaction", Typ: layer.CompactionJobs, Limit: 1, Take: c.take})
}

// take works on a claimed job for one turn.
func (c *Compactor) take(ctx context.Context, job *layer.Job) jobs.Taken {
	lasting, cancel := jobs.Lasting(ctx)
	defer cancel()
	run, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.queue.Work, stop)()
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		c.queue.RenewUntil(run, job, stop)
	}()
	held := *job // a copy, since the other goroutine changes job
	err := c.compact(run, job.ID)
	stop()
	<-beating
	switch {
	case ctx.Err() != nil || c.queue.Work.Err() != nil:
		return jobs.Taken{Err: c.queue.Store.GiveBack(lasting, &held)}
	case errors.Is(err, errCompactionTurn):
		// It runs again, after the jobs that are due now.
		if err := c.queue.Store.Enqueue(lasting, layer.CompactionJobs, job.ID, nil); err != nil {
			return jobs.Taken{Err: errors.Join(err, c.queue.Store.GiveBack(lasting, &held))}
		}
		err = nil
	case errors.Is(err, context.Canceled): // another worker has the job
		return jobs.Taken{}
	case layer.KindOf(err) == layer.NotFound:
		err = nil // everything was deleted with the database
	}
	c.ended(job.ID, err, job.Failures, c.queue.Tree.Now())
	if err != nil {
		c.queue.Tree.Log.Warn("compaction failed and will be retried", "database", job.ID, "failures", job.Failures+1,
			"error", err)
	}
	return jobs.Taken{Err: c.queue.Store.Finish(lasting, &held, err)}
}

var errCompactionTurn = errors.New("actors: the turn of a compaction is over")

// compact compacts a database at the configured pace.
func (c *Compactor) compact(ctx context.Context, name string) error {
	db, err := c.queue.Store.Database(ctx, name)
	if err != nil {
		return err
	}
	state, err := db.CompactionState(ctx)
	if err != nil {
		return err
	}
	share := c.share
	if state.Requested > 0 || state.Oldest > lateCompaction && state.Superseded > lateBodies {
		share = max(share, requestedShare)
	}
	c.begin(name, state.Superseded, c.queue.Tree.Now())
	defer c.end()
	began, last := c.queue.Tree.Now(), c.queue.Tree.Now()
	return db.RunCompaction(ctx, func(done layer.Compacted) error {
		now := c.queue.Tree.Now()
		took := now.Sub(last)
		c.did(done, took, now)
		if now.Sub(began) > compactionTurn {
			return errCompactionTurn
		}
		pause := min(took*time.Duration(100-share)/time.Duration(share), longestCompactionPause)
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		last = c.queue.Tree.Now()
		return nil
	})
}

func (c *Compactor) begin(database string, total int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = &compaction{database: database, began: now, updated: now, total: total}
}

func (c *Compactor) did(done layer.Compacted, took time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts.Bodies += done.Bodies
	c.facts.BodyBytes += done.BodyBytes
	c.facts.AttachmentBytes += done.AttachmentBytes
	c.facts.Working += took.Seconds()
	if c.running != nil {
		c.running.done += done.Queued
		c.running.updated = now
	}
}

func (c *Compactor) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = nil
}

// ended counts a run. failures is how many before it have failed.
func (c *Compactor) ended(database string, err error, failures int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts.Runs++
	if err == nil {
		delete(c.failing, database)
		return
	}
	c.facts.Failures++
	c.facts.LastError, c.facts.LastErrorAt, c.facts.LastDatabase = err.Error(), now, database
	if failures+1 >= compactionFailing && layer.KindOf(err) != layer.Full { // a full disk is reported separately
		if c.failing == nil {
			c.failing = map[string]string{}
		}
		c.failing[database] = err.Error()
	}
}

// Degraded returns the databases whose compaction fails repeatedly.
func (c *Compactor) Degraded() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for database, reason := range c.failing {
		list = append(list, fmt.Sprintf("compaction_failing: compaction of the database %s fails repeatedly "+
			"(%s); what was superseded stays. Run \"divan verify %s\".", database, reason, database))
	}
	return list
}

// Task returns the current run as a task for CouchDB's API. ok is false if there is none.
func (c *Compactor) Task() (t CompactionTask, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running
	if r == nil {
		return t, false
	}
	t = CompactionTask{
		Database: r.database,
		Done:     r.done,
		Total:    max(r.total, r.done),
		Began:    r.began,
		Updated:  r.updated,
	}
	if t.Total > 0 {
		t.Progress = int(100 * t.Done / t.Total)
	}
	return t, true
}

// CompactionTask is a running compaction.
type CompactionTask struct {
	Database       string
	Done, Total    int64 // queued bodies
	Progress       int   // percent
	Began, Updated time.Time
}

// Metrics returns the metrics of this node's compactions.
func (c *Compactor) Metrics() CompactionFacts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.facts
}
