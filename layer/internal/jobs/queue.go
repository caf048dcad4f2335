package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// DueJob is the first job of a type that a worker may start, or should check again, now or later.
type DueJob struct {
	ID string
	At time.Time // by this process's clock, with the worker's grace

	key    []byte // of its entry in the queue or of its heartbeat
	at     int64  // of the entry
	token  int64  // of the heartbeat; damagedBeat if that cannot be read
	millis int64  // of an old entry
}

// concerns reports whether the entry or heartbeat belongs to the current state of the record, and is not a leftover.
func (d *DueJob) concerns(j *Job) bool {
	switch {
	case d.at != 0:
		return j.State == JobPending && j.At == d.at
	case d.token != 0:
		return j.State == JobRunning && (j.Token == d.token || d.token == damagedBeat)
	}
	return j.State != JobFinished && j.At == 0 && j.Due.UnixMilli() == d.millis
}

// OldLease is how long an entry of an earlier version of Divan must remain unchanged before its job is taken over. It
// is longer than the lease in that version.
const OldLease = 6 * time.Second

// damagedBeat is the token of a heartbeat that cannot be read.
const damagedBeat = -1

// mostDue bounds how many jobs that are due are looked at for a Worker with Crowd.
const mostDue = 1000

// FirstDue returns the first due job, or nil. It reads at snapshot isolation: two workers that see the same job
// conflict on its record, and others do not conflict.
func FirstDue(s *db.Store, tx kv.Transaction, typ string, w Worker) (first *DueJob, err error) {
	now, seen := time.Now(), 0
	err = lookAt(s, tx, typ, w, func(j *DueJob) (more bool) {
		if first == nil || w.before(j, first, now) {
			first = j
		}
		seen++
		return w.Crowd != nil && seen < mostDue
	})
	return first, err
}

// before reports whether a worker prefers one job to another.
func (w *Worker) before(j, other *DueJob, now time.Time) bool {
	if w.Crowd != nil && !j.At.After(now) && !other.At.After(now) {
		if a, b := w.Crowd(j.ID), w.Crowd(other.ID); a != b {
			return a < b
		}
	}
	return j.At.Before(other.At)
}

// lookAt calls visit for the jobs of a type that wait, and then for those that run. Those that wait come in the order
// of the queue. Those that can start no earlier than one before them are left out, but if visit has returned true, only
// those that cannot start yet.
func lookAt(s *db.Store, tx kv.Transaction, typ string, w Worker, visit func(*DueJob) (more bool)) error {
	begun := time.Now()
	snapshot := tx.Snapshot()
	read := func(part int64, mode kv.RangeOptions) (kv.RangeIterator, int) {
		prefix := jobKey(s, typ, part)
		begin, end := tuple.Range(prefix)
		return snapshot.GetRange(kv.KeyRange{Begin: begin, End: end}, mode), len(prefix)
	}
	version := tx.ReadVersion()
	o := kv.RangeOptions{Mode: kv.ModeIterator}
	if w.Grace == nil && w.Room <= 1 {
		o = kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}
	}
	queue, n := read(jobQueue, o)
	defer queue.Close()
	beats := readBeats(s, snapshot, typ)
	defer beats.Close()
	old, _ := read(jobDue, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer old.Close()
	v, err := version.Wait()
	if err != nil {
		return err
	}
	s.Clock.Saw(v)
	if err := waitingJobs(s, queue, n, w, visit); err != nil {
		return fmt.Errorf("queue of %s jobs: %w", typ, err)
	}
	running, err := runningJobs(s, typ, beats, old, n, w, begun)
	if err != nil {
		return fmt.Errorf("heartbeats of %s jobs: %w", typ, err)
	}
	for _, j := range running {
		visit(j)
	}
	return nil
}

// silentJobs returns the running jobs of a type. Those whose worker has stopped renewing are due, and the others are to
// be checked again when they are. It reads at snapshot isolation.
func silentJobs(s *db.Store, tx kv.Transaction, typ string, w Worker) ([]*DueJob, error) {
	begun := time.Now()
	beats := readBeats(s, tx.Snapshot(), typ)
	defer beats.Close()
	return runningJobs(s, typ, beats, nil, len(jobKey(s, typ, jobBeat)), w, begun)
}

func readBeats(s *db.Store, snapshot kv.Reader, typ string) kv.RangeIterator {
	begin, end := tuple.Range(jobKey(s, typ, jobBeat))
	return snapshot.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Mode: kv.ModeWantAll})
}

// waitingJobs visits the jobs of the queue, as lookAt says.
func waitingJobs(s *db.Store, rows kv.RangeIterator, prefix int, w Worker, visit func(*DueJob) bool) (err error) {
	now := time.Now()
	var first *DueJob
	more := false
	for rows.Next() {
		j := &DueJob{key: bytes.Clone(rows.KeyValue().Key)}
		rest := j.key[prefix:]
		if j.at, rest, err = tuple.TakeInt(rest); err != nil {
			return err
		}
		if j.ID, _, err = tuple.TakeString(rest); err != nil {
			return err
		}
		j.At = now.Add(s.Clock.Until(j.at))
		if first != nil && !j.At.Before(first.At) && (!more || j.At.After(now)) {
			return nil // the following ones are not earlier
		}
		if w.Grace != nil {
			j.At = j.At.Add(w.Grace(j.ID))
		}
		if first == nil || j.At.Before(first.At) {
			first = j
		}
		more = visit(j)
	}
	return rows.Err()
}

// runningJobs returns the running jobs of a type, with the times when they are due or their heartbeats should be
// checked again. old has the entries of an earlier version of Divan, or is nil.
func runningJobs(s *db.Store, typ string, beats, old kv.RangeIterator, prefix int, w Worker,
	begun time.Time) (list []*DueJob, err error) {
	var seen []seenJob
	for beats.Next() {
		row := beats.KeyValue()
		j := &DueJob{key: bytes.Clone(row.Key)}
		if j.ID, _, err = tuple.TakeString(row.Key[prefix:]); err != nil {
			return nil, err
		}
		b, err := ParseBeat(row.Value)
		if err != nil { // nobody can renew it
			b = &beat{Token: damagedBeat, Lease: OldLease}
		}
		j.token = b.Token
		gone := b.Worker == w.Name && b.Life != w.Life || w.Gone != nil && w.Gone(b.Worker)
		seen = append(seen, seenJob{j, string(row.Value), b.Lease, gone})
	}
	if err := beats.Err(); err != nil {
		return nil, err
	}
	for old != nil && old.Next() {
		j := &DueJob{key: bytes.Clone(old.KeyValue().Key)}
		rest := j.key[prefix:]
		if j.millis, rest, err = tuple.TakeInt(rest); err != nil {
			return nil, err
		}
		if j.ID, _, err = tuple.TakeString(rest); err != nil {
			return nil, err
		}
		seen = append(seen, seenJob{j, fmt.Sprint("due ", j.millis), OldLease, false})
	}
	if old != nil && old.Err() != nil {
		return nil, old.Err()
	}
	look := beatsOf(s).look(typ, begun) // not earlier, because it locks, and the store may be slow
	defer look.end()
	for _, x := range seen {
		x.job.At = look.at(x.job.ID, x.value, x.lease, x.gone)
		list = append(list, x.job)
	}
	return list, nil
}

// seenJob is a heartbeat that was read.
type seenJob struct {
	job   *DueJob
	value string
	lease time.Duration
	gone  bool // its worker is known to have ended
}

// ReadJob returns the record of a job, or nil if there is none. One that cannot be read is as none: its worker has lost
// the job, and who asks for the job again replaces it. Until then it is listed as damaged.
func ReadJob(s *db.Store, tx kv.Reader, typ, id string) (*Job, error) {
	j, err := readRecord(s, tx, typ, id)
	if isDamaged(err) {
		return nil, nil
	}
	return j, err
}

// readRecord is ReadJob with an error, for which isDamaged is true, if the record cannot be read.
func readRecord(s *db.Store, tx kv.Reader, typ, id string) (*Job, error) {
	value, err := tx.Get(jobRecordKey(s, typ, id)).Wait()
	if value == nil || err != nil {
		return nil, err
	}
	return parseJob(typ, id, value)
}

// parseJob decodes the record of a job.
func parseJob(typ, id string, value []byte) (*Job, error) {
	j := new(Job)
	err := json.Unmarshal(value, j)
	if err == nil && (j.Type != typ || j.ID != id || j.State == "") {
		err = errors.New("it is not that of this job")
	}
	if err != nil {
		return nil, db.Corrupt(fmt.Sprintf("record of job %s %q", typ, id), err)
	}
	return j, nil
}

func isDamaged(err error) bool {
	var damaged *db.CorruptError
	return errors.As(err, &damaged)
}

// damagedJob returns what lists have of a job whose record cannot be read.
func damagedJob(typ, id string, err error) *Job {
	return &Job{Type: typ, ID: id, State: JobDamaged, Error: err.Error()}
}

// WriteJob writes the record of a job. It counts as making room, because the record is small and the job may make room.
func WriteJob(s *db.Store, tx kv.Transaction, j *Job) {
	tx.MakesRoom()
	j.Updated = s.Wall().UTC()
	j.Due = j.Due.UTC()
	value, err := json.Marshal(j)
	if err != nil {
		panic(err) // cannot happen unless the caller passes raw messages that are not JSON
	}
	tx.Set(jobRecordKey(s, j.Type, j.ID), value)
}

func jobKey(s *db.Store, typ string, part int64) []byte {
	return tuple.AppendInt(tuple.AppendString(s.Section(keyspace.Jobs), typ), part)
}

func jobRecordKey(s *db.Store, typ, id string) []byte {
	return tuple.AppendString(jobKey(s, typ, jobRecord), id)
}

// JobQueueKey returns the key of a waiting job's entry in the queue. Old records have such an entry even while the job
// runs.
func JobQueueKey(s *db.Store, j *Job) []byte {
	if j.At == 0 {
		return tuple.AppendString(tuple.AppendInt(jobKey(s, j.Type, jobDue), j.Due.UnixMilli()), j.ID)
	}
	return tuple.AppendString(tuple.AppendInt(jobKey(s, j.Type, jobQueue), j.At), j.ID)
}

func jobBeatKey(s *db.Store, j *Job) []byte {
	return tuple.AppendString(jobKey(s, j.Type, jobBeat), j.ID)
}

// Jobs streams all jobs, by type and id. If the engine does not hold long snapshots, it uses several transactions.
func (s Store) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return s.jobsIn(ctx, db.PrefixRange(s.Section(keyspace.Jobs)))
}

// JobsOf streams the jobs of a type whose ids begin with a prefix, by id.
func (s Store) JobsOf(ctx context.Context, typ, prefix string) iter.Seq2[Job, error] {
	first := jobRecordKey(s.Store, typ, prefix)
	return s.jobsIn(ctx, db.PrefixRange(first[:len(first)-1])) // without the end of the string
}

func (s Store) jobsIn(ctx context.Context, rest kv.KeyRange) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		section := s.Section(keyspace.Jobs)
		var patience kv.Patience
		for {
			last, done, err := jobsFrom(ctx, s.Store, len(section), rest, yield)
			if done || err == nil {
				return
			}
			if last == nil {
				err = patience.Tried(err)
			} else {
				patience.Progress()
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

// jobsFrom yields records in one transaction. last is the last key that was read; done reports that yield returned
// false.
func jobsFrom(ctx context.Context, s *db.Store, prefix int, r kv.KeyRange,
	yield func(Job, error) bool) (last []byte, done bool, err error) {
	tx := s.Engine.Begin(ctx)
	defer tx.Cancel()
	tx.CausalReadRisky() // the list is for people, who read it seconds later
	it := tx.GetRange(r, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		j, err := listed(s, tx, row, prefix)
		if err != nil {
			return last, false, err
		}
		if j != nil && !yield(*j, nil) {
			return last, true, nil
		}
		last = append(last[:0], row.Key...)
	}
	return last, false, it.Err()
}

// listed decodes a row of the jobs' section; the prefix of its key has that length. It returns nil if the row is no
// record.
func listed(s *db.Store, tx kv.Reader, row kv.KeyValue, prefix int) (*Job, error) {
	typ, rest, err := tuple.TakeString(row.Key[prefix:])
	if err != nil {
		return nil, db.Corrupt("job", err)
	}
	part, rest, err := tuple.TakeInt(rest)
	if err != nil {
		return nil, db.Corrupt("job", err)
	}
	if part != jobRecord {
		return nil, nil
	}
	id, _, err := tuple.TakeString(rest)
	if err != nil {
		return nil, db.Corrupt("job", err)
	}
	j, err := parseJob(typ, id, row.Value)
	if err != nil {
		return damagedJob(typ, id, err), nil
	}
	if j.State != JobRunning {
		return j, nil
	}
	b, err := readBeat(s, tx, j)
	if err != nil && !isDamaged(err) {
		return nil, err
	}
	if b != nil { // nil in records of earlier versions of Divan
		j.Lease = b.Lease
	}
	return j, nil
}
