package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

const (
	// FinishedFor is how long after its last lease began the record of a finished job is kept at least, for those who
	// wait for it and for operators. Who waits has watched the record and looked at it within seconds.
	FinishedFor = 10 * time.Minute
	// SweepJobsEvery is how often a node looks for such records.
	SweepJobsEvery = time.Minute
	// sweptJobs is how many of them one transaction removes at most.
	sweptJobs = 100
)

// SweepJobs removes the records of jobs that were claimed before a version of the store and are finished. Several nodes
// may do so at once, and jobs may be enqueued again meanwhile.
func SweepJobs(ctx context.Context, s *db.Store, before int64) error {
	var old []Job
	var errs error
	for j, err := range OfStore(s).Jobs(ctx) {
		if err != nil {
			return errors.Join(errs, err)
		}
		if !j.endedBefore(before) {
			continue
		}
		if old = append(old, Job{Type: j.Type, ID: j.ID}); len(old) == sweptJobs {
			errs = errors.Join(errs, removeFinished(ctx, s, old, before))
			old = old[:0]
		}
	}
	if len(old) > 0 {
		errs = errors.Join(errs, removeFinished(ctx, s, old, before))
	}
	return errs
}

// endedBefore reports whether nothing was heard of the job since before a version of the store. Its token is the
// version at which it was claimed, or more.
func (j *Job) endedBefore(version int64) bool { return j.State == JobFinished && j.Token < version }

// removeFinished removes those of the jobs that are still as SweepJobs found them.
func removeFinished(ctx context.Context, s *db.Store, jobs []Job, before int64) error {
	_, _, err := db.StoreTransact(ctx, s, func(tx kv.Transaction) (struct{}, error) {
		tx.MakesRoom()
		for i := range jobs {
			j, err := ReadJob(s, tx, jobs[i].Type, jobs[i].ID)
			if err != nil {
				return struct{}{}, err
			}
			if j != nil && j.endedBefore(before) {
				clearJob(s, tx, j)
			}
		}
		return struct{}{}, nil
	})
	return err
}

// clearJob removes a job from the queue, whatever its state.
func clearJob(s *db.Store, tx kv.Transaction, j *Job) {
	tx.Clear(JobQueueKey(s, j))
	tx.Clear(jobBeatKey(s, j))
	tx.Clear(jobRecordKey(s, j.Type, j.ID))
}
