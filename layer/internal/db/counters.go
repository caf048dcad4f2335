package db

import (
	"encoding/binary"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Counters are kept by changes shard (keyspace.ShardCounters), so that writers of different shards write no common key.
// A transaction changes each counter of a shard at most once. Readers add up the counters of all shards.

// counterDeltas collects the changes that a transaction makes to counters.
type counterDeltas struct {
	whole  []counterDelta // of the whole database
	shards []shardDeltas
	last   int // index in shards of the last lookup
}

type counterDelta struct {
	name string
	n    int64
}

type shardDeltas struct {
	shard  ShardID
	deltas []counterDelta
}

func addDelta(deltas []counterDelta, name string, n int64) []counterDelta {
	for i := range deltas {
		if deltas[i].name == name {
			deltas[i].n += n
			return deltas
		}
	}
	return append(deltas, counterDelta{name, n})
}

// in returns the changes in a shard.
func (c *counterDeltas) in(shard ShardID) *shardDeltas {
	if c.last < len(c.shards) && c.shards[c.last].shard == shard {
		return &c.shards[c.last]
	}
	for c.last = range c.shards {
		if c.shards[c.last].shard == shard {
			return &c.shards[c.last]
		}
	}
	c.last = len(c.shards)
	c.shards = append(c.shards, shardDeltas{shard: shard})
	return &c.shards[c.last]
}

// Count changes a counter of the whole database at the end of the transaction. All such transactions write the same
// key, so it is only for rare ones.
func (t *Txn) Count(name string, n int64) {
	if n != 0 {
		t.counts.whole = addDelta(t.counts.whole, name, n)
	}
}

// CountIn changes a counter of a shard at the end of the transaction.
func (t *Txn) CountIn(shard ShardID, name string, n int64) {
	if n != 0 {
		s := t.counts.in(shard)
		s.deltas = addDelta(s.deltas, name, n)
	}
}

// finishCounters writes the collected changes.
func (t *Txn) finishCounters() {
	for _, c := range t.counts.whole {
		if c.n != 0 {
			t.Atomic(kv.AtomicAdd, t.Close(t.Keys.Counter(t.Open(), c.name)), LittleEndian(c.n))
		}
	}
	for _, s := range t.counts.shards {
		for _, c := range s.deltas {
			if c.n != 0 {
				t.Atomic(kv.AtomicAdd, t.Close(t.Keys.ShardCounter(t.Open(), s.shard, c.name)), LittleEndian(c.n))
			}
		}
	}
}

// inShards reports whether a counter is kept by shard. Purges are not, because their history is one list for all
// shards.
func inShards(name string) bool { return name != CounterPurges && name != CounterPurgesDropped }

// CountersOf reads counters of a database: the sum of those of all shards, and of what was counted before counters were
// kept by shard. This reads one short range, with a few keys for each shard that the database has or had.
func CountersOf(r kv.Reader, keys Space, names ...string) ([]int64, error) {
	reads := make([]kv.Future[[]byte], len(names))
	for i, name := range names {
		reads[i] = r.Get(keys.Counter(nil, name))
	}
	values := make([]int64, len(names))
	var rows kv.RangeIterator
	prefix := keys.Sub(nil, keyspace.ShardCounters)
	if slices.ContainsFunc(names, inShards) {
		rows = GetRange(r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
	}
	for i, f := range reads {
		value, err := f.Wait()
		if err != nil {
			return nil, err
		}
		values[i] = CounterValue(value)
	}
	if rows == nil {
		return values, nil
	}
	for rows.Next() {
		row := rows.KeyValue()
		_, rest, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return nil, Corrupt("counter", err)
		}
		name, _, err := tuple.TakeString(rest)
		if err != nil {
			return nil, Corrupt("counter", err)
		}
		for i := range names {
			if names[i] == name {
				values[i] += CounterValue(row.Value)
			}
		}
	}
	return values, rows.Err()
}

// LittleEndian encodes the operand of an atomic addition.
func LittleEndian(n int64) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(n))
}

// CounterValue decodes a counter; a missing one is 0.
func CounterValue(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// Names of counters in keyspace.Counters.
const (
	CounterDocs       = "doc_count"
	CounterDeleted    = "doc_del_count"
	CounterBodies     = "body_bytes"       // stored bodies
	CounterStored     = "attachment_bytes" // linked attachments, as stored
	CounterContent    = "content_bytes"    // linked attachments, decoded
	CounterSuperseded = "superseded"       // bodies that Compact may remove
	// Those of CounterBodies, CounterStored and CounterContent that belong to no leaf, as far as that is counted: see
	// rev.FlagSized and rev.CountsOld.
	CounterOldBodies  = "old_body_bytes"
	CounterOldStored  = "old_attachment_bytes"
	CounterOldContent = "old_content_bytes"
	CounterPurges     = "purges"
	// CounterPurgesDropped counts purges that are no longer in the history.
	CounterPurgesDropped = "purges_dropped"
)

// WaitCounter waits for a counter and decodes it.
func WaitCounter(f kv.Future[[]byte]) (int64, error) {
	value, err := f.Wait()
	return CounterValue(value), err
}
