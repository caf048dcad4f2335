package indexing

import (
	"context"
	"fmt"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

const (
	// catchUpDocuments is the largest lag that a request catches up by itself (clause V9).
	catchUpDocuments = 100
	// askAgain is how often somebody who waits looks after the job in the queue: it may fail on another node.
	askAgain = 2 * time.Second
)

// Ensure blocks until an index is up to date: see System.Ensure in package actors.
func (x *Indexing) Ensure(ctx context.Context, db ports.Database, design *layer.Design) error {
	e := x.ensuring(db, design)
	state, err := e.index.Standing(ctx)
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
	// Most lags are small, and have nothing to do with jobs.
	if done, err := e.catchUp(ctx, state); done || err != nil {
		return err
	}
	for {
		done, err := e.round(ctx, news)
		if done || err != nil {
			return err
		}
	}
}

// Waiting is how many requests to this node wait for an index to be brought up to date.
func (x *Indexing) Waiting(db ports.Database, design *layer.Design) int {
	return x.builds.waitingFor(indexKey{db: db, signature: design.Signature})
}

// EnsureSoon has the index brought up to date and does not wait for it (update=lazy).
func (x *Indexing) EnsureSoon(ctx context.Context, db ports.Database, design *layer.Design) error {
	e := x.ensuring(db, design)
	state, err := e.index.Standing(ctx)
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
				x.tree.Log.Error("panic while an index was brought up to date",
					"database", e.job.Database, "design", e.job.Design, "crash", crash)
			}
		})
	}
	return nil
}

func (x *Indexing) ensuring(db ports.Database, design *layer.Design) ensuring {
	x.Use(db, design)
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
		e.x.tree.Log.Warn("index not brought up to date", "database", e.job.Database, "design", e.job.Design, "error",
			err)
	}
}

// Use keeps an index warm for a while (clause V9). It does not block.
func (x *Indexing) Use(db ports.Database, design *layer.Design) {
	if x.WarmFor < 0 {
		return
	}
	ix := usedIndex{db: db, design: design, until: x.tree.Now().Add(x.WarmFor)}
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

	owes     bool // the job: this request had the turn, did not get done, and has not asked for the job yet
	seenJob  bool
	failures int   // of the job before this call
	finished int64 // the token of the last run of which this call saw the end
	runs     int   // how many those were
}

func (e *ensuring) reached(state layer.IndexState) bool { return state.Seq.Compare(e.until) >= 0 }

// round looks where the index and its job stand, does what this request can do about it, and waits for something to
// happen.
func (e *ensuring) round(ctx context.Context, news <-chan error) (done bool, err error) {
	// The watch first: what happens to the job after it was armed ends this round.
	job, watch, err := e.x.store.Job(ctx, indexJobs, e.job.id())
	if err != nil {
		return false, err
	}
	defer watch.Cancel()
	state, err := e.index.Standing(ctx)
	if err != nil {
		return false, err
	}
	if e.reached(state) {
		return true, nil
	}
	if err := e.jobFailed(job); err != nil {
		return false, err
	}
	if done, err := e.act(ctx, state, job); done || err != nil {
		return done, err
	}
	again := time.NewTimer(askAgain)
	defer again.Stop()
	select {
	case <-ctx.Done():
		return false, &layer.Error{Kind: layer.Timeout, Reason: "the index was not ready in time", Err: ctx.Err()}
	case <-watch.Done(): // also where the watch failed: the next round shows what is wrong
		return false, nil
	case err := <-news:
		return false, err
	case <-again.C:
		return false, nil
	}
}

// turn has one request at a time for each index do something, which knows the index to stand at a sequence; the others
// wait for what it achieves.
func (e *ensuring) turn(at layer.Seq, do func() (bool, error)) (done bool, err error) {
	if !e.takeTurn(at) {
		return false, nil
	}
	defer func() {
		<-e.waiting.turn
		switch {
		case done || err != nil: // they have it too, or one of them has to do it
			e.x.builds.tell(e.key, nil)
		case !e.owes: // what was asked for may be too little for one that came meanwhile, and knows more
			e.x.builds.tellMissed(e.key, e.waiting)
		}
	}()
	return do()
}

// takeTurn takes the turn where nobody has it. Who does not get it, and does not wait for the job that was asked for
// last, leaves word: the one that has it may find nothing to do, and then nobody would.
func (e *ensuring) takeTurn(at layer.Seq) bool {
	for range 2 { // it may have been given back before there was word
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

// leave ends the call. Others who came while it had the turn wait for what it would do next: if it does not do that,
// because its client has gone, one of them has to.
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

// act catches up or enqueues. A job that runs is waited for: when it has ended, what is lacking is mostly so little
// that this request makes up for it. A job asked for meanwhile would follow at once and be in the way of that, and so
// on for as long as somebody writes and reads: each request would wait for all transactions of a job, one after the
// other.
func (e *ensuring) act(ctx context.Context, state layer.IndexState, job *layer.Job) (done bool, err error) {
	if done, err := e.catchUp(ctx, state); done || err != nil {
		return done, err
	}
	if job != nil && job.State == layer.JobRunning {
		return false, nil
	}
	return e.turn(state.Seq, func() (bool, error) { return false, e.ask(ctx, state) })
}

// ask puts the job into the queue.
func (e *ensuring) ask(ctx context.Context, state layer.IndexState) error {
	now := e.x.tree.Now()
	if e.x.builds.asked(e.waiting, state.Seq, now) {
		e.owes = false
		return nil // asked for already, and nothing has happened since
	}
	if err := e.x.enqueue(ctx, e.job); err != nil {
		return err
	}
	e.x.builds.ask(e.waiting, state.Seq, now)
	e.owes = false
	return nil
}

// jobFailed says why the index will not be ready, once that is known.
func (e *ensuring) jobFailed(job *layer.Job) error {
	switch {
	case job == nil:
	case !e.seenJob:
		// How it stood before this request asked for anything.
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
		// It was done and the index is not where it should be: begun before this request, or there is no design
		// document for it any more.
		e.finished = job.Token
		if e.runs++; e.runs > 2 {
			return &layer.Error{
				Kind:   layer.NotFound,
				Reason: fmt.Sprintf("no design document has the index of %s any more", e.job.Design),
			}
		}
	}
	e.seenJob = true
	return nil
}
