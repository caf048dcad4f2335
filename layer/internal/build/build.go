package build

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Build is one run of an index from where it stands to a goal, on behalf of a job (P8, V3). The indexer drives it:
// StartBuild, then Step for each shard until it is done, then Finish; Close in any case. Every transaction checks the
// fencing token, so that of two builds of one index the older one stops with a Conflict.
//
// All steps read the feed as of the goal, and the index ends as of exactly that: from a snapshot where the engine can
// hold one, and elsewhere with the help of a cut (feed/cuts.go).
type Build struct {
	Index *index.Index
	// Token is the fencing token of the job's lease.
	Token  int64
	From   db.Seq
	Goal   db.Seq
	Shards []db.ShardID
	// Changes is roughly how many entries the build processes, for showing progress; 0 where that is not known without
	// counting them, which is when the index was built before.
	Changes int64
	// Shared: other nodes may do a shard's steps, after JoinBuild (shared.go).
	Shared bool
	// Resumed says that it goes on with what an earlier run of the same build has done.
	Resumed bool

	space       db.Space
	keys        index.Keys
	number      int64  // of the database
	share       int64  // from how many changes on it is shared; 0: never
	joined      bool   // by JoinBuild
	keeps       bool   // what was there before is kept, for readers (index/before.go)
	interactive bool   // writers keep the index
	cutAt       db.Seq // the cut as of which steps read the feed; zero: none
	reset       bool   // the start has cleared the index, and has to run again
	publishing  index.Publishing
	snapshot    kv.Snapshot                         // nil where the engine holds none
	cfg         *db.Config                          // of the snapshot
	Progress    map[db.ShardID]*index.BuildPosition // not changed as a map, so that steps of different shards may run at once
	purged      db.Seq                              // purges up to here are in the index
	// first says that the index had nothing when the build began, and that no step has failed, which may have done part
	// of its work: then the index has nothing of the documents that steps write.
	first     atomic.Bool
	documents atomic.Int64 // that steps have processed
}

// stepBytes bounds the rows of one transaction: FoundationDB is at its best below 1 MB.
const stepBytes = 1_000_000

// StartBuild fixes the goal and the shards, takes the index over from an older build that did not finish, whose
// progress is kept, and takes out of it what was purged up to the goal. Conflict where a newer token has been here. The
// caller closes the build.
func (ix Index) StartBuild(ctx context.Context, token int64) (*Build, error) {
	return ix.StartSharedBuild(ctx, token, 0)
}

// StartSharedBuild is StartBuild of a build that other nodes may work on (see Build.Shared), where it has at least that
// many changes to process; never with 0.
func (ix Index) StartSharedBuild(ctx context.Context, token, changes int64) (*Build, error) {
	b := &Build{Index: ix.Index, Token: token, share: changes}
	start := func() error {
		_, _, err := db.Transact(ctx, ix.Db, func(t *db.Txn) (struct{}, error) { return struct{}{}, b.start(t) })
		b.publishing.Settle(err == nil, true)
		return err
	}
	err := start()
	if errors.Is(err, errNoCut) {
		if err = b.cut(ctx); err == nil {
			err = start()
		}
	}
	if err == nil && b.reset { // what it starts from is known now
		b.reset = false
		err = start()
	}
	if err == nil {
		err = b.dropPurged(ctx)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("start of index build: %w", err)
	}
	return b, nil
}

func (b *Build) start(t *db.Txn) error {
	b.space, b.keys, b.number, b.cfg, b.Shared = t.Keys, b.Index.Keys(t.Keys), t.Core.Number, t.Cfg, false
	b.interactive, b.cutAt = false, db.Seq{}
	found := b.keys.Find(t)
	status := t.Get(b.keys.InfoKey(keyspace.ViewStatus))
	state := t.Get(b.keys.InfoKey(keyspace.ViewUpdateSeq))
	purges := t.Get(b.keys.ProgressKey(purgedProgress))
	old, err := index.ParseStatus(status)
	if err != nil {
		return err
	}
	if err := found(); err != nil {
		return err
	}
	if t.Cfg.Maintains(b.Index.Design().Signature) {
		return b.startInteractive(t, old, state)
	}
	// After the first read, so that the goal is not before what the index has at the transaction's version.
	if err := b.Index.Pin(t.Ctx, &b.snapshot); err != nil {
		return err
	}
	at, stale, err := b.takeOver(t, old, state)
	if err != nil {
		return err
	}
	if stale {
		old = nil
	}
	note, err := purges.Wait()
	if err != nil {
		return err
	}
	if old != nil && note == nil {
		if at, stale = b.startOver(t, at); stale {
			old = nil
		}
	}
	unfinished := old != nil && note != nil
	b.From, b.Shards = at.Seq, db.ShardsSince(t.Cfg, at.Seq)
	if b.Changes, err = b.changes(t, at, old != nil); err != nil {
		return err
	}
	if b.Shared = b.shareable(); b.Shared {
		index.Unpin(&b.snapshot) // others cannot read it
	}
	if old == nil && !b.From.IsZero() && b.snapshot != nil { // readers stay with these rows until the end of the build
		var rows kv.Snapshot
		if err := b.Index.Pin(t.Ctx, &rows); err != nil {
			return err
		}
		b.publishing.Offer(t, b.Index, b.From, nil, rows)
	}
	if err := b.aim(t, old != nil); err != nil {
		return err
	}
	if b.keeps = !b.From.IsZero() && (old == nil || old.Keeps); b.keeps {
		index.SetIndexSeq(t, &b.keys, b.From) // in the format that nodes without ViewBefore refuse
	}
	b.first.Store(at.Collation == 0 && old == nil)
	if !unfinished {
		note = nil
	}
	if err := b.beginPurges(t, note); err != nil {
		return err
	}
	return b.begin(t, at, unfinished)
}

// startOver gives up the progress of a build by a version that took out last what was purged: its steps may have been
// past documents that were purged and made anew, which are taken out first now. An index that has no sequence yet is
// cleared: scans pass over deleted documents.
func (b *Build) startOver(t *db.Txn, at index.IndexSeq) (_ index.IndexSeq, cleared bool) {
	if at.Seq.IsZero() {
		index.Clear(t, &b.keys)
		return index.IndexSeq{}, true
	}
	t.ClearRange(db.PrefixRange(b.keys.InfoKey(keyspace.ViewProgress)))
	return at, false
}

// aim sets the goal: where the snapshot or the cut is. errNoCut where there is something to do, and neither of them.
func (b *Build) aim(t *db.Txn, unfinished bool) (err error) {
	if b.snapshot != nil {
		b.Goal, err = db.ReadLastSeq(b.snapshot, t.Keys, t.Cfg)()
		return err
	}
	if at, ok := t.Cfg.CutOf(b.keys.Signature); ok && at.Compare(b.From) > 0 {
		b.Goal, b.cutAt = at, at
		return nil
	}
	b.Goal, err = db.ReadLastSeq(t.Snapshot(), t.Keys, t.Cfg)()
	if err == nil && (unfinished || b.Goal != b.From) {
		return errNoCut
	}
	return err
}

// changes is Build.Changes.
func (b *Build) changes(t *db.Txn, index index.IndexSeq, unfinished bool) (int64, error) {
	if !b.From.IsZero() {
		return 0, nil
	}
	n, err := db.CountersOf(t.Snapshot(), t.Keys, db.CounterDocs, db.CounterDeleted)
	if err != nil {
		return 0, err
	}
	if index.Collation == 0 && !unfinished && len(b.Shards) <= scanShards { // a scan passes over deleted documents
		return n[0], nil
	}
	return n[0] + n[1], nil
}

// takeOver is where the index stands, which a newer build than this one may not have. Rows in an older collation are
// removed: the zero IndexSeq.
func (b *Build) takeOver(t *db.Txn, old *index.BuildStatus, state kv.Future[[]byte]) (at index.IndexSeq, stale bool, err error) {
	if old != nil && old.Token > b.Token {
		return at, false, fault.Errf(fault.Conflict, "job_lost", "a newer build of the index is under way")
	}
	if at, err = index.ParseIndexSeq(state); err != nil || !at.Stale() {
		return at, false, err
	}
	index.Clear(t, &b.keys)
	return index.IndexSeq{}, true, nil
}

// startInteractive begins a build up to the creation. Writers go on meanwhile, so that no snapshot is needed; each
// transaction looks whether its documents are still where they were.
func (b *Build) startInteractive(t *db.Txn, old *index.BuildStatus, state kv.Future[[]byte]) error {
	index.Unpin(&b.snapshot) // of an attempt that did not know yet that writers keep the index
	b.first.Store(false)
	b.keeps, b.interactive = false, true // readers wait
	b.publishing.Settle(false, false)
	at, stale, err := b.takeOver(t, old, state)
	if err != nil {
		return err
	}
	if stale {
		b.reset = true
		return createIndex(t, &b.keys)
	}
	b.From = at.Seq
	if b.Goal, err = index.ParseCreation(t.Get(b.keys.InfoKey(keyspace.ViewCreation))); err != nil {
		return err
	}
	if b.purged = b.From; at.Collation == 0 {
		b.purged = b.Goal // there were no rows, and purges since then have taken out those of their documents themselves
	}
	if at.Ready(b.Goal) {
		b.Goal = at.Seq
		t.Set(b.keys.InfoKey(keyspace.ViewStatus), b.status())
		return nil
	}
	return b.begin(t, at, old != nil)
}

// begin notes the build's goal, and where each shard stands. Only an index that never had a sequence has nothing of
// what was written up to the goal: one that writers stopped to maintain has rows, though as of none (retireIndex).
func (b *Build) begin(t *db.Txn, stands index.IndexSeq, unfinished bool) error {
	if err := b.keys.EnsureNumber(t); err != nil {
		return err
	}
	b.Resumed = unfinished
	b.Shards = db.ShardsSince(t.Cfg, b.From)
	b.Progress = make(map[db.ShardID]*index.BuildPosition, len(b.Shards))
	for _, shard := range b.Shards {
		at := index.BuildPosition{Seq: b.From}
		var err error
		switch {
		case unfinished: // of a shard that was added since, the index has the documents that were in others before
			at, err = b.shardProgress(t, shard)
		case stands.Collation == 0 && !b.Goal.IsZero() && len(b.Shards) <= scanShards:
			at = b.beginning()
			t.Set(b.keys.ProgressKey(shard), at.AppendTuple(nil))
		}
		if err != nil {
			return err
		}
		b.Progress[shard] = &at
	}
	t.Set(b.keys.InfoKey(keyspace.ViewStatus), b.status())
	return nil
}

// beginning is where a scan begins.
func (b *Build) beginning() index.BuildPosition { return index.BuildPosition{Seq: b.Goal, Scans: true} }

// status is the value of ViewStatus.
func (b *Build) status() []byte {
	value := b.Goal.AppendTuple(tuple.AppendInt(nil, b.Token))
	for _, flag := range []bool{b.first.Load(), b.keeps} {
		n := int64(0)
		if flag {
			n = 1
		}
		value = tuple.AppendInt(value, n)
	}
	return value
}

// shardProgress is where the shard's steps go on: behind what was done of the build before.
func (b *Build) shardProgress(tx kv.Transaction, shard db.ShardID) (index.BuildPosition, error) {
	value, err := tx.Get(b.keys.ProgressKey(shard)).Wait()
	if value == nil || err != nil {
		return index.BuildPosition{Seq: b.From}, err
	}
	return index.ParsePosition(value)
}

func (b *Build) checkToken(status kv.Future[[]byte]) error {
	now, err := index.ParseStatus(status)
	if err != nil {
		return err
	}
	if now == nil || now.Token != b.Token {
		return fault.Errf(fault.Conflict, "job_lost", "another build of the index has taken over")
	}
	return nil
}

// Close releases the snapshot. Idempotent.
func (b *Build) Close() {
	index.Unpin(&b.snapshot)
	if b.joined {
		return
	}
	index.PublishedOf(b.Index.Db.Store).Release(index.Publication{Database: b.number, Signature: b.Index.Design().Signature}, b.From)
}
