package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
)

// reached is how far each shard has come.
func (b *Build) reached() map[ShardID]Seq {
	m := make(map[ShardID]Seq, len(b.progress))
	for shard, at := range b.progress {
		m[shard] = at.seq
	}
	return m
}

// aggregatedFrom is from how many documents on a build of an index that has readers brings its aggregates up to date. Changes that are spread over a view make most of
// its partials stale, however few they are, so that doing it for each small build would read the whole index again and again: that is Aggregate's to do,
// in its time.
const aggregatedFrom = 10_000

// closing is how many documents the last transaction of a build may still apply.
const closing = 1000

// Finish makes the index current as of one sequence after every shard is done: from then on readers see it. false means that too much has changed since
// (only where there was no snapshot): step on, with the newer Goal that Finish has set. Shards that came by resharding meanwhile are Finish's own work. No step
// runs beside it.
func (b *Build) Finish(ctx context.Context) (bool, error) {
	if err := b.dropPurged(ctx); err != nil {
		return false, err
	}
	if err := b.learn(ctx); err != nil {
		return false, err
	}
	if b.From.IsZero() || b.documents.Load() >= aggregatedFrom { // before readers come
		if err := b.Index.aggregate(ctx, true); err != nil {
			return false, err
		}
	}
	for {
		if err := b.stepAdded(ctx); err != nil {
			return false, err
		}
		var added []ShardID
		done, _, err := transact(ctx, b.Index.db, func(t *txn) (done bool, err error) {
			done, added, err = b.finish(t)
			return done, err
		})
		b.publishing.settle(done && err == nil, false)
		if b.Shared {
			unpin(&b.snapshot) // of an attempt that did not end the build: steps do without
		}
		if tooMuch(err) {
			return false, nil // steps write it in parts
		}
		if err != nil || len(added) == 0 {
			return done, err
		}
		for _, shard := range added {
			b.progress[shard] = &buildPosition{seq: b.From}
		}
		b.added = append(b.added, added...)
	}
}

// stepAdded brings the shards that were added since the start as far as the others.
func (b *Build) stepAdded(ctx context.Context) error {
	for _, shard := range b.added {
		for done := false; !done; {
			r, err := b.Step(ctx, shard, closing)
			if err != nil {
				return err
			}
			done = r.Done
		}
	}
	return nil
}

// finish is the last transaction; added are shards of which the build does not know yet.
func (b *Build) finish(t *txn) (done bool, added []ShardID, err error) {
	if err := b.checkToken(t.Get(b.keys.infoKey(keyspace.ViewStatus))); err != nil {
		return false, nil, err
	}
	goal := b.Goal
	reader := t.Snapshot()
	if !b.exact {
		if b.Shared { // the documents that the rows go with can be held after all, from here on
			if err := b.Index.pin(t.ctx, &b.snapshot); err != nil {
				return false, nil, err
			}
			if b.snapshot != nil {
				reader = b.snapshot
			}
		}
		for _, shard := range shardsSince(t.cfg, b.From) {
			if at := b.progress[shard]; at == nil {
				added = append(added, shard)
			} else if at.scans {
				return false, nil, nil
			}
		}
		if len(added) > 0 {
			return false, added, nil
		}
		batch, err := b.Index.collectAll(t, reader, &b.keys, b.reached(), b.purged, Seq{}, closing)
		if err != nil {
			return false, nil, err
		}
		b.first.Store(false) // documents that are in the index have come in front of the new goal
		if b.Goal, err = readLastSeq(reader, t.keys, t.cfg)(); err != nil {
			return false, nil, err
		}
		goal = b.Goal
		if !batch.done || cutAt(&b.keys, batch.docs, stepBytes) < len(batch.docs) {
			return false, nil, nil
		}
		if err := applyRows(t, &b.keys, batch.docs); err != nil {
			return false, nil, err
		}
	}
	setIndexSeq(t, &b.keys, goal)
	if err := endBuild(t, &b.keys); err != nil {
		return false, nil, err
	}
	if b.snapshot != nil && (b.Shared || !b.publishing.put) { // one that is not shared has the same goal in all attempts
		b.publishing.offer(t, b.Index, goal, b.snapshot, nil)
		b.snapshot = nil
	}
	return true, nil, nil
}
