package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Reshard replaces the current map by one with n new shards (P3, P4) and returns it. Invalid where n is not 1 to Options.MaxShards. It conflicts with every
// write under way through the stamp; those run again and go to the new shards.
func (d *Database) Reshard(ctx context.Context, n int) (ShardMap, error) {
	if err := d.store.checkShards(n); err != nil {
		return ShardMap{}, err
	}
	m, c, err := transactOnce(ctx, d, kv.TransactOptions{}, func(t *txn) (shardMap, error) { return t.reshard(n), nil })
	if err != nil {
		return ShardMap{}, err
	}
	copy(m.Since.Stamp[:], c.Versionstamp[:])
	return m.clone(), nil
}

func (s *Store) checkShards(n int) error {
	if n < 1 || n > s.o.MaxShards {
		return errf(Invalid, "bad_request", "the number of changes shards must be between 1 and %d", s.o.MaxShards)
	}
	return nil
}

// reshard adds the new map under the commit's own sequence, marks the old one, and wakes who waits at the old shards' ends.
func (t *txn) reshard(n int) shardMap {
	old := *t.cfg.current()
	old.Tombstone = true
	t.Set(t.close(old.Since.appendTuple(t.shardsKey())), t.close(old.appendValue(t.open())))
	for _, id := range old.subspaces() {
		t.setWake(id, 0)
	}
	m := shardMap{ShardMap{Since: Seq{Incarnation: t.cfg.incarnation}, Scheme: schemeJump, Shards: t.cfg.nextShards(n)}}
	for _, id := range m.Shards { // so that a watch on a shard that is never written sees the database's deletion
		t.setWake(id, 0)
	}
	key := tuple.AppendInt(t.shardsKey(), m.Since.Incarnation)
	offset := len(key) + 1
	key = t.close(tuple.AppendVersionstamp(key, tuple.IncompleteVersionstamp(0)))
	t.SetVersionstampedKey(key, offset, m.appendValue(nil))
	t.restamp = true
	return m
}

// shardsKey opens a key that begins with (Config, "changes_shards").
func (t *txn) shardsKey() []byte { return t.keys.config(t.open(), configShards) }
