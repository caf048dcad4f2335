package db

import "github.com/divandb/divan/layer/kv"

// PartitionCounters are kept for each partition.
var PartitionCounters = [...]string{CounterDocs, CounterDeleted, CounterBodies, CounterStored, CounterContent}

// partitionDelta is how a partition's counters change in a transaction.
type partitionDelta struct {
	name string
	n    [len(PartitionCounters)]int64
}

// CountFor changes a counter of the database, and of the document's partition where it has one.
func (t *Txn) CountFor(id, counter string, n int64) {
	t.CountIn(t.Cfg.Shard(id), counter, n)
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

// partitionDeltas are those of all partitions that a transaction writes to, in the order of their first document.
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
