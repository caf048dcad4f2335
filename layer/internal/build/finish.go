package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
)

// aggregatedFrom is the number of documents from which on a build of an index with readers updates its aggregates.
// Changes spread over a view make most of its partial aggregates stale, even if they are few, so that doing this after
// each small build would read the whole index every time. After smaller builds it is left to background calls of
// Aggregate.
const aggregatedFrom = 10_000

// Finish makes the index current as of the goal, visible to readers. All shards must be done and no step may be
// running.
func (b *Build) Finish(ctx context.Context) error {
	if err := b.in(stepping); err != nil {
		return err
	}
	if b.From.IsZero() || b.documents.Load() >= aggregatedFrom { // before there are readers
		partials := aggregate.AggregatePartials
		// In an interactive index, a larger transaction would conflict with more writers.
		if b.reads != besideWriters {
			partials *= aggregate.ClosingPartials
		}
		if err := aggregate.Aggregate(ctx, b.Index, true, partials); err != nil {
			return err
		}
	}
	_, _, err := db.Transact(ctx, b.Index.Db, func(t *db.Txn) (struct{}, error) { return struct{}{}, b.finish(t) })
	b.publishing.End(err == nil, false)
	if err == nil {
		_ = b.enter(finished) // fails if closed in the meantime, although the build is done
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
	if b.snapshot != nil && !b.publishing.Running { // the goal is the same in all attempts
		b.publishing.Publish(t, b.Index, b.Goal, b.snapshot, nil)
		b.snapshot = nil
	}
	return nil
}
