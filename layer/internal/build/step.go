package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// StepResult is the progress of one shard after a step.
type StepResult struct {
	Documents int    // processed in this step
	Rows      int    // written in this step
	Seq       db.Seq // reached so far; zero while the shard is being scanned (see BuildPosition)
	Done      bool
}

// stepDocuments is the number of documents that are mapped at a time, about as many as fit a transaction.
const stepDocuments = 500

// Step processes at most n documents of a shard's changes, in the order of the feed, or of ids during the scan of a
// first build (scan.go). Steps of different shards may run concurrently; those of one shard may not. The caller adapts
// n to the time that steps take. Step returns a Conflict if another build has taken over. If it fails after doing a
// part of its work, it reports that part without an error; the next step meets the error again.
//
// Documents are read ahead of mapping, and mapped outside of the writing transactions, so that the length of a
// transaction does not depend on the speed of the map functions. The processors, the disk and the cluster work at the
// same time, and parts that become ready during a slow commit are written together (pipe.go).
func (b *Build) Step(ctx context.Context, shard db.ShardID, n int) (StepResult, error) {
	if err := b.in(stepping); err != nil {
		return StepResult{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := b.pipe(ctx, shard, n)
	// Deferred, to run after a panic too: the goroutines read the build's snapshot.
	defer func() {
		stop()
		_ = p.wait()
	}()
	var result StepResult
	var err error
	for part := range p.Mapped {
		p.Received(part)
		if err != nil {
			continue
		}
		part = b.together(part, *b.Progress[shard], p)
		if err = b.writeParts(ctx, shard, part); err != nil {
			stop()
			continue
		}
		result.add(part)
	}
	stop()
	if failed := p.wait(); err == nil {
		err = failed
	}
	if result.Documents > 0 {
		b.documents.Add(int64(result.Documents))
		return result, nil
	}
	return result, err
}

// writeParts writes a batch in as many transactions as it takes. It makes them smaller if they fail, and larger again
// if they succeed.
func (b *Build) writeParts(ctx context.Context, shard db.ShardID, batch *Batch) error {
	p := db.NewPortions(max(1, len(batch.Docs)))
	for docs := batch.Docs; ; {
		var upTo index.BuildPosition
		most := CutAt(&b.keys, docs, stepBytes)
		done, _, err := db.WritePart(ctx, b.Index.Db, p, most, func(t *db.Txn, n int) (int, error) {
			n = min(n, len(docs))
			if upTo = batch.UpTo; n < len(docs) {
				upTo = b.Progress[shard].Behind(docs[n-1].Id, docs[n-1].seq)
			}
			return n, b.write(t, shard, docs[:n], upTo)
		})
		if err != nil {
			b.writes.CompareAndSwap(int32(adding), int32(replacing))
			return err
		}
		*b.Progress[shard] = upTo
		if docs = docs[done:]; len(docs) == 0 {
			return nil
		}
	}
}

func (b *Build) write(t *db.Txn, shard db.ShardID, docs []indexedDoc, upTo index.BuildPosition) error {
	status, progress := t.Get(b.keys.InfoKey(keyspace.ViewStatus)), b.held(t, shard)
	var err error
	if b.reads == besideWriters {
		if docs, err = unmovedSince(t, shard, *b.Progress[shard], upTo, docs); err != nil {
			return err
		}
	}
	if err := b.checkToken(status); err != nil {
		return err
	}
	if err := progress(); err != nil {
		return err
	}
	t.Set(b.keys.ProgressKey(shard), upTo.AppendTuple(nil))
	// A scan may already have written documents that a pick finds.
	first := b.writing() == adding && !b.Progress[shard].Picks
	for i := range docs {
		docs[i].added = first
	}
	return replaceRows(t, &b.keys, docs, b.writing() == keeping)
}

// unmovedSince is unmoved for a batch of a shard that begins at from.
func unmovedSince(t *db.Txn, shard db.ShardID, from, upTo index.BuildPosition, docs []indexedDoc) ([]indexedDoc,
	error) {
	if from.Scans {
		return unmovedWinners(t, from, docs)
	}
	return unmoved(t, map[db.ShardID]db.Seq{shard: from.Seq}, upTo.Seq, docs)
}

// unmoved returns the documents that have not changed since they were read, whose entries are still in their shards'
// feeds in (since, upTo]. docs contains all entries of that range. Builds of interactive indexes use it: documents that
// have changed were indexed by their writers. Other builds write documents as they were at the goal. The feed is read
// by ranges, because one read for each entry would be most of a build's load on a cluster.
func unmoved(t *db.Txn, since map[db.ShardID]db.Seq, upTo db.Seq, docs []indexedDoc) ([]indexedDoc, error) {
	feeds := make(map[db.ShardID]kv.RangeIterator, len(since))
	for shard, from := range since {
		in := feed.EntryRange(t.Keys, shard, from, upTo)
		feeds[shard] = t.Snapshot().GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	}
	there := make(map[db.Seq]struct{}, len(docs))
	for shard, it := range feeds {
		prefix := len(t.Keys.Feed(nil, shard))
		for it.Next() {
			seq, _, err := db.TakeSeq(it.KeyValue().Key[prefix:])
			if err != nil {
				it.Close()
				return nil, db.Corrupt("changes entry", err)
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
		_, stays := there[docs[i].seq]
		if stays {
			entryStays(t, &docs[i])
		}
		if stays || docs[i].purged {
			kept = append(kept, docs[i])
		}
	}
	return kept, nil
}

// entryStays makes the transaction conflict with any write to the document, since a write moves the document's entry.
func entryStays(t *db.Txn, doc *indexedDoc) {
	key := t.Keys.Entry(nil, t.Cfg.ShardAt(doc.Id, doc.seq), doc.seq)
	t.AddReadConflict(kv.KeyRange{Begin: key, End: append(key[:len(key):len(key)], 0)})
}
