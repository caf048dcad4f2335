package jobs

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A job can hold a name that at most one job of its type holds, as long as it is not finished. So two jobs that would
// do the same find out.
//
//	(Jobs, type, jobName, name) = the id of the job that holds the name, according to its record

// Hold lets a running job hold a name instead of the one that it has held. If another job holds the name, Hold returns
// that one's id, and nothing changes. It returns Conflict if another worker has taken over the job.
func (s Store) Hold(ctx context.Context, j *Job, name string) (holder string, err error) {
	holder, _, err = db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (string, error) {
		now, err := ReadJob(s.Store, tx, j.Type, j.ID)
		if err != nil {
			return "", err
		}
		if now == nil || now.State != JobRunning || now.Token != j.Token {
			return "", jobLost(j)
		}
		key := jobNameKey(s.Store, j.Type, name)
		value, err := tx.Get(key).Wait()
		if err != nil {
			return "", err
		}
		if id := string(value); value != nil && id != j.ID {
			other, err := ReadJob(s.Store, tx, j.Type, id)
			if err != nil {
				return "", err
			}
			if other != nil && other.State != JobFinished && other.Held == name {
				return id, nil
			}
		}
		if now.Held != "" && now.Held != name {
			tx.Clear(jobNameKey(s.Store, j.Type, now.Held))
		}
		tx.Set(key, []byte(j.ID))
		now.Held = name
		WriteJob(s.Store, tx, now)
		return "", nil
	})
	if err == nil && holder == "" {
		j.Held = name
	}
	return holder, err
}

// Holder returns the job that holds a name, as it is while it does, or nil.
func (s Store) Holder(ctx context.Context, typ, name string) (*Job, error) {
	j, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (*Job, error) {
		value, err := tx.Get(jobNameKey(s.Store, typ, name)).Wait()
		if value == nil || err != nil {
			return nil, err
		}
		j, err := ReadJob(s.Store, tx, typ, string(value))
		if err != nil || j == nil || j.State == JobFinished || j.Held != name {
			return nil, err
		}
		return j, nil
	})
	return j, err
}

func jobNameKey(s *db.Store, typ, name string) []byte {
	return tuple.AppendString(jobKey(s, typ, jobName), name)
}

// Postpone ends a run that is to be continued after a delay, or at once if the job was enqueued while it ran.
// j.Progress is its last report. why, unless nil, is the failure of the run. It returns Conflict if another worker has
// taken over the job.
func (s Store) Postpone(ctx context.Context, j *Job, delay time.Duration, why error) error {
	return updateHeld(ctx, s.Store, j, func(tx kv.Transaction, now *Job, version int64) {
		now.Progress = j.Progress
		if why == nil {
			now.wentWell()
		} else {
			now.failed(why, s.Wall())
		}
		if now.Again {
			now.Again, delay = false, 0
		}
		queueJob(s.Store, tx, now, version, delay)
	})
}

// Waiting returns how many jobs of a type could start now and wait for a worker, up to most.
func (s Store) Waiting(ctx context.Context, typ string, most int) (int, error) {
	n, _, err := db.StoreTransact(ctx, s.Store, func(tx kv.Transaction) (n int, err error) {
		version, err := tx.ReadVersion().Wait()
		if err != nil {
			return 0, err
		}
		prefix := jobKey(s.Store, typ, jobQueue)
		begin, _ := tuple.Range(prefix)
		end := tuple.AppendInt(prefix, db.AfterVersion(s.Clock.At(version), 0)+1)
		rows := tx.Snapshot().GetRange(kv.KeyRange{Begin: begin, End: end},
			kv.RangeOptions{Limit: most, Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			n++
		}
		return n, rows.Err()
	})
	return n, err
}
