package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// An index that has nothing of a shard yet is built in the order of document ids, not in that of the feed: where ids
// are random, the bodies of documents that were written one after the other lie far apart, and reading them one by one
// costs more than all that an index does with them. In the order of ids bodies come as ranges, and the index's own
// lists by id are written from front to back. What has changed since the scan began follows in the feed.

// scanShards is up to how many shards a first build scans: the steps of each pass over the documents of all of them.
const scanShards = 8

// scanPassed is how many documents a batch passes over at most, most of which may be of other shards.
const scanPassed = 4 * stepDocuments

// scanAllFrom is from how many documents on a scan asks a cluster for large batches of branches at once: growing ones
// would be several messages, one after the other.
const scanAllFrom = 100

// behindID is the range of the branches of the documents behind an id.
func behindID(keys db.Space, id string) kv.KeyRange {
	r := db.PrefixRange(keys.Sub(nil, keyspace.Revisions))
	if id != "" {
		r.Begin = db.PrefixRange(keys.Doc(nil, keyspace.Revisions, id)).End
	}
	return r
}

// scanEntries reads the next entries of a shard from a scan, n at most and no deleted ones, of which the index has
// nothing; upTo is behind them.
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
		upTo.Scans = len(entries) == n || passed == scanPassed // there may be others behind
		return !upTo.Scans
	})
	if !upTo.Scans {
		upTo.After = ""
	}
	return entries, upTo, err
}

// unmovedWinners is unmoved for documents that were found by a scan from a position on.
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
			left = left[1:] // it was purged
		}
		if len(left) > 0 && left[0].Id == id && left[0].seq == w.Seq {
			entryStays(t, &left[0])
			kept = append(kept, left[0])
		}
		return len(left) > 0
	})
	return kept, err
}
