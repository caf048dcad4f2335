package actors

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
)

// renewals is how often a worker renews a heartbeat in the time after which a job is taken from it.
const renewals = 4

// indexerSpec is the actor of one index job.
func (s *System) indexerSpec(t *task) spec {
	return spec{
		kind: "indexer", name: strings.TrimSpace(t.what.Design + " " + string(t.what.Shard)),
		make: func() behavior {
			lives, crash := t.begin()
			return &indexerBehavior{lives: lives, crash: crash, parallel: runtime.GOMAXPROCS(0), first: s.o.Batch,
				facts:      t.resume(true),
				renewEvery: s.o.Lease / renewals, part: t.what.Shard != "",
				backoff: newBackoff(20*time.Millisecond, 2*time.Second), setProgress: func(f IndexerFacts) { t.setProgress(s.now(), f) }}
		},
		failed:  t.crashed,
		perform: func(sh *shell, e effect) { s.performIndexing(sh, t, e) },
	}
}

func (s *System) performIndexing(sh *shell, t *task, e effect) {
	switch e := e.(type) {
	case startBuild:
		sh.do(func(ctx context.Context) any {
			b, err := s.openBuild(ctx, t)
			if err != nil {
				return buildStarted{err: err}
			}
			o := &openBuild{Build: b}
			s.io.Go(func() {
				<-ctx.Done()
				o.close()
			})
			plan := b.Plan()
			return buildStarted{build: o, plan: plan, done: t.resume(plan.Resumed)}
		})
	case stepShard:
		sh.do(func(ctx context.Context) any {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(s.work, cancel)()
			begin := s.now()
			r, err := e.build.Step(ctx, e.shard, e.n)
			if s.work.Err() != nil {
				return nil // the job is being given back
			}
			return stepped{shard: e.shard, result: r, took: s.now().Sub(begin), err: err}
		})
	case finishBuild:
		sh.do(func(ctx context.Context) any {
			return buildFinished{e.build.Finish(ctx)}
		})
	case renewLease:
		sh.do(func(ctx context.Context) any {
			if _, err := designOf(ctx, t.key.db, t.key.signature); layer.KindOf(err) == layer.NotFound {
				return renewed{err}
			}
			job := t.job
			err := s.store.Renew(ctx, &job, t.unreported(e.progress.encode()))
			if err != nil {
				t.unreported(nil)
			}
			return renewed{err}
		})
	case reportJob:
		if e.err != nil {
			s.log.Error("index build failed", "database", t.what.Database, "design", t.what.Design, "error", e.err)
		}
		sh.do(func(ctx context.Context) any {
			job := t.job
			switch err := s.store.Finish(ctx, &job, e.err); {
			case err == nil:
			case t.what.Shard != "" && layer.KindOf(err) == layer.Conflict: // the build was closed before its worker had said that it is done
			case layer.KindOf(err) == layer.Conflict:
				s.log.Debug("index job was taken over before it was reported", "job", t.job.ID)
			default:
				s.log.Warn("index job not reported", "job", t.job.ID, "error", err)
			}
			return jobReported{e.outcome}
		})
	case endTask:
		s.builds.remove(t)
		s.builds.tell(t.key, e.outcome)
		s.toDatabases(tasksChanged{t.key.db})
		s.toJobs(lookAgain{})
		s.toShardJobs(lookAgain{})
	}
}

// openBuild is a build that is closed when its indexer's life ends, whichever way, but not under a step that is still running.
type openBuild struct {
	Build
	mu     sync.RWMutex // read: a step runs
	closed bool
}

// Step is the build's, while it is open.
func (o *openBuild) Step(ctx context.Context, shard layer.ShardID, n int) (layer.StepResult, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return layer.StepResult{}, ctx.Err()
	}
	return o.Build.Step(ctx, shard, n)
}

// Finish is the build's, while it is open.
func (o *openBuild) Finish(ctx context.Context) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return ctx.Err()
	}
	return o.Build.Finish(ctx)
}

func (o *openBuild) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.Build.Close()
}
