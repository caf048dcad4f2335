package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/kv"
)

// Progress is the state of an index and of the job that builds it, at one read version. Callers that wait for the index
// use it.
type Progress struct {
	State index.IndexState // without Shards and Views
	// Job is nil if there is none. RequestBuild returns the job as it was before the call.
	Job *jobs.Job
	// Watch becomes ready when the record of the job changes. The transaction that reads State and Job arms it, so no
	// change is missed. The caller cancels it.
	Watch kv.Watch
}

// State reads the state of the index, and whether a job builds it.
func (ix Index) State(ctx context.Context) (index.IndexState, error) {
	return db.Read(ctx, ix.Db, func(t *db.Txn) (index.IndexState, error) {
		state, err := ix.ReadState(t)
		if err != nil || state.Current() {
			return state, err
		}
		job, err := jobs.ReadJob(ix.Db.Store, t.Snapshot(), jobs.IndexJobs, jobOf(ix.Index).ID())
		state.Asked = job != nil && job.State != jobs.JobFinished
		return state, err
	})
}

// jobOf returns the job that builds an index.
func jobOf(ix *index.Index) jobs.IndexJob {
	return jobs.IndexJob{Database: ix.Db.Name(), Design: ix.Design().ID, Signature: ix.Design().Signature}
}

// FollowBuild reads the progress of the index and watches its job.
func (ix Index) FollowBuild(ctx context.Context) (Progress, error) {
	var p Progress
	_, err := db.Read(ctx, ix.Db, func(t *db.Txn) (struct{}, error) {
		return struct{}{}, p.read(t, ix.Index, nil)
	})
	return p.watched(err)
}

// RequestBuild is FollowBuild. If the index has not reached the sequence until, the same transaction enqueues the job.
// It leaves a running job alone. A failed job that is waiting to be retried starts immediately.
func (ix Index) RequestBuild(ctx context.Context, until db.Seq) (Progress, error) {
	var p Progress
	_, _, err := db.Transact(ctx, ix.Db, func(t *db.Txn) (struct{}, error) {
		return struct{}{}, p.read(t, ix.Index, &until)
	})
	return p.watched(err)
}

// read is one attempt of FollowBuild, or of RequestBuild if until is not nil. It cancels the watch of the
// attempt before.
func (p *Progress) read(t *db.Txn, ix *index.Index, until *db.Seq) (err error) {
	if p.Watch != nil {
		p.Watch.Cancel()
		p.Watch = nil
	}
	if p.State, err = ix.ReadBriefState(t); err != nil {
		return err
	}
	s := ix.Db.Store
	of := jobOf(ix)
	if p.Job, err = jobs.ReadJob(s, t, jobs.IndexJobs, of.ID()); err != nil {
		return err
	}
	running := p.Job != nil && p.Job.State == jobs.JobRunning
	if until != nil && !running && p.State.Seq.Compare(*until) < 0 {
		if err := jobs.Enqueue(s, t, jobs.IndexJobs, of.ID(), of.Encode(), 0); err != nil {
			return err
		}
	}
	p.Watch = jobs.WatchJob(s, t, jobs.IndexJobs, of.ID()) // after the write, which does not fire it
	return nil
}

// watched returns the result of a call that ended with err.
func (p *Progress) watched(err error) (Progress, error) {
	if err != nil && p.Watch != nil {
		p.Watch.Cancel()
		p.Watch = nil
	}
	return *p, err
}
