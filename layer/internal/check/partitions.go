package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The documents of a partition lie side by side, so the counters of one can be compared once a walk over documents, or
// over bodies, has left it: what is summed up is of one or two partitions at a time, however many there are.

// partitionSums are sums of the partitions that a walk is in.
type partitionSums struct {
	counters []string // that the walk sums up
	sums     map[string]map[string]int64
	added    map[string]map[string]int64 // by the documents at work
	current  string
}

func newPartitionSums() partitionSums {
	return partitionSums{sums: map[string]map[string]int64{}, added: map[string]map[string]int64{}}
}

// add is for a document of a partition.
func (p *partitionSums) add(partition, counter string, n int64) {
	of := p.added[partition]
	if of == nil {
		of = map[string]int64{}
		p.added[partition] = of
	}
	of[counter] += n
	p.current = partition
}

func (p *partitionSums) keep() {
	for partition, of := range p.added {
		sums := p.sums[partition]
		if sums == nil {
			p.sums[partition] = of
			continue
		}
		for counter, n := range of {
			sums[counter] += n
		}
	}
	clear(p.added)
}

// countFor counts for the database, and for the partition of a document.
func (x *checker) countFor(id, counter string, n int64) {
	x.count(counter, n)
	if x.cfg.Partitioned && !db.IsDesign(id) {
		x.partitions.add(db.PartitionOf(id), counter, n)
	}
}

// overPartitions is a walk that sums up counters of partitions.
func (x *checker) overPartitions(counters []string, w walk) error {
	x.partitions = newPartitionSums()
	x.partitions.counters = counters
	if err := x.walk(w); err != nil {
		return err
	}
	x.partitions.current = ""
	if err := x.at(x.leftPartitions); err != nil {
		return err
	}
	return x.settle()
}

// leftPartitions compares the counters of the partitions that the walk has left. All reads are issued before the first
// is waited for.
func (x *checker) leftPartitions() error {
	reads := map[string]partitionRead{}
	for partition := range x.partitions.sums {
		if _, under := x.partitions.added[partition]; !under && partition != x.partitions.current {
			reads[partition] = partitionCheck{x}.readPartition(partition)
		}
	}
	for partition, read := range reads {
		sums := x.partitions.sums[partition]
		counted, kept, err := read.wait()
		if err != nil {
			return err
		}
		for _, counter := range x.partitions.counters {
			if n := counted[counter]; kept && n != sums[counter] {
				x.doubt(keyspace.Counters, "", "the counter %s of partition %s is %d, and there are %d", counter,
					partition, n, sums[counter])
			}
		}
		delete(x.partitions.sums, partition)
	}
	return nil
}

// partitionRead is a read of the counters of a partition.
type partitionRead [len(db.PartitionCounters)]kv.Future[[]byte]

// partitionCheck reads the counters of partitions, for comparing them with what was counted in each.
type partitionCheck struct{ *checker }

func (x partitionCheck) readPartition(partition string) (reads partitionRead) {
	for i, counter := range db.PartitionCounters {
		reads[i] = x.r.Get(x.keys.PartitionCounter(nil, partition, counter))
	}
	return reads
}

// wait returns the counters. kept is false where there are none: its documents are from before partitions were counted.
func (p partitionRead) wait() (counted map[string]int64, kept bool, err error) {
	counted = map[string]int64{}
	for i, counter := range db.PartitionCounters {
		value, err := p[i].Wait()
		if err != nil {
			return nil, false, err
		}
		counted[counter], kept = db.CounterValue(value), kept || value != nil
	}
	return counted, kept, nil
}

// emptyPartitions goes through the counters of partitions: those that are not zero have documents. Whether they are
// right documents and bodies look at.
func (x partitionCheck) emptyPartitions() error {
	if !x.cfg.Partitioned {
		return nil
	}
	for _, counter := range db.PartitionCounters {
		if err := x.emptyPartitionsOf(counter); err != nil {
			return err
		}
	}
	return nil
}

func (x partitionCheck) emptyPartitionsOf(counter string) error {
	// look is a search for a document of a partition, under way.
	type look struct {
		partition string
		n         int64
		first     kv.RangeIterator
	}
	var looks []look
	reset := func() error {
		for _, l := range looks {
			l.first.Close()
		}
		looks = looks[:0]
		return nil
	}
	prefix := x.keys.Counter(nil, counter)
	return x.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		row: func(partition string, _ []byte, row kv.KeyValue) error {
			n := db.CounterValue(row.Value)
			if n == 0 {
				return nil
			}
			// A string's encoding without its end is what those begin with that go on.
			begin := tuple.AppendString(x.keys.Sub(nil, keyspace.Revisions), partition+":")
			begin = begin[:len(begin)-1]
			end, err := tuple.Strinc(begin)
			if err != nil {
				return err
			}
			first := x.r.GetRange(kv.KeyRange{Begin: begin, End: end}, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
			looks = append(looks, look{partition, n, first})
			return nil
		},
		flush: func() error {
			for _, l := range looks {
				if l.first.Next() {
					continue
				}
				if err := l.first.Err(); err != nil {
					return err
				}
				x.fault(keyspace.Counters, "", "the counter %s of partition %s is %d, and it has no documents", counter,
					l.partition, l.n)
			}
			return reset()
		},
		reset: reset,
	})
}
