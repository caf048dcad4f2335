package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// readDue reads the record of a due job. Without one that the entry or heartbeat concerns, it removes that and returns
// nil: it is a leftover of an earlier version of Divan, which does not know these keys, or of a damaged record.
func readDue(s *db.Store, tx kv.Transaction, typ string, due *DueJob) (*Job, error) {
	j, err := ReadJob(s, tx, typ, due.ID)
	if err != nil {
		return nil, err
	}
	return concerned(tx, due, j), nil
}

// concerned returns the record of a due job that was read, or nil as readDue does.
func concerned(tx kv.Transaction, due *DueJob, j *Job) *Job {
	if j == nil || !due.concerns(j) {
		tx.Clear(due.key)
		return nil
	}
	// Conflict with a renewal by the worker that the job is taken from.
	tx.AddReadConflict(kv.KeyRange{Begin: due.key, End: append(due.key[:len(due.key):len(due.key)], 0)})
	return j
}

// Release lets the jobs of a type wait whose workers have stopped renewing, so that any worker can take them: for a
// worker that takes none itself, since it has as many as it may. It returns when to look again, or zero if none runs.
func (s Store) Release(ctx context.Context, typ string, w Worker) (next time.Time, err error) {
	next, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (next time.Time, err error) {
		running, err := silentJobs(s.Store, tx, typ, w)
		if err != nil {
			return next, err
		}
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return next, err
		}
		for _, due := range running {
			if due.At.After(time.Now()) {
				if next.IsZero() || due.At.Before(next) {
					next = due.At
				}
				continue
			}
			j, err := readDue(s.Store, tx, typ, due)
			if err != nil {
				return next, err
			}
			if j == nil {
				continue
			}
			tx.Clear(due.key)
			j.GivenBack = j.Worker
			queueJob(s.Store, tx, j, version, -pastGrace)
			WriteJob(s.Store, tx, j)
		}
		return next, nil
	})
	return next, err
}

// renewedAtOnce is how many leases one transaction renews.
const renewedAtOnce = 250

// RenewAll renews the leases of jobs as Renew does without progress, with a transaction for many of them. It returns
// those that other workers have taken over. Those of the rest are renewed unless there is an error, which keeps up to
// renewedAtOnce of them from being renewed.
func (s Store) RenewAll(ctx context.Context, jobs []*Job) (lost []*Job, err error) {
	for some := range slices.Chunk(jobs, renewedAtOnce) {
		gone, failed := s.renewTogether(ctx, some)
		lost, err = append(lost, gone...), errors.Join(err, failed)
	}
	return lost, err
}

// renewTogether renews leases in one transaction, and returns the jobs that are lost.
func (s Store) renewTogether(ctx context.Context, jobs []*Job) (lost []*Job, err error) {
	lost, c, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) ([]*Job, error) {
		var gone []*Job
		values := make([]kv.Future[[]byte], len(jobs))
		for i, j := range jobs {
			values[i] = tx.Get(jobBeatKey(s.Store, j))
		}
		for i, j := range jobs {
			value, err := values[i].Wait()
			if err != nil {
				return nil, err
			}
			b, err := ParseBeat(value)
			if err != nil || b.Token != j.Token { // nobody can renew one that cannot be read
				gone = append(gone, j)
				continue
			}
			b.Count++
			writeBeat(s.Store, tx, j, *b)
		}
		return gone, nil
	})
	s.Clock.Saw(c.Version)
	return lost, err
}
