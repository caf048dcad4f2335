package indexing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/layer"
)

// A large first build of an index is shared if there are other nodes (clause P8). Its indexer begins the build and
// enqueues a job for each changes shard, with its own lease and fencing token. Any node may take these jobs; the one
// that the shard's actor is placed on comes first. The job of a dead node is taken over after its lease has expired,
// and continues after its last transaction. The indexer waits until all shards have reached the goal, and closes the
// build. The progress of a shard is read from the index. Jobs only say who works on it.

// ownsShardJob reports whether the actor of a job's shard belongs on this node.
func (x *Indexing) ownsShardJob(job string) bool {
	i := strings.LastIndexByte(job, '/') // the signature follows
	return i < 0 || x.OwnsShard(job[:i])
}

// openBuild begins or joins the build of a task.
func (x *Indexing) openBuild(ctx context.Context, t *task) (ports.Build, error) {
	if t.what.Shard != "" {
		b, err := t.key.db.Join(ctx, t.what.IndexJob, t.what.Build, t.what.Shard)
		if err != nil {
			return nil, err
		}
		return partBuild{b, t.what.Changes}, nil
	}
	with := layer.BuildOptions{Turns: t.resume(true).Turns > 0}
	if x.HasOthers != nil && x.HasOthers() {
		with.Share = x.ShareFrom
	}
	b, err := t.key.db.Begin(ctx, t.what.IndexJob, t.job.Token, with)
	if err != nil || !b.Plan().Shared {
		return b, err
	}
	shared := &sharedBuild{Build: b, store: x.store, what: t.what, token: t.job.Token, parts: map[layer.ShardID]*part{},
		hurried: make(chan struct{})}
	for _, shard := range t.resume(b.Plan().Resumed).Shards {
		shared.parts[shard.Shard] = &part{seen: IndexerFacts{Documents: shard.Documents, Rows: shard.Rows}}
	}
	return shared, nil
}

// partBuild is one shard's part of a shared build. Its Finish does nothing.
type partBuild struct {
	ports.Build
	changes int64
}

// Plan has the number of changes that the starter of the build has estimated.
func (b partBuild) Plan() ports.Plan {
	p := b.Build.Plan()
	p.Changes = b.changes
	return p
}

// Finish does nothing: the node that began the build closes it.
func (partBuild) Finish(context.Context) error { return nil }

// sharedBuild is a build whose steps are done by other indexers, on this node and elsewhere.
type sharedBuild struct {
	ports.Build
	store ports.Store
	what  indexJob
	token int64

	mu      sync.Mutex
	parts   map[layer.ShardID]*part
	hurried chan struct{} // closed while it is hurried
}

// Hurry ends the waits of Step, and those that begin until it is called with false. The indexers of the parts go on.
func (b *sharedBuild) Hurry(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.hurried:
		if !on {
			b.hurried = make(chan struct{})
		}
	default:
		if on {
			close(b.hurried)
		}
	}
}

// part is the state of one shard's job. It is used by one Step at a time.
type part struct {
	asked    bool
	failures int
	seen     IndexerFacts // the progress last reported
}

// Step waits until some worker has made progress with the shard, and ensures that there is a job for it. The result
// counts the work since the last Step, here or elsewhere.
func (b *sharedBuild) Step(ctx context.Context, shard layer.ShardID, _ int) (layer.StepResult, error) {
	b.mu.Lock()
	p := b.parts[shard]
	if p == nil {
		p = &part{}
		b.parts[shard] = p
	}
	hurried := b.hurried
	b.mu.Unlock()
	what := b.what
	what.Shard, what.Build = shard, b.token
	if plan := b.Plan(); len(plan.Shards) > 0 { // documents are spread evenly over shards
		what.Changes = max(1, plan.Changes/int64(len(plan.Shards)))
	}
	if !p.asked {
		if err := b.store.Enqueue(ctx, shardJobs, what.id(), what.encode()); err != nil {
			return layer.StepResult{}, err
		}
		p.asked = true
	}
	for {
		r, again, err := b.look(ctx, what, p, hurried)
		if err != nil || !again {
			return r, err
		}
	}
}

// look checks the progress of the shard, and waits for news if there is none. again is true if there was none.
func (b *sharedBuild) look(ctx context.Context, what indexJob, p *part, hurried <-chan struct{}) (r layer.StepResult,
	again bool, err error) {
	job, watch, err := b.store.Job(ctx, shardJobs, what.id())
	if err != nil {
		return r, false, err
	}
	defer watch.Cancel()
	if r, err = b.Reached(ctx, what.Shard); err != nil {
		return r, false, err
	}
	done := p.news(job, &r)
	switch {
	case r.Done || done:
		return r, false, nil
	case job == nil || job.State == layer.JobFinished:
		// Its worker gave it up, or it belonged to an older build.
		p.asked = false
		return r, false, fmt.Errorf("shard %s of the build was given up by its worker", what.Shard)
	case job.Failures > p.failures:
		p.failures = job.Failures
		p.asked = false // asking again ends the job's pause after a failure
		return r, false, fmt.Errorf("shard %s of the build: %w", what.Shard, job.Failure())
	}
	wait := time.NewTimer(askAgain)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return r, false, ctx.Err()
	case <-hurried:
		return r, false, nil
	case <-watch.Done():
	case <-wait.C:
	}
	return r, true, nil
}

// news counts what the worker has reported since the last call, and returns false if that is nothing. A worker that
// took over counts from where it began.
func (p *part) news(job *layer.Job, r *layer.StepResult) bool {
	if job == nil || job.Progress == nil {
		return false
	}
	var now IndexerFacts
	if json.Unmarshal(job.Progress, &now) != nil || now.Documents == p.seen.Documents {
		return false
	}
	if now.Documents < p.seen.Documents {
		p.seen = IndexerFacts{}
	}
	r.Documents, r.Rows = int(now.Documents-p.seen.Documents), int(now.Rows-p.seen.Rows)
	p.seen = now
	return true
}

// Finish closes the build and ends the jobs of its shards.
func (b *sharedBuild) Finish(ctx context.Context) error {
	for shard := range b.parts { // no Step runs during Finish
		what := b.what
		what.Shard = shard
		if err := b.store.RemoveJob(ctx, shardJobs, what.id()); err != nil {
			return err
		}
	}
	return b.Build.Finish(ctx)
}
