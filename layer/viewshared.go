package layer

import (
	"context"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
)

// A build may be the work of several nodes (P8): one has started it and will finish it, and the steps of each shard are
// done by whoever joined for that shard. All have the same goal. No snapshot can be read from several nodes, so that a
// shared build goes by a cut, as every build does where the engine holds none (cuts.go). Readers have nothing before
// its end, since only an index that was never built is built so.
//
// The build's token fences it off from other builds. Within it a shard's progress does: of two that step on one shard,
// the one whose step was not the last stops with a Conflict, so that a worker that stood still does no harm.

// shareable reports whether the build is worth the work of several nodes, and may be theirs.
func (b *Build) shareable() bool {
	// The deprecated subspace, which has no id, is written no more once there are shards.
	return b.share > 0 && b.From.IsZero() && len(b.Shards) > 1 && b.Changes >= b.share && !slices.Contains(b.Shards, "")
}

// JoinBuild takes part in a shared build, which another node may have started, for one shard: Step it until it is done,
// then Close. Finish is the starter's. Conflict where the build of that token is over, NotFound where it has no such
// shard.
func (ix *Index) JoinBuild(ctx context.Context, token int64, shard ShardID) (*Build, error) {
	b := &Build{Index: ix, Token: token, Shared: true, joined: true, Shards: []ShardID{shard}}
	_, err := read(ctx, ix.db, func(t *txn) (struct{}, error) {
		b.space, b.keys, b.number = t.keys, ix.keys(t.keys), t.core.number
		found := b.keys.find(t)
		status, state := t.Get(b.keys.infoKey(keyspace.ViewStatus)), t.Get(b.keys.infoKey(keyspace.ViewUpdateSeq))
		if err := b.checkToken(status); err != nil {
			return struct{}{}, err
		}
		if err := found(); err != nil {
			return struct{}{}, err
		}
		building, err := parseStatus(status)
		if err != nil {
			return struct{}{}, err
		}
		at, err := parseIndexSeq(state)
		if err != nil {
			return struct{}{}, err
		}
		b.From, b.Goal, b.keeps = at.seq, building.goal, building.keeps
		b.cutAt = b.Goal
		if err := b.checkCut(t.cfg); err != nil {
			return struct{}{}, err
		}
		b.first.Store(building.first) // of the steps of others none is repeated, by a shard's progress
		if t.cfg.mapOf(shard) < 0 {
			return struct{}{}, errNoShard(shard)
		}
		from, err := b.shardProgress(t, shard)
		b.progress = map[ShardID]*buildPosition{shard: &from}
		b.Resumed = from != b.beginning() && from != buildPosition{seq: b.From}
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Reached is how far a shard of a shared build has come, whoever steps on it.
func (b *Build) Reached(ctx context.Context, shard ShardID) (StepResult, error) {
	return read(ctx, b.Index.db, func(t *txn) (r StepResult, err error) {
		if err := b.checkToken(t.Get(b.keys.infoKey(keyspace.ViewStatus))); err != nil {
			return r, err
		}
		at, err := b.shardProgress(t, shard)
		r.Seq, r.Done = at.reached(), at.done(b.Goal)
		return r, err
	})
}

// held reads a shard's progress in a step's transaction; what it returns says whether it is still this worker's.
func (b *Build) held(t *txn, shard ShardID) func() error {
	if !b.Shared {
		return func() error { return nil }
	}
	value := t.Get(b.keys.progressKey(shard))
	return func() error {
		stored, err := value.Wait()
		if err != nil {
			return err
		}
		at := buildPosition{seq: b.From}
		if stored != nil {
			if at, err = parsePosition(stored); err != nil {
				return err
			}
		}
		if at != *b.progress[shard] {
			return errf(Conflict, "job_lost", "another worker has stepped on shard %s", shard)
		}
		return nil
	}
}
