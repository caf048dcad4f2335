package build

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Options say which nodes and runs have a part in a build.
type Options struct {
	// Share is the number of changes to process from which on other nodes may work on the build (see Build.Shared). 0
	// means that they never do.
	Share int64
	// Turns reports that an earlier run has given its worker to others. All further runs then have the same goal: if
	// each had its own, a build would never end if more is written from one turn to the next than a turn processes.
	Turns bool
}

// StartBuild sets the goal and the shards of a build. It takes over from an older build that did not finish, keeping
// its progress, and removes the rows of documents that were purged up to the goal. It returns NotFound if no design
// document has the index, and a Conflict if a newer token has been used. The caller closes the build.
//
// It takes one transaction, which also reads the design document, or two if the feed has to be cut, and more only if
// there are purged documents to remove.
func (d Database) StartBuild(ctx context.Context, of jobs.IndexJob, token int64, with Options) (*Build, error) {
	b := &Build{Token: token}
	s := start{Build: b, db: d.Database, of: of, with: with}
	err := s.run(ctx)
	if err == nil && b.state() == purging {
		if err = b.dropPurged(ctx); err == nil {
			err = b.enter(stepping)
		}
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("start of index build: %w", err)
	}
	return b, nil
}

// start is the start of a build. In one transaction it finds out what the index contains and what is left to do.
type start struct {
	*Build
	db   *db.Database
	of   jobs.IndexJob
	with Options
}

// run runs the start, and runs it again after a cut or a creation.
func (s *start) run(ctx context.Context) error {
	for {
		next, _, err := db.Transact(ctx, s.db, s.attempt)
		s.publishing.End(err == nil, true)
		if err == nil {
			err = s.enter(next)
		}
		if err != nil || next == purging || next == stepping {
			return err
		}
	}
}

// attempt is one attempt of the transaction. It returns the state that the build enters when the transaction commits.
func (s *start) attempt(t *db.Txn) (state, error) {
	b := s.Build
	if err := b.find(t, s.of); err != nil {
		return 0, err
	}
	b.space, b.keys, b.number, b.cfg, b.Shared = t.Keys, b.Index.Keys(t.Keys), t.Core.Number, t.Cfg, false
	b.reads, b.cutAt = fromNothing, db.Seq{}
	found := b.keys.Find(t)
	status := t.Get(b.keys.InfoKey(keyspace.ViewStatus))
	sequence := t.Get(b.keys.InfoKey(keyspace.ViewUpdateSeq))
	purges := t.Get(b.keys.ProgressKey(purgedProgress))
	old, err := index.ParseStatus(status)
	if err != nil {
		return 0, err
	}
	if err := found(); err != nil {
		return 0, err
	}
	if t.Cfg.Maintains(b.Index.Design().Signature) {
		return s.interactive(t, old, sequence)
	}
	// The snapshot must be newer than the first read, so that the goal is not before the index's sequence.
	if err := b.Index.Pin(t.Ctx, &b.snapshot); err != nil {
		return 0, err
	}
	at, stale, err := s.takeOver(t, old, sequence)
	if err != nil {
		return 0, err
	}
	if stale {
		old = nil
	}
	note, err := purges.Wait()
	if err != nil {
		return 0, err
	}
	if old != nil && note == nil {
		if at, stale = s.startOver(t, at); stale {
			old = nil
		}
	}
	resumed := old != nil && note != nil
	b.From, b.Shards = at.Seq, db.ShardsSince(t.Cfg, at.Seq)
	if b.Changes, err = s.changes(t, at, old != nil); err != nil {
		return 0, err
	}
	if b.Shared = b.shareable(s.with.Share); b.Shared || resumed && s.with.Turns {
		index.Unpin(&b.snapshot) // other nodes and later runs cannot read the snapshot
	}
	// Readers stay with these rows until the build ends.
	if old == nil && !b.From.IsZero() && b.snapshot != nil {
		var rows kv.Snapshot
		if err := b.Index.Pin(t.Ctx, &rows); err != nil {
			return 0, err
		}
		b.publishing.Publish(t, b.Index, b.From, nil, rows)
	}
	switch there, err := s.aim(t, old != nil); {
	case err != nil:
		return 0, err
	case !there:
		return s.cut(t)
	}
	b.setWriting(at.Collation == 0 && old == nil, !b.From.IsZero() && (old == nil || old.Keeps))
	if b.writing() == keeping {
		index.SetIndexSeq(t, &b.keys, b.From) // a format that nodes without ViewBefore refuse
	}
	if !resumed {
		note = nil
	}
	if err := s.beginPurges(t, note); err != nil {
		return 0, err
	}
	return s.begin(t, at, resumed)
}

// find sets the index of a job, by the design documents of the database.
func (b *Build) find(t *db.Txn, of jobs.IndexJob) error {
	d, err := design.WithSignature(t, of.Design, of.Signature)
	if err == nil && (b.Index == nil || b.Index.Design() != d) {
		b.Index = index.Of(t.Db).Index(d)
	}
	return err
}

// changes computes Build.Changes.
func (s *start) changes(t *db.Txn, at index.IndexSeq, resumed bool) (int64, error) {
	if !s.From.IsZero() {
		return 0, nil
	}
	n, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs, db.CounterDeleted)
	if err != nil {
		return 0, err
	}
	// A scan skips deleted documents.
	if at.Collation == 0 && !resumed && len(s.Shards) <= scanShards {
		return n[0], nil
	}
	return n[0] + n[1], nil
}

// aim sets the goal to the last sequence of the snapshot or to the cut. It returns false if there is work to do but
// neither a snapshot nor a cut.
func (s *start) aim(t *db.Txn, unfinished bool) (there bool, err error) {
	b := s.Build
	if b.snapshot != nil {
		b.reads = fromSnapshot
		b.Goal, err = db.ReadLastSeq(b.snapshot, t.Keys, t.Cfg)()
		return true, err
	}
	if at, ok := t.Cfg.CutOf(b.keys.Signature); ok && at.Compare(b.From) > 0 {
		b.reads, b.Goal, b.cutAt = fromCut, at, at
		return true, nil
	}
	b.Goal, err = db.ReadLastSeq(t.Snapshot(), t.Keys, t.Cfg)()
	return !unfinished && b.Goal == b.From, err
}

// cut cuts the feed for the build. If the feed was already cut and the cut is gone, nobody holds the build's job any
// more.
func (s *start) cut(t *db.Txn) (state, error) {
	if s.state() != starting {
		return 0, errNoCut
	}
	feed.CutFeed(t, s.keys.Signature)
	return cutting, nil
}

// interactive starts the build of an interactive index up to its creation. Writers continue to update the index. No
// snapshot is needed: each transaction checks that the entries of its documents have not moved.
func (s *start) interactive(t *db.Txn, old *index.BuildStatus, sequence kv.Future[[]byte]) (state, error) {
	b := s.Build
	index.Unpin(&b.snapshot) // left by an attempt that did not know yet that the index is interactive
	b.reads = besideWriters
	b.setWriting(false, false) // readers wait until the index is ready
	b.publishing.End(false, false)
	at, stale, err := s.takeOver(t, old, sequence)
	if err != nil {
		return 0, err
	}
	if stale {
		return creating, createIndex(t, &b.keys)
	}
	b.From = at.Seq
	if b.Goal, err = index.ParseCreation(t.Get(b.keys.InfoKey(keyspace.ViewCreation))); err != nil {
		return 0, err
	}
	if b.purged = b.From; at.Collation == 0 {
		// There were no rows yet, and the purges since then have removed those of their documents themselves.
		b.purged = b.Goal
	}
	if at.Ready(b.Goal) {
		b.Goal = at.Seq
		t.Set(b.keys.InfoKey(keyspace.ViewStatus), b.status())
		return stepping, nil
	}
	return s.begin(t, at, old != nil)
}

// begin stores the build's goal and the position of each shard. Only an index that never had a sequence contains
// nothing written before the goal: an index that is no longer interactive may have rows although its sequence is zero
// (retireIndex).
func (s *start) begin(t *db.Txn, stands index.IndexSeq, resumed bool) (state, error) {
	b := s.Build
	if err := b.keys.EnsureNumber(t); err != nil {
		return 0, err
	}
	b.Resumed = resumed
	b.Shards = db.ShardsSince(t.Cfg, b.From)
	b.Progress = make(map[db.ShardID]*index.BuildPosition, len(b.Shards))
	for _, shard := range b.Shards {
		at := index.BuildPosition{Seq: b.From}
		var err error
		switch {
		case resumed:
			// The index has the documents of a shard that was added since: they were in other shards before.
			at, err = b.shardProgress(t, shard)
		case stands.Collation == 0 && !b.Goal.IsZero() && len(b.Shards) <= scanShards:
			at = b.beginning()
			t.Set(b.keys.ProgressKey(shard), at.AppendTuple(nil))
		}
		if err != nil {
			return 0, err
		}
		b.Progress[shard] = &at
	}
	t.Set(b.keys.InfoKey(keyspace.ViewStatus), b.status())
	return s.passPurges(t)
}
