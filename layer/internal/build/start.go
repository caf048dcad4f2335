package build

import (
	"context"
	"fmt"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// StartBuild fixes the goal and the shards, takes the index over from an older build that did not finish, whose
// progress is kept, and takes out of it what was purged up to the goal. Conflict where a newer token has been here. The
// caller closes the build.
//
// It takes one transaction, two where the feed has to be cut, and more only where there is something to take out.
func (ix Index) StartBuild(ctx context.Context, token int64) (*Build, error) {
	return ix.StartSharedBuild(ctx, token, 0)
}

// StartSharedBuild is StartBuild of a build that other nodes may work on (see Build.Shared), where it has at least that
// many changes to process; never with 0.
func (ix Index) StartSharedBuild(ctx context.Context, token, changes int64) (*Build, error) {
	b := &Build{Index: ix.Index, Token: token}
	s := start{Build: b, share: changes}
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

// start is the start of a build: in one transaction it finds out what the index has, and where to go from there.
type start struct {
	*Build
	share int64 // from how many changes on the build is shared; 0: never
}

// run runs the start, again after it has made the sequence up to which the build goes.
func (s *start) run(ctx context.Context) error {
	for {
		next, _, err := db.Transact(ctx, s.Index.Db, s.attempt)
		s.publishing.Settle(err == nil, true)
		if err == nil {
			err = s.enter(next)
		}
		if err != nil || next == purging || next == stepping {
			return err
		}
	}
}

// attempt is one attempt of the transaction. It returns the state that the build enters with its commit.
func (s *start) attempt(t *db.Txn) (state, error) {
	b := s.Build
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
	// After the first read, so that the goal is not before what the index has at the transaction's version.
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
	if b.Shared = b.shareable(s.share); b.Shared {
		index.Unpin(&b.snapshot) // others cannot read it
	}
	if old == nil && !b.From.IsZero() && b.snapshot != nil { // readers stay with these rows until the end of the build
		var rows kv.Snapshot
		if err := b.Index.Pin(t.Ctx, &rows); err != nil {
			return 0, err
		}
		b.publishing.Offer(t, b.Index, b.From, nil, rows)
	}
	switch there, err := s.aim(t, old != nil); {
	case err != nil:
		return 0, err
	case !there:
		return s.cut(t)
	}
	b.take(at.Collation == 0 && old == nil, !b.From.IsZero() && (old == nil || old.Keeps))
	if b.writing() == keeping {
		index.SetIndexSeq(t, &b.keys, b.From) // in the format that nodes without ViewBefore refuse
	}
	if !resumed {
		note = nil
	}
	if err := s.beginPurges(t, note); err != nil {
		return 0, err
	}
	return s.begin(t, at, resumed)
}

// takeOver is where the index stands, which a newer build than this one may not have. Rows in an older collation are
// removed: the zero IndexSeq.
func (s *start) takeOver(
	t *db.Txn, old *index.BuildStatus, sequence kv.Future[[]byte],
) (at index.IndexSeq, stale bool, err error) {
	if old != nil && old.Token > s.Token {
		return at, false, fault.Errf(fault.Conflict, "job_lost", "a newer build of the index is under way")
	}
	if at, err = index.ParseIndexSeq(sequence); err != nil || !at.Stale() {
		return at, false, err
	}
	index.Clear(t, &s.keys)
	return index.IndexSeq{}, true, nil
}

// startOver gives up the progress of a build by a version that took out last what was purged: its steps may have been
// past documents that were purged and made anew, which are taken out first now. An index that has no sequence yet is
// cleared: scans pass over deleted documents.
func (s *start) startOver(t *db.Txn, at index.IndexSeq) (_ index.IndexSeq, cleared bool) {
	if at.Seq.IsZero() {
		index.Clear(t, &s.keys)
		return index.IndexSeq{}, true
	}
	t.ClearRange(db.PrefixRange(s.keys.InfoKey(keyspace.ViewProgress)))
	return at, false
}

// changes is Build.Changes.
func (s *start) changes(t *db.Txn, at index.IndexSeq, resumed bool) (int64, error) {
	if !s.From.IsZero() {
		return 0, nil
	}
	n, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs, db.CounterDeleted)
	if err != nil {
		return 0, err
	}
	if at.Collation == 0 && !resumed && len(s.Shards) <= scanShards { // a scan passes over deleted documents
		return n[0], nil
	}
	return n[0] + n[1], nil
}

// aim sets the goal: where the snapshot or the cut is. It is not there where there is something to do, and neither of
// them.
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

// cut cuts the feed for the build. A start that has done so and finds no cut is too late: nobody has the build's job
// any more.
func (s *start) cut(t *db.Txn) (state, error) {
	if s.state() != starting {
		return 0, errNoCut
	}
	feed.CutFeed(t, s.keys.Signature)
	return cutting, nil
}

// interactive begins a build up to the creation. Writers go on meanwhile, so that no snapshot is needed; each
// transaction looks whether its documents are still where they were.
func (s *start) interactive(t *db.Txn, old *index.BuildStatus, sequence kv.Future[[]byte]) (state, error) {
	b := s.Build
	index.Unpin(&b.snapshot) // of an attempt that did not know yet that writers keep the index
	b.reads = besideWriters
	b.take(false, false) // readers wait
	b.publishing.Settle(false, false)
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
		// there were no rows, and purges since then have taken out those of their documents themselves
		b.purged = b.Goal
	}
	if at.Ready(b.Goal) {
		b.Goal = at.Seq
		t.Set(b.keys.InfoKey(keyspace.ViewStatus), b.status())
		return stepping, nil
	}
	return s.begin(t, at, old != nil)
}

// begin notes the build's goal, and where each shard stands. Only an index that never had a sequence has nothing of
// what was written up to the goal: one that writers stopped to maintain has rows, though as of none (retireIndex).
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
		case resumed: // of a shard that was added since, the index has the documents that were in others before
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
