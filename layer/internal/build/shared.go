package build

import (
	"context"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
)

// A build may be the work of several nodes (P8): one has started it and will finish it, and the steps of each shard are
// done by whoever joined for that shard. All have the same goal. No snapshot can be read from several nodes, so that a
// shared build goes by a cut, as every build does where the engine holds none (feed/cuts.go). Readers have nothing
// before its end, since only an index that was never built is built so.
//
// The build's token fences it off from other builds. Within it a shard's progress does: of two that step on one shard,
// the one whose step was not the last stops with a Conflict, so that a worker that stood still does no harm.

// shareable reports whether the build is worth the work of several nodes, from so many changes on, and may be theirs.
func (b *Build) shareable(share int64) bool {
	// The deprecated subspace, which has no id, is written no more once there are shards.
	return share > 0 && b.From.IsZero() && len(b.Shards) > 1 && b.Changes >= share && !slices.Contains(b.Shards, "")
}

// JoinBuild takes part in a shared build, which another node may have started, for one shard: Step it until it is done,
// then Close. Finish is the starter's. Conflict where the build of that token is over, NotFound where it has no such
// shard.
func (ix Index) JoinBuild(ctx context.Context, token int64, shard db.ShardID) (*Build, error) {
	b := &Build{Index: ix.Index, Token: token, Shared: true, joined: true, Shards: []db.ShardID{shard}}
	_, err := db.Read(ctx, ix.Db, func(t *db.Txn) (struct{}, error) {
		b.space, b.keys, b.number = t.Keys, ix.Keys(t.Keys), t.Core.Number
		found := b.keys.Find(t)
		status, state := t.Get(b.keys.InfoKey(keyspace.ViewStatus)), t.Get(b.keys.InfoKey(keyspace.ViewUpdateSeq))
		if err := b.checkToken(status); err != nil {
			return struct{}{}, err
		}
		if err := found(); err != nil {
			return struct{}{}, err
		}
		building, err := index.ParseStatus(status)
		if err != nil {
			return struct{}{}, err
		}
		at, err := index.ParseIndexSeq(state)
		if err != nil {
			return struct{}{}, err
		}
		b.From, b.Goal, b.reads, b.cutAt = at.Seq, building.Goal, fromCut, building.Goal
		if err := b.checkCut(t.Cfg); err != nil {
			return struct{}{}, err
		}
		b.take(building.First, building.Keeps) // of the steps of others none is repeated, by a shard's progress
		if t.Cfg.MapOf(shard) < 0 {
			return struct{}{}, db.ErrNoShard(shard)
		}
		from, err := b.shardProgress(t, shard)
		b.Progress = map[db.ShardID]*index.BuildPosition{shard: &from}
		b.Resumed = from != b.beginning() && from != index.BuildPosition{Seq: b.From}
		return struct{}{}, err
	})
	if err == nil {
		err = b.enter(stepping)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Reached is how far a shard of a shared build has come, whoever steps on it.
func (b *Build) Reached(ctx context.Context, shard db.ShardID) (StepResult, error) {
	return db.Read(ctx, b.Index.Db, func(t *db.Txn) (r StepResult, err error) {
		if err := b.checkToken(t.Get(b.keys.InfoKey(keyspace.ViewStatus))); err != nil {
			return r, err
		}
		at, err := b.shardProgress(t, shard)
		r.Seq, r.Done = at.Reached(), at.Done(b.Goal)
		return r, err
	})
}

// held reads a shard's progress in a step's transaction; what it returns says whether it is still this worker's.
func (b *Build) held(t *db.Txn, shard db.ShardID) func() error {
	if !b.Shared {
		return func() error { return nil }
	}
	value := t.Get(b.keys.ProgressKey(shard))
	return func() error {
		stored, err := value.Wait()
		if err != nil {
			return err
		}
		at := index.BuildPosition{Seq: b.From}
		if stored != nil {
			if at, err = index.ParsePosition(stored); err != nil {
				return err
			}
		}
		if at != *b.Progress[shard] {
			return fault.Errf(fault.Conflict, "job_lost", "another worker has stepped on shard %s", shard)
		}
		return nil
	}
}
