package actors

import (
	"context"
	"time"

	"github.com/divandb/divan/layer"
)

// cleanupSpec is the actor that removes indexes which no design document has any more (clause V8), one database at a time. Its jobs are enqueued by the
// transactions that write design documents, where the settings ask for it, and are due a while later.
func (s *System) cleanupSpec() spec {
	worker := s.worker(func(job string) bool { return s.o.Placer.Owns(layer.CleanupJobs, job) })
	return spec{
		kind: "cleanup",
		make: func() behavior {
			return &jobsBehavior{running: func() int { return 0 }, limit: 1, backoff: newBackoff(20*time.Millisecond, 5*time.Second)}
		},
		perform: func(sh *shell, e effect) {
			if _, claim := e.(claimJob); claim {
				sh.do(func(ctx context.Context) any { return s.cleanUp(ctx, worker) })
				return
			}
			s.performQueue(sh, layer.CleanupJobs, worker, e)
		},
	}
}

// cleanUp claims a job and does it.
func (s *System) cleanUp(ctx context.Context, worker layer.Worker) claimed {
	job, err := s.store.Claim(ctx, layer.CleanupJobs, worker)
	if err != nil || job == nil {
		return claimed{none: job == nil, err: err}
	}
	db, err := s.store.Database(ctx, job.ID)
	if err == nil {
		err = db.CleanupViews(ctx)
	}
	switch {
	case layer.KindOf(err) == layer.NotFound:
		err = nil // with the database its indexes are gone
	case err != nil:
		s.log.Warn("unused indexes not removed", "database", job.ID, "error", err)
	}
	return claimed{err: s.store.Finish(ctx, job, err)}
}
