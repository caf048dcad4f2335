package db

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// PartitionCounters are the counters that exist for each partition. The last three were added in FormatVersion 8, and
// are exact in every database.
var PartitionCounters = [...]string{CounterDocs, CounterDeleted, CounterBodies, CounterStored, CounterContent,
	CounterOldBodies, CounterOldStored, CounterOldContent}

// PartitionsCounted is the value of Config "partition_counts" if the counters of all partitions are exact.
var PartitionsCounted = tuple.AppendBool(nil, true)

// partitionDelta is how a transaction changes a partition's counters.
type partitionDelta struct {
	name string
	n    [len(PartitionCounters)]int64
}

// CountFor changes a counter of the database and, in a partitioned database, of the document's partition.
func (t *Txn) CountFor(id, counter string, n int64) { t.CountForIn(t.Cfg.Shard(id), id, counter, n) }

// CountForIn is CountFor for a document whose shard is known.
func (t *Txn) CountForIn(shard ShardID, id, counter string, n int64) {
	t.CountIn(shard, counter, n)
	if n == 0 || !t.Cfg.Partitioned || IsDesign(id) {
		return
	}
	p := t.partitions.find(PartitionOf(id))
	for i, name := range PartitionCounters {
		if name == counter {
			p.n[i] += n
		}
	}
}

// partitionDeltas are the changes in all partitions that a transaction writes to, in the order of their first document.
type partitionDeltas struct {
	list []partitionDelta
	at   map[string]int
}

func (d *partitionDeltas) find(name string) *partitionDelta {
	if n := len(d.list); n > 0 && d.list[n-1].name == name {
		return &d.list[n-1]
	}
	i, ok := d.at[name]
	if !ok {
		if d.at == nil {
			d.at = map[string]int{}
		}
		i = len(d.list)
		d.at[name] = i
		d.list = append(d.list, partitionDelta{name: name})
	}
	return &d.list[i]
}

// finishPartitions writes the counters of partitions.
func (t *Txn) finishPartitions() {
	for i := range t.partitions.list {
		p := &t.partitions.list[i]
		for c, name := range PartitionCounters {
			if p.n[c] != 0 {
				t.Atomic(kv.AtomicAdd, t.Close(t.Keys.PartitionCounter(t.Open(), p.name, name)), LittleEndian(p.n[c]))
			}
		}
	}
}
