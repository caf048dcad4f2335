package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/kv"
)

// The queue of background jobs in the store (V3) has the same purpose as CouchDB's couch_jobs. A job waits, runs under
// a lease, and then is finished or waits again. The lease only determines when another worker may try; the fencing
// token determines who may write.
//
// No two clocks are compared. The time at which a waiting job may start is a version of the store (db/storeclock.go).
// The worker of a running job increments its heartbeat, a counter. Another process takes the job over if it has not
// seen the heartbeat change during the lease, measured by its own clock (beats.go).
//
//	(Jobs, type, jobRecord, id)      = JSON of the Job
//	(Jobs, type, jobWake)            = versionstamp of the queue's last change
//	(Jobs, type, jobBeat, id)        = (token, count, lease in milliseconds, worker, life) of a running job
//	(Jobs, type, jobQueue, at, id)   = empty: a job that waits until the store is at version at
//	(Jobs, type, jobDue, millis, id) = empty: written instead of the two above by earlier versions of Divan, which
//	                                   used their own clock; still read, but no longer written
const (
	jobRecord = 0
	jobDue    = 1
	jobWake   = 2
	jobBeat   = 3
	jobQueue  = 4
	jobName   = 5 // hold.go
)

// Job is a piece of background work in the store.
type Job struct {
	Type string `json:"type"`
	// ID is unique within Type. Enqueueing it again while it waits adds no second job, but may start it earlier; while
	// it runs, it will run once more.
	ID string `json:"id"`
	// Data is the worker's input, and Progress its last report: JSON that the queue does not interpret. The next run
	// finds the report of the previous one, and decides itself whether to continue from it.
	Data     json.RawMessage `json:"data,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`
	State    JobState        `json:"state"`
	// Token is the fencing token. It increases with each lease, even if the job was removed and created again.
	Token  int64  `json:"token"`
	Worker string `json:"worker,omitempty"`
	// Failures counts the failed runs since the last successful one. Error is the last failure.
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
	// Full reports that the last run failed because the store had no room.
	Full bool `json:"full,omitempty"`
	// FailedAt is when the last failure was reported, by the clock of who did that. It is zero without Failures, and in
	// records of earlier versions of Divan.
	FailedAt time.Time `json:"failed_at,omitzero"`
	// Advanced reports that work was done since the last failure. A worker sets it in the job with which it calls Renew
	// with progress. The pause after a further failure still depends on Failures: a job may advance a little each time.
	Advanced bool `json:"advanced,omitempty"`
	// At is the version of the store from which on a pending job may start. It is 0 in records of earlier versions of
	// Divan.
	At int64 `json:"at,omitempty"`
	// Due is At as a time for display. Updated is when the record was written. Both are by the clock of the writer.
	// Nothing depends on them, except that Due is part of the key of an old record.
	Due     time.Time `json:"due"`
	Updated time.Time `json:"updated"`
	// Created is when the job was enqueued, by the clock of who did that. It stays through retries, and is zero in
	// records of earlier versions of Divan.
	Created time.Time `json:"created,omitzero"`
	// Lease is for how long the worker of a running job may be silent before another one takes the job. Only Jobs and
	// JobsOf set it.
	Lease time.Duration `json:"-"`
	// Again reports that the job was enqueued while it was running.
	Again bool `json:"again,omitempty"`
	// GivenBack is the worker that gave a pending job back. TakenFrom, in a job that was claimed, is the worker that
	// gave it back or was silent for too long, or "".
	GivenBack string `json:"given_back,omitempty"`
	TakenFrom string `json:"-"`
	// Held is the name that the job holds (Store.Hold), or "".
	Held string `json:"held,omitempty"`
}

// Failure returns the last failure as an error of kind Full if the store had no room, otherwise Unavailable.
func (j *Job) Failure() error {
	kind := fault.Unavailable
	if j.Full {
		kind = fault.Full
	}
	return &fault.Error{Kind: kind, Reason: j.Error}
}

// failed counts a failed run, which ended now.
func (j *Job) failed(err error, now time.Time) {
	j.Failures++
	j.Error, j.Full = err.Error(), fault.KindOf(err) == fault.Full
	j.FailedAt, j.Advanced = now.UTC(), false
}

// wentWell forgets the failed runs.
func (j *Job) wentWell() {
	j.Failures, j.Error, j.Full, j.FailedAt, j.Advanced = 0, "", false, time.Time{}, false
}

// JobState is the state of a Job.
type JobState string

const (
	JobPending  JobState = "pending"
	JobRunning  JobState = "running"
	JobFinished JobState = "finished"
	// JobDamaged is the state in a list of a job whose record cannot be read. It is not stored.
	JobDamaged JobState = "damaged"
)

const (
	firstJobPause = time.Second
	maxJobPause   = 5 * time.Minute
)

// Worker describes a worker that takes jobs.
type Worker struct {
	Name string // name of its node
	Life string // identifies its process; changes with every start
	// Lease is how long a job's heartbeat may remain unchanged before another worker takes the job. Call Renew at least
	// three times in that period.
	Lease time.Duration
	// Grace, unless nil, returns how long after its due time a job is left to another worker that is preferred for it.
	// It does not apply to jobs that were given back or whose worker has stopped renewing.
	Grace func(id string) time.Duration
	// Gone, unless nil, reports whether a worker is known to have ended. Its jobs are taken over as soon as their
	// heartbeats stop.
	Gone func(worker string) bool
	// Room is how many jobs it may take at once; 0 means 1.
	Room int
	// Crowd, unless nil, returns how many of its jobs compete with a job. Of those that are due, one with the fewest
	// goes first: one user of the queue with very many jobs does not keep the workers from others.
	Crowd func(id string) int
	// Owns, unless nil, reports whether it is preferred for a job. Only a Worker with Room needs it.
	Owns func(id string) bool
}

// Enqueue adds a job that may start at once, or resubmits it. A failed job that waits for its retry may then start at
// once too.
func (s Store) Enqueue(ctx context.Context, typ, id string, data []byte) error {
	return s.EnqueueAfter(ctx, typ, id, data, 0)
}

// EnqueueAfter adds a job that may start after a delay. A job that already waits starts at the earlier of the two
// times.
func (s Store) EnqueueAfter(ctx context.Context, typ, id string, data []byte, delay time.Duration) error {
	_, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		return struct{}{}, Enqueue(s.Store, tx, typ, id, data, delay)
	})
	return err
}

// Enqueue is Store.EnqueueAfter inside a transaction.
func Enqueue(s *db.Store, tx kv.Transaction, typ, id string, data []byte, delay time.Duration) error {
	j, err := ReadJob(s, tx, typ, id)
	if err != nil {
		return err
	}
	version, err := tx.ReadVersion().Wait()
	if err != nil {
		return err
	}
	switch {
	case j == nil:
		j = &Job{Type: typ, ID: id, Created: s.Wall().UTC()}
	case j.State == JobRunning:
		if j.Again && bytes.Equal(j.Data, data) {
			return nil
		}
		j.Again, j.Data = true, data
		WriteJob(s, tx, j)
		return nil
	case j.State == JobPending && j.At != 0 && j.At <= db.AfterVersion(s.Clock.At(version), delay):
		if !bytes.Equal(j.Data, data) {
			j.Data = data
			WriteJob(s, tx, j)
		}
		return nil
	case j.State == JobPending:
		tx.Clear(JobQueueKey(s, j))
	case j.State == JobFinished:
		j.Progress, j.Created = nil, s.Wall().UTC()
	}
	j.Data = data
	queueJob(s, tx, j, version, delay)
	WriteJob(s, tx, j)
	return nil
}

// queueJob makes a job wait, and wakes the watches of WatchJobs.
func queueJob(s *db.Store, tx kv.Transaction, j *Job, version int64, delay time.Duration) {
	j.State, j.Worker, j.At, j.Due = JobPending, "", db.AfterVersion(s.Clock.At(version), delay), s.Wall().Add(delay)
	tx.Set(JobQueueKey(s, j), nil)
	tx.SetVersionstampedValue(jobKey(s, j.Type, jobWake), make([]byte, len(kv.Versionstamp{})), 0)
}

// Claimed is the result of Claim: a job, or what to wait for before the next call.
type Claimed struct {
	Job *Job
	// More are further jobs that were taken with it, for a Worker with Room.
	More []*Job
	// Watch becomes ready when a job of the type is enqueued or waits again. The transaction that found no job arms it,
	// so no job is missed. The caller cancels it.
	Watch kv.Watch
	// Next is the job that this worker may start first, or should check again, or nil. Call Claim again at that time.
	Next *DueJob
}

// Claim takes the first job of a type that this worker may start now, including jobs whose worker has stopped renewing.
// If there is none, it watches the queue. A Worker with Room for all that are due gets several (some.go).
func (s Store) Claim(ctx context.Context, typ string, w Worker) (Claimed, error) {
	var watch kv.Watch
	attempts := 0
	c, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (c Claimed, err error) {
		attempts++
		if watch != nil {
			watch.Cancel() // left by an attempt that is retried
			watch = nil
		}
		if w.Room > 1 {
			c.Job, c.More, c.Next, err = claimSome(s.Store, tx, typ, w, attempts-1)
		} else {
			c.Job, c.Next, err = claimFirst(s.Store, tx, typ, w)
		}
		if c.Job == nil && err == nil {
			watch = WatchQueue(s.Store, tx, typ)
		}
		c.Watch = watch
		return c, err
	})
	if err != nil && watch != nil {
		watch.Cancel()
	}
	return c, err
}

// claimFirst takes the first job that is due, or returns the one that will be due first.
func claimFirst(s *db.Store, tx kv.Transaction, typ string, w Worker) (*Job, *DueJob, error) {
	for {
		due, err := FirstDue(s, tx, typ, w)
		if due == nil || err != nil || due.At.After(time.Now()) {
			return nil, due, err
		}
		j, err := readDue(s, tx, typ, due)
		if err != nil {
			return nil, nil, err
		}
		if j == nil {
			continue
		}
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return nil, nil, err
		}
		take(s, tx, j, due, version, w)
		return j, nil, nil
	}
}

// take lets a due job run on a worker.
func take(s *db.Store, tx kv.Transaction, j *Job, due *DueJob, version int64, w Worker) {
	tx.Clear(due.key)
	// Read versions never decrease, so the token is also greater than that of a removed job with the same id.
	j.TakenFrom, j.GivenBack = j.GivenBack, ""
	if j.State == JobRunning {
		j.TakenFrom = j.Worker
	}
	j.State, j.Worker, j.Again, j.Token = JobRunning, w.Name, false, max(j.Token+1, version)
	j.At, j.Due = 0, s.Wall()
	writeBeat(s, tx, j, beat{Token: j.Token, Count: 1, Lease: w.Lease, Worker: w.Name, Life: w.Life})
	WriteJob(s, tx, j)
}

// Renew reports that the worker is alive and stores progress, unless it is nil; then it costs only one small write. It
// returns Conflict if another worker has taken over the job: the caller must stop at once.
func (s Store) Renew(ctx context.Context, j *Job, progress []byte) error {
	// Needs no transaction id: counting twice does no harm.
	_, c, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		b, err := readBeat(s.Store, tx, j)
		if err != nil {
			return struct{}{}, err
		}
		if b == nil || b.Token != j.Token {
			return struct{}{}, jobLost(j)
		}
		b.Count++
		writeBeat(s.Store, tx, j, *b)
		if progress == nil {
			return struct{}{}, nil
		}
		return struct{}{}, report(s.Store, tx, j, progress, false)
	})
	s.Clock.Saw(c.Version)
	if err == nil && progress != nil {
		j.Progress = progress
	}
	return err
}

// Report is Renew with progress for a job whose lease RenewAll renews. It leaves the heartbeat alone, since a conflict
// there would keep RenewAll from renewing all the others too.
func (s Store) Report(ctx context.Context, j *Job, progress []byte) error {
	return s.report(ctx, j, progress, false)
}

// Recovered is Report for a run that has been going well for long enough that earlier failures no longer count.
func (s Store) Recovered(ctx context.Context, j *Job, progress []byte) error {
	return s.report(ctx, j, progress, true)
}

func (s Store) report(ctx context.Context, j *Job, progress []byte, recovered bool) error {
	// Needs no transaction id: writing the same twice does no harm.
	_, c, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		return struct{}{}, report(s.Store, tx, j, progress, recovered)
	})
	s.Clock.Saw(c.Version)
	if err != nil {
		return err
	}
	if progress != nil {
		j.Progress = progress
	}
	if recovered {
		j.wentWell()
	}
	return nil
}

// report writes the progress of a running job to its record. It fails with Conflict if the caller no longer has it.
func report(s *db.Store, tx kv.Transaction, j *Job, progress []byte, recovered bool) error {
	now, err := ReadJob(s, tx, j.Type, j.ID)
	if err != nil {
		return err
	}
	if now == nil || now.State != JobRunning || now.Token != j.Token {
		return jobLost(j)
	}
	if progress != nil {
		now.Progress = progress
		now.Advanced = now.Failures > 0 && (now.Advanced || j.Advanced)
	}
	if recovered {
		now.wentWell()
	}
	WriteJob(s, tx, now)
	return nil
}

func jobLost(j *Job) error {
	return fault.Errf(fault.Conflict, "job_lost", "job %s %q is no longer held", j.Type, j.ID)
}

// Finish ends a run with its error or nil. A failed job waits for a retry; the pause doubles with each failure. A job
// that was enqueued while it ran may start again at once. Without an error j.Progress, unless nil, is the run's last
// report. Finish returns Conflict if another worker has taken over the job.
func (s Store) Finish(ctx context.Context, j *Job, runErr error) error {
	return updateHeld(ctx, s.Store, j, func(tx kv.Transaction, now *Job, version int64) {
		again := now.Again
		now.State, now.Worker, now.Again = JobFinished, "", false
		switch {
		case runErr != nil:
			now.failed(runErr, s.Wall())
			queueJob(s.Store, tx, now, version, min(firstJobPause<<min(now.Failures-1, 16), maxJobPause))
			return
		case again:
			now.Progress = nil
			queueJob(s.Store, tx, now, version, 0)
		case j.Progress != nil:
			now.Progress = j.Progress
		}
		now.wentWell()
	})
}

// GiveBack ends a run before the job is done, so that any worker may continue at once, without grace. j.Progress,
// unless nil, is its last report. It returns Conflict if another worker has already taken over the job.
func (s Store) GiveBack(ctx context.Context, j *Job) error {
	return updateHeld(ctx, s.Store, j, func(tx kv.Transaction, now *Job, version int64) {
		if j.Progress != nil {
			now.Progress = j.Progress
		}
		now.GivenBack = j.Worker
		queueJob(s.Store, tx, now, version, -pastGrace)
	})
}

// pastGrace is longer than the grace of any worker.
const pastGrace = 10 * time.Second

// updateHeld ends the run of a job that the caller holds, and updates j.
func updateHeld(ctx context.Context, s *db.Store, j *Job,
	change func(tx kv.Transaction, now *Job, version int64)) error {
	now, _, err := db.StoreTransact(ctx, s, func(tx kv.Transaction) (*Job, error) {
		now, err := ReadJob(s, tx, j.Type, j.ID)
		if err != nil {
			return nil, err
		}
		if now == nil || now.State != JobRunning || now.Token != j.Token {
			return nil, jobLost(j)
		}
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return nil, err
		}
		tx.Clear(jobBeatKey(s, now))
		change(tx, now, version)
		WriteJob(s, tx, now)
		return now, nil
	})
	if err != nil {
		return err
	}
	*j = *now
	return nil
}

// RemoveJob removes a job in any state from the queue. A worker that runs it finds out with its next Renew.
func (s Store) RemoveJob(ctx context.Context, typ, id string) error {
	_, err := s.removeJob(ctx, typ, id, func(*Job) bool { return true })
	return err
}

// RemoveJobLike is RemoveJob for a job that is about the same as when it was read: it was not enqueued again since, and
// holds the same name. It reports whether there is no other.
func (s Store) RemoveJobLike(ctx context.Context, was *Job) (bool, error) {
	return s.removeJob(ctx, was.Type, was.ID, func(j *Job) bool {
		return bytes.Equal(j.Data, was.Data) && j.Again == was.Again && j.Held == was.Held
	})
}

func (s Store) removeJob(ctx context.Context, typ, id string, may func(*Job) bool) (bool, error) {
	ok, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (bool, error) {
		j, err := readRecord(s.Store, tx, typ, id)
		if isDamaged(err) {
			j, err = damagedJob(typ, id, err), nil // what it has in the queue goes when it is due
		}
		if j == nil || err != nil {
			return true, err
		}
		if !may(j) {
			return false, nil
		}
		tx.MakesRoom()
		clearJob(s.Store, tx, j)
		return true, nil
	})
	return ok, err
}

// WatchJob arms a watch that becomes ready when the record of a job changes from what the transaction sees now.
func WatchJob(s *db.Store, tx kv.Transaction, typ, id string) kv.Watch {
	return tx.Watch(jobRecordKey(s, typ, id))
}

// WatchQueue arms a watch that becomes ready when a job of the type is enqueued or waits again.
func WatchQueue(s *db.Store, tx kv.Transaction, typ string) kv.Watch {
	return tx.Watch(jobKey(s, typ, jobWake))
}

// Job reads one job, or nil if there is none that can be read. The watch becomes ready when its record changes; the
// caller cancels it.
func (s Store) Job(ctx context.Context, typ, id string) (j *Job, w kv.Watch, err error) {
	j, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (*Job, error) {
		if w != nil {
			w.Cancel()
		}
		w = WatchJob(s.Store, tx, typ, id)
		return ReadJob(s.Store, tx, typ, id)
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return j, w, err
}
