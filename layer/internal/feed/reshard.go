package feed

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// Reshard replaces the current map by one with n new shards (P3, P4) and returns it. It returns Invalid unless n is
// between 1 and Options.MaxShards. Through the stamp it conflicts with every running write; these are retried and use
// the new shards.
func (d Database) Reshard(ctx context.Context, n int) (db.ShardMap, error) {
	if err := d.Store.CheckShards(n); err != nil {
		return db.ShardMap{}, err
	}
	m, c, err := db.TransactOnce(ctx, d.Database, kv.TransactOptions{}, func(t *db.Txn) (db.Routing, error) {
		return t.Reshard(n), nil
	})
	if err != nil {
		return db.ShardMap{}, err
	}
	copy(m.Since.Stamp[:], c.Versionstamp[:])
	return m.Clone(), nil
}
