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

// take opens the database of a claimed job. A void job, whose database is gone, is finished immediately.
func (x *Indexing) take(ctx context.Context, job *layer.Job) jobs.Taken {
	pause := runtime.NewBackoff(10*time.Millisecond, time.Second)
	for attempt := 1; ; attempt++ {
		t, err := x.prepare(ctx, job)
		if err == nil {
			return jobs.Taken{Task: t}
		}
		if void := layer.KindOf(err) == layer.NotFound; void || attempt == prepareAttempts {
			if void {
				x.tree.Log.Debug("dropped an index job whose database or design document is gone",
					"job", job.ID, "reason", err)
				err = nil
			} else {
				x.tree.Log.Warn("could not begin an index job", "job", job.ID, "error", err)
			}
			return jobs.Taken{Err: x.store.Finish(ctx, job, err)}
		}
		select {
		case <-ctx.Done():
			return jobs.Taken{Err: ctx.Err()}
		case <-time.After(pause.Next()):
		}
	}
}

// prepare opens what a job is about. The error is NotFound if the job is void.
func (x *Indexing) prepare(ctx context.Context, job *layer.Job) (*task, error) {
	what, err := decodeIndexJob(job.Data)
	if err != nil {
		return nil, err
	}
	db, err := x.store.Database(ctx, what.Database)
	if err != nil {
		return nil, err
	}
	t := &task{key: indexKey{db, what.Signature, what.Shard}, what: what, job: *job, since: x.tree.Now()}
	if json.Unmarshal(job.Progress, &t.mu.most) != nil { // there is no earlier run, or it had another format
		t.mu.most = IndexerFacts{}
	}
	t.mu.progress, t.mu.earlier = t.mu.most, t.mu.most.Documents
	return t, nil
}

// designOf finds a design document with the given index. The error is NotFound if the document or the database does not
// exist.
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
	return nil, &layer.Error{Kind: layer.NotFound, Reason: "no design document defines this index any more"}
}
