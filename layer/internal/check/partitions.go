package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/partition"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// The documents of a partition are adjacent, so the counters of a partition can be compared as soon as a walk over
// documents or bodies has left it. Only the sums of one or two partitions are in memory at a time.

// partitionSums are sums of the partitions that a walk is in.
type partitionSums struct {
	exact    bool     // the database has partitions, and all their counters are exact
	counters []string // summed up by the walk
	sums     map[string]map[string]int64
	added    map[string]map[string]int64 // from the current documents
	current  string
}

func newPartitionSums() partitionSums {
	return partitionSums{sums: map[string]map[string]int64{}, added: map[string]map[string]int64{}}
}

// add counts for a document of a partition.
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

// countFor counts for the database and for the document's partition.
func (x *checker) countFor(id, counter string, n int64) {
	x.count(counter, n)
	if x.partitions.exact && !db.IsDesign(id) {
		x.partitions.add(db.PartitionOf(id), counter, n)
	}
}

// overPartitions is a walk that compares counters of partitions.
func (x *checker) overPartitions(counters []string, w walk) error {
	x.partitions = newPartitionSums()
	x.partitions.counters = counters
	if err := x.at(x.partitionsCounted); err != nil {
		return err
	}
	if err := x.walk(w); err != nil {
		return err
	}
	x.partitions.current = ""
	if err := x.at(x.leftPartitions); err != nil {
		return err
	}
	return x.settle()
}

// partitionsCounted finds out whether there are counters to compare.
func (x *checker) partitionsCounted() (err error) {
	if x.cfg.Partitioned {
		x.partitions.exact, err = partition.Counted(x.r, x.keys)
	}
	return err
}

// leftPartitions compares the counters of the partitions that the walk has left. All reads are started before the first
// one is waited for.
func (x *checker) leftPartitions() error {
	reads := map[string]partitionRead{}
	for partition := range x.partitions.sums {
		if _, under := x.partitions.added[partition]; !under && partition != x.partitions.current {
			reads[partition] = partitionCheck{x}.readPartition(partition)
		}
	}
	for partition, read := range reads {
		sums := x.partitions.sums[partition]
		counted, err := read.wait()
		if err != nil {
			return err
		}
		for _, counter := range x.partitions.counters {
			if n := counted[counter]; n != sums[counter] {
				x.doubt(keyspace.Counters, "", "the counter %s of partition %s is %d, but there are %d", counter,
					partition, n, sums[counter])
			}
		}
		delete(x.partitions.sums, partition)
	}
	return nil
}

// partitionRead is a pending read of a partition's counters.
type partitionRead [len(db.PartitionCounters)]kv.Future[[]byte]

// partitionCheck reads the counters of partitions.
type partitionCheck struct{ *checker }

func (x partitionCheck) readPartition(partition string) (reads partitionRead) {
	for i, counter := range db.PartitionCounters {
		reads[i] = x.r.Get(x.keys.PartitionCounter(nil, partition, counter))
	}
	return reads
}

// wait returns the counters.
func (p partitionRead) wait() (counted map[string]int64, err error) {
	counted = map[string]int64{}
	for i, counter := range db.PartitionCounters {
		if counted[counter], err = db.WaitCounter(p[i]); err != nil {
			return nil, err
		}
	}
	return counted, nil
}

// emptyPartitions checks that partitions whose counters are not zero have documents. documentCheck and bodyCheck check
// the values.
func (x partitionCheck) emptyPartitions() error {
	if !x.partitions.exact {
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
	// look is a pending search for a document of a partition.
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
			// A string's encoding without its terminator is a prefix of the encodings of longer strings.
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
				x.fault(keyspace.Counters, "", "the counter %s of partition %s is %d, but it has no documents", counter,
					l.partition, l.n)
			}
			return reset()
		},
		reset: reset,
	})
}
