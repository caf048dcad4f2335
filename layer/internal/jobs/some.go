package jobs

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// When a node ends, the others take over all its jobs, of which there may be hundreds. One by one, each takes a
// transaction, for which the workers that see the same first job compete. So a worker that has room for all that are
// due takes several in a transaction: first those that it is preferred for, which the others leave to theirs. Of the
// rest, it takes few at a time, so that each worker gets some. Each begins with other ones, so that they seldom
// conflict.

const (
	// mostAtOnce is how many jobs one transaction takes. It is halved with each attempt that has failed, perhaps in
	// competition with workers that take fewer.
	mostAtOnce = 32
	// othersAtOnce is how many it takes at least of those that the worker is not preferred for, and othersShare which
	// share of them.
	othersAtOnce = 4
	othersShare  = 8
	// maxDue bounds how many due jobs are looked at.
	maxDue = 1000
)

// claimSome takes jobs that are due, or returns the one that will be due first. A worker that has no room for all takes
// only the first, so that jobs have their turn in the order in which they wait. failed is how many attempts have.
func claimSome(s *db.Store, tx kv.Transaction, typ string, w Worker, failed int) (*Job, []*Job, *DueJob, error) {
	for {
		due, next, err := dueJobs(s, tx, typ, w)
		if err != nil || len(due) == 0 {
			return nil, nil, next, err
		}
		jobs, err := claimAll(s, tx, typ, w, chosen(due, w, max(1, mostAtOnce>>failed)))
		if err != nil {
			return nil, nil, nil, err
		}
		if len(jobs) > 0 {
			return jobs[0], jobs[1:], nil, nil
		}
	}
}

// dueJobs returns jobs that are due, the longest first, up to maxDue and one more than the worker has room for. Without
// any, it returns the one that will be due first, if there is one.
func dueJobs(s *db.Store, tx kv.Transaction, typ string, w Worker) (due []*DueJob, next *DueJob, err error) {
	now := time.Now()
	most := min(maxDue, w.Room+1)
	err = lookAt(s, tx, typ, w, func(j *DueJob) bool {
		if !j.At.After(now) {
			due = append(due, j)
		} else if next == nil || j.At.Before(next.At) {
			next = j
		}
		return len(due) < most
	})
	slices.SortStableFunc(due, func(a, b *DueJob) int { return a.At.Compare(b.At) })
	return due[:min(len(due), most)], next, err
}

// chosen returns those of some due jobs that a worker takes at once, at most most.
func chosen(due []*DueJob, w Worker, most int) []*DueJob {
	if len(due) > w.Room {
		return due[:1]
	}
	slices.SortFunc(due, func(a, b *DueJob) int { return cmp.Compare(rank(w.Name, a.ID), rank(w.Name, b.ID)) })
	var owned []*DueJob
	for _, j := range due {
		if w.Owns != nil && w.Owns(j.ID) && len(owned) < most {
			owned = append(owned, j)
		}
	}
	if len(owned) > 0 {
		return owned
	}
	return due[:min(len(due), max(othersAtOnce, len(due)/othersShare), most)]
}

// rank orders jobs differently for each worker.
func rank(worker, id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(worker + "\x00" + id))
	return h.Sum64()
}

// claimAll takes those of some due jobs that are not leftovers. It reads them together.
func claimAll(s *db.Store, tx kv.Transaction, typ string, w Worker, due []*DueJob) ([]*Job, error) {
	version, err := tx.ReadVersion().Wait()
	if err != nil {
		return nil, err
	}
	records := make([]kv.Future[[]byte], len(due))
	for i, d := range due {
		records[i] = tx.Get(jobRecordKey(s, typ, d.ID))
	}
	var jobs []*Job
	for i, d := range due {
		value, err := records[i].Wait()
		if err != nil {
			return nil, err
		}
		var j *Job
		if value != nil {
			if j, err = parseJob(typ, d.ID, value); err != nil && !isDamaged(err) {
				return nil, err
			}
		}
		if j = concerned(tx, d, j); j != nil {
			take(s, tx, j, d, version, w)
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}
