package replicate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/transfer"
)

var (
	// errDrained ends a run because this node gives its jobs to others.
	errDrained = errors.New("replicate: the node is drained")
	// errChanged ends a run because what describes the replication has changed.
	errChanged = errors.New("replicate: the document was changed or deleted")
)

const (
	// reportEvery is how often the figures of a run are written to its job, and pendingWithin how long the source may
	// take to say for that how many changes are left.
	reportEvery, pendingWithin = 5 * time.Second, 5 * time.Second
	// reviewEvery is how often the document is read again, should its job not have been told of a change, and a filter
	// function, since a replication with another one has another id.
	reviewEvery = time.Minute
	// lastCheckpoint bounds the checkpoint of a run that is stopped.
	lastCheckpoint = 10 * time.Second
	// drainWithin bounds it if the node is drained. It is short, since another node is to have the job within a second.
	// That one reads again what came after the last checkpoint.
	drainWithin = 300 * time.Millisecond
)

// attend runs the transfer. Meanwhile it writes figures to the job, and watches whether the run should end. working is
// that of copy.
func (r *run) attend(ctx, working context.Context, t *transfer.Run) (result []byte, err error) {
	r.setCopying(true)
	defer r.setCopying(false)
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	halt := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, err = t.Do(inner, halt)
	}()
	why := r.watch(working, ended, t)
	if why == nil {
		<-ended
		return result, err
	}
	within := lastCheckpoint
	if errors.Is(why, errDrained) {
		within = drainWithin
	}
	close(halt)
	late := time.AfterFunc(within, func() { cancel(why) })
	defer late.Stop()
	if errors.Is(why, errChanged) {
		cancel(why)
	}
	<-ended
	if err == nil { // it was complete before it noticed
		return result, nil
	}
	return nil, why
}

func (r *run) setCopying(on bool) {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.copying = on
}

// watch returns why a run should end, or nil when it has ended or another worker has the job. What it waits for is
// broken off with ctx.
func (r *run) watch(ctx context.Context, ended <-chan struct{}, t *transfer.Run) error {
	report := time.NewTicker(r.m.reportEvery)
	defer report.Stop()
	reviewed := time.Now()
	// A source that does not answer, or not well, must not delay the end of a run that fails, or whose job is gone.
	asking, stopAsking := context.WithCancel(ctx)
	var pending chan *int64 // nil while the source is not asked
	defer func() {
		stopAsking()
		if pending != nil {
			<-pending
		}
	}()
	for {
		job, changed, err := r.m.o.Store.Job(ctx, layer.ReplicationJobs, r.job.ID)
		var news <-chan struct{}
		if err == nil {
			if job == nil || job.Token != r.job.Token {
				changed.Cancel()
				return errChanged // it was cancelled, or another worker has it
			}
			news = changed.Done()
		}
		if err == nil && job.Again && r.hasChanged(ctx) {
			changed.Cancel()
			return errChanged
		}
		var end error
		done := false
		select {
		case <-ended:
			done = true
		case <-ctx.Done():
			done = true
			if errors.Is(context.Cause(ctx), errDrained) {
				end = errDrained
			}
		case <-r.yield:
			end = transfer.ErrStopped
		case <-news:
		case <-report.C:
			if time.Since(reviewed) > reviewEvery {
				reviewed = time.Now()
				end = r.review(ctx)
			}
			switch now := t.Status(); {
			case end != nil:
			case r.isWellAgain(now):
				r.rec.Errors = 0
				end = r.lost(r.m.o.Store.Recovered(ctx, r.job, r.rec.encode()))
			case pending == nil && r.hasFigures(ctx, now):
				answer := make(chan *int64, 1)
				pending = answer
				go func() { answer <- pendingOf(asking, t, r.m.pendingWithin) }()
			}
		case left := <-pending:
			pending = nil
			end = r.figures(ctx, t.Status(), left)
		}
		if changed != nil {
			changed.Cancel()
		}
		if done || end != nil {
			return end
		}
	}
}

// hasChanged reports whether the document is no longer what was read.
func (r *run) hasChanged(ctx context.Context) bool {
	if r.doc == nil {
		return false
	}
	_, doc, err := documentOf(ctx, r.m.o.Store, r.what)
	return err == nil && (doc == nil || doc.Rev != r.doc.Rev)
}

// review reads again what describes the replication. It returns an error if the run should end.
func (r *run) review(ctx context.Context) error {
	if r.hasChanged(ctx) {
		return errChanged
	}
	if r.spec.NeedsCode() && r.continuous {
		if id, err := r.m.ends.idOf(ctx, r.spec, r.user); err == nil && id != r.id {
			r.m.o.Log.Info("a replication begins again, since its filter has changed", "replication", r.id.String(),
				"now", id.String())
			return transfer.ErrStopped
		}
	}
	return nil
}

// hasFigures reports whether the figures of the run have changed since they were written to its job. It logs a request
// that has begun to fail.
func (r *run) hasFigures(ctx context.Context, now transfer.Status) bool {
	if now.Trouble != "" && now.Trouble != r.rec.Trouble {
		r.m.o.Log.Log(ctx, r.level(ctx, slog.LevelWarn, now.Trouble),
			"a request of a replication failed and is repeated", "replication", r.id.String(),
			"database", r.what.Database, "document", r.what.Document, "source", r.rec.Source, "target", r.rec.Target,
			"error", now.Trouble)
	}
	return r.advances(now) || r.rec.Stats == nil || *r.rec.Stats != now.Stats ||
		!bytes.Equal(r.rec.ThroughSeq, now.ThroughSeq) || !bytes.Equal(r.rec.Recorded, now.Checkpointed) ||
		r.rec.Trouble != now.Trouble
}

// advances reports whether the run goes well for the first time since its job failed last.
func (r *run) advances(now transfer.Status) bool {
	return r.job.Failures > 0 && !r.job.Advanced && now.Trouble == "" && time.Since(r.began) > advancesAfter
}

// pendingOf asks the source how many changes are left. It returns nil if the source does not say it in time.
func pendingOf(ctx context.Context, t *transfer.Run, within time.Duration) *int64 {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if n, err := t.Pending(ctx); err == nil && n >= 0 {
		return &n
	}
	return nil
}

// figures writes the figures of the run to its job. It returns an error if the run should end.
func (r *run) figures(ctx context.Context, now transfer.Status, pending *int64) error {
	again := r.advances(now)
	r.job.Advanced = r.job.Advanced || again
	r.rec.figures(now, pending)
	err := r.m.o.Store.Report(ctx, r.job, r.rec.encode())
	if err != nil && again {
		r.job.Advanced = false // it is written the next time
	}
	return r.lost(err)
}

// advancesAfter is how long a run goes well before the last failure of its job needs no attention any more.
const advancesAfter = 10 * time.Second

// isWellAgain reports whether a run has lasted long enough, without a failing request now, to end a series of failures.
func (r *run) isWellAgain(now transfer.Status) bool {
	return (r.job.Failures > 0 || r.rec.Errors > 0) && now.Trouble == "" &&
		time.Since(r.began) > r.m.o.Settings().HealthThreshold
}

// lost returns errChanged if a renewal failed because the run no longer has its job. What was not written for another
// reason is written the next time.
func (r *run) lost(err error) error {
	if err != nil && layer.KindOf(err) == layer.Conflict {
		return errChanged
	}
	return nil
}

func unescaped(database string) string {
	if name, err := url.PathUnescape(database); err == nil {
		return name
	}
	return database
}
