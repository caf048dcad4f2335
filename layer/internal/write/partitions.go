package write

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// A partition may have a maximum size, as in CouchDB (couchdb/max_partition_size). Once it has reached it, edits are
// refused that make a document larger. Replicated edits never are, nor design documents, which are in no partition.

// partitionSize is a pending read of the counters of a partition.
type partitionSize [4]kv.Future[[]byte]

// sizeCounters are the counters of a partition that make up its size, in the order of a partitionSize. The last two are
// subtracted.
var sizeCounters = [...]string{db.CounterBodies, db.CounterContent, db.CounterOldBodies, db.CounterOldContent}

// readPartitions starts to read the sizes of the partitions that are written to. It adds no conflicts: writes of a
// partition that are committed at the same time may exceed the maximum.
func readPartitions(b *batch) error {
	limit := StateOf(b.t.Db.Store).PartitionLimit.Load()
	if limit == nil || !b.t.Cfg.Partitioned || b.o.Replicated {
		return nil
	}
	if b.mostInPartition = (*limit)(); b.mostInPartition <= 0 {
		return nil
	}
	b.partitions = map[string]partitionSize{}
	r := b.t.Snapshot()
	for i := range b.edits {
		p := &b.edits[i]
		if p.err != nil || db.IsDesign(p.e.ID) {
			continue
		}
		name := db.PartitionOf(p.e.ID)
		if _, there := b.partitions[name]; !there {
			var size partitionSize
			for i, counter := range sizeCounters {
				size[i] = r.Get(b.t.Keys.PartitionCounter(nil, name, counter))
			}
			b.partitions[name] = size
		}
	}
	return nil
}

// refuseFull refuses an edit that makes a document of a full partition larger.
func refuseFull(b *batch, p *pendingEdit) error {
	if b.partitions == nil || db.IsDesign(p.e.ID) {
		return nil
	}
	size, err := b.partitions[db.PartitionOf(p.e.ID)].wait()
	if err != nil || size < b.mostInPartition {
		return err
	}
	before := int64(0)
	if l := p.plan.before; l != nil && !l.Deleted {
		read := rev.ReadBody(b.t, b.t.Keys, p.e.ID, l.Rev)
		old, found, err := read.Wait()
		if err != nil {
			return err
		}
		if found {
			before = sizeOf(old.Size, old.Attachments)
		}
	}
	if sizeOf(len(p.content.stored), p.content.attachments) <= before {
		return nil
	}
	return fault.Errf(fault.Forbidden, "partition_overflow", "Partition limit exceeded due to update on '%s'", p.e.ID)
}

// wait returns the size of the partition's leaves.
func (s partitionSize) wait() (size int64, err error) {
	for i, f := range s {
		n, err := db.WaitCounter(f)
		if err != nil {
			return 0, err
		}
		if i >= len(s)/2 {
			n = -n
		}
		size += n
	}
	return size, nil
}

func sizeOf(body int, attachments []rev.Attachment) int64 {
	n := int64(body)
	for i := range attachments {
		n += attachments[i].Length
	}
	return n
}
