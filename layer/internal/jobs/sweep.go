package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

const (
	// FinishedFor is the minimum time for which the record of a finished job is kept after its last lease began, for
	// operators and for callers that wait for the job, who see the record within seconds.
	FinishedFor = 10 * time.Minute
	// SweepJobsEvery is how often a node sweeps old records.
	SweepJobsEvery = time.Minute
	// sweptJobs is the maximum number of records that one transaction removes.
	sweptJobs = 100
)

// SweepJobs removes the records of finished jobs that were claimed before a version of the store. Several nodes may
// sweep at the same time, while jobs are enqueued.
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

// endedBefore reports whether the job is finished and was claimed before a version of the store. Its token is at least
// the version at which it was claimed.
func (j *Job) endedBefore(version int64) bool { return j.State == JobFinished && j.Token < version }

// removeFinished removes those of the jobs that are still finished.
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

// clearJob removes a job in any state.
func clearJob(s *db.Store, tx kv.Transaction, j *Job) {
	tx.Clear(JobQueueKey(s, j))
	tx.Clear(jobBeatKey(s, j))
	tx.Clear(jobRecordKey(s, j.Type, j.ID))
	if j.Held != "" {
		tx.Clear(jobNameKey(s, j.Type, j.Held))
	}
}
