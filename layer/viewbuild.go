package layer

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Build is one run of an index from where it stands to a goal, on behalf of a job (P8, V3). The indexer drives it: StartBuild, then Step for each
// shard until it is done, then Finish; Close in any case. Every transaction checks the fencing token, so that of two builds of one index
// the older one stops with a Conflict.
//
// Where the engine can hold a snapshot, all steps read one, and the index ends as of exactly the goal. Elsewhere entries move while the build runs: steps chase
// them, and Finish is one transaction that applies what is left at its own read version.
type Build struct {
	Index *Index
	// Token is the fencing token of the job's lease.
	Token  int64
	From   Seq
	Goal   Seq
	Shards []ShardID
	// Changes is roughly how many entries the build processes, for showing progress; 0 where that is not known without counting them, which
	// is when the index was built before.
	Changes int64
	// Shared: other nodes may do a shard's steps, after JoinBuild (viewshared.go).
	Shared bool

	space      space
	keys       indexKeys
	number     int64 // of the database
	share      int64 // from how many changes on it is shared; 0: never
	joined     bool  // by JoinBuild
	keeps      bool  // what was there before is kept, for readers (viewbefore.go)
	exact      bool  // the goal does not move: there was a snapshot at the start, or the index is interactive
	reset      bool  // the start has cleared the index, and has to run again
	publishing publishing
	snapshot   kv.Snapshot                // nil where the engine holds none
	cfg        *config                    // of the snapshot
	progress   map[ShardID]*buildPosition // changed by Finish alone, beside which no step runs, so that steps of different shards may run at once
	added      []ShardID                  // shards that resharding has added since the start
	purged     Seq                        // purges up to here are in the index
	// first says that the index had nothing when the build began, that the goal is still that of the start, and that no step has failed, which may have done part
	// of its work: then the index has nothing of the documents that steps write. Also where entries move meanwhile: they move behind the goal.
	first     atomic.Bool
	documents atomic.Int64 // that steps have processed
}

// stepBytes bounds the rows of one transaction: FoundationDB is at its best below 1 MB.
const stepBytes = 1_000_000

// StartBuild fixes the goal and the shards, and takes the index over from an older build that did not finish; its progress is kept. Conflict where a
// newer token has been here. The caller closes the build.
func (ix *Index) StartBuild(ctx context.Context, token int64) (*Build, error) {
	return ix.StartSharedBuild(ctx, token, 0)
}

// StartSharedBuild is StartBuild of a build that other nodes may work on (see Build.Shared), where it has at least that many changes to process; never with 0.
func (ix *Index) StartSharedBuild(ctx context.Context, token, changes int64) (*Build, error) {
	b := &Build{Index: ix, Token: token, share: changes}
	_, _, err := transact(ctx, ix.db, func(t *txn) (struct{}, error) { return struct{}{}, b.start(t) })
	b.publishing.settle(err == nil, true)
	if err == nil && b.reset { // what it starts from is known now
		b.reset = false
		_, _, err = transact(ctx, ix.db, func(t *txn) (struct{}, error) { return struct{}{}, b.start(t) })
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("start of index build: %w", err)
	}
	return b, nil
}

func (b *Build) start(t *txn) error {
	b.space, b.keys, b.number, b.cfg, b.Shared = t.keys, b.Index.keys(t.keys), t.core.number, t.cfg, false
	status := t.Get(b.keys.infoKey(keyspace.ViewStatus))
	state := t.Get(b.keys.infoKey(keyspace.ViewUpdateSeq))
	old, err := parseStatus(status)
	if err != nil {
		return err
	}
	if t.cfg.maintains(b.Index.design.Signature) {
		return b.startInteractive(t, old, state)
	}
	// After the first read, so that the goal is not before what the index has at the transaction's version.
	if err := b.Index.pin(t.ctx, &b.snapshot); err != nil {
		return err
	}
	goalReader := t.Snapshot()
	if b.exact = b.snapshot != nil; b.exact {
		goalReader = b.snapshot
	}
	at, stale, err := b.takeOver(t, old, state)
	if err != nil {
		return err
	}
	if stale {
		old = nil
	}
	b.From = at.seq
	if old == nil && !b.From.IsZero() && b.exact { // readers stay with these rows until the end of the build
		var rows kv.Snapshot
		if err := b.Index.pin(t.ctx, &rows); err != nil {
			return err
		}
		b.publishing.offer(t, b.Index, b.From, nil, rows)
	}
	if b.Goal, err = readLastSeq(goalReader, t.keys, t.cfg)(); err != nil {
		return err
	}
	if b.keeps = !b.From.IsZero() && (old == nil || old.keeps); b.keeps {
		setIndexSeq(t, &b.keys, b.From) // in the format that nodes without ViewBefore refuse
	}
	b.purged = b.From
	b.first.Store(at.collation == 0 && old == nil)
	if b.first.Load() {
		b.purged = b.Goal // there are no rows of what was purged before
	}
	if err := b.begin(t, at, old != nil); err != nil {
		return err
	}
	if b.From.IsZero() {
		n, err := countersOf(goalReader, t.keys, counterDocs, counterDeleted)
		if err != nil {
			return err
		}
		if b.Changes = n[0]; !b.scansAll() { // a scan passes over deleted documents
			b.Changes += n[1]
		}
	}
	if b.shareable() { // others cannot read this node's snapshot: all chase the feed, and Finish closes the gap
		unpin(&b.snapshot)
		b.Shared, b.exact = true, false
	}
	return nil
}

// takeOver is where the index stands, which a newer build than this one may not have. Of rows in an order of the past nothing is left: the zero indexSeq.
func (b *Build) takeOver(t *txn, old *buildStatus, state kv.Future[[]byte]) (at indexSeq, stale bool, err error) {
	if old != nil && old.token > b.Token {
		return at, false, errf(Conflict, "job_lost", "a newer build of the index is under way")
	}
	if at, err = parseIndexSeq(state); err != nil || !at.stale() {
		return at, false, err
	}
	clearIndex(t, &b.keys)
	return indexSeq{}, true, nil
}

// startInteractive begins a build up to the creation. Writers go on meanwhile, so that no snapshot is needed; each transaction looks whether its documents are
// still where they were.
func (b *Build) startInteractive(t *txn, old *buildStatus, state kv.Future[[]byte]) error {
	unpin(&b.snapshot) // of an attempt that did not know yet that writers keep the index
	b.first.Store(false)
	b.keeps = false // readers wait
	b.publishing.settle(false, false)
	at, stale, err := b.takeOver(t, old, state)
	if err != nil {
		return err
	}
	if stale {
		b.reset = true
		return t.createIndex(&b.keys)
	}
	b.exact, b.From = true, at.seq
	if b.Goal, err = parseCreation(t.Get(b.keys.infoKey(keyspace.ViewCreation))); err != nil {
		return err
	}
	if b.purged = b.From; at.collation == 0 {
		b.purged = b.Goal // there were no rows, and purges since then have taken out those of their documents themselves
	}
	if at.ready(b.Goal) {
		b.Goal = at.seq
		t.Set(b.keys.infoKey(keyspace.ViewStatus), b.status())
		return nil
	}
	return b.begin(t, at, old != nil)
}

// begin notes the build's goal, and where each shard stands. Only an index that never had a sequence has nothing of what was written up to the goal: one that
// writers stopped to maintain has rows, though as of none (retireIndex).
func (b *Build) begin(t *txn, index indexSeq, unfinished bool) error {
	b.Shards = shardsSince(t.cfg, b.From)
	b.progress = make(map[ShardID]*buildPosition, len(b.Shards))
	for _, shard := range b.Shards {
		at := buildPosition{seq: b.From}
		var err error
		switch {
		case unfinished: // of a shard that was added since, the index has the documents that were in others before
			at, err = b.shardProgress(t, shard)
		case index.collation == 0 && !b.Goal.IsZero() && len(b.Shards) <= scanShards:
			at = buildPosition{seq: b.Goal, scans: true}
			t.Set(b.keys.progressKey(shard), at.appendTuple(nil))
		}
		if err != nil {
			return err
		}
		b.progress[shard] = &at
	}
	t.Set(b.keys.infoKey(keyspace.ViewStatus), b.status())
	return nil
}

// status is the value of ViewStatus.
func (b *Build) status() []byte {
	value := b.Goal.appendTuple(tuple.AppendInt(nil, b.Token))
	for _, flag := range []bool{b.first.Load(), b.keeps} {
		n := int64(0)
		if flag {
			n = 1
		}
		value = tuple.AppendInt(value, n)
	}
	return value
}

// scansAll reports whether every shard begins with a scan.
func (b *Build) scansAll() bool {
	for _, at := range b.progress {
		if !at.scans {
			return false
		}
	}
	return true
}

// shardProgress is where the shard's steps go on: behind what was done of the build before.
func (b *Build) shardProgress(tx kv.Transaction, shard ShardID) (buildPosition, error) {
	value, err := tx.Get(b.keys.progressKey(shard)).Wait()
	if value == nil || err != nil {
		return buildPosition{seq: b.From}, err
	}
	return parsePosition(value)
}

func (b *Build) checkToken(status kv.Future[[]byte]) error {
	now, err := parseStatus(status)
	if err != nil {
		return err
	}
	if now == nil || now.token != b.Token {
		return errf(Conflict, "job_lost", "another build of the index has taken over")
	}
	return nil
}

// Close releases the snapshot. Idempotent.
func (b *Build) Close() {
	unpin(&b.snapshot)
	if b.joined {
		return
	}
	b.Index.db.store.published.release(publication{b.number, b.Index.design.Signature}, b.From)
}
