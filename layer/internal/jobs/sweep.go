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
	// strayAfter is how long a job must have been due for the sweep to look whether it is in the queue.
	strayAfter = time.Minute
)

// SweepJobs removes the records of finished jobs that were claimed before a version of the store, and puts stray jobs
// into the queue. Several nodes may sweep at the same time, while jobs are enqueued.
func SweepJobs(ctx context.Context, s *db.Store, before int64) error {
	var old, perhapsStray []Job
	var errs error
	some := func(list []Job, j Job, do func([]Job) error) []Job {
		if list = append(list, Job{Type: j.Type, ID: j.ID}); len(list) == sweptJobs {
			errs = errors.Join(errs, do(list))
			list = list[:0]
		}
		return list
	}
	remove := func(list []Job) error { return removeFinished(ctx, s, list, before) }
	requeue := func(list []Job) error { return requeueStray(ctx, s, list) }
	for j, err := range OfStore(s).Jobs(ctx) {
		if err != nil {
			return errors.Join(errs, err)
		}
		switch {
		case j.endedBefore(before):
			old = some(old, j, remove)
		case j.State == JobPending && j.At != 0 && s.Clock.Until(j.At) < -strayAfter,
			j.State == JobRunning && j.Lease == 0:
			perhapsStray = some(perhapsStray, j, requeue)
		}
	}
	if len(old) > 0 {
		errs = errors.Join(errs, remove(old))
	}
	if len(perhapsStray) > 0 {
		errs = errors.Join(errs, requeue(perhapsStray))
	}
	return errs
}

// requeueStray puts those of the jobs into the queue that wait without being there, or run without a heartbeat: no
// worker would ever take them. Version 0.2.0 could leave such jobs behind.
func requeueStray(ctx context.Context, s *db.Store, jobs []Job) error {
	_, _, err := db.StoreTransact(ctx, s, func(tx kv.Transaction) (struct{}, error) {
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return struct{}{}, err
		}
		for i := range jobs {
			j, err := ReadJob(s, tx, jobs[i].Type, jobs[i].ID)
			if err != nil {
				return struct{}{}, err
			}
			if j == nil || j.State == JobFinished {
				continue
			}
			keys := [][]byte{JobQueueKey(s, j)} // of a running job: the entry that earlier versions kept
			if j.State == JobRunning {
				keys = append(keys, jobBeatKey(s, j))
			}
			stray := true
			for _, key := range keys {
				value, err := tx.Get(key).Wait()
				if err != nil {
					return struct{}{}, err
				}
				stray = stray && value == nil
			}
			if !stray {
				continue
			}
			if j.State == JobRunning {
				j.GivenBack = j.Worker
			}
			queueJob(s, tx, j, version, 0)
			WriteJob(s, tx, j)
		}
		return struct{}{}, nil
	})
	return err
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
