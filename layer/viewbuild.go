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
	b.publishing.settle(false, false)
	at, stale, err := b.takeOver(t, old, state)
	if err != nil {
		return err
	}
	if stale {
		t.createIndex(&b.keys)
		b.reset = true
		return nil
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
	first := int64(0)
	if b.first.Load() {
		first = 1
	}
	return tuple.AppendInt(b.Goal.appendTuple(tuple.AppendInt(nil, b.Token)), first)
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

// StepResult is the progress of one shard after a batch.
type StepResult struct {
	Documents int // processed in this step
	Rows      int // rows written
	Seq       Seq // reached; zero where the shard is scanned still (see buildPosition)
	Done      bool
}

// stepDocuments is how many documents are mapped at a time: about as many as fit a transaction.
const stepDocuments = 500

// Step processes one batch of a shard's changes, at most n documents. Steps of different shards may run at the same time; those of one shard may not. The caller
// adapts n by how long steps take. Conflict where another build has taken over. A step that did a part of its work says so without an error, which the
// next one meets again.
//
// Documents are mapped outside of the transactions that write, so that these have the same length however slow the functions are, and while those before
// them are written, so that neither processors nor the disk wait.
func (b *Build) Step(ctx context.Context, shard ShardID, n int) (StepResult, error) {
	ctx, stop := context.WithCancel(ctx)
	mapped := make(chan *batch, 1)
	var failed error // of mapping; read once mapped is closed
	go func() {
		defer close(mapped)
		failed = guarded(func() error { return b.collectParts(ctx, shard, n, mapped) })()
	}()
	var result StepResult
	var err error
	for part := range mapped {
		if err != nil {
			continue
		}
		if err = b.writeParts(ctx, shard, part); err != nil {
			stop()
			continue
		}
		result.add(part)
	}
	stop()
	if err == nil {
		err = failed
	}
	if result.Documents > 0 {
		b.documents.Add(int64(result.Documents))
		return result, nil
	}
	return result, err
}

// collectParts reads and maps up to n documents of a shard, and hands them on in order.
func (b *Build) collectParts(ctx context.Context, shard ShardID, n int, mapped chan<- *batch) error {
	most := stepDocuments
	for from := *b.progress[shard]; n > 0; {
		asked := min(n, most)
		part, err := b.collect(ctx, shard, from, asked)
		if err != nil {
			return err
		}
		if most = stepDocuments; len(part.docs) < asked { // they are large: no more are read than are likely to be mapped
			most = min(2*max(len(part.docs), 1), stepDocuments)
		}
		from, n = part.upTo, n-len(part.docs)
		if part.done {
			n = 0
		}
		select {
		case mapped <- part:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// writeParts writes a batch in as many transactions as it takes.
func (b *Build) writeParts(ctx context.Context, shard ShardID, batch *batch) error {
	limit := stepBytes
	for docs := batch.docs; ; {
		part, upTo := docs, batch.upTo
		if cut := cutAt(&b.keys, docs, limit); cut < len(docs) {
			part, upTo = docs[:cut], b.progress[shard].behind(&docs[cut-1])
		}
		_, _, err := transact(ctx, b.Index.db, func(t *txn) (struct{}, error) {
			return struct{}{}, b.write(t, shard, part, upTo)
		})
		if tooLarge(err) && len(part) > 1 {
			limit = min(limit, costOf(&b.keys, part)) / 2 // what the documents had in the index before counts too
			continue
		}
		if err != nil {
			b.first.Store(false)
			return err
		}
		*b.progress[shard] = upTo
		if docs = docs[len(part):]; len(docs) == 0 {
			return nil
		}
	}
}

// tooLarge reports that a transaction had more to write than the engine takes.
func tooLarge(err error) bool { return kv.IsCode(err, kv.CodeTransactionTooLarge) }

// collect reads and maps a batch of what follows a position, from the snapshot or from the store as it is now.
func (b *Build) collect(ctx context.Context, shard ShardID, from buildPosition, n int) (*batch, error) {
	if b.snapshot != nil {
		return b.Index.collect(ctx, b.snapshot, b.space, b.cfg, &b.keys, shard, from, b.Goal, n)
	}
	var sources []source
	batch, err := read(ctx, b.Index.db, func(t *txn) (batch *batch, err error) {
		batch, sources, err = b.Index.gather(t.Snapshot(), t.keys, t.cfg, shard, from, b.Goal, n)
		return batch, err
	})
	if err != nil {
		return nil, err
	}
	batch.docs, err = b.Index.mapAll(ctx, &b.keys, sources, 0)
	return batch, err
}

func (b *Build) write(t *txn, shard ShardID, docs []indexedDoc, upTo buildPosition) error {
	status, progress := t.Get(b.keys.infoKey(keyspace.ViewStatus)), b.held(t, shard)
	var err error
	if b.snapshot == nil {
		if docs, err = unmovedSince(t, shard, *b.progress[shard], upTo, docs); err != nil {
			return err
		}
	}
	if err := b.checkToken(status); err != nil {
		return err
	}
	if err := progress(); err != nil {
		return err
	}
	t.Set(b.keys.progressKey(shard), upTo.appendTuple(nil))
	first := b.first.Load()
	for i := range docs {
		docs[i].added = first
	}
	return applyRows(t, &b.keys, docs)
}

// unmovedSince is unmoved for a batch of a shard's that begins at a position.
func unmovedSince(t *txn, shard ShardID, from, upTo buildPosition, docs []indexedDoc) ([]indexedDoc, error) {
	if from.scans {
		return unmovedWinners(t, from, docs)
	}
	return unmoved(t, map[ShardID]Seq{shard: from.seq}, upTo.seq, docs)
}

// unmoved are the documents that have not changed since they were read: those whose entries are in their shards' feeds still, in (since, upTo], which docs have
// all entries of. One that has changed comes again, later in the feed, or is indexed by its writer. The feed is read with conflict, as ranges: a read for each
// entry would be most of what a build asks of a cluster.
func unmoved(t *txn, since map[ShardID]Seq, upTo Seq, docs []indexedDoc) ([]indexedDoc, error) {
	feeds := make(map[ShardID]kv.RangeIterator, len(since))
	for shard, from := range since {
		feeds[shard] = t.GetRange(entryRange(t.keys, shard, from, upTo), kv.RangeOptions{Mode: kv.ModeWantAll})
	}
	there := make(map[Seq]struct{}, len(docs))
	for shard, it := range feeds {
		prefix := len(t.keys.feed(nil, shard))
		for it.Next() {
			seq, _, err := takeSeq(it.KeyValue().Key[prefix:])
			if err != nil {
				it.Close()
				return nil, corrupt("changes entry", err)
			}
			there[seq] = struct{}{}
		}
		it.Close()
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	kept := make([]indexedDoc, 0, len(docs))
	for i := range docs {
		if _, stays := there[docs[i].seq]; stays || docs[i].purged {
			kept = append(kept, docs[i])
		}
	}
	return kept, nil
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
		if tooLarge(err) {
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
	endBuild(t, &b.keys)
	if b.snapshot != nil && (b.Shared || !b.publishing.put) { // one that is not shared has the same goal in all attempts
		b.publishing.offer(t, b.Index, goal, b.snapshot, nil)
		b.snapshot = nil
	}
	return true, nil, nil
}

// Close releases the snapshot. Idempotent.
func (b *Build) Close() {
	unpin(&b.snapshot)
	if b.joined {
		return
	}
	b.Index.db.store.published.release(publication{b.number, b.Index.design.Signature}, b.From)
}

func costOf(k *indexKeys, docs []indexedDoc) int {
	sum := 0
	for i := range docs {
		sum += docs[i].cost(k)
	}
	return sum
}

// cutAt is how many documents from the front cost at most limit bytes, at least one.
func cutAt(k *indexKeys, docs []indexedDoc, limit int) int {
	sum := 0
	for i := range docs {
		if sum += docs[i].cost(k); sum > limit && i > 0 {
			return i
		}
	}
	return len(docs)
}
