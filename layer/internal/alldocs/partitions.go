package alldocs

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/kv"
)

// In a partitioned database a document's id is PARTITION:ID. The documents of a partition share a changes shard (P2),
// lie side by side in the list of documents and in the indexes, and are counted by themselves.

// Partition narrows the range to the documents of one partition.
func (o *AllDocsOptions) Partition(name string) {
	low, high := name+":", name+";" // the next character: no id of the partition sorts behind it, and it is none itself
	start, end := &o.Start, &o.End
	if o.Descending {
		start, end = end, start
	}
	if *start == nil || **start < low {
		*start = &low
	}
	if *end == nil || **end >= high {
		*end = &high
	}
}

// PartitionInfo is what GET /{db}/_partition/{name} shows; the members are as in Info.
type PartitionInfo struct {
	DocCount, DocDelCount    int64
	ExternalSize, ActiveSize int64
}

// Partition reads the counters of a partition: of one without documents they are zero. Invalid where the name is none,
// or the database has no partitions.
func (d Database) Partition(ctx context.Context, name string) (PartitionInfo, error) {
	if err := db.ValidatePartition(name); err != nil {
		return PartitionInfo{}, err
	}
	return db.Read(ctx, d.Database, func(t *db.Txn) (PartitionInfo, error) {
		if !t.Cfg.Partitioned {
			return PartitionInfo{}, errNoPartitions()
		}
		var reads [len(db.PartitionCounters)]kv.Future[[]byte]
		for i, counter := range db.PartitionCounters {
			reads[i] = t.Snapshot().Get(t.Close(t.Keys.PartitionCounter(t.Open(), name, counter)))
		}
		var n [len(db.PartitionCounters)]int64
		for i, f := range reads {
			var err error
			if n[i], err = db.WaitCounter(f); err != nil {
				return PartitionInfo{}, err
			}
		}
		return PartitionInfo{DocCount: n[0], DocDelCount: n[1], ExternalSize: n[2] + n[4], ActiveSize: n[2] + n[3]}, nil
	})
}

func errNoPartitions() error {
	return fault.Errf(fault.Invalid, "bad_request", "database is not partitioned")
}
