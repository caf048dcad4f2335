package layer

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/export"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/upkeep"
)

const (
	// firstSweep is how long after the start what dead nodes left behind is swept for the first time: nobody waits any
	// more for the result of a commit from before the start. After that it is swept once an hour.
	firstSweep = 10 * time.Minute
	sweepEvery = time.Hour
	// retryFull is how long after the store was full uploads from before the start are looked for again.
	retryFull = time.Second
)

// UpkeepMetrics are the numbers of one kind of upkeep.
type UpkeepMetrics = upkeep.Metrics

// Upkeep says how what the store looks after by itself gets on, by kind. It comes from memory.
func (s *Store) Upkeep() []UpkeepMetrics { return s.upkeep.Metrics() }

// kindsOfUpkeep is what the store looks after by itself. Compaction, and the removal of indexes, are jobs that one of
// the nodes takes; here is only the look for databases that have something to compact.
func (s *Store) kindsOfUpkeep() []upkeep.Kind {
	each := func(do func(context.Context, *db.Database) error) func(context.Context) error {
		return func(ctx context.Context) error { return s.EachDatabase(ctx, do) }
	}
	kinds := []upkeep.Kind{{
		Name: "finished_transaction_ids", Every: time.Second, Wake: s.Ids.Full,
		Run:    func(ctx context.Context) error { return s.Ids.Clear(ctx, s.Engine) },
		Failed: "transaction ids not cleared",
	}, {
		Name: "read_sequences", First: time.Second, Every: time.Second,
		Run: func(context.Context) error {
			index.PublishedOf(s.Store).Expire(time.Now())
			return nil
		},
	}, {
		Name: "left_transaction_ids", First: firstSweep, Every: sweepEvery,
		Run:    func(ctx context.Context) error { return s.Ids.Sweep(ctx, s.Engine, s.Hours()) },
		Failed: "transaction ids of nodes that have died not removed",
	}, {
		Name: "left_imports", First: firstSweep, Every: sweepEvery,
		Run:    func(ctx context.Context) error { return export.SweepImports(ctx, s.Store, s.Hours()) },
		Failed: "imports of nodes that have died not removed",
	}, {
		Name: "left_uploads", First: firstSweep, Every: sweepEvery,
		Run: each(func(ctx context.Context, d *db.Database) error {
			return attach.SweepUploads(ctx, d, s.Hours())
		}),
		Failed: "uploads of nodes that have died not removed",
	}, {
		Name: "live_uploads", First: attach.RenewEvery, Every: attach.RenewEvery,
		Run:    func(ctx context.Context) error { return attach.StateOf(s.Store).RenewUploads(ctx, s.Clock.Hour()) },
		Failed: "uploads not renewed",
	}, {
		Name: "finished_jobs", First: jobs.SweepJobsEvery, Every: jobs.SweepJobsEvery,
		Run: func(ctx context.Context) error {
			return jobs.SweepJobs(ctx, s.Store, db.AfterVersion(s.Clock.Now(), -jobs.FinishedFor))
		},
		Failed: "finished jobs not removed",
	}, {
		Name: "change_counts", Wake: feed.StateOf(s.Store).Closings.Wake, Run: feed.StateOf(s.Store).CloseDue,
	}}
	full := func(err error) bool { return fault.KindOf(err) == fault.Full }
	if s.o.Owner {
		kinds = append(kinds, upkeep.Kind{
			Name: "uploads_before_start", Run: each(attach.StateOf(s.Store).RemoveLeftUploads),
			Again: func(err error) time.Duration {
				if full(err) {
					return retryFull
				}
				return 0
			},
			Failed: "uploads from before the start not removed", Silent: full,
		})
	}
	if s.o.Compaction.Auto {
		kinds = append(kinds, compact.Looks(s.Store)...)
	}
	return kinds
}
