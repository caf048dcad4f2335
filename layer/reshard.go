package layer

import (
	"context"

	"github.com/divandb/divan/layer/kv"
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
