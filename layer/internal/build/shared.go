package build

import (
	"context"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/keyspace"
)

// Several nodes may share a build (P8): one starts and finishes it, and each shard is stepped by the worker that joined
// for it. All have the same goal. Since a snapshot can only be read on its own node, a shared build reads from a cut,
// as all builds do if the engine has no snapshots (feed/cuts.go). Only first builds are shared, so there are no readers
// before the end.
//
// The build's token fences it off from other builds. Within the build, a shard's progress does the same for workers: if
// two workers step on one shard, the one with the outdated progress stops with a Conflict, so that a worker that was
// suspended does no harm.

// shareable reports whether the build has at least share changes, which makes it worth sharing, and can be shared.
func (b *Build) shareable(share int64) bool {
	// The shard without an id is the deprecated subspace, which is no longer written once there are shards.
	return share > 0 && b.From.IsZero() && len(b.Shards) > 1 && b.Changes >= share && !slices.Contains(b.Shards, "")
}

// JoinBuild joins a shared build, which another node may have started, for one shard. The caller calls Step until the
// shard is done, then Close; only the starter calls Finish. It returns a Conflict if the build with that token has
// ended, and NotFound if there is no such shard, or no design document that has the index.
func (d Database) JoinBuild(ctx context.Context, of jobs.IndexJob, token int64, shard db.ShardID) (*Build, error) {
	b := &Build{Token: token, Shared: true, joined: true, Shards: []db.ShardID{shard}}
	_, err := db.Read(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		if err := b.find(t, of); err != nil {
			return struct{}{}, err
		}
		b.space, b.keys, b.number = t.Keys, b.Index.Keys(t.Keys), t.Core.Number
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
		// Adding is safe here: a shard's progress keeps steps of other workers from being repeated.
		b.setWriting(building.First, building.Keeps)
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

// Reached returns the progress of a shard of a shared build, whichever worker steps on it.
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

// held reads the shard's progress in a step's transaction. The returned function returns a Conflict if another worker
// has changed it.
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
			return fault.Errf(fault.Conflict, "job_lost", "another worker has taken over shard %s", shard)
		}
		return nil
	}
}
