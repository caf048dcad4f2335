package partition

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Every edit changes the counters of its partition. In a database that is older than these counters they lack what was
// written before. Config "partition_counts" tells how far such a database has been counted; new databases are counted
// from the start, and say so.
//
// Recount goes through the partitions in order. It counts the documents of a partition as of one version, and adds the
// difference from the counters at that same version. Edits only add to counters, so later ones are not lost, and
// nothing has to wait. The transaction that adds the difference also records the progress, and fails if another node
// has recorded progress since.

// progress is the value of Config "partition_counts".
type progress struct {
	some bool   // partitions up to last are counted
	last string // only with some
	all  bool
	raw  string // as stored
}

// includes reports whether the counters of a partition are exact.
func (p *progress) includes(name string) bool { return p.all || p.some && name <= p.last }

func parseProgress(value []byte) (p progress, err error) {
	p.raw = string(value)
	switch {
	case value == nil:
	case string(value) == string(db.PartitionsCounted):
		p.all = true
	default:
		p.some = true
		if p.last, _, err = tuple.TakeString(value); err != nil {
			err = db.Corrupt("configuration "+db.ConfigPartitionCounts, err)
		}
	}
	return p, err
}

// Counted reports whether all counters of partitions are exact.
func Counted(r kv.Reader, keys db.Space) (bool, error) {
	value, err := r.Get(keys.Config(nil, db.ConfigPartitionCounts)).Wait()
	return string(value) == string(db.PartitionsCounted), err
}

// Recount counts the partitions of a database that is older than their counters. It does nothing if they have been
// counted, or if the database is not partitioned. If the engine holds no snapshots, it stops at a partition that is
// written to while it is counted, without an error: the next call continues there.
func Recount(ctx context.Context, d *db.Database) error {
	for {
		more, err := recountNext(ctx, d)
		if err != nil || !more {
			return err
		}
	}
}

// recountNext counts one partition. more is false if Recount has to stop.
func recountNext(ctx context.Context, d *db.Database) (more bool, err error) {
	name, from := "", progress{all: true}
	_, err = db.Read(ctx, d, func(t *db.Txn) (_ struct{}, err error) {
		if !t.Cfg.Partitioned {
			return struct{}{}, nil
		}
		value, err := t.Snapshot().Get(t.Keys.Config(nil, db.ConfigPartitionCounts)).Wait()
		if err != nil {
			return struct{}{}, err
		}
		if from, err = parseProgress(value); err != nil || from.all {
			return struct{}{}, err
		}
		name, err = nextPartition(t.Snapshot(), t.Keys, from)
		return struct{}{}, err
	})
	if err != nil || from.all {
		return false, err
	}
	if name == "" {
		return false, record(ctx, d, from, nil, db.PartitionsCounted)
	}
	counted, at, changed, err := count(ctx, d, name)
	if err != nil || changed {
		return false, err
	}
	if at.progress.raw != from.raw {
		return true, nil // another node has counted it
	}
	return true, record(ctx, d, from, &difference{name, counted, at}, tuple.AppendString(nil, name))
}

// nextPartition returns the first partition after those that have been counted, or "".
func nextPartition(r kv.Reader, keys db.Space, after progress) (string, error) {
	all := db.PrefixRange(keys.Sub(nil, keyspace.Revisions))
	if after.some {
		all.Begin = partitionRange(keys, after.last).End
	}
	for {
		rows := r.GetRange(all, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		if !rows.Next() {
			defer rows.Close()
			return "", rows.Err()
		}
		id, _, err := docOf(keys, rows.KeyValue().Key)
		rows.Close()
		switch {
		case err != nil:
			return "", err
		case !db.IsDesign(id):
			return db.PartitionOf(id), nil
		}
		// Design documents are in no partition.
		if all.Begin, err = tuple.Strinc(keys.Doc(nil, keyspace.Revisions, id)); err != nil {
			return "", err
		}
	}
}

// docOf splits a key of Revisions.
func docOf(keys db.Space, key []byte) (id string, rest []byte, err error) {
	if id, rest, err = tuple.TakeString(key[len(keys.Sub(nil, keyspace.Revisions)):]); err != nil {
		err = db.Corrupt("key of a revision", err)
	}
	return id, rest, err
}

// partitionRange returns the range of the branches of a partition's documents.
func partitionRange(keys db.Space, name string) kv.KeyRange {
	// A string's encoding without its terminator is a prefix of the encodings of longer strings. ';' follows ':'.
	begin := tuple.AppendString(keys.Sub(nil, keyspace.Revisions), name+":")
	end := tuple.AppendString(keys.Sub(nil, keyspace.Revisions), name+";")
	return kv.KeyRange{Begin: begin[:len(begin)-1], End: end[:len(end)-1]}
}

// difference is what the counters of a partition lack.
type difference struct {
	name    string
	counted sums
	at      state // found at the version at which it was counted
}

// record records progress, and adds a difference, unless nil, to the counters. It does nothing if another node has
// recorded progress since from.
func record(ctx context.Context, d *db.Database, from progress, diff *difference, now []byte) error {
	_, _, err := db.Transact(ctx, d, func(t *db.Txn) (struct{}, error) {
		key := t.Keys.Config(nil, db.ConfigPartitionCounts)
		value, err := t.Get(key).Wait()
		if err != nil || string(value) != from.raw {
			return struct{}{}, err
		}
		if diff != nil {
			for i, counter := range db.PartitionCounters[:oldBodies] {
				if n := diff.counted[i] - diff.at.counters[i]; n != 0 {
					t.Atomic(kv.AtomicAdd, t.Keys.PartitionCounter(nil, diff.name, counter), db.LittleEndian(n))
				}
			}
		}
		t.Set(key, now)
		return struct{}{}, nil
	})
	return err
}
