package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// StepResult is the progress of one shard after a batch.
type StepResult struct {
	Documents int    // processed in this step
	Rows      int    // rows written
	Seq       db.Seq // reached; zero where the shard is scanned still (see BuildPosition)
	Done      bool
}

// stepDocuments is how many documents are mapped at a time: about as many as fit a transaction.
const stepDocuments = 500

// Step processes one batch of a shard's changes, at most n documents, in the order of ids while a first build scans
// (scan.go). Steps of different shards may run at the same time; those of one shard may not. The caller adapts n by
// how long steps take. Conflict where another build has taken over. A step that did a part of its work says so without
// an error, which the next one meets again.
//
// Documents are read ahead of those that are mapped, and mapped outside of the transactions that write, so that these
// have the same length however slow the functions are. So neither processors nor the disk nor a cluster wait for each
// other, and what a slow commit has kept waiting is written together (pipe.go).
func (b *Build) Step(ctx context.Context, shard db.ShardID, n int) (StepResult, error) {
	if err := b.in(stepping); err != nil {
		return StepResult{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := b.pipe(ctx, shard, n)
	defer func() { // also after a panic: they read the build's snapshot
		stop()
		_ = p.wait()
	}()
	var result StepResult
	var err error
	for part := range p.Mapped {
		p.Took(part)
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

// writeParts writes a batch in as many transactions as it takes: smaller ones where they do not get through, and larger
// ones again where they do.
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
	first := b.writing() == adding && !b.Progress[shard].Picks // the scan may have been there
	for i := range docs {
		docs[i].added = first
	}
	return replaceRows(t, &b.keys, docs, b.writing() == keeping)
}

// unmovedSince is unmoved for a batch of a shard's that begins at a position.
func unmovedSince(t *db.Txn, shard db.ShardID, from, upTo index.BuildPosition, docs []indexedDoc) ([]indexedDoc,
	error) {
	if from.Scans {
		return unmovedWinners(t, from, docs)
	}
	return unmoved(t, map[db.ShardID]db.Seq{shard: from.Seq}, upTo.Seq, docs)
}

// unmoved are the documents that have not changed since they were read: those whose entries are in their shards' feeds
// still, in (since, upTo], which docs have all entries of. It is for interactive indexes: one that has changed was
// indexed by its writer. Other builds write documents as they were at the goal. The feed is read as ranges: a read for
// each entry would be most of what a build asks of a cluster.
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

// entryStays has the transaction conflict with who writes a document, whose entry moves then.
func entryStays(t *db.Txn, doc *indexedDoc) {
	key := t.Keys.Entry(nil, t.Cfg.ShardAt(doc.Id, doc.seq), doc.seq)
	t.AddReadConflict(kv.KeyRange{Begin: key, End: append(key[:len(key):len(key)], 0)})
}
