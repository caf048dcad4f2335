package layer

import "github.com/divandb/divan/layer/kv"

// partitionCounters are kept for each partition.
var partitionCounters = [...]string{counterDocs, counterDeleted, counterBodies, counterStored, counterContent}

// partitionDelta is how a partition's counters change in a transaction.
type partitionDelta struct {
	name string
	n    [len(partitionCounters)]int64
}

// countFor changes a counter of the database, and of the document's partition where it has one.
func (t *txn) countFor(id, counter string, n int64) {
	t.countIn(t.cfg.shard(id), counter, n)
	if n == 0 || !t.cfg.partitioned || isDesign(id) {
		return
	}
	p := t.partitions.find(partitionOf(id))
	for i, name := range partitionCounters {
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
func (t *txn) finishPartitions() {
	for i := range t.partitions.list {
		p := &t.partitions.list[i]
		for c, name := range partitionCounters {
			if p.n[c] != 0 {
				t.Atomic(kv.AtomicAdd, t.close(t.keys.partitionCounter(t.open(), p.name, name)), littleEndian(p.n[c]))
			}
		}
	}
}
