package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
)

// aggregatedFrom is from how many documents on a build of an index that has readers brings its aggregates up to date.
// Changes that are spread over a view make most of its partials stale, however few they are, so that doing it for each
// small build would read the whole index again and again: that is Aggregate's to do, in its time.
const aggregatedFrom = 10_000

// Finish makes the index current as of the goal after every shard is done: from then on readers see it. No step runs
// beside it.
func (b *Build) Finish(ctx context.Context) error {
	if b.From.IsZero() || b.documents.Load() >= aggregatedFrom { // before readers come
		partials := aggregatePartials
		if !b.interactive { // else others write rows, and a larger transaction meets more of them
			partials *= closingPartials
		}
		if err := b.Index.aggregate(ctx, true, partials); err != nil {
			return err
		}
	}
	_, _, err := transact(ctx, b.Index.db, func(t *txn) (struct{}, error) { return struct{}{}, b.finish(t) })
	b.publishing.settle(err == nil, false)
	return err
}

func (b *Build) finish(t *txn) error {
	if err := b.checkToken(t.Get(b.keys.infoKey(keyspace.ViewStatus))); err != nil {
		return err
	}
	if err := b.checkCut(t.cfg); err != nil {
		return err
	}
	setIndexSeq(t, &b.keys, b.Goal)
	if err := endBuild(t, &b.keys); err != nil {
		return err
	}
	t.endCut(b.keys.signature)
	if b.snapshot != nil && !b.publishing.put { // the goal is the same in all attempts
		b.publishing.offer(t, b.Index, b.Goal, b.snapshot, nil)
		b.snapshot = nil
	}
	return nil
}
