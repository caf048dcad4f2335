package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
)

// aggregatedFrom is from how many documents on a build of an index that has readers brings its aggregates up to date.
// Changes that are spread over a view make most of its partials stale, however few they are, so that doing it for each
// small build would read the whole index again and again: that is Aggregate's to do, in its time.
const aggregatedFrom = 10_000

// Finish makes the index current as of the goal after every shard is done: from then on readers see it. No step runs
// beside it.
func (b *Build) Finish(ctx context.Context) error {
	if err := b.in(stepping); err != nil {
		return err
	}
	if b.From.IsZero() || b.documents.Load() >= aggregatedFrom { // before readers come
		partials := aggregate.AggregatePartials
		if b.reads != besideWriters { // else others write rows, and a larger transaction meets more of them
			partials *= aggregate.ClosingPartials
		}
		if err := aggregate.Aggregate(ctx, b.Index, true, partials); err != nil {
			return err
		}
	}
	_, _, err := db.Transact(ctx, b.Index.Db, func(t *db.Txn) (struct{}, error) { return struct{}{}, b.finish(t) })
	b.publishing.Settle(err == nil, false)
	if err == nil {
		_ = b.enter(finished) // one that was closed meanwhile is done all the same
	}
	return err
}

func (b *Build) finish(t *db.Txn) error {
	if err := b.checkToken(t.Get(b.keys.InfoKey(keyspace.ViewStatus))); err != nil {
		return err
	}
	if err := b.checkCut(t.Cfg); err != nil {
		return err
	}
	index.SetIndexSeq(t, &b.keys, b.Goal)
	if err := index.EndBuild(t, &b.keys); err != nil {
		return err
	}
	feed.EndCut(t, b.keys.Signature)
	if b.snapshot != nil && !b.publishing.Put { // the goal is the same in all attempts
		b.publishing.Offer(t, b.Index, b.Goal, b.snapshot, nil)
		b.snapshot = nil
	}
	return nil
}
