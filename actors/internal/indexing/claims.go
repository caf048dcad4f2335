package indexing

import (
	"context"
	"encoding/json"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

// prepareAttempts is how often a node tries to open what it has claimed before it gives the job back.
const prepareAttempts = 5

// claim takes a job and finds out what it is about. One that is void, because its database or design document is gone,
// is finished at once.
func (x *Indexing) claim(ctx context.Context, typ string, worker layer.Worker) jobs.Claimed {
	job, err := x.store.Claim(ctx, typ, worker)
	if err != nil || job == nil {
		return jobs.Claimed{None: job == nil, Err: err}
	}
	pause := runtime.NewBackoff(10*time.Millisecond, time.Second)
	for attempt := 1; ; attempt++ {
		t, err := x.prepare(ctx, job)
		if err == nil {
			return jobs.Claimed{Task: t}
		}
		if void := layer.KindOf(err) == layer.NotFound; void || attempt == prepareAttempts {
			if void {
				x.tree.Log.Debug("index job dropped: nobody wants it any more", "job", job.ID, "reason", err)
				err = nil
			} else {
				x.tree.Log.Warn("index job not begun", "job", job.ID, "error", err)
			}
			return jobs.Claimed{Err: x.store.Finish(ctx, job, err)}
		}
		select {
		case <-ctx.Done():
			return jobs.Claimed{Err: ctx.Err()}
		case <-time.After(pause.Next()):
		}
	}
}

// prepare opens what a job is about. NotFound where the job is void.
func (x *Indexing) prepare(ctx context.Context, job *layer.Job) (*task, error) {
	what, err := decodeIndexJob(job.Data)
	if err != nil {
		return nil, err
	}
	db, err := x.store.Database(ctx, what.Database)
	if err != nil {
		return nil, err
	}
	key := indexKey{db, what.Signature, what.Shard}
	d, err := designOf(ctx, db, what.Signature)
	if err != nil {
		if layer.KindOf(err) == layer.NotFound {
			x.builds.tell(key, err)
		}
		return nil, err
	}
	what.Design = d.ID
	t := &task{key: key, what: what, job: *job, index: db.IndexOf(d), since: x.tree.Now()}
	if json.Unmarshal(job.Progress, &t.mu.most) != nil { // of no run before, or of a version that wrote something else
		t.mu.most = IndexerFacts{}
	}
	t.mu.progress = t.mu.most
	return t, nil
}

// designOf finds a design document that has an index. NotFound where there is none, or no database.
func designOf(ctx context.Context, db ports.Database, signature string) (*layer.Design, error) {
	designs, err := db.Designs(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range designs {
		if d.Signature == signature {
			return d, nil
		}
	}
	return nil, &layer.Error{Kind: layer.NotFound, Reason: "no design document has this index any more"}
}
