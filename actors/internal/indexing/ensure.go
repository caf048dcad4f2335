package indexing

import (
	"context"
	"fmt"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

const (
	// catchUpDocuments is the largest lag that a request catches up itself (clause V9).
	catchUpDocuments = 100
	// askAgain is how often a waiting request checks the job in the queue, which may fail on another node.
	askAgain = 2 * time.Second
)

// Ensure blocks until an index is up to date. See System.Ensure in package actors.
func (x *Indexing) Ensure(ctx context.Context, db ports.Database, design *layer.Design) error {
	e := x.ensuring(db, design)
	state, err := e.index.BriefState(ctx)
	if err != nil {
		return err
	}
	if e.until = state.LastSeq; e.reached(state) {
		return nil
	}
	w, news, cancel := x.builds.wait(e.key)
	defer cancel()
	e.waiting = w
	defer e.leave()
	defer e.unwatch()
	// Most lags are small and need no job.
	done, err := e.catchUp(ctx, state)
	if !done && err == nil && (e.owes || state.Building) {
		done, err = e.turn(state.Seq, func() (bool, error) { return e.ask(ctx, state.Seq) })
	}
	for !done && err == nil {
		done, err = e.round(ctx, news)
	}
	return err
}

// Waiting returns how many requests to this node wait for an index.
func (x *Indexing) Waiting(db ports.Database, design *layer.Design) int {
	return x.builds.waitingFor(indexKey{db: db, signature: design.Signature})
}

// EnsureSoon requests an update of the index without waiting for it (update=lazy).
func (x *Indexing) EnsureSoon(ctx context.Context, db ports.Database, design *layer.Design) error {
	e := x.ensuring(db, design)
	state, err := e.index.BriefState(ctx)
	if err != nil || state.Current() {
		return err
	}
	if state.Building {
		return x.enqueue(ctx, e.job)
	}
	if x.tree.Running.Err() == nil {
		x.tree.Run(func() {
			crash := runtime.Guarded(x.tree.Running, func(ctx context.Context) any {
				e.soon(ctx, state)
				return nil
			})
			if crash != nil {
				x.tree.Log.Error("panic while an index was updated",
					"database", e.job.Database, "design", e.job.Design, "crash", crash)
			}
		})
	}
	return nil
}

func (x *Indexing) ensuring(db ports.Database, design *layer.Design) ensuring {
	x.Use(db, design, x.tree.Now(), false)
	return ensuring{
		x:     x,
		index: db.IndexOf(design),
		job:   jobOf(db, design),
		key:   indexKey{db: db, signature: design.Signature},
	}
}

// soon makes up for a small lag, and leaves a larger one to a job.
func (e *ensuring) soon(ctx context.Context, state layer.IndexState) {
	w, _, cancel := e.x.builds.wait(e.key)
	defer cancel()
	e.waiting = w
	defer e.leave()
	done, err := e.catchUp(ctx, state)
	if !done && err == nil {
		if err = e.x.enqueue(ctx, e.job); err == nil {
			e.owes = false
		}
	}
	if err != nil && ctx.Err() == nil {
		e.x.tree.Log.Warn("could not update an index", "database", e.job.Database, "design", e.job.Design, "error",
			err)
	}
}

// Use keeps an index warm (clause V9) for a while after it was asked for, at a given time. If it is resumed, another
// node may have been asked, and it is kept warm only while its database belongs on this node. Use does not block.
func (x *Indexing) Use(db ports.Database, design *layer.Design, at time.Time, resumed bool) {
	ix := usedIndex{db: db, design: design, until: at.Add(x.WarmFor), resumed: resumed}
	if x.WarmFor < 0 || !ix.until.After(x.tree.Now()) {
		return
	}
	if x.builds.use(indexKey{db: db, signature: design.Signature}, ix) {
		x.Changed(db)
	}
}

func (x *Indexing) enqueue(ctx context.Context, j indexJob) error {
	return x.store.Enqueue(ctx, indexJobs, j.id(), j.encode())
}

func jobOf(db ports.Database, design *layer.Design) indexJob {
	return indexJob{IndexJob: layer.IndexJob{Database: db.Name(), Design: design.ID, Signature: design.Signature}}
}

// ensuring is one call of Ensure.
type ensuring struct {
	x       *Indexing
	index   ports.Index
	until   layer.Seq
	job     indexJob
	key     indexKey
	waiting *waiting
	watch   kv.Watch // on the job, armed by the transaction that read it last; nil if there is none

	owes     bool // this request had the turn, did not reach its goal, and has not enqueued the job yet
	seenJob  bool
	failures int   // of the job, before this call
	finished int64 // token of the last run whose end this call saw
	runs     int   // number of such runs
}

func (e *ensuring) reached(state layer.IndexState) bool { return state.Seq.Compare(e.until) >= 0 }

// round waits for a change, reads the state of the index and its job, and does what this request can do. A change of
// the job after the transaction that read it last ends the wait.
func (e *ensuring) round(ctx context.Context, news <-chan error) (done bool, err error) {
	if err := e.await(ctx, news); err != nil {
		return false, err
	}
	p, err := e.index.FollowBuild(ctx)
	if err != nil {
		return false, err
	}
	e.watch = p.Watch
	if e.reached(p.State) {
		return true, nil
	}
	if err := e.jobFailed(p.Job); err != nil {
		return false, err
	}
	return e.act(ctx, p.State, p.Job)
}

// await waits for a change of the job, or for news of the index. It returns immediately if the job is not watched.
func (e *ensuring) await(ctx context.Context, news <-chan error) error {
	if e.watch == nil {
		return nil
	}
	defer e.unwatch()
	again := time.NewTimer(askAgain)
	defer again.Stop()
	select {
	case <-ctx.Done():
		return &layer.Error{Kind: layer.Timeout, Reason: "the index was not ready in time", Err: ctx.Err()}
	case <-e.watch.Done(): // also if the watch failed: the next read returns the error
		return nil
	case err := <-news:
		return err
	case <-again.C:
		return nil
	}
}

func (e *ensuring) unwatch() {
	if e.watch != nil {
		e.watch.Cancel()
		e.watch = nil
	}
}

// turn lets one request at a time act for an index, whose position it has read as at. The others wait for the result.
func (e *ensuring) turn(at layer.Seq, do func() (bool, error)) (done bool, err error) {
	if !e.takeTurn(at) {
		return false, nil
	}
	defer func() {
		<-e.waiting.turn
		switch {
		case done || err != nil: // the others are done too, or one of them must continue
			e.x.builds.tell(e.key, nil)
		case !e.owes: // the result may not suffice for later requests, which know a newer position
			e.x.builds.tellMissed(e.key, e.waiting)
		}
	}()
	return do()
}

// takeTurn takes the turn if it is free. A request that does not get it, and does not wait for the job that was
// requested last, leaves a note, because the request with the turn may find nothing to do, and then no one would act.
func (e *ensuring) takeTurn(at layer.Seq) bool {
	for range 2 { // it may have been given back before the note was left
		select {
		case e.waiting.turn <- struct{}{}:
			return true
		default:
		}
		if !e.x.builds.missed(e.waiting, at) {
			return false
		}
	}
	return false
}

// leave ends the call. Requests that came while this one had the turn wait for its next step. If it does not take that
// step because its client has gone, one of them must.
func (e *ensuring) leave() {
	if e.owes {
		e.x.builds.tell(e.key, nil)
	}
}

// catchUp makes up for a small lag.
func (e *ensuring) catchUp(ctx context.Context, state layer.IndexState) (done bool, err error) {
	if state.Building {
		return false, nil
	}
	return e.turn(state.Seq, func() (bool, error) {
		done, err := e.x.builds.catchUp(ctx, e.key, state.Seq, e.index)
		e.owes = !done && err == nil
		return done, err
	})
}

// act catches up or enqueues a job. If a job is running, it waits: when the job has ended, the remaining lag is usually
// so small that this request can catch it up. If it enqueued another job now, that job would follow immediately and
// prevent this, again and again while there are writes and reads: each request would wait for all transactions of one
// job after the other.
func (e *ensuring) act(ctx context.Context, state layer.IndexState, job *layer.Job) (done bool, err error) {
	if done, err := e.catchUp(ctx, state); done || err != nil {
		return done, err
	}
	if job != nil && job.State == layer.JobRunning {
		return false, nil
	}
	return e.turn(state.Seq, func() (bool, error) { return e.ask(ctx, state.Seq) })
}

// ask enqueues the job and watches it, for an index that was at a sequence. done is true if the index has been brought
// up to date since.
func (e *ensuring) ask(ctx context.Context, at layer.Seq) (done bool, err error) {
	now := e.x.tree.Now()
	if e.x.builds.asked(e.waiting, at, now) {
		e.owes = false
		return false, nil // already enqueued, and nothing has happened since
	}
	p, err := e.index.RequestBuild(ctx, e.until)
	if err != nil {
		return false, err
	}
	e.unwatch()
	e.watch, e.owes = p.Watch, false
	if e.reached(p.State) {
		return true, nil
	}
	if p.Job == nil || p.Job.State != layer.JobRunning {
		e.x.builds.ask(e.waiting, p.State.Seq, now)
	}
	return false, e.jobFailed(p.Job)
}

// jobFailed returns the reason if the job has failed, so that the index will not be ready.
func (e *ensuring) jobFailed(job *layer.Job) error {
	switch {
	case job == nil:
	case !e.seenJob:
		// The state before this request enqueued anything.
		e.failures = job.Failures
	case job.State == layer.JobPending && job.Failures > e.failures:
		if job.Full {
			return &layer.Error{Kind: layer.Full, Reason: "the index could not be built: the disk of the store is full",
				Err: job.Failure()}
		}
		return &layer.Error{
			Kind:   layer.Unavailable,
			Reason: "the index could not be built: " + job.Error,
			Err:    job.Failure(),
		}
	case job.State == layer.JobFinished && job.Token > e.finished:
		// The job ended, but the index is not up to date: the job began before this request, or no design document
		// defines the index any more.
		e.finished = job.Token
		if e.runs++; e.runs > 2 {
			return &layer.Error{
				Kind:   layer.NotFound,
				Reason: fmt.Sprintf("no design document defines the index of %s any more", e.job.Design),
			}
		}
	}
	e.seenJob = true
	return nil
}
