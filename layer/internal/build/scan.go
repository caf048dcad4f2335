package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// A shard of which the index has nothing yet is read in the order of document ids, not in that of the feed. If ids are
// random, the bodies of documents written one after the other are far apart, and reading them one by one costs more
// than all the rest of indexing. In id order, bodies are read by ranges, and the index's own entries by id are written
// in key order. Changes since the beginning of the scan are then read from the feed.

// scanShards is the maximum number of shards for which a first build scans, because the scan of each shard passes over
// the documents of all shards.
const scanShards = 8

// scanPassed is the maximum number of documents that a batch passes over; most may be of other shards.
const scanPassed = 4 * stepDocuments

// scanAllFrom is the number of documents from which on a scan requests large batches of branches from a cluster at
// once. Batches that grow would take several round trips.
const scanAllFrom = 100

// behindID returns the range of the branches of all documents after id.
func behindID(keys db.Space, id string) kv.KeyRange {
	r := db.PrefixRange(keys.Sub(nil, keyspace.Revisions))
	if id != "" {
		r.Begin = db.PrefixRange(keys.Doc(nil, keyspace.Revisions, id)).End
	}
	return r
}

// scanEntries reads the next entries of a shard from a scan: at most n, not deleted, and not newer than the scan's
// beginning. upTo is the position after them.
func scanEntries(r kv.Reader, keys db.Space, cfg *db.Config, shard db.ShardID, from index.BuildPosition,
	n int) (entries []feed.Entry, upTo index.BuildPosition, err error) {
	o := kv.RangeOptions{Mode: kv.ModeIterator}
	if n >= scanAllFrom {
		o.Mode = kv.ModeWantAll
	}
	it := r.GetRange(behindID(keys, from.After), o)
	defer it.Close()
	upTo, upTo.Scans = from, false
	passed := 0
	err = rev.EachWinner(it, len(keys.Sub(nil, keyspace.Revisions)), func(id string, w *rev.LeafKV) bool {
		upTo.After = id
		if e := feed.EntryOf(cfg, id, w); e.Shard == shard && !e.Deleted && e.Seq.Compare(from.Seq) <= 0 {
			entries = append(entries, e)
		}
		passed++
		upTo.Scans = len(entries) == n || passed == scanPassed // there may be more documents
		return !upTo.Scans
	})
	if !upTo.Scans {
		upTo.After = ""
	}
	return entries, upTo, err
}

// unmovedWinners is unmoved for documents found by a scan after from.
func unmovedWinners(t *db.Txn, from index.BuildPosition, docs []indexedDoc) ([]indexedDoc, error) {
	if len(docs) == 0 {
		return docs, nil
	}
	in := behindID(t.Keys, from.After)
	in.End = db.PrefixRange(t.Keys.Doc(nil, keyspace.Revisions, docs[len(docs)-1].Id)).End
	it := t.Snapshot().GetRange(in, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	kept, left := make([]indexedDoc, 0, len(docs)), docs
	err := rev.EachWinner(it, len(t.Keys.Sub(nil, keyspace.Revisions)), func(id string, w *rev.LeafKV) bool {
		for len(left) > 0 && left[0].Id < id {
			left = left[1:] // purged
		}
		if len(left) > 0 && left[0].Id == id && left[0].seq == w.Seq {
			entryStays(t, &left[0])
			kept = append(kept, left[0])
		}
		return len(left) > 0
	})
	return kept, err
}
