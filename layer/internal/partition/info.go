package partition

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/kv"
)

// Info is the content of GET /{db}/_partition/{name}. The fields are as in the Info of a database.
type Info struct {
	DocCount, DocDelCount    int64
	ExternalSize, ActiveSize int64
}

// sums are the values of a partition's counters, in the order of db.PartitionCounters.
type sums [len(db.PartitionCounters)]int64

func (n *sums) info() Info {
	return Info{DocCount: n[docs], DocDelCount: n[deleted],
		ExternalSize: max(0, n[bodies]+n[content]-n[oldBodies]-n[oldContent]),
		ActiveSize:   max(0, n[bodies]+n[stored]-n[oldBodies]-n[oldStored])}
}

// Indexes in db.PartitionCounters.
const (
	docs = iota
	deleted
	bodies
	stored
	content
	oldBodies
	oldStored
	oldContent
)

// Partition returns the counters of a partition. They are zero if it has no documents. It returns Invalid if the name
// is invalid or the database is not partitioned. It reads a few keys, or, as long as the partitions of an old database
// have not been counted, all documents of the partition.
func (d Database) Partition(ctx context.Context, name string) (Info, error) {
	if err := db.ValidatePartition(name); err != nil {
		return Info{}, err
	}
	var now state
	_, err := db.Read(ctx, d.Database, func(t *db.Txn) (_ struct{}, err error) {
		if !t.Cfg.Partitioned {
			return struct{}{}, fault.Errf(fault.Invalid, "bad_request", "database is not partitioned")
		}
		now, err = readState(t.Snapshot(), t.Keys, t.Cfg, name)
		return struct{}{}, err
	})
	if err != nil {
		return Info{}, err
	}
	if !now.progress.includes(name) {
		counted, at, _, err := count(ctx, d.Database, name)
		if err != nil {
			return Info{}, err
		}
		copy(at.counters[:oldBodies], counted[:])
		now = at
	}
	return now.counters.info(), nil
}

// state is what a transaction finds about a partition.
type state struct {
	progress progress
	counters sums
	newest   string // what a write of any document of the partition changes
}

func readState(r kv.Reader, keys db.Space, cfg *db.Config, name string) (s state, err error) {
	recorded := r.Get(keys.Config(nil, db.ConfigPartitionCounts))
	newest := r.Get(keys.Wake(nil, cfg.Shard(name+":")))
	var reads [len(db.PartitionCounters)]kv.Future[[]byte]
	for i, counter := range db.PartitionCounters {
		reads[i] = r.Get(keys.PartitionCounter(nil, name, counter))
	}
	for i, f := range reads {
		if s.counters[i], err = db.WaitCounter(f); err != nil {
			return s, err
		}
	}
	value, err := newest.Wait()
	if err != nil {
		return s, err
	}
	s.newest = string(value)
	if value, err = recorded.Wait(); err != nil {
		return s, err
	}
	s.progress, err = parseProgress(value)
	return s, err
}
