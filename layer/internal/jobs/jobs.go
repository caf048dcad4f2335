package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/kv"
)

// Background jobs in the store (V3), after CouchDB's couch_jobs in purpose. A job waits, runs under a lease, and is
// finished or waits again. The lease only decides when another worker may try; the fencing token decides who may write.
//
// No two clocks are compared. When a waiting job may start is told in the store's own versions (db/storeclock.go). A
// running job has a heartbeat, a counter that its worker renews; who looks at the queue takes the job over when the
// heartbeat has stood still for the lease by the watcher's own elapsed time (beats.go).
//
//	(Jobs, type, jobRecord, id)      = JSON of the Job
//	(Jobs, type, jobWake)            = versionstamp of the newest change of the queue
//	(Jobs, type, jobBeat, id)        = (token, count, lease in milliseconds, worker, life): of a job that runs
//	(Jobs, type, jobQueue, at, id)   = empty: a job that waits until the store is at version at
//	(Jobs, type, jobDue, millis, id) = empty: earlier versions wrote this for both of these, by their own clock;
//	                                   it is still read, and not written
const (
	jobRecord = 0
	jobDue    = 1
	jobWake   = 2
	jobBeat   = 3
	jobQueue  = 4
)

// Job is a piece of background work in the store.
type Job struct {
	Type string `json:"type"`
	// ID is unique within Type. Enqueueing it again while it waits is one job; while it runs, the run is followed by
	// another.
	ID string `json:"id"`
	// Data is the worker's input, Progress its last report: JSON, opaque to the queue. The next run finds the report of
	// the one before, and has to know itself whether it goes on with that.
	Data     json.RawMessage `json:"data,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`
	State    JobState        `json:"state"`
	// Token is the fencing token: it grows with each lease, also when a job is removed and made again.
	Token  int64  `json:"token"`
	Worker string `json:"worker,omitempty"`
	// Failures counts the runs that failed since the last that did not; Error is the last failure.
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
	// Full says that the last failure was for want of room in the store.
	Full bool `json:"full,omitempty"`
	// At is the version of the store from which on a pending job may start. 0 in a record that an earlier version of
	// Divan wrote.
	At int64 `json:"at,omitempty"`
	// Due is At for people, and Updated when the record was written, both by the clock of whoever wrote it. Nothing
	// goes by them, except that Due is a part of an old record's key.
	Due     time.Time `json:"due"`
	Updated time.Time `json:"updated"`
	// Again says that it was enqueued while it ran.
	Again bool `json:"again,omitempty"`
}

// Failure is the last failure, as an error: Full where the store had no room, else Unavailable.
func (j *Job) Failure() error {
	kind := fault.Unavailable
	if j.Full {
		kind = fault.Full
	}
	return &fault.Error{Kind: kind, Reason: j.Error}
}

// JobState of a Job.
type JobState string

// The states.
const (
	JobPending  JobState = "pending"
	JobRunning  JobState = "running"
	JobFinished JobState = "finished"
)

const (
	firstJobPause = time.Second
	maxJobPause   = 5 * time.Minute
)

// Worker is who takes jobs.
type Worker struct {
	Name string // of the node
	Life string // of the process: another one after every start
	// Lease is how long the heartbeat of a job may stand still before another worker takes it. Renew three times as
	// often or more.
	Lease time.Duration
	// Grace, where not nil, is how long after its time a job is left to another worker, which it belongs to. One whose
	// worker has given it back or fallen silent is not.
	Grace func(id string) time.Duration
	// Gone, where not nil, reports whether a worker is known to have ended: its jobs are taken as soon as their
	// heartbeats stand still.
	Gone func(worker string) bool
}

// Enqueue adds a job that may start at once, or resubmits it. A failed job that waits out its pause starts at once too.
func (s Store) Enqueue(ctx context.Context, typ, id string, data []byte) error {
	return s.EnqueueAfter(ctx, typ, id, data, 0)
}

// EnqueueAfter adds a job that may start after a while. One that waits already starts at the earlier of both times.
func (s Store) EnqueueAfter(ctx context.Context, typ, id string, data []byte, delay time.Duration) error {
	_, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		return struct{}{}, Enqueue(s.Store, tx, typ, id, data, delay)
	})
	return err
}

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
		j = &Job{Type: typ, ID: id}
	case j.State == JobRunning:
		if j.Again {
			return nil
		}
		j.Again, j.Data = true, data
		WriteJob(s, tx, j)
		return nil
	case j.State == JobPending && j.At != 0 && j.At <= db.AfterVersion(s.Clock.At(version), delay):
		return nil
	case j.State == JobPending:
		tx.Clear(JobQueueKey(s, j))
	case j.State == JobFinished:
		j.Progress = nil
	}
	j.Data = data
	queueJob(s, tx, j, version, delay)
	WriteJob(s, tx, j)
	return nil
}

// queueJob makes a job wait, and tells those who wait for jobs.
func queueJob(s *db.Store, tx kv.Transaction, j *Job, version int64, delay time.Duration) {
	j.State, j.Worker, j.At, j.Due = JobPending, "", db.AfterVersion(s.Clock.At(version), delay), s.Wall().Add(delay)
	tx.Set(JobQueueKey(s, j), nil)
	tx.SetVersionstampedValue(jobKey(s, j.Type, jobWake), make([]byte, len(kv.Versionstamp{})), 0)
}

// Claim takes the job of a type that this worker may start first, one whose worker has fallen silent included; nil
// where it may start none now.
func (s Store) Claim(ctx context.Context, typ string, w Worker) (*Job, error) {
	j, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (*Job, error) {
		for {
			due, err := firstDue(s.Store, tx, typ, w)
			if due == nil || err != nil || due.At.After(time.Now()) {
				return nil, err
			}
			j, err := ReadJob(s.Store, tx, typ, due.ID)
			if err != nil {
				return nil, err
			}
			if j == nil || !due.concerns(j) {
				tx.Clear(due.key) // left behind by an earlier version of Divan, which does not know of these keys
				continue
			}
			// The worker that the job is taken from must not renew meanwhile.
			tx.AddReadConflict(kv.KeyRange{Begin: due.key, End: append(due.key[:len(due.key):len(due.key)], 0)})
			version, err := tx.ReadVersion().Wait()
			if err != nil {
				return nil, err
			}
			tx.Clear(due.key)
			// Read versions never go back, so the token also grows past that of a removed job of the same name.
			j.State, j.Worker, j.Again, j.Token = JobRunning, w.Name, false, max(j.Token+1, version)
			j.At, j.Due = 0, s.Wall()
			writeBeat(s.Store, tx, j, beat{Token: j.Token, Count: 1, Lease: w.Lease, Worker: w.Name, Life: w.Life})
			WriteJob(s.Store, tx, j)
			return j, nil
		}
	})
	return j, err
}

// Renew says that the worker is at work, and stores progress (nil leaves it): one small write where there is none.
// Conflict where another worker has taken the job over: stop at once.
func (s Store) Renew(ctx context.Context, j *Job, progress []byte) error {
	// Without a transaction id: another count too many does no harm.
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
		now, err := ReadJob(s.Store, tx, j.Type, j.ID)
		if err != nil {
			return struct{}{}, err
		}
		if now == nil || now.State != JobRunning || now.Token != j.Token {
			return struct{}{}, jobLost(j)
		}
		now.Progress = progress
		WriteJob(s.Store, tx, now)
		return struct{}{}, nil
	})
	s.Clock.Saw(c.Version)
	if err == nil && progress != nil {
		j.Progress = progress
	}
	return err
}

func jobLost(j *Job) error {
	return fault.Errf(fault.Conflict, "job_lost", "job %s %q is no longer held", j.Type, j.ID)
}

// Finish ends a run, with its error or nil. A failed job waits again, for a pause that doubles with each failure; one
// that was enqueued while it ran waits again at once. Conflict where another worker has taken the job over.
func (s Store) Finish(ctx context.Context, j *Job, runErr error) error {
	return updateHeld(ctx, s.Store, j, func(tx kv.Transaction, now *Job, version int64) {
		again := now.Again
		now.State, now.Worker, now.Error, now.Full, now.Again = JobFinished, "", "", false, false
		switch {
		case runErr != nil:
			now.Failures++
			now.Error, now.Full = runErr.Error(), fault.KindOf(runErr) == fault.Full
			queueJob(s.Store, tx, now, version, min(firstJobPause<<min(now.Failures-1, 16), maxJobPause))
			return
		case again:
			queueJob(s.Store, tx, now, version, 0)
		}
		now.Failures = 0
	})
}

// GiveBack ends a run that has not come to its end, for another worker to begin at once, without grace. j.Progress is
// its last report, nil leaves that. Conflict where one has taken the job over already.
func (s Store) GiveBack(ctx context.Context, j *Job) error {
	return updateHeld(ctx, s.Store, j, func(tx kv.Transaction, now *Job, version int64) {
		if j.Progress != nil {
			now.Progress = j.Progress
		}
		queueJob(s.Store, tx, now, version, -pastGrace)
	})
}

// pastGrace is longer than any worker's grace.
const pastGrace = 10 * time.Second

// updateHeld ends the run of a job that the caller holds, and brings j up to it.
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

// RemoveJob takes a job out of the queue, whatever its state. A worker that runs it finds out at its next Renew.
func (s Store) RemoveJob(ctx context.Context, typ, id string) error {
	_, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		j, err := ReadJob(s.Store, tx, typ, id)
		if j == nil || err != nil {
			return struct{}{}, err
		}
		tx.MakesRoom()
		clearJob(s.Store, tx, j)
		return struct{}{}, nil
	})
	return err
}

// WatchJobs becomes ready when a job of the type is enqueued or waits again. next is the job that this worker may start
// first, or should look at again, nil where there is none: claim or look again at its time.
func (s Store) WatchJobs(ctx context.Context, typ string, worker Worker) (w kv.Watch, next *DueJob, err error) {
	_, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (struct{}, error) {
		if w != nil {
			w.Cancel() // of an attempt that has to be repeated
		}
		w = tx.Watch(jobKey(s.Store, typ, jobWake))
		var err error
		next, err = firstDue(s.Store, tx, typ, worker)
		return struct{}{}, err
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return w, next, err
}

// Job reads one job; nil where there is none. The watch becomes ready when its record changes; the caller cancels it.
func (s Store) Job(ctx context.Context, typ, id string) (j *Job, w kv.Watch, err error) {
	j, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (*Job, error) {
		if w != nil {
			w.Cancel()
		}
		w = tx.Watch(jobRecordKey(s.Store, typ, id))
		return ReadJob(s.Store, tx, typ, id)
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return j, w, err
}
