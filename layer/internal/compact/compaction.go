package compact

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Databases are compacted by jobs, one for each database, which any node may run. A node enqueues the job when it finds
// that a database has enough to remove (look.go), or when a client requests a compaction. The job removes what was
// superseded some time ago by the store's clock; as in CouchDB, old revisions remain readable for a while. A request
// removes everything superseded before it:
//
//	(Compaction, CompactionRequest) = version of the store up to which everything superseded is to be removed

// CompactionJobs is the type of jobs that compact a database. Their ids are database names.
const CompactionJobs = "compaction"

// Compaction configures automatic compaction.
type Compaction struct {
	// Auto enables it. Otherwise databases are only compacted on request.
	Auto bool
	// Age is the minimum age of superseded data before it is removed.
	Age time.Duration
	// A database is compacted if it has Bodies superseded bodies, or if their estimated size is Bytes. One with fewer
	// is compacted when they are as old as Latest.
	Bodies, Bytes int64
	Latest        time.Duration
	// FirstLook is how long after opening a store all databases are first checked, for data that a dead node would have
	// removed. 0 means 30 seconds.
	FirstLook time.Duration
}

// RequestCompaction requests the removal of everything superseded so far, as soon as a node has time.
func (d Database) RequestCompaction(ctx context.Context) error {
	_, err := db.Read(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		version, err := t.ReadVersion().Wait()
		if err != nil {
			return struct{}{}, err
		}
		t.MakesRoom()
		t.Set(t.Close(attach.Compaction(t.Keys, t.Open(), attach.CompactionRequest)), tuple.AppendInt(nil, version))
		return struct{}{}, jobs.Enqueue(d.Store, t, CompactionJobs, d.Name(), nil, 0)
	})
	return err
}

// readRequest returns the version up to which compaction was requested, or 0.
func readRequest(f kv.Future[[]byte]) (int64, error) {
	value, err := f.Wait()
	if err != nil || value == nil {
		return 0, err
	}
	version, _, err := tuple.TakeInt(value)
	if err != nil {
		return 0, db.Corrupt("request for compaction", err)
	}
	return version, nil
}

// CompactionState is what there is to compact.
type CompactionState struct {
	Superseded int64 // bodies in the queue
	Bytes      int64 // their estimated size, assuming that they are as large as the average body with its attachments
	// Oldest is the age of the oldest entry in the queue, or 0.
	Oldest time.Duration
	// Requested is the version of the store up to which compaction was requested, or 0.
	Requested int64
	// Other counts other work: purges beyond the limit, and attachments to check.
	Other int64
}

// CompactionState reads what there is to compact. It costs a few reads, and one for each changes shard.
func (d Database) CompactionState(ctx context.Context) (CompactionState, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (s CompactionState, err error) {
		r := t.Snapshot()
		version, request := r.ReadVersion(), r.Get(attach.Compaction(t.Keys, nil, attach.CompactionRequest))
		checks := db.GetRange(r, attach.Compaction(t.Keys, nil, attach.CompactionCheck),
			kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer checks.Close()
		var heads []kv.RangeIterator
		for _, part := range SupersededRanges(t) {
			heads = append(heads, db.GetRange(r, part.Prefix, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}))
		}
		defer func() {
			for _, h := range heads {
				h.Close()
			}
		}()
		n, err := db.CountersOf(r, t.Keys, db.CounterSuperseded, db.CounterDocs, db.CounterDeleted, db.CounterBodies,
			db.CounterStored,
			db.CounterPurges, db.CounterPurgesDropped)
		if err != nil {
			return s, err
		}
		s.Superseded = n[0]
		if all := n[0] + n[1] + n[2]; all > 0 {
			s.Bytes = int64(float64(n[3]+n[4]) / float64(all) * float64(n[0]))
		}
		s.Other = max(0, n[5]-n[6]-int64(t.Cfg.PurgesLimit))
		if checks.Next() {
			s.Other++
		}
		if err := checks.Err(); err != nil {
			return s, err
		}
		if s.Requested, err = readRequest(request); err != nil {
			return s, err
		}
		at, err := version.Wait()
		if err != nil {
			return s, err
		}
		s.Oldest, err = oldestOf(t, heads, t.Db.Store.Clock.At(at))
		return s, err
	})
}

// oldestOf returns the age of the oldest entry in heads.
func oldestOf(t *db.Txn, heads []kv.RangeIterator, now int64) (oldest time.Duration, err error) {
	for i, part := range SupersededRanges(t) {
		if !heads[i].Next() {
			if err := heads[i].Err(); err != nil {
				return 0, err
			}
			continue
		}
		stamp, _, err := tuple.TakeVersionstamp(heads[i].KeyValue().Key[len(part.Prefix):])
		if err != nil {
			return 0, db.Corrupt("compaction queue", err)
		}
		oldest = max(oldest, db.Passing(max(1, now-versionOf(stamp))))
	}
	return oldest, nil
}

// due returns the time until the database should be compacted, or a negative value if it need not be.
func (s *CompactionState) due(c Compaction) time.Duration {
	switch {
	case s.Requested > 0:
		return 0
	case !c.Auto:
		return -1
	case s.Superseded >= c.Bodies || s.Bytes >= c.Bytes && s.Superseded > 0:
		return max(0, c.Age-s.Oldest)
	case s.Other > 0:
		return c.Age
	case s.Superseded > 0 && s.Oldest+compactionSweep >= c.Latest:
		return max(0, c.Latest-s.Oldest)
	}
	return -1
}

// compactRun is one run of a database's job.
type compactRun struct {
	until     int64
	requested int64
}

// RunCompaction runs a database's job. It calls done after every transaction with what it has done. An error of done
// ends the run; the next run continues.
func (d Database) RunCompaction(ctx context.Context, done func(Compacted) error) error {
	run, err := db.Read(ctx, d.Database, func(t *db.Txn) (run compactRun, err error) {
		version, err := t.ReadVersion().Wait()
		if err != nil {
			return run, err
		}
		if run.requested, err = readRequest(
			t.Get(attach.Compaction(t.Keys, nil, attach.CompactionRequest))); err != nil {
			return run, err
		}
		if StateOf(d.Store).Compaction.Auto {
			run.until = db.AfterVersion(d.Store.Clock.At(version), -StateOf(d.Store).Compaction.Age)
		}
		run.until = max(1, run.until, run.requested)
		return run, nil
	})
	if err != nil {
		return err
	}
	var all Compacted
	err = d.compactSome(ctx, Options{Until: run.until, Done: func(c Compacted) error {
		all.add(c)
		return done(c)
	}})
	if err != nil {
		return err
	}
	return endRun(ctx, d.Database, run, &all)
}

// endRun removes the request that the run has handled, unless there is a newer one. If the run has removed much, it
// makes the engine reclaim the space.
func endRun(ctx context.Context, d *db.Database, run compactRun, all *Compacted) error {
	left, err := db.Read(ctx, d, func(t *db.Txn) (int64, error) {
		t.MakesRoom()
		key := t.Close(attach.Compaction(t.Keys, t.Open(), attach.CompactionRequest))
		now, err := readRequest(t.Get(key))
		if err != nil {
			return 0, err
		}
		if now != 0 && now == run.requested {
			t.Clear(key)
		}
		n, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterBodies, db.CounterStored)
		if err != nil {
			return 0, err
		}
		return n[0] + n[1], nil
	})
	if err != nil {
		return err
	}
	c := StateOf(d.Store)
	c.noteCompactable(d.Core.Load(), c.Compaction.Bodies) // check what is left
	if removed := all.BodyBytes + all.AttachmentBytes; run.requested > 0 || removed > left/reclaimPart {
		return Of(d).Reclaim(ctx)
	}
	return nil
}

// reclaimPart is the fraction of a database's size, 1/reclaimPart, that a run must remove before the engine is asked to
// reclaim the space, since it then rewrites the database. Less than that is reclaimed by the engine's own compactions.
const reclaimPart = 4

// Compacting reports whether a job of the database is running, or will run because of a request.
func Compacting(t *db.Txn) func() (bool, error) {
	request := t.Snapshot().Get(t.Close(attach.Compaction(t.Keys, t.Open(), attach.CompactionRequest)))
	s := t.Db.Store
	return func() (bool, error) {
		if version, err := readRequest(request); err != nil || version > 0 {
			return version > 0, err
		}
		job, err := jobs.ReadJob(s, t.Snapshot(), CompactionJobs, t.Db.Name())
		return job != nil && job.State == jobs.JobRunning, err
	}
}
