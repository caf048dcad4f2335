package layer

import (
	"slices"

	"github.com/divandb/divan/layer/kv"
)

// readEntries reads a shard's changes in (from, goal], n at most; goal zero is the end. more says that there are others behind.
func readEntries(r kv.Reader, keys space, shard ShardID, from, goal Seq, n int) (entries []entry, more bool, err error) {
	prefix := len(keys.feed(nil, shard))
	it := r.GetRange(entryRange(keys, shard, from, goal), kv.RangeOptions{Limit: n + 1, Mode: kv.ModeExact})
	defer it.Close()
	for it.Next() {
		if len(entries) == n {
			return entries, true, nil
		}
		e := entry{shard: shard}
		row := it.KeyValue()
		if err := parseEntry(&e, row.Key[prefix:], row.Value); err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
	}
	return entries, false, it.Err()
}

// shardsSince are the shards that may hold entries after a sequence: those of every map that was active from then on.
func shardsSince(c *config, since Seq) []ShardID {
	var shards []ShardID
	for _, m := range c.mapsFrom(since) {
		if len(m.Shards) == 0 {
			shards = append(shards, "") // the deprecated subspace
		}
		shards = append(shards, m.Shards...)
	}
	return slices.Compact(shards)
}

// addConflicts reads the leaves besides the winner.
func addConflicts(r kv.Reader, keys space, doc *Document) error {
	tree, err := waitTree(readTree(r, keys, doc.ID), keys, doc.ID)
	if err != nil {
		return err
	}
	doc.Conflicts, doc.DeletedConflicts = tree.conflicts(false), tree.conflicts(true)
	return nil
}
