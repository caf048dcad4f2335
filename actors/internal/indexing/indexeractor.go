package indexing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// indexerSpec returns the actor of one index job.
func (x *Indexing) indexerSpec(t *task) runtime.Spec {
	return runtime.Spec{
		Kind: "indexer", Name: strings.TrimSpace(t.what.Design + " " + string(t.what.Shard)),
		Make: func() runtime.Behavior {
			lives, crash := t.begin()
			return &indexerBehavior{lives: lives, crash: crash, parallel: x.Parallel, first: x.Batch,
				facts:      t.resume(true),
				renewEvery: x.queue.Lease / jobs.Renewals, part: t.what.Shard != "", turn: x.Turn,
				backoff:     runtime.NewBackoff(20*time.Millisecond, 2*time.Second),
				setProgress: func(f IndexerFacts) { t.setProgress(x.tree.Now(), f) }}
		},
		Failed:  t.crashed,
		Perform: func(sh *runtime.Shell, e runtime.Effect) { x.performIndexing(sh, t, e) },
	}
}

func (x *Indexing) performIndexing(sh *runtime.Shell, t *task, e runtime.Effect) {
	switch e := e.(type) {
	case startBuild:
		sh.Do(func(ctx context.Context) any {
			if e.after != nil {
				e.after.Close()
			}
			b, err := x.openBuild(ctx, t)
			if err != nil {
				return buildStarted{err: err}
			}
			life, end := context.WithCancel(ctx)
			o := &openBuild{Build: b, closed: life.Done(), end: end}
			x.tree.Run(func() {
				<-o.closed
				o.Close()
			})
			plan := b.Plan()
			return buildStarted{build: o, plan: plan, done: t.resume(plan.Resumed)}
		})
	case stepShard:
		sh.Do(func(ctx context.Context) any {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(x.queue.Work, cancel)()
			begin := x.tree.Now()
			r, err := e.build.Step(ctx, e.shard, e.n)
			if x.queue.Work.Err() != nil {
				return nil // the job is being given back
			}
			took := x.tree.Now().Sub(begin)
			x.stepped(r, took)
			return stepped{shard: e.shard, result: r, took: took, err: err}
		})
	case finishBuild:
		sh.Do(func(ctx context.Context) any {
			return buildFinished{e.build.Finish(ctx)}
		})
	case renewLease:
		sh.Do(func(ctx context.Context) any {
			if _, err := designOf(ctx, t.key.db, t.key.signature); layer.KindOf(err) == layer.NotFound {
				return renewed{err}
			}
			job := t.job
			job.Advanced = e.advanced
			err := x.store.Renew(ctx, &job, t.unreported(e.progress.encode()))
			if err != nil {
				t.unreported(nil)
			}
			return renewed{err}
		})
	case askWaiting:
		sh.Do(func(ctx context.Context) any {
			n, err := x.store.Waiting(ctx, indexJobs, 1)
			return othersWaiting{err == nil && n > 0}
		})
	case hurryBuild:
		e.build.Hurry(e.on)
	case postponeJob:
		sh.Do(func(ctx context.Context) any {
			job := t.job
			job.Progress = e.progress.encode()
			if err := x.store.Postpone(ctx, &job, 0, nil); err != nil && layer.KindOf(err) != layer.Conflict {
				x.tree.Log.Log(context.Background(), min(slog.LevelWarn, FailureLevel(err)),
					"could not end the turn of an index job", "job", t.job.ID, "error", err)
			}
			return jobReported{}
		})
	case reportJob:
		if e.err != nil {
			x.tree.Log.Log(context.Background(), FailureLevel(e.err), "index build failed", "database", t.what.Database,
				"design", t.what.Design, "error", e.err)
		}
		sh.Do(func(ctx context.Context) any {
			job := t.job
			job.Progress = e.progress
			switch err := x.store.Finish(ctx, &job, e.err); {
			case err == nil:
			case t.what.Shard != "" && layer.KindOf(err) == layer.Conflict:
				// The build was closed before its worker reported that it is done.
			case layer.KindOf(err) == layer.Conflict:
				x.tree.Log.Debug("index job was taken over before it was reported", "job", t.job.ID)
			default:
				x.tree.Log.Log(context.Background(), min(slog.LevelWarn, FailureLevel(err)),
					"could not report an index job", "job", t.job.ID, "error", err)
			}
			return jobReported{e.outcome}
		})
	case endTask:
		x.builds.remove(t)
		x.builds.tell(t.key, e.outcome)
		x.Changed(t.key.db)
		x.tree.Tell(jobsKey, runtime.LookAgain{})
		if x.HasOthers != nil {
			x.tree.Tell(shardJobsKey, runtime.LookAgain{})
		}
	}
}

// openBuild is a build that is closed when its indexer's life ends, but not while a step is running.
type openBuild struct {
	ports.Build
	mu     sync.Mutex
	closed <-chan struct{}
	end    func()         // closes closed
	steps  sync.WaitGroup // the running ones; none begins once closed is closed
}

// Step calls the build's Step while it is open.
func (o *openBuild) Step(ctx context.Context, shard layer.ShardID, n int) (layer.StepResult, error) {
	if !o.begin() {
		return layer.StepResult{}, ctx.Err()
	}
	defer o.steps.Done()
	return o.Build.Step(ctx, shard, n)
}

// Finish calls the build's Finish while it is open.
func (o *openBuild) Finish(ctx context.Context) error {
	if !o.begin() {
		return ctx.Err()
	}
	defer o.steps.Done()
	return o.Build.Finish(ctx)
}

// begin reports whether a step may begin. It is to be ended with steps.Done.
func (o *openBuild) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.closed:
		return false
	default:
		o.steps.Add(1)
		return true
	}
}

// Close waits for the running steps. It holds no lock meanwhile, for which simulated time would stand still.
func (o *openBuild) Close() {
	o.mu.Lock()
	o.end()
	o.mu.Unlock()
	o.steps.Wait()
	o.Build.Close()
}

// FailureLevel is the level at which a build that failed is logged. The job is run again. That the store does not
// answer is told once, for all that fails because of it.
func FailureLevel(err error) slog.Level {
	switch {
	case storeAway(err):
		return slog.LevelDebug
	case layer.KindOf(err) == layer.Unavailable && !layer.Local(err): // the store answers, but too slowly
		return slog.LevelWarn
	}
	return slog.LevelError
}

// storeAway reports whether a step failed because the store does not answer.
func storeAway(err error) bool {
	return kv.IsCode(err, kv.CodeUnreachable) || errors.Is(err, kv.ErrConnectionLost)
}
