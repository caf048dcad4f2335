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
	"github.com/divandb/divan/layer/internal/partition"
	"github.com/divandb/divan/layer/internal/upkeep"
)

const (
	// firstSweep is the delay between the start and the first sweep of what dead nodes have left behind. By then nobody
	// waits for the result of a commit from before the start. Later sweeps follow once an hour.
	firstSweep = 10 * time.Minute
	sweepEvery = time.Hour
	// retryFull is the delay after which uploads from before the start are swept again if the store was full.
	retryFull = time.Second
)

// UpkeepMetrics are the metrics of one kind of background work.
type UpkeepMetrics = upkeep.Metrics

// Upkeep returns the metrics of the store's background work, by kind. It does no I/O.
func (s *Store) Upkeep() []UpkeepMetrics { return s.upkeep.Metrics() }

// kindsOfUpkeep returns the store's background work. Compaction and the removal of indexes are jobs that any node may
// run; the work here only finds databases that need compaction.
func (s *Store) kindsOfUpkeep() []upkeep.Kind {
	each := func(do func(context.Context, *db.Database) error) func(context.Context) error {
		return func(ctx context.Context) error { return s.EachDatabase(ctx, do) }
	}
	kinds := []upkeep.Kind{{
		Name: "finished_transaction_ids", Every: time.Second, Wake: s.Ids.Full,
		Run:    func(ctx context.Context) error { return s.Ids.Clear(ctx, s.Engine) },
		Failed: "clearing transaction ids",
	}, {
		Name: "read_sequences", First: time.Second, Every: time.Second,
		Run: func(context.Context) error {
			index.PublishedOf(s.Store).Expire(time.Now())
			return nil
		},
	}, {
		Name: "left_transaction_ids", First: firstSweep, Every: sweepEvery,
		Run:    func(ctx context.Context) error { return s.Ids.Sweep(ctx, s.Engine, s.Hours()) },
		Failed: "removing transaction ids of dead nodes",
	}, {
		Name: "left_imports", First: firstSweep, Every: sweepEvery,
		Run:    func(ctx context.Context) error { return export.SweepImports(ctx, s.Store, s.Hours()) },
		Failed: "removing imports of dead nodes",
	}, {
		Name: "left_uploads", First: firstSweep, Every: sweepEvery,
		Run: each(func(ctx context.Context, d *db.Database) error {
			return attach.SweepUploads(ctx, d, s.Hours())
		}),
		Failed: "removing uploads of dead nodes",
	}, {
		Name: "live_uploads", First: attach.RenewEvery, Every: attach.RenewEvery,
		Run:    func(ctx context.Context) error { return attach.StateOf(s.Store).RenewUploads(ctx, s.Clock.Hour()) },
		Failed: "renewing uploads",
	}, {
		Name: "finished_jobs", First: jobs.SweepJobsEvery, Every: jobs.SweepJobsEvery,
		Run: func(ctx context.Context) error {
			return jobs.SweepJobs(ctx, s.Store, db.AfterVersion(s.Clock.Now(), -jobs.FinishedFor))
		},
		Failed: "removing finished jobs",
	}, {
		Name: "partition_counts", First: time.Second, Every: sweepEvery, Run: each(partition.Recount),
		Failed: "counting partitions",
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
			Failed: "removing uploads from before the start", Silent: full,
		})
	}
	if s.o.Compaction.Auto {
		kinds = append(kinds, compact.Looks(s.Store)...)
	}
	return kinds
}
