package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// compactionJobs is the kind by which the cluster places the jobs that compact databases.
const compactionJobs = layer.CompactionJobs

const (
	// compactionTurn is how long a run may take before the job goes behind the others that wait.
	compactionTurn = time.Minute
	// longestCompactionPause bounds the pause after a transaction.
	longestCompactionPause = 2 * time.Second
	// requestedShare is the least share of the time, in per cent, for what was asked for, and where what was superseded
	// has waited for lateCompaction: writers are faster than the share allows for.
	requestedShare = 50
	lateCompaction = time.Hour
	lateBodies     = 100_000
	// compactionFailing is how many runs in a row have to fail before the node says that it needs an operator.
	compactionFailing = 3
)

// CompactionFacts are the figures of compactions on this node since its start.
type CompactionFacts struct {
	Runs            int64     `json:"runs"`
	Failures        int64     `json:"failures"`
	Bodies          int64     `json:"bodies"`           // removed
	BodyBytes       int64     `json:"body_bytes"`       // removed
	AttachmentBytes int64     `json:"attachment_bytes"` // removed
	Working         float64   `json:"seconds"`          // in transactions, pauses not counted
	LastError       string    `json:"last_error,omitempty"`
	LastErrorAt     time.Time `json:"last_error_at,omitzero"`
	LastDatabase    string    `json:"last_error_database,omitempty"`
}

// compactions is what is known of this node's compactions. Safe for concurrent use.
type compactions struct {
	mu      sync.Mutex
	facts   CompactionFacts
	running *compaction
	failing map[string]string // by database: the error of its last run, of which several in a row have failed
}

// compaction is one run.
type compaction struct {
	database       string
	began, updated time.Time
	total          int64 // bodies in the queue when it began
	done           int64
}

// compactionSpec is the actor that compacts databases, one at a time. It works for a share of the time: after a
// transaction that took some time it pauses for as much longer as the share is smaller than the whole. Where requests
// make the node slow its transactions take longer, and so do its pauses.
func (s *System) compactionSpec() spec {
	worker := s.worker(func(job string) bool { return s.o.Placer.Owns(compactionJobs, job) })
	return spec{
		kind: "compaction",
		make: func() behavior {
			return &jobsBehavior{running: func() int { return 0 }, limit: 1,
				backoff: newBackoff(20*time.Millisecond, 5*time.Second)}
		},
		perform: func(sh *shell, e effect) {
			if _, claim := e.(claimJob); claim {
				sh.do(func(ctx context.Context) any { return s.compactNext(ctx, worker) })
				return
			}
			s.performQueue(sh, compactionJobs, worker, e)
		},
	}
}

// compactNext claims a job and does it, for a turn.
func (s *System) compactNext(ctx context.Context, worker layer.Worker) claimed {
	if s.draining.Load() {
		return claimed{none: true}
	}
	job, err := s.store.Claim(ctx, compactionJobs, worker)
	if err != nil || job == nil {
		return claimed{none: job == nil, err: err}
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.work, stop)()
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		s.renewUntil(run, job, stop)
	}()
	held := *job // the other goroutine's changes
	err = s.compact(run, job.ID)
	stop()
	<-beating
	switch {
	case ctx.Err() != nil || s.work.Err() != nil:
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
		defer cancel()
		return claimed{err: s.store.GiveBack(within, &held)}
	case errors.Is(err, errCompactionTurn):
		// It runs again, behind the jobs that are due by now.
		if err := s.store.Enqueue(ctx, compactionJobs, job.ID, nil); err != nil {
			return claimed{err: errors.Join(err, s.store.GiveBack(ctx, &held))}
		}
		err = nil
	case errors.Is(err, context.Canceled): // another worker has the job
		return claimed{}
	case layer.KindOf(err) == layer.NotFound:
		err = nil // with the database all is gone
	}
	s.compactions.ended(job.ID, err, job.Failures, s.now())
	if err != nil {
		s.log.Warn("compaction failed, and is tried again", "database", job.ID, "failures", job.Failures+1, "error",
			err)
	}
	return claimed{err: s.store.Finish(ctx, &held, err)}
}

// renewUntil keeps a job until ctx ends. It calls lost where another worker has it.
func (s *System) renewUntil(ctx context.Context, job *layer.Job, lost func()) {
	tick := time.NewTicker(s.o.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.store.Renew(ctx, job, nil); layer.KindOf(err) == layer.Conflict {
			lost()
			return
		}
	}
}

var errCompactionTurn = errors.New("actors: the turn of a compaction is over")

// compact works on a database at its pace.
func (s *System) compact(ctx context.Context, name string) error {
	db, err := s.store.Database(ctx, name)
	if err != nil {
		return err
	}
	state, err := db.CompactionState(ctx)
	if err != nil {
		return err
	}
	share := s.o.CompactionShare
	if state.Requested > 0 || state.Oldest > lateCompaction && state.Superseded > lateBodies {
		share = max(share, requestedShare)
	}
	c := s.compactions
	c.begin(name, state.Superseded, s.now())
	defer c.end()
	began, last := s.now(), s.now()
	return db.RunCompaction(ctx, func(done layer.Compacted) error {
		now := s.now()
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
		last = s.now()
		return nil
	})
}

func (c *compactions) begin(database string, total int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = &compaction{database: database, began: now, updated: now, total: total}
}

func (c *compactions) did(done layer.Compacted, took time.Duration, now time.Time) {
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

func (c *compactions) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = nil
}

// ended counts a run. failures is how many before it have failed.
func (c *compactions) ended(database string, err error, failures int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts.Runs++
	if err == nil {
		delete(c.failing, database)
		return
	}
	c.facts.Failures++
	c.facts.LastError, c.facts.LastErrorAt, c.facts.LastDatabase = err.Error(), now, database
	if failures+1 >= compactionFailing && layer.KindOf(err) != layer.Full { // that has its own reason
		if c.failing == nil {
			c.failing = map[string]string{}
		}
		c.failing[database] = err.Error()
	}
}

// degraded says of which databases compaction fails again and again.
func (c *compactions) degraded() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for database, reason := range c.failing {
		list = append(list, fmt.Sprintf("compaction_failing: compaction of the database %s fails again and again (%s); "+
			"what was superseded stays. Run \"divan verify %s\".", database, reason, database))
	}
	return list
}

// task is the run under way, as a task of CouchDB's; nil where there is none.
func (c *compactions) task(node string) *Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running
	if r == nil {
		return nil
	}
	total := max(r.total, r.done)
	progress := 0
	if total > 0 {
		progress = int(100 * r.done / total)
	}
	return &Task{Type: "database_compaction", Node: node, PID: "compaction:" + r.database, Database: r.database,
		Phase: "superseded_revisions", Progress: progress, IndexerFacts: IndexerFacts{Documents: r.done, Total: total},
		StartedOn: r.began.Unix(), UpdatedOn: r.updated.Unix()}
}

// Compactions are the figures of this node's compactions.
func (s *System) Compactions() CompactionFacts {
	s.compactions.mu.Lock()
	defer s.compactions.mu.Unlock()
	return s.compactions.facts
}
