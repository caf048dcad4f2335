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

// A large first build of an index is shared where there are other nodes (clause P8): its indexer begins it and puts a
// job for each changes shard into the queue, which has its own lease and fencing token. Any node takes them, first the
// one that the shard's actor is placed on; a dead one's is taken over when its lease has run out, and goes on where its
// last transaction was. The indexer waits for all shards to be at the goal and closes the build. How far a shard is, is
// read from the index; jobs only say who works.

// ownsShardJob reports whether the actor of a job's shard belongs on this node.
func (x *Indexing) ownsShardJob(job string) bool {
	i := strings.LastIndexByte(job, '/') // before the signature
	return i < 0 || x.OwnsShard(job[:i])
}

// openBuild begins what a task is about.
func (x *Indexing) openBuild(ctx context.Context, t *task) (ports.Build, error) {
	if t.what.Shard != "" {
		b, err := t.index.Join(ctx, t.what.Build, t.what.Shard)
		if err != nil {
			return nil, err
		}
		return partBuild{b}, nil
	}
	share := x.ShareFrom
	if x.Company == nil || !x.Company() {
		share = 0
	}
	b, err := t.index.Begin(ctx, t.job.Token, share)
	if err != nil || !b.Plan().Shared {
		return b, err
	}
	shared := &sharedBuild{Build: b, store: x.store, what: t.what, token: t.job.Token, parts: map[layer.ShardID]*part{}}
	for _, shard := range t.resume(b.Plan().Resumed).Shards {
		shared.parts[shard.Shard] = &part{seen: IndexerFacts{Documents: shard.Documents, Rows: shard.Rows}}
	}
	return shared, nil
}

// partBuild is one shard's part of a shared build: it has no end of its own.
type partBuild struct{ ports.Build }

// Finish leaves the end to who began the build.
func (partBuild) Finish(context.Context) error { return nil }

// sharedBuild is a build whose steps are other indexers', on this node and elsewhere.
type sharedBuild struct {
	ports.Build
	store ports.Store
	what  indexJob
	token int64

	mu    sync.Mutex
	parts map[layer.ShardID]*part
}

// part is what is known of one shard's job. It is used by one Step at a time.
type part struct {
	asked    bool
	failures int
	seen     IndexerFacts // when it was reported last
}

// Step waits until somebody has made progress with the shard, and sees to it that there is a job for it. The result
// counts what has been done since the last Step, here or elsewhere.
func (b *sharedBuild) Step(ctx context.Context, shard layer.ShardID, _ int) (layer.StepResult, error) {
	b.mu.Lock()
	p := b.parts[shard]
	if p == nil {
		p = &part{}
		b.parts[shard] = p
	}
	b.mu.Unlock()
	what := b.what
	what.Shard, what.Build = shard, b.token
	if !p.asked {
		if err := b.store.Enqueue(ctx, shardJobs, what.id(), what.encode()); err != nil {
			return layer.StepResult{}, err
		}
		p.asked = true
	}
	for {
		r, again, err := b.look(ctx, what, p)
		if err != nil || !again {
			return r, err
		}
	}
}

// look sees how far the shard is, and waits for news where there are none. again is true where there were none.
func (b *sharedBuild) look(ctx context.Context, what indexJob, p *part) (r layer.StepResult, again bool, err error) {
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
		// Its worker gave it up, or it was an older build's.
		p.asked = false
		return r, false, fmt.Errorf("shard %s of the build is left by who worked on it", what.Shard)
	case job.Failures > p.failures:
		p.failures = job.Failures
		p.asked = false // which ends the pause that it waits out
		return r, false, fmt.Errorf("shard %s of the build: %w", what.Shard, job.Failure())
	}
	wait := time.NewTimer(askAgain)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return r, false, ctx.Err()
	case <-watch.Done():
	case <-wait.C:
	}
	return r, true, nil
}

// news counts what the worker has reported since the last time, and reports whether that is anything. A worker that
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

// Finish closes the build, and ends the jobs of its shards.
func (b *sharedBuild) Finish(ctx context.Context) error {
	for shard := range b.parts { // no Step runs beside Finish
		what := b.what
		what.Shard = shard
		if err := b.store.RemoveJob(ctx, shardJobs, what.id()); err != nil {
			return err
		}
	}
	return b.Build.Finish(ctx)
}
