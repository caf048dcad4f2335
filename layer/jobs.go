package layer

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Background jobs in the store (V3), after CouchDB's couch_jobs in purpose. A job waits, runs under a lease, and is finished or waits again.
// Leases read the nodes' clocks, and only decide when another worker may try; the fencing token decides who may write.
//
//	(Jobs, type, jobRecord, id)        = JSON of the Job
//	(Jobs, type, jobDue, millis, id)   = empty: when a waiting job may start, or a running one's lease ends
//	(Jobs, type, jobWake)              = versionstamp of the newest enqueueing
const (
	jobRecord = 0
	jobDue    = 1
	jobWake   = 2
)

// Job is a piece of background work in the store.
type Job struct {
	Type string `json:"type"`
	// ID is unique within Type. Enqueueing it again while it waits is one job; while it runs, the run is followed by another.
	ID string `json:"id"`
	// Data is the worker's input, Progress its last report: JSON, opaque to the queue.
	Data     json.RawMessage `json:"data,omitempty"`
	Progress json.RawMessage `json:"progress,omitempty"`
	State    JobState        `json:"state"`
	// Token is the fencing token: it grows with each lease, also when a job is removed and made again.
	Token  int64  `json:"token"`
	Worker string `json:"worker,omitempty"`
	// Failures counts the runs that failed since the last that did not; Error is the last failure.
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
	// Due is when a pending job may start, or a running one's lease ends.
	Due     time.Time `json:"due"`
	Updated time.Time `json:"updated"`
	// Again says that it was enqueued while it ran.
	Again bool `json:"again,omitempty"`
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

// Enqueue adds a job that may start at once, or resubmits it. A failed job that waits out its pause starts at once too.
func (s *Store) Enqueue(ctx context.Context, typ, id string, data []byte) error {
	return s.EnqueueAt(ctx, typ, id, data, time.Now())
}

// EnqueueAt adds a job that may start at a time.
func (s *Store) EnqueueAt(ctx context.Context, typ, id string, data []byte, at time.Time) error {
	_, _, err := storeTransact(ctx, s, func(tx kv.Transaction) (struct{}, error) {
		return struct{}{}, s.enqueue(tx, typ, id, data, at)
	})
	return err
}

func (s *Store) enqueue(tx kv.Transaction, typ, id string, data []byte, at time.Time) error {
	j, err := s.readJob(tx, typ, id)
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
		s.writeJob(tx, j)
		return nil
	case j.State == JobPending && !at.Before(j.Due):
		return nil
	case j.State == JobPending:
		tx.Clear(s.jobDueKey(j))
	}
	j.State, j.Data, j.Due = JobPending, data, at
	s.writeJob(tx, j)
	tx.Set(s.jobDueKey(j), nil)
	wake := s.jobKey(typ, jobWake)
	tx.SetVersionstampedValue(wake, make([]byte, len(kv.Versionstamp{})), 0)
	return nil
}

// Grace is how long after its time a job is left to another worker, which it belongs to. The zero value leaves none.
type Grace func(id string) time.Duration

// Claim takes the job of a type that this worker may start first, one whose lease ran out included; nil where it may start none now.
func (s *Store) Claim(ctx context.Context, typ, worker string, lease time.Duration, grace Grace) (*Job, error) {
	j, _, err := storeTransact(ctx, s, func(tx kv.Transaction) (*Job, error) {
		due, err := s.firstDue(tx, typ, grace)
		if due == nil || err != nil || due.At.After(time.Now()) {
			return nil, err
		}
		j, err := s.readJob(tx, typ, due.ID)
		if err != nil {
			return nil, err
		}
		if j == nil || j.State == JobFinished {
			return nil, fmt.Errorf("job %s %q is queued but has no record", typ, due.ID)
		}
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return nil, err
		}
		tx.Clear(s.jobDueKey(j))
		j.State, j.Worker, j.Again, j.Progress = JobRunning, worker, false, nil
		// Read versions never go back, so the token also grows past that of a removed job of the same name.
		j.Token = max(j.Token+1, version)
		j.Due = time.Now().Add(lease)
		tx.Set(s.jobDueKey(j), nil)
		s.writeJob(tx, j)
		return j, nil
	})
	return j, err
}

// firstDue is read at snapshot isolation: two workers that see the same job conflict on its record, and others do not. nil where none waits.
func (s *Store) firstDue(tx kv.Transaction, typ string, grace Grace) (first *DueJob, err error) {
	prefix := s.jobKey(typ, jobDue)
	begin, end := tuple.Range(prefix)
	o := kv.RangeOptions{Mode: kv.ModeIterator}
	if grace == nil {
		o = kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}
	}
	it := tx.Snapshot().GetRange(kv.KeyRange{Begin: begin, End: end}, o)
	defer it.Close()
	for it.Next() {
		j, err := parseDue(it.KeyValue().Key[len(prefix):])
		if err != nil {
			return nil, fmt.Errorf("queue of %s jobs: %w", typ, err)
		}
		if first != nil && !j.At.Before(first.At) {
			return first, nil // and so are all behind it
		}
		if grace != nil {
			j.At = j.At.Add(grace(j.ID))
		}
		if first == nil || j.At.Before(first.At) {
			first = j
		}
	}
	return first, it.Err()
}

func parseDue(key []byte) (*DueJob, error) {
	millis, rest, err := tuple.TakeInt(key)
	if err != nil {
		return nil, err
	}
	id, _, err := tuple.TakeString(rest)
	return &DueJob{ID: id, At: time.UnixMilli(millis)}, err
}

// Renew extends the lease and stores progress (nil leaves it). Conflict where another worker has taken the job over: stop at once.
func (s *Store) Renew(ctx context.Context, j *Job, lease time.Duration, progress []byte) error {
	return s.updateHeld(ctx, j, func(tx kv.Transaction, now *Job) {
		tx.Clear(s.jobDueKey(now))
		now.Due = time.Now().Add(lease)
		tx.Set(s.jobDueKey(now), nil)
		if progress != nil {
			now.Progress = progress
		}
	})
}

// Finish ends a run, with its error or nil. A failed job waits again, for a pause that doubles with each failure; one that was enqueued while
// it ran waits again at once. Conflict where another worker has taken the job over.
func (s *Store) Finish(ctx context.Context, j *Job, runErr error) error {
	return s.updateHeld(ctx, j, func(tx kv.Transaction, now *Job) {
		tx.Clear(s.jobDueKey(now))
		now.State, now.Worker, now.Error = JobFinished, "", ""
		if runErr == nil {
			now.Failures = 0
		} else {
			now.Failures++
			now.Error = runErr.Error()
		}
		switch {
		case runErr != nil:
			now.State = JobPending
			now.Due = time.Now().Add(min(firstJobPause<<min(now.Failures-1, 16), maxJobPause))
		case now.Again:
			now.State, now.Due = JobPending, time.Now()
		}
		now.Again = false
		if now.State == JobPending {
			tx.Set(s.jobDueKey(now), nil)
			tx.SetVersionstampedValue(s.jobKey(now.Type, jobWake), make([]byte, len(kv.Versionstamp{})), 0)
		}
	})
}

// updateHeld changes the record of a job that the caller holds, and brings j up to it.
func (s *Store) updateHeld(ctx context.Context, j *Job, change func(tx kv.Transaction, now *Job)) error {
	now, _, err := storeTransact(ctx, s, func(tx kv.Transaction) (*Job, error) {
		now, err := s.readJob(tx, j.Type, j.ID)
		if err != nil {
			return nil, err
		}
		if now == nil || now.State != JobRunning || now.Token != j.Token {
			return nil, errf(Conflict, "job_lost", "job %s %q is no longer held", j.Type, j.ID)
		}
		change(tx, now)
		s.writeJob(tx, now)
		return now, nil
	})
	if err != nil {
		return err
	}
	*j = *now
	return nil
}

// RemoveJob takes a job out of the queue, whatever its state. A worker that runs it finds out at its next Renew.
func (s *Store) RemoveJob(ctx context.Context, typ, id string) error {
	_, _, err := storeTransact(ctx, s, func(tx kv.Transaction) (struct{}, error) {
		j, err := s.readJob(tx, typ, id)
		if j == nil || err != nil {
			return struct{}{}, err
		}
		tx.MakesRoom()
		tx.Clear(s.jobDueKey(j))
		tx.Clear(s.jobRecordKey(typ, id))
		return struct{}{}, nil
	})
	return err
}

// DueJob is the job of a type that a worker may start first, now or later.
type DueJob struct {
	ID string
	At time.Time // with the worker's grace
}

// WatchJobs becomes ready when a job of the type is enqueued or waits again. next is the job that a worker with this grace may start first, nil where none waits:
// claim before waiting, and again at its time.
func (s *Store) WatchJobs(ctx context.Context, typ string, grace Grace) (w kv.Watch, next *DueJob, err error) {
	_, _, err = storeTransact(ctx, s, func(tx kv.Transaction) (struct{}, error) {
		if w != nil {
			w.Cancel() // of an attempt that has to be repeated
		}
		w = tx.Watch(s.jobKey(typ, jobWake))
		var err error
		next, err = s.firstDue(tx, typ, grace)
		return struct{}{}, err
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return w, next, err
}

// Job reads one job; nil where there is none. The watch becomes ready when its record changes; the caller cancels it.
func (s *Store) Job(ctx context.Context, typ, id string) (j *Job, w kv.Watch, err error) {
	j, _, err = storeTransact(ctx, s, func(tx kv.Transaction) (*Job, error) {
		if w != nil {
			w.Cancel()
		}
		w = tx.Watch(s.jobRecordKey(typ, id))
		return s.readJob(tx, typ, id)
	})
	if err != nil && w != nil {
		w.Cancel()
		w = nil
	}
	return j, w, err
}

// Jobs streams all jobs, by type and id. Where the engine holds no long snapshot it is stitched from several transactions.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		section := s.section(keyspace.Jobs)
		rest := prefixRange(section)
		for {
			last, done, err := s.jobsFrom(ctx, len(section), rest, yield)
			if done || err == nil {
				return
			}
			if !kv.Retryable(err) {
				yield(Job{}, err)
				return
			}
			if last != nil {
				rest.Begin = append(last, 0)
			}
			select {
			case <-ctx.Done():
				yield(Job{}, ctx.Err())
				return
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// jobsFrom yields records in one transaction. last is the last key that it passed; done says that the caller wants no more.
func (s *Store) jobsFrom(ctx context.Context, prefix int, r kv.KeyRange, yield func(Job, error) bool) (last []byte, done bool, err error) {
	tx := s.engine.Begin(ctx)
	defer tx.Cancel()
	tx.CausalReadRisky() // a list for people, who read it seconds later
	it := tx.GetRange(r, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		last = append(last[:0], row.Key...)
		rest, err := tuple.Skip(row.Key[prefix:])
		if err != nil {
			return last, false, corrupt("job", err)
		}
		if part, _, err := tuple.TakeInt(rest); err != nil || part != jobRecord {
			continue
		}
		var j Job
		if err := json.Unmarshal(row.Value, &j); err != nil {
			return last, false, corrupt("job", err)
		}
		if !yield(j, nil) {
			return last, true, nil
		}
	}
	return last, false, it.Err()
}

// storeTransact is transact for what belongs to no database.
func storeTransact[T any](ctx context.Context, s *Store, fn func(tx kv.Transaction) (T, error)) (T, kv.Committed, error) {
	id := s.ids.next()
	r, c, err := kv.Transact(ctx, s.engine, kv.TransactOptions{TransactionID: id}, fn)
	if c.Version >= 0 || err != nil && (kv.MaybeCommitted(err) || ctx.Err() != nil) {
		s.ids.done(id)
	}
	return r, c, err
}

func (s *Store) readJob(tx kv.Reader, typ, id string) (*Job, error) {
	value, err := tx.Get(s.jobRecordKey(typ, id)).Wait()
	if value == nil || err != nil {
		return nil, err
	}
	j := new(Job)
	if err := json.Unmarshal(value, j); err != nil {
		return nil, fmt.Errorf("job %s %q: %w", typ, id, err)
	}
	return j, nil
}

// writeJob writes the record of a job, which is small and may be of one that makes room.
func (s *Store) writeJob(tx kv.Transaction, j *Job) {
	tx.MakesRoom()
	j.Updated = time.Now().UTC()
	j.Due = time.UnixMilli(j.Due.UnixMilli()).UTC() // as the queue has it
	value, err := json.Marshal(j)
	if err != nil {
		panic(err) // raw messages that are no JSON: the caller's mistake
	}
	tx.Set(s.jobRecordKey(j.Type, j.ID), value)
}

func (s *Store) jobKey(typ string, part int64) []byte {
	return tuple.AppendInt(tuple.AppendString(s.section(keyspace.Jobs), typ), part)
}

func (s *Store) jobRecordKey(typ, id string) []byte {
	return tuple.AppendString(s.jobKey(typ, jobRecord), id)
}

func (s *Store) jobDueKey(j *Job) []byte {
	return tuple.AppendString(tuple.AppendInt(s.jobKey(j.Type, jobDue), j.Due.UnixMilli()), j.ID)
}
